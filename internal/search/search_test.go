package search_test

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/formula"
	"pawl/internal/search"
	"pawl/internal/space"
)

// grid is a ground of a few params, of which a share of the points satisfies a made-up constraint.
type grid struct {
	params []space.Param
	salt   uint32
	keep   uint32 // of 8 points
	points []space.Point
}

func newGrid(salt, keep uint32, sizes ...int) *grid {
	g := &grid{salt: salt, keep: keep}
	total := 1
	for i, n := range sizes {
		p := space.Param{Name: fmt.Sprint("p", i)}
		for v := range n {
			value := formula.Int(int64(1) << v)
			switch i % 3 {
			case 1:
				value = formula.String(fmt.Sprint("v", v))
			case 2:
				value = formula.Float(float64(3*v) - 4)
			}
			p.Values = append(p.Values, value)
		}
		g.params = append(g.params, p)
		total *= n
	}
	for i := range total {
		p := make(space.Point, len(sizes))
		for j, n := range sizes {
			p[j] = uint16(i % n)
			i /= n
		}
		if g.Contains(p) {
			g.points = append(g.points, p)
		}
	}
	return g
}

func (g *grid) hash(p space.Point) uint32 {
	h := fnv.New32a()
	fmt.Fprint(h, g.salt, p)
	return h.Sum32() >> 8
}

func (g *grid) Params() []space.Param { return g.params }
func (g *grid) Size() float64         { return float64(len(g.points)) }
func (g *grid) Exact() bool           { return true }
func (g *grid) Contains(p space.Point) bool {
	for i, v := range p {
		if int(v) >= len(g.params[i].Values) {
			return false
		}
	}
	return g.hash(p)%8 < g.keep
}

func (g *grid) Sample(r *rand.Rand) space.Point {
	if len(g.points) == 0 {
		return nil
	}
	return g.points[r.IntN(len(g.points))]
}

func (g *grid) All() iter.Seq[space.Point] {
	return func(yield func(space.Point) bool) {
		for _, p := range g.points {
			if !yield(p) {
				return
			}
		}
	}
}

func (g *grid) Neighbours(p space.Point) []space.Point {
	var near []space.Point
	for i, param := range g.params {
		for v := range param.Values {
			if q := p.Clone(); int(p[i]) != v {
				if q[i] = uint16(v); g.Contains(q) {
					near = append(near, q)
				}
			}
		}
	}
	return near
}

// outcome of a point: smooth, with failures.
func (g *grid) outcome(p space.Point) search.Outcome {
	if g.hash(p)%11 == 0 {
		return search.Outcome{Failed: true}
	}
	cost := 1e-3
	for i, v := range p {
		d := float64(v) - float64(len(g.params[i].Values))/2
		cost *= 1 + d*d/float64(2+i)
	}
	return search.Outcome{Cost: cost, Cut: g.hash(p)%7 == 0}
}

func grids() *rapid.Generator[*grid] {
	return rapid.Custom(func(t *rapid.T) *grid {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "sizes")
		return newGrid(rapid.Uint32().Draw(t, "salt"), rapid.Uint32Range(1, 8).Draw(t, "keep"), sizes...)
	})
}

// play asks a strategy until it has no more points, so many at a time, and tells it of them.
func play(t interface{ Fatalf(string, ...any) }, g *grid, s search.Strategy, batch int, outcome func(space.Point) search.Outcome) []space.Point {
	seen := map[string]bool{}
	var seq []space.Point
	for {
		asked := s.Ask(batch)
		if len(asked) == 0 {
			return seq
		}
		if len(asked) > batch {
			t.Fatalf("asked for %d points, got %d", batch, len(asked))
		}
		for _, p := range asked {
			if seen[p.Key()] {
				t.Fatalf("point %v came twice", p)
			}
			if !g.Contains(p) {
				t.Fatalf("point %v is not in the ground", p)
			}
			seen[p.Key()] = true
			seq = append(seq, p)
		}
		for i := range asked {
			p := asked[len(asked)-1-i] // not in their order
			s.Tell(p, outcome(p))
		}
	}
}

func TestEveryPointOnce(t *testing.T) {
	for _, name := range search.Names() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := grids().Draw(t, "ground")
				s, err := search.New(name, g, search.Options{Seed: rapid.Uint64().Draw(t, "seed")})
				if err != nil {
					t.Fatalf("%v", err)
				}
				seq := play(t, g, s, rapid.IntRange(1, 7).Draw(t, "batch"), g.outcome)
				if len(seq) != len(g.points) {
					t.Fatalf("%d points came of %d", len(seq), len(g.points))
				}
			})
		})
	}
}

