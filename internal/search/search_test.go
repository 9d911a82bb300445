package search_test

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
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

func (g *grid) Params() []space.Param       { return g.params }
func (g *grid) Size() float64               { return float64(len(g.points)) }
func (g *grid) Exact() bool                 { return true }
func (g *grid) Contains(p space.Point) bool { return g.hash(p)%8 < g.keep }

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
	g := newGrid(5, 8, 4, 4, 4)
	first := []space.Point{g.points[40], g.points[7], {3, 3, 99}, g.points[40], g.points[11]}
	for _, name := range search.Names() {
		s, _ := search.New(name, g, search.Options{First: first[:2:2]})
		s.Tell(g.points[40], search.Outcome{Cost: 1}) // known from an earlier run
		if p := s.Ask(1)[0]; p.Key() != g.points[7].Key() {
			t.Errorf("%s: the first point is %v: expected %v", name, p, g.points[7])
		}
	}
}

// Points that a strategy was told of, but has not asked for, are not asked for later.
func TestWarmStart(t *testing.T) {
	g := newGrid(9, 8, 5, 5, 5)
	for _, name := range search.Names() {
		s, _ := search.New(name, g, search.Options{})
		for _, p := range g.points[:60] {
			s.Tell(p, g.outcome(p))
		}
		told := map[string]bool{}
		for _, p := range g.points[:60] {
			told[p.Key()] = true
		}
		seq := play(t, g, s, 3, g.outcome)
		if len(seq) != len(g.points)-60 {
			t.Errorf("%s: %d points came: expected %d", name, len(seq), len(g.points)-60)
		}
		for _, p := range seq {
			if told[p.Key()] {
				t.Errorf("%s: asked for %v, which it was told of", name, p)
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
