package space

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// TestSampleIsUniform tests draws by chi-square: at a fixed seed, what holds once holds always.
func TestSampleIsUniform(t *testing.T) {
	tests := map[string]struct {
		params      []Param
		constraints []string
	}{
		"joined":      {[]Param{upTo("A", 6), upTo("B", 6), upTo("C", 6)}, []string{"A % B == 0", "B + C <= A + 2"}},
		"independent": {[]Param{upTo("A", 5), upTo("B", 5), upTo("C", 3), ints("D", 7)}, []string{"A <= B"}},
		"skewed":      {[]Param{upTo("A", 8), upTo("B", 8), upTo("C", 8)}, []string{"A == 1 or B == 1", "A * B * C < 30"}},
		"many values": {[]Param{upTo("A", 3), upTo("B", 90)}, []string{"B % (A * A * 3) == 0"}},
	}
	for name, test := range tests {
		for way, most := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				s := mustNew(t, most, test.params, test.constraints...)
				if len(s.components) > 0 && s.components[0].late != nil && s.components[0].ceiling != 1 {
					t.Fatal("too few draws are kept to be uniform")
				}
				want := bruteForce(t, test.params, test.constraints)
				counts := map[string]int{}
				const draws = 200
				n := len(want)
				r := rand.New(rand.NewPCG(5, 6))
				for range n * draws {
					counts[fmt.Sprint(s.Sample(r))]++
				}
				chi, of := 0.0, 0
				for _, p := range want {
					count := counts[fmt.Sprint(p)]
					of += count
					chi += float64((count-draws)*(count-draws)) / draws
				}
				if of != n*draws {
					t.Errorf("%d of %d draws are no points of the space", n*draws-of, n*draws)
				}
				// 4 standard deviations of a chi-square distribution with n-1 degrees of freedom
				if limit := float64(n-1) + 4*math.Sqrt(2*float64(n-1)); chi > limit {
					t.Errorf("chi-square %.1f of %d points, want at most %.1f", chi, n, limit)
				}
			})
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

