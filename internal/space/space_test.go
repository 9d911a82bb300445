package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/formula"
)

// ways are the limits that make a space of few points be kept like one of many.
var ways = map[string]limits{
	"listed":    usualLimits,
	"tree":      {edges: math.MaxInt, whole: math.MaxInt, crowded: 99},
	"states":    {edges: math.MaxInt, whole: math.MaxInt, listed: 1 << 20},
	"estimated": {cost: 1 << 10, draws: 1 << 20},
	"filtered":  {draws: 1 << 20}, // the tree knows no constraint
}

// ints makes a param of integers.
func ints(name string, values ...int64) Param {
	p := Param{Name: name}
	for _, v := range values {
		p.Values = append(p.Values, formula.Int(v))
	}
	return p
}

// upTo makes a param of 1 up to n.
func upTo(name string, n int64) Param {
	p := Param{Name: name}
	for v := range n {
		p.Values = append(p.Values, formula.Int(v+1))
	}
	return p
}

func mustNew(t testing.TB, most limits, params []Param, constraints ...string) *Space {
	t.Helper()
	s, err := within(most, params, parse(t, constraints...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// everything returns all combinations in order.
func everything(params []Param) []Point {
	all := []Point{{}}
	for _, p := range params {
		var longer []Point
		for _, point := range all {
			for v := range p.Values {
				longer = append(longer, append(slices.Clone(point), uint16(v)))
			}
		}
		all = longer
	}
	return all
}

// bruteForce returns the combinations that satisfy the constraints, each evaluated by itself.
func bruteForce(t interface{ Fatalf(string, ...any) }, params []Param, constraints []string) []Point {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	var programs []*formula.Program
	for _, expr := range parse(t, constraints...) {
		program, err := expr.Compile(names)
		if err != nil {
			t.Fatalf("%v", err)
		}
		programs = append(programs, program)
	}
	return slices.DeleteFunc(everything(params), func(p Point) bool {
		values := make([]formula.Value, len(p))
		for i, v := range p {
			values[i] = params[i].Values[v]
		}
		return slices.ContainsFunc(programs, func(program *formula.Program) bool {
			v, err := program.Eval(values)
			holds, ok := v.Bool()
			return err != nil || !ok || !holds
		})
	})
}

func drawSpace(t *rapid.T) (params []Param, constraints []string) {
	for _, name := range []string{"A", "B", "C", "D"} {
		params = append(params, ints(name, rapid.SliceOfNDistinct(rapid.Int64Range(0, 6), 1, 5, rapid.ID[int64]).Draw(t, name)...))
	}
	params = append(params,
		Param{"F", []formula.Value{formula.Bool(true), formula.Bool(false)}},
		Param{"X", []formula.Value{formula.Float(0.5), formula.Float(1), formula.Float(2.5)}},
		Param{"T", []formula.Value{formula.String("half"), formula.String("float")}})
	params = rapid.Permutation(params).Draw(t, "order")
	constraints = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"A % B == 0", "A * B * C <= 24", "A <= B <= C", "A + B + C + D == 9", "D // A > 0 or F", "C / D > X", "not F or T == 'half'",
		"T != 'float' or X > 1", "B if F else C > 1", "A * X <= 6.0", "(A + B * 2) * (C + D * 2) <= 60", "True", "B - C", "A != C",
	}), 0, 5, rapid.ID[string]).Draw(t, "constraints")
	return params, constraints
}

// TestAgainstBruteForce compares everything that a space can be asked with trying all combinations.
func TestAgainstBruteForce(t *testing.T) {
	for name, most := range ways {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				params, constraints := drawSpace(t)
				want := bruteForce(t, params, constraints)
				s, err := within(most, params, parse(t, constraints...))
				if len(want) == 0 {
					if err == nil {
						t.Fatalf("%q have no point, and no error", constraints)
					}
					return
				}
				if err != nil {
					t.Fatalf("%q have %d points: %v", constraints, len(want), err)
				}
				compare(t, s, params, want)
			})
		})
	}
}

