package judge

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// near compares with a wanted value, which is finite.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) }

// Outliers are clipped to two and a half standard deviations; where most samples are equal, none is
// clipped.
func TestPullIn(t *testing.T) {
	for _, test := range []struct{ values, want []float64 }{
		{[]float64{-2, -1, 0, 1, 100}, []float64{-2, -1, 0, 1, 2.5 * 1.4826}},
		{[]float64{-100, -1, 0, 1, 2}, []float64{-2.5 * 1.4826, -1, 0, 1, 2}},
		{[]float64{0, 0, 0, 5}, []float64{0, 0, 0, 5}},
	} {
		got := slices.Clone(test.values)
		if pullIn(got, 0); !slices.EqualFunc(got, test.want, near) {
			t.Errorf("%v became %v", test.values, got)
		}
	}
}

// contrasts are lists of different lengths, none of whose samples is far out.
func contrasts() map[string]*contrast {
	return map[string]*contrast{
		"shorter before": newUnpaired([]float64{1, 1.2}, []float64{1.1, 1.3, 1.45}),
		"shorter after":  newUnpaired([]float64{1.1, 1.3, 1.45, 1.05}, []float64{1, 1.2}),
		"equal":          newUnpaired([]float64{1, 1.2, 1.4}, []float64{1.1, 1.3, 1.5}),
		"pairs":          newPaired([]float64{1, 1.2, 1.4}, []float64{1.1, 1.3, 1.2}),
	}
}

// A contrast agrees with its lists, however it was computed.
func TestContrast(t *testing.T) {
	before, after := []float64{1, 1.2}, []float64{1.3, 1.1, 1.45}
	x := newUnpaired(before, after)
	logs := func(list []float64) []float64 {
		out := make([]float64, len(list))
		for i, v := range list {
			out[i] = math.Log(v)
		}
		return out
	}
	all := logs(slices.Concat(before, after))
	total := 0.0
	for _, v := range all {
		total += (v - stat.Mean(all)) * (v - stat.Mean(all))
	}
	if !slices.Equal(x.times, []float64{1, 1.1, 1.2, 1.3, 1.45}) || x.first != 2 || x.degrees != 3 || !near(x.size, 2*3/5.0) ||
		!near(x.total, total) || !near(x.observed, stat.Mean(logs(after))-stat.Mean(logs(before))) {
		t.Errorf("%+v, total %g", x, total)
	}
	p := newPaired([]float64{1, 1.2, 1.4}, []float64{1.1, 1.3, 1.2})
	ratios := []float64{math.Log(1.1), math.Log(1.3 / 1.2), math.Log(1.2 / 1.4)}
	if !p.paired || p.degrees != 2 || p.size != 3 || !slices.EqualFunc(p.times, ratios, near) || !near(p.observed, stat.Mean(ratios)) || !near(p.reach, math.Log(1.1)) {
		t.Errorf("%+v", p)
	}
}

// No assignment of the samples moves the median by more than the reach, and one moves it by exactly
// that.
func TestReach(t *testing.T) {
	for name, x := range contrasts() {
		if x.paired {
			continue
		}
		most := math.Inf(-1)
		for dealt := range 1 << len(x.times) {
			if bits.OnesCount(uint(dealt)) != x.first {
				continue
			}
			var before, after []float64
			for i, v := range x.times {
				if dealt>>i&1 == 1 {
					before = append(before, v)
				} else {
					after = append(after, v)
				}
			}
			change := math.Log(stat.Median(after) / stat.Median(before))
			most = max(most, change, -change)
		}
		if !near(x.reach, most) {
			t.Errorf("%s: reach %g, the most there is %g", name, x.reach, most)
		}
	}
}

