package search

import "pawl/internal/space"

// random tries points in random order. Others are measured against it.
type random struct{ *book }

func newRandom(b *book, _ Options) Strategy { return random{b} }

func (r random) Ask(n int) []space.Point {
	return r.take(n, func() space.Point { return r.draw() })
}

func (r random) Tell(p space.Point, o Outcome) { r.tell(p, o) }

// take asks for up to n points: those that are to come first, then those that choose returns, until it
// returns nil.
func (b *book) take(n int, choose func() space.Point) []space.Point {
	var asked []space.Point
	for len(asked) < n {
		p := b.opening()
		if p == nil {
			if p = choose(); p == nil {
				break
			}
		}
		asked = append(asked, b.ask(p).point)
	}
	return asked
}