func TestSameSeedSamePoints(t *testing.T) {
	g := newGrid(3, 6, 5, 4, 5, 3)
	for _, name := range search.Names() {
		run := func(seed uint64) string {
			s, err := search.New(name, g, search.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(play(t, g, s, 2, g.outcome))
		}
		one, again, two := run(1), run(1), run(2)
		if one != again {
			t.Errorf("%s: two runs with one seed differ", name)
		}
		if name != "exhaustive" && one == two {
			t.Errorf("%s: two seeds give the same run", name)
		}
	}
}

func TestFirstPointsComeFirst(t *testing.T) {
	g := newGrid(5, 4, 4, 4, 4)
	var outside space.Point
	for p := range newGrid(5, 8, 4, 4, 4).All() {
		if !g.Contains(p) {
			outside = p
		}
	}
	first := []space.Point{g.points[20], outside, g.points[7], {3, 3, 99}, g.points[7], g.points[11]}
	for _, name := range search.Names() {
		s, _ := search.New(name, g, search.Options{First: first})
		s.Tell(g.points[20], search.Outcome{Cost: 1}) // known from an earlier run
		for _, want := range []space.Point{g.points[7], g.points[11]} {
			if p := s.Ask(1)[0]; p.Key() != want.Key() {
				t.Errorf("%s: asked for %v: expected %v", name, p, want)
			}
		}
		if n := len(play(t, g, s, 1, g.outcome)); n != len(g.points)-3 {
			t.Errorf("%s: then %d points came: expected %d", name, n, len(g.points)-3)
		}
	}
}

// Steps that exploit take a neighbour of the best point, as long as there is one that is not known.
func TestExploiting(t *testing.T) {
	g := newGrid(5, 8, 12, 12, 12)
	settings := search.DefaultSettings()
	settings.Exploit, settings.Explore = 1, 100 // without the one, the other would go far away
	s, _ := search.New("auto", g, search.Options{Settings: &settings})
	var best space.Point
	lowest := math.Inf(1)
	for i := range 3 * settings.Spread {
		p := s.Ask(1)[0]
		if i >= 2*settings.Spread {
			near := func(q space.Point) bool { return q.Key() == p.Key() }
			if !slices.ContainsFunc(g.Neighbours(best), near) {
				t.Fatalf("step %d tries %v, which is no neighbour of the best point %v", i, p, best)
			}
		}
		o := search.Outcome{Cost: 1 + math.Abs(float64(p[0])-2) + math.Abs(float64(p[1])-2) + float64(i)/1000}
		if s.Tell(p, o); o.Cost < lowest {
			lowest, best = o.Cost, p
		}
	}
}

// Points that a strategy was told of, but has not asked for, are not asked for later.
func TestWarmStart(t *testing.T) {
	g := newGrid(9, 8, 5, 5, 5)
	for _, name := range search.Names() {
		s, _ := search.New(name, g, search.Options{})
		known := map[string]bool{s.Ask(1)[0].Key(): true} // other trials become known when the search has begun
		for _, p := range g.points[:60] {
			s.Tell(p, g.outcome(p))
			known[p.Key()] = true
		}
		seq := play(t, g, s, 3, g.outcome)
		if len(seq) != len(g.points)-len(known) {
			t.Errorf("%s: %d points came: expected %d", name, len(seq), len(g.points)-len(known))
		}
		for _, p := range seq {
			if known[p.Key()] {
				t.Errorf("%s: asked for %v, which was known", name, p)
			}
		}
	}
}

// Costs that nothing can have are failures. No strategy may stumble over them, nor over nothing but failures.
func TestUnusableOutcomes(t *testing.T) {
	g := newGrid(2, 7, 5, 4, 3, 2)
	odd := []search.Outcome{
		{},
		{Cost: -1},
		{Cost: math.NaN()},
		{Cost: math.Inf(1)},
		{Failed: true},
		{Cut: true},
		{Cost: 1, Cut: true},
		{Cost: math.MaxFloat64},
		{Cost: 5e-324},
		{Cost: 1},
		{Cost: 1},
		{Failed: true, Cost: 1e-9},
	}
	for _, name := range search.Names() {
		for i, only := range odd {
			s, _ := search.New(name, g, search.Options{})
			if n := len(play(t, g, s, 2, func(space.Point) search.Outcome { return only })); n != len(g.points) {
				t.Errorf("%s: outcome %d only: %d points of %d", name, i, n, len(g.points))
			}
		}
		s, _ := search.New(name, g, search.Options{})
		if n := len(play(t, g, s, 2, func(p space.Point) search.Outcome { return odd[g.hash(p)%uint32(len(odd))] })); n != len(g.points) {
			t.Errorf("%s: %d points of %d", name, n, len(g.points))
		}
	}
}

func TestUnknownStrategy(t *testing.T) {
	_, err := search.New("genetic", newGrid(1, 8, 2), search.Options{})
	for _, part := range append(search.Names(), `"genetic"`, "expected") {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v: expected it to hold %s", err, part)
		}
	}
}