// deal returns the difference of the two lists that it makes and that are judged. Every sample goes
// to a list in proportion to that list's length.
func TestDeal(t *testing.T) {
	for name, x := range contrasts() {
		s, source := &scratch{}, rand.NewPCG(1, 2)
		const deals = 4000
		gone := make([]int, len(x.values))
		for range deals {
			got, want := x.deal(source, s), 0.0
			x.judge(s, spec.DefaultGate)
			for i, v := range x.values {
				switch {
				case x.paired && s.exchanged(i):
					want -= v / float64(len(x.values))
					gone[i]++
				case x.paired:
					want += v / float64(len(x.values))
				case s.after[i]:
					want += v / float64(len(x.values)-x.first)
					gone[i]++
				default:
					want -= v / float64(x.first)
				}
			}
			if !near(got, want) {
				t.Fatalf("%s: the difference is %g, said to be %g", name, want, got)
			}
		}
		share := 0.5
		if !x.paired {
			share = float64(len(x.values)-x.first) / float64(len(x.values))
		}
		for i, n := range gone {
			if part := float64(n) / deals; math.Abs(part-share) > 0.06 {
				t.Errorf("%s: sample %d goes over in %.3f of dealings, want %.3f", name, i, part, share)
			}
		}
	}
}

// Samples assigned to their own files get the original verdict, and exchanged ones the opposite.
func TestDealtVerdicts(t *testing.T) {
	low, high := []float64{1, 1.001, 1.002, 1.003, 1.004}, []float64{1.2, 1.201, 1.202, 1.203, 1.204, 1.205}
	for name, test := range map[string]struct {
		x     *contrast
		order []int32 // indexes of the shorter list's samples first
		want  result.Verdict
	}{
		"the shorter one faster, before": {newUnpaired(low, high), []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, result.Regression},
		"the shorter one slower, before": {newUnpaired(low, high), []int32{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, result.Improvement},
		"the shorter one faster, after":  {newUnpaired(high, low), []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, result.Improvement},
		"the shorter one slower, after":  {newUnpaired(high, low), []int32{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, result.Regression},
	} {
		if got := test.x.judge(&scratch{order: test.order}, spec.DefaultGate); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	pairs := newPaired(slices.Repeat([]float64{1}, 12), []float64{1.2, 1.201, 1.202, 1.203, 1.2, 1.201, 1.202, 1.203, 1.2, 1.201, 1.202, 1.203})
	for bits, want := range map[uint64]result.Verdict{0: result.Regression, 1<<12 - 1: result.Improvement} {
		if got := pairs.judge(&scratch{bits: []uint64{bits}}, spec.DefaultGate); got != want {
			t.Errorf("pairs, exchanged %b: %s", bits, got)
		}
	}
}

// Without knowledge of the family, the strength is Student's t; with complete knowledge, the
// variance is the family's.
func TestStrength(t *testing.T) {
	for name, x := range contrasts() {
		inside := x.total - x.size*x.observed*x.observed
		want := x.observed * math.Sqrt(x.size/(inside/x.degrees))
		if got := (&family{typical: 9, weight: 0}).strength(x, x.observed); !near(got, want) {
			t.Errorf("%s alone: %g, want %g", name, got, want)
		}
		if got := (&family{typical: 0.25, weight: math.Inf(1)}).strength(x, 0.1); !near(got, 0.1*math.Sqrt(x.size)/0.5) {
			t.Errorf("%s in a family of one variance: %g", name, got)
		}
		if got := (&family{typical: 0, weight: math.Inf(1)}).strength(x, 0); got != 0 {
			t.Errorf("%s without a difference: %g", name, got)
		}
	}
	// Student's t by the textbook, for two lists.
	a, b := []float64{0, 0.2}, []float64{0.1, 0.3, 0.5}
	exp := func(list []float64) (out []float64) {
		for _, v := range list {
			out = append(out, math.Exp(v))
		}
		return out
	}
	pooled := (stat.Std(a)*stat.Std(a)*1 + stat.Std(b)*stat.Std(b)*2) / 3
	want := (stat.Mean(b) - stat.Mean(a)) / math.Sqrt(pooled*(1/2.0+1/3.0))
	x := newUnpaired(exp(a), exp(b))
	if got := (&family{weight: 0}).strength(x, x.observed); !near(got, want) {
		t.Errorf("t is %g, want %g", got, want)
	}
	// The family's typical variance comes from the variances around the common mean.
	c, own := Comparison{Before: exp(a), After: exp(b)}, x.total/4
	typical, _ := stat.PriorVariance([]float64{own, own, own}, []float64{4, 4, 4})
	if f := newFamily([]Comparison{c, c, c}, false, spec.DefaultGate); !near(f.typical, typical) {
		t.Errorf("typical is %g, want %g", f.typical, typical)
	}
}
