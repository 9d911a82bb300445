package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestListsOfFew(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		name            string
		a, b            []float64
		delta, shift, u float64
		p               float64
	}{
		{"nothing", nil, nil, nan, nan, nan, nan},
		{"one side", []float64{1}, nil, nan, nan, nan, nan},
		{"a NaN", []float64{1, nan}, []float64{1, 2}, nan, nan, nan, nan},
		{"a NaN on the other side", []float64{1, 2}, []float64{nan}, nan, nan, nan, nan},
		{"one sample each", []float64{1}, []float64{3}, 1, 2, 0, 1},
		{"equal", []float64{2, 2}, []float64{2, 2, 2}, 0, 0, 3, 1},
		{"infinite", []float64{1, 2, 3}, []float64{inf, inf, inf}, 1, nan, 0, 0.1},
		{"infinite and equal", []float64{inf}, []float64{inf}, 0, nan, 0.5, 1},
	} {
		u, p, _ := MannWhitney(test.a, test.b)
		if got := CliffDelta(test.a, test.b); !same(got, test.delta) {
			t.Errorf("%s: δ is %v", test.name, got)
		}
		if got := HodgesLehmann(test.a, test.b); !same(got, test.shift) || got == 0 && math.Signbit(got) {
			t.Errorf("%s: shift is %v", test.name, got)
		}
		if !same(u, test.u) || !same(p, test.p) && !near(p, test.p) {
			t.Errorf("%s: u is %v, p is %v", test.name, u, p)
		}
	}
	for name, lists := range map[string][2][]float64{
		"nothing": {}, "one side": {{1}, {}}, "a NaN": {{1, nan}, {1}}, "zero": {{1, 0}, {1}}, "negative": {{1}, {-1, 1}},
	} {
		if got := TOSTLists(lists[0], lists[1], -1, 1); !math.IsNaN(got) {
			t.Errorf("equivalence, %s: p is %v", name, got)
		}
	}
	if got := TOSTLists([]float64{1}, []float64{1}, nan, 1); !math.IsNaN(got) {
		t.Errorf("equivalence without a bound: p is %v", got)
	}
}

// Few different values, so that there are ties.
var list = rapid.Custom(func(t *rapid.T) []float64 {
	from := rapid.SampledFrom([]int{4, 50, 1 << 30}).Draw(t, "values")
	whole := rapid.SliceOfN(rapid.IntRange(1, from), 1, 30).Draw(t, "list")
	s := make([]float64, len(whole))
	for i, x := range whole {
		s[i] = float64(x) / 8
	}
	return s
})

func TestListsAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		beforeA, beforeB := slices.Clone(a), slices.Clone(b)
		var all []float64
		sum, u := 0.0, 0.0
		for _, x := range a {
			for _, y := range b {
				all = append(all, y-x)
				switch {
				case y > x:
					sum++
				case y < x:
					sum--
					u++
				default:
					u += 0.5
				}
			}
		}
		if got, want := CliffDelta(a, b), sum/float64(len(all)); !close2(got, want) {
			t.Fatalf("δ is %v, want %v", got, want)
		}
		if got, want := HodgesLehmann(a, b), Median(all); got != want {
			t.Fatalf("shift is %v, want %v", got, want)
		}
		gotU, p, _ := MannWhitney(a, b)
		if gotU != u || !(p > 0 && p <= 1) {
			t.Fatalf("u is %v, want %v; p is %v", gotU, u, p)
		}
		if !slices.Equal(a, beforeA) || !slices.Equal(b, beforeB) {
			t.Fatal("the lists were modified")
		}

		// The other way round.
		backU, backP, _ := MannWhitney(b, a)
		if backU != float64(len(all))-u || !close2(backP, p) || !close2(CliffDelta(b, a), -CliffDelta(a, b)) || HodgesLehmann(b, a) != -HodgesLehmann(a, b) {
			t.Fatalf("not symmetric: p %v and %v", p, backP)
		}

		// Ranks do not care for scale, the shift follows it.
		if CliffDelta(scaled(a, 4), scaled(b, 4)) != CliffDelta(a, b) || HodgesLehmann(scaled(a, 4), scaled(b, 4)) != 4*HodgesLehmann(a, b) {
			t.Fatal("does not scale")
		}
		// Wider bounds are easier to stay in.
		if narrow, wide := TOSTLists(a, b, -0.1, 0.1), TOSTLists(a, b, -0.3, 0.2); wide > narrow+1e-12 {
			t.Fatalf("p is %v, with wider bounds %v", narrow, wide)
		}
	})
}