type estimated struct{ *grid }

func (estimated) Exact() bool { return false }

func TestSuited(t *testing.T) {
	g := newGrid(1, 8, 5, 4)
	for _, c := range []struct {
		ground search.Ground
		budget int
		want   string
	}{
		{g, 20, "exhaustive"}, {g, 1000, "exhaustive"}, {g, 19, "auto"}, {g, 0, "auto"}, {estimated{g}, 1000, "auto"},
	} {
		if got := search.Suited(c.ground, c.budget); got != c.want {
			t.Errorf("for %v points and a budget of %d: %s, expected %s", c.ground.Size(), c.budget, got, c.want)
		}
	}
}

// huge is a ground of 10¹² points, which nobody may make whole.
type huge struct {
	params []space.Param
	walked int
}

func newHuge() *huge {
	h := &huge{}
	for i := range 12 {
		h.params = append(h.params, newGrid(0, 0, 10).params[0])
		h.params[i].Name = fmt.Sprint("p", i)
	}
	return h
}

func (h *huge) Params() []space.Param     { return h.params }
func (h *huge) Size() float64             { return 1e12 }
func (h *huge) Exact() bool               { return true }
func (h *huge) Contains(space.Point) bool { return true }

func (h *huge) Sample(r *rand.Rand) space.Point {
	p := make(space.Point, len(h.params))
	for i := range p {
		p[i] = uint16(r.IntN(10))
	}
	return p
}

func (h *huge) All() iter.Seq[space.Point] {
	return func(yield func(space.Point) bool) {
		for n := 0; ; n++ {
			h.walked++
			p := make(space.Point, len(h.params))
			for i, rest := 0, n; i < len(p); i, rest = i+1, rest/10 {
				p[i] = uint16(rest % 10)
			}
			if !yield(p) {
				return
			}
		}
	}
}

func (h *huge) Neighbours(p space.Point) []space.Point {
	var near []space.Point
	for i := range p {
		for v := range uint16(10) {
			if q := p.Clone(); v != p[i] {
				q[i] = v
				near = append(near, q)
			}
		}
	}
	return near
}

// In a huge ground strategies find what is good, and do not walk through it.
func TestHugeGround(t *testing.T) {
	for _, name := range search.Names() {
		h := newHuge()
		s, _ := search.New(name, h, search.Options{Seed: 1})
		lowest := math.Inf(1)
		for range 60 {
			p := s.Ask(1)[0]
			cost := 1.0
			for i, v := range p[:6] {
				cost += math.Abs(float64(v) - float64(i)) // 6 params of 12 matter
			}
			lowest = min(lowest, cost)
			s.Tell(p, search.Outcome{Cost: cost})
		}
		if h.walked > 1<<17 || name != "exhaustive" && h.walked > 0 {
			t.Errorf("%s: walked through %d points for 60", name, h.walked)
		}
		if name == "auto" && lowest > 8 { // 60 draws at random have 12 on average, and seldom less than 10
			t.Errorf("%s: the lowest cost is %v", name, lowest)
		}
		t.Logf("%s: %v", name, lowest)
	}
}

// A point that is told of again, as today's defaults are when a search goes on, counts as it was told last.
func TestToldAgain(t *testing.T) {
	g := newGrid(3, 8, 5, 5, 3)
	for _, name := range search.Names() {
		s, _ := search.New(name, g, search.Options{})
		s.Tell(g.points[0], search.Outcome{Cost: 1})
		s.Tell(g.points[0], search.Outcome{Failed: true})
		if n := len(play(t, g, s, 1, func(space.Point) search.Outcome { return search.Outcome{Failed: true} })); n != len(g.points)-1 {
			t.Errorf("%s: %d points of %d", name, n, len(g.points)-1)
		}
	}
}