// TestSumOfDice compares the size of a space with what the sum of dice has: counted, and estimated where
// it may not be.
func TestSumOfDice(t *testing.T) {
	params := make([]Param, 12)
	ways := []float64{1} // of each sum
	var sum []string
	for i := range params {
		params[i] = upTo(fmt.Sprintf("P%d", i), 10)
		sum = append(sum, params[i].Name)
		next := make([]float64, len(ways)+10)
		for total, n := range ways {
			for v := 1; v <= 10; v++ {
				next[total+v] += n
			}
		}
		ways = next
	}
	want := 0.0
	for total, n := range ways {
		if total <= 60 {
			want += n
		}
	}
	constraint := strings.Join(sum, " + ") + " <= 60"
	if s := mustNew(t, usualLimits, params, constraint); s.Size() != want || !s.Exact() {
		t.Errorf("counted %.12g, exact %v, want %.12g", s.Size(), s.Exact(), want)
	}
	few := usualLimits
	few.huge = 0
	s := mustNew(t, few, params, constraint)
	if ratio := s.Size() / want; math.Abs(ratio-1) > 0.05 || s.Exact() {
		t.Errorf("estimated %.6g, exact %v, want %.6g", s.Size(), s.Exact(), want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	first := 0.0
	const draws = 4000
	for range draws {
		first += float64(s.Sample(r)[0])
	}
	if got := first / draws; math.Abs(got-meanFirst(ways)) > 0.2 { // 4 standard errors
		t.Errorf("P0 is at %.2f on average, want %.2f", got, meanFirst(ways))
	}
}

// meanFirst returns the mean index of one die where the sum of twelve is at most 60: all are alike.
func meanFirst(ways []float64) float64 {
	sum, n := 0.0, 0.0
	for total, each := range ways[:61] {
		sum, n = sum+each*float64(total), n+each
	}
	return sum/n/12 - 1
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

func TestErrors(t *testing.T) {
	ab := []Param{ints("A", 0, 1, 2, 3), ints("B", 0, 1, 2, 3)}
	large := []Param{upTo("A", 3000), upTo("B", 3000)}
	tests := []struct {
		name        string
		params      []Param
		constraints []string
		want        Error
	}{
		{
			"unknown name", ab,
			[]string{"A < 2", "A < CC"},
			Error{"", 1, `constraint "A < CC" names CC, which is no param`, "the params are A, B"},
		},
		{"no params", nil, []string{"A < 2"}, Error{"", 0, `constraint "A < 2" names A, which is no param`, "there are no params"}},
		{
			"no values",
			[]Param{ints("A")},
			nil,
			Error{"A", -1, "param A has no values", "list at least one; the first is the default"},
		},
		{"twice", []Param{ab[0], ab[0]}, nil, Error{"A", -1, "param A is given twice", "rename one of them"}},
		{"value twice", []Param{ints("A", 1, 2, 1)}, nil, Error{"A", -1, "param A lists 1 twice", "list each value once"}},
		{
			"too many values",
			[]Param{upTo("A", 65536)},
			nil,
			Error{"A", -1, "param A has 65536 values; at most 65535 are allowed", "list fewer, or make two params of it"},
		},
		{"false", ab, []string{"A < 2", "1 > 2"}, Error{"", 1, `constraint "1 > 2" is false at every point`, "loosen it, or list further values"}},
		{"never", ab, []string{"A < 2", "A + B > 6"}, Error{"", 1, `constraint "A + B > 6" is false at every point`, "loosen it, or list further values"}},
		{"never of many", large, []string{"A < 2", "A + B > 6000"}, Error{"", 1, `constraint "A + B > 6000" is false at every point`, "loosen it, or list further values"}},
		{"no boolean", ab, []string{"A + B"}, Error{"", 0, `constraint "A + B" must be true or false, not the integer 0`, "compare it with something"}},
		{"constant", ab, []string{"'a'"}, Error{"", 0, `constraint "'a'" must be true or false, not the string a`, "compare it with something"}},
		{
			"division", ab,
			[]string{"A % (B - B) == 0"},
			Error{"", 0, `constraint "A % (B - B) == 0" cannot be evaluated at any point: division by zero in 0 % 0`, "change it, or the values of its params"},
		},
		{
			"together", ab,
			[]string{"A < 2", "B < 2", "A + B > 2", "A < 3"},
			Error{"", 2, `no point satisfies the constraints: "A + B > 2" removes the last 4 points that those before it leave`, "loosen it, or list further values"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(test.params, parse(t, test.constraints...))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, %v, want an *Error", s, err)
			}
			if *got != test.want {
				t.Errorf("got  %+v\nwant %+v", *got, test.want)
			}
		})
	}
}

// A component that cannot be walked, and in which no draw succeeds.
func TestNotFound(t *testing.T) {
	params, _ := huge(t)
	parsed := parse(t, "P0 * P1 * P2 * P3 * P4 * P5 * P6 * P7 * P8 * P9 * P10 * P11 == 11", "P0 < 100")
	_, err := New(params, parsed)
	var got *Error
	if !errors.As(err, &got) || got.Constraint != 0 || !strings.Contains(got.Message, "found no point that satisfies the constraints, in ") || got.Hint == "" {
		t.Errorf("got %v", err)
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

// Paths that share a node by the values of parts of constraints, and by params beside them.
func TestStates(t *testing.T) {
	params := []Param{upTo("A", 7), upTo("B", 7), upTo("C", 7), upTo("D", 7), upTo("E", 3)}
	for _, constraint := range []string{
		"(A + B) * C + (A + B) * D <= 60 - E", "A + B + C + D == 14 and (A + B) % E == 0", "max(A, B) * C < D * 3 + E", "A * B % C == D // E", "A // (B - C) + D > E",
	} {
		s := mustNew(t, ways["states"], params, constraint)
		if want := len(bruteForce(t, params, []string{constraint})); s.Size() != float64(want) {
			t.Errorf("%s: %v points, want %d", constraint, s.Size(), want)
		}
	}
}

// Of as many equally likely values, the draws come to about so many different ones.
func TestDistinct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, values := range []int{1, 10, 100, 1000} {
		seen := map[int]bool{}
		for range probes {
			seen[r.IntN(values)] = true
		}
		if got := distinct(len(seen), probes); got < 1.4*float64(values) || got > 3*float64(values) {
			t.Errorf("%d seen of %d values: %.1f, want about twice as many as there are", len(seen), values, got)
		}
	}
	if got := distinct(probes, probes); !math.IsInf(got, 1) {
		t.Errorf("every draw another value: %v, want infinity", got)
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