// The exact distributions and the normal one agree where both can be computed.
func TestTailsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 12).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "m")
		u := rapid.IntRange(0, n*m).Draw(t, "u")
		less, greater := untiedTails(n, m, float64(u))
		ones := slices.Repeat([]int{1}, n+m)
		less2, greater2 := tiedTails(ones, n, m, float64(u))
		if !close2(less, less2) || !close2(greater, greater2) {
			t.Fatalf("without ties: %v and %v, %v and %v", less, less2, greater, greater2)
		}
		less3, greater3 := normalTails(ones, n, m, float64(u))
		if n >= 5 && m >= 5 && (math.Abs(less-less3) > 0.02 || math.Abs(greater-greater3) > 0.02) {
			t.Fatalf("normal: %v and %v, %v and %v", less, less3, greater, greater3)
		}
	})
}

// Under no difference a test at 5% fires in at most 5%, ties or not.
func TestMannWhitneyLevel(t *testing.T) {
	for _, test := range []struct {
		n, m   int
		values int
	}{{5, 5, 4}, {10, 10, 6}, {10, 10, 1 << 30}, {30, 30, 10}, {100, 80, 1 << 30}} {
		random := rand.New(rand.NewPCG(42, uint64(test.n)))
		const trials = 1500
		fired := 0
		for range trials {
			draw := func(n int) []float64 {
				s := make([]float64, n)
				for i := range s {
					s[i] = float64(random.IntN(test.values))
				}
				return s
			}
			if _, p, _ := MannWhitney(draw(test.n), draw(test.m)); p < 0.05 {
				fired++
			}
		}
		rate := percent(fired, trials)
		t.Logf("%d and %d of %d values: fires in %.1f%%", test.n, test.m, test.values, rate)
		if rate > 6.5 || rate < 1 {
			t.Errorf("%+v: fires in %.1f%%", test, rate)
		}
	}
}

func TestListsOfMany(t *testing.T) {
	a := sorted(series(1_000_000)) // else most of the test is sorting
	b := scaled(series(20_000), 1.02)
	if delta := CliffDelta(a, b); !(delta > 0.01 && delta < 0.1) {
		t.Errorf("δ is %v", delta)
	}
	if u, p, exact := MannWhitney(a, b); !(u < 1e10 && p < 1e-10) || exact {
		t.Errorf("u is %v, p is %v, exact %v", u, p, exact)
	}
	if shift := HodgesLehmann(a, b); !(shift > 0.9e-6 && shift < 1.6e-6) {
		t.Errorf("shift is %v", shift)
	}
	if _, _, exact := MannWhitney(b[:8], a); exact {
		t.Error("eight against a million is enumerated")
	}
}

func BenchmarkLists(b *testing.B) {
	x, y := series(100), scaled(series(100), 1.02)
	many, more := series(1_000_000), scaled(series(1_000_000), 1.02)
	ties := make([]float64, 20)
	for i := range ties {
		ties[i] = float64(i % 12)
	}
	for _, bench := range []struct {
		name string
		run  func()
	}{
		{"CliffDelta/100", func() { CliffDelta(x, y) }},
		{"CliffDelta/1000000", func() { CliffDelta(many, more) }},
		{"MannWhitney/exact20", func() { MannWhitney(x[:20], y[:20]) }},
		{"MannWhitney/ties20", func() { MannWhitney(ties, ties) }},
		{"MannWhitney/100", func() { MannWhitney(x, y) }},
		{"MannWhitney/1000000", func() { MannWhitney(many, more) }},
		{"HodgesLehmann/100", func() { HodgesLehmann(x, y) }},
		{"HodgesLehmann/1000000", func() { HodgesLehmann(many, more) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				bench.run()
			}
		})
	}
}