func compare(t *rapid.T, s *Space, params []Param, want []Point) {
	if got := slices.Collect(s.All()); !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("All gives %v\nwant %v", got, want)
	}
	if s.Exact() && s.Size() != float64(len(want)) {
		t.Fatalf("size %v, want %d", s.Size(), len(want))
	}
	in := map[string]bool{}
	for _, p := range want {
		in[fmt.Sprint(p)] = true
	}
	everything := everything(params)
	if s.Cartesian() != float64(len(everything)) {
		t.Fatalf("%v combinations, want %d", s.Cartesian(), len(everything))
	}
	numbers := map[uint64]bool{}
	for _, p := range everything {
		if got := s.Contains(p); got != in[fmt.Sprint(p)] {
			t.Fatalf("contains %v: %v", p, got)
		}
		n, ok := s.Index(p)
		if ok != (s.numbered() && in[fmt.Sprint(p)]) || ok && (numbers[n] || n >= uint64(len(want)) || !slices.Equal(s.At(n), p)) {
			t.Fatalf("%v has number %d, %v; that number's point is %v", p, n, ok, s.At(n))
		}
		numbers[n] = numbers[n] || ok
	}
	if s.At(uint64(len(want))) != nil {
		t.Fatalf("a number too large has a point")
	}
	near := everything[rapid.IntRange(0, len(everything)-1).Draw(t, "near")]
	var neighbours []Point
	for param := range params {
		for v := range params[param].Values {
			p := slices.Clone(near)
			if p[param] = uint16(v); p[param] != near[param] && in[fmt.Sprint(p)] {
				neighbours = append(neighbours, p)
			}
		}
	}
	if got := s.Neighbours(near); !slices.EqualFunc(got, neighbours, slices.Equal) {
		t.Fatalf("neighbours of %v: %v, want %v", near, got, neighbours)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		if p := s.Sample(r); !in[fmt.Sprint(p)] {
			t.Fatalf("drew %v", p)
		}
	}
}

func TestHuge(t *testing.T) {
	exactly := map[string]float64{
		"free":  1e12,
		"pairs": 27 * 63 * 27 * 55 * 84 * 90, // counted by hand, pair by pair
		"chain": 293_930,                     // 21 over 9
	}
	for name, constraints := range hugeConstraints {
		t.Run(name, func(t *testing.T) {
			params, parsed := huge(t, constraints...)
			s, err := New(params, parsed)
			if err != nil {
				t.Fatal(err)
			}
			if want, ok := exactly[name]; ok && (s.Size() != want || !s.Exact()) {
				t.Errorf("%v points, exact %v, want %v", s.Size(), s.Exact(), want)
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				if p := s.Sample(r); !s.Contains(p) || len(bruteForce(t, only(params, p), constraints)) == 0 {
					t.Errorf("%v was drawn and does not satisfy the constraints", p)
				}
			}
		})
	}
}

// only returns the params with the values that they have at a point.
func only(params []Param, p Point) []Param {
	var one []Param
	for i, param := range params {
		one = append(one, Param{param.Name, param.Values[p[i] : p[i]+1]})
	}
	return one
}

// Eight points of 8^40: more bits than a word has, and more combinations than can be counted.
func TestPruned(t *testing.T) {
	var params []Param
	var constraints []string
	for i := range 40 {
		params = append(params, upTo(fmt.Sprintf("P%d", i), 8))
		if i > 0 {
			constraints = append(constraints, fmt.Sprintf("P%d == P%d", i, i-1))
		}
	}
	s := mustNew(t, usualLimits, params, constraints...)
	if s.Size() != 8 || !s.Exact() {
		t.Errorf("%v points, want 8", s.Size())
	}
	var got []Point
	for p := range s.All() {
		got = append(got, p)
		if n, ok := s.Index(p); !ok || n != uint64(len(got)-1) {
			t.Errorf("point %d has number %d, %v", len(got)-1, n, ok)
		}
	}
	if len(got) != 8 || got[3][0] != 3 || got[3][39] != 3 {
		t.Errorf("points %v", got)
	}
	other := slices.Clone(got[3])
	other[20] = 4
	if s.Contains(other) {
		t.Errorf("contains %v", other)
	}
	if near := s.Neighbours(other); len(near) != 1 || !slices.Equal(near[0], got[3]) {
		t.Errorf("neighbours %v, want the point it was made of", near)
	}
}

