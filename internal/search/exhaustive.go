package search

import "pawl/internal/space"

// exhaustive tries all points in the order of the ground.
type exhaustive struct {
	*book
	next []space.Point // the ground is never made whole: these are the next of its points
}

func newExhaustive(b *book, _ Options) Strategy { return &exhaustive{book: b} }

func (e *exhaustive) Ask(n int) []space.Point {
	return e.take(n, func() space.Point {
		for {
			for len(e.next) > 0 {
				p := e.next[0]
				e.next = e.next[1:]
				if !e.isKnown(p) {
					return p
				}
			}
			if e.next = e.unknown(restChunk); len(e.next) == 0 {
				return nil
			}
		}
	})
}

func (e *exhaustive) Tell(p space.Point, o Outcome) { e.tell(p, o) }