func TestAllIsLazy(t *testing.T) {
	params, parsed := huge(t)
	s, err := New(params, parsed)
	if err != nil {
		t.Fatal(err)
	}
	var got []Point
	for p := range s.All() {
		if got = append(got, p); len(got) == 12 {
			break
		}
	}
	want := slices.Repeat(Point{0}, 12)
	for i, p := range got {
		want[11], want[10] = uint16(i%10), uint16(i/10)
		if !slices.Equal(p, want) {
			t.Errorf("point %d is %v, want %v", i, p, want)
		}
	}
}

func TestOnePoint(t *testing.T) {
	for _, params := range [][]Param{nil, {ints("A", 3), ints("B", 4)}} {
		s := mustNew(t, usualLimits, params, "2 > 1")
		p := s.Sample(rand.New(rand.NewPCG(1, 2)))
		if s.Size() != 1 || !s.Exact() || p == nil || len(p) != len(params) || !s.Contains(p) || len(s.Neighbours(p)) != 0 {
			t.Errorf("%v: %v points, drew %v, neighbours %v", params, s.Size(), p, s.Neighbours(p))
		}
		if all := slices.Collect(s.All()); len(all) != 1 || !slices.Equal(all[0], s.At(0)) {
			t.Errorf("%v: points %v", params, all)
		}
	}
}

func TestForeignPoints(t *testing.T) {
	s := mustNew(t, usualLimits, []Param{ints("A", 1, 2), ints("B", 1)}, "A < 5")
	for _, p := range []Point{nil, {0}, {0, 0, 0}, {2, 0}, {0, 1}} {
		if _, ok := s.Index(p); ok || s.Contains(p) || s.Neighbours(p) != nil {
			t.Errorf("%v is taken for a point", p)
		}
	}
}

// A constraint that cannot be evaluated at some points is not satisfied there.
func TestDivisionByZeroSomewhere(t *testing.T) {
	params := []Param{ints("A", 0, 1, 2, 4), ints("B", 4, 2)}
	for way, most := range ways {
		s := mustNew(t, most, params, "B % A == 0")
		if got, want := len(slices.Collect(s.All())), 5; got != want {
			t.Errorf("%s: %d points, want %d", way, got, want)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	for _, constraints := range [][]string{hugeConstraints["tiles"], hugeConstraints["pairs"]} {
		params, parsed := huge(t, constraints...)
		s, err := New(params, parsed)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for seed := range uint64(4) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(seed, 1))
				for range 50 {
					p := s.Sample(r)
					if !s.Contains(p) {
						t.Errorf("drew %v", p)
					}
					s.Neighbours(p)
				}
			})
		}
		all.Wait()
	}
}

func TestAllocations(t *testing.T) {
	for name, most := range ways {
		params, conditions := readDefinition(t, "hotspot_milo")
		s := mustNew(t, most, params, conditions...)
		r := rand.New(rand.NewPCG(1, 2))
		p := s.Sample(r)
		if n := testing.AllocsPerRun(200, func() { s.Contains(p) }); n >= 1 {
			t.Errorf("%s: Contains allocates %v times", name, n)
		}
		if n := testing.AllocsPerRun(200, func() { s.Sample(r) }); n >= 3 {
			t.Errorf("%s: Sample allocates %v times", name, n)
		}
	}
}
