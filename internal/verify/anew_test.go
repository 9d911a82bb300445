package verify

import (
	"math/rand/v2"
	"testing"

	"pawl/internal/result"
	"pawl/internal/stat"
)

// rememberer returns the timing of a version that takes fresh seconds on data it has not seen, and
// again seconds on data it has, in turns of five samples of which one is fresh in every third turn.
// The usual time of a place comes from fifteen samples.
func rememberer(r *rand.Rand, requests int, fresh, again, noise float64) *result.Timing {
	t := &result.Timing{}
	scattered := func(seconds float64) float64 { return seconds * (1 + noise*r.Float64()) }
	for turn := range 3 * requests {
		from := len(t.Samples.Seconds)
		at := from + r.IntN(5)
		for i := from; i < from+5; i++ {
			seconds := again
			if i == at && turn%3 == 0 {
				seconds = fresh
			}
			t.Samples.Seconds = append(t.Samples.Seconds, scattered(seconds))
		}
		if turn%3 == 0 {
			var usual []float64
			for range 15 {
				usual = append(usual, scattered(again))
			}
			t.Samples.Fresh = append(t.Samples.Fresh, result.Fresh{At: at, UsualS: stat.Median(usual)})
		}
	}
	return t
}

func TestAnew(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	honest := rememberer(r, 20, 100e-6, 100e-6, 0.1)
	dropped := rememberer(r, 20, 100e-6, 30e-6, 0.1)
	for i := range 13 { // of 20
		dropped.Samples.Fresh[i].UsualS = 0
	}
	for _, test := range []struct {
		name        string
		mine, other *result.Timing
		found       bool
	}{
		{"remembers", rememberer(r, 20, 110e-6, 30e-6, 0.1), honest, true},
		{"remembers, and noise", rememberer(r, 40, 110e-6, 30e-6, 0.5), rememberer(r, 40, 100e-6, 100e-6, 0.5), true},
		{"is faster on all data", rememberer(r, 20, 50e-6, 50e-6, 0.1), honest, false},
		{"is slower on all data", rememberer(r, 20, 200e-6, 200e-6, 0.1), honest, false},
		{"most of what it gains is there on all data", rememberer(r, 20, 50e-6, 30e-6, 0.1), honest, false},
		{"new data takes both longer", rememberer(r, 20, 90e-6, 50e-6, 0.1), rememberer(r, 20, 140e-6, 100e-6, 0.1), false},
		{"no faster, and slower on new data", rememberer(r, 20, 130e-6, 100e-6, 0.1), honest, true},
		{"new data takes both longer by the same factor", rememberer(r, 20, 900e-6, 680e-6, 0.1), rememberer(r, 20, 160e-6, 120e-6, 0.1), false},
		{"no faster, and 15% slower on new data", rememberer(r, 20, 115e-6, 100e-6, 0.01), rememberer(r, 20, 100e-6, 100e-6, 0.01), true},
		{"a little slower on new data", rememberer(r, 20, 103e-6, 100e-6, 0.1), honest, false},
		{"the other is quicker on new data", rememberer(r, 300, 200e-6, 200e-6, 0.05), rememberer(r, 300, 38e-6, 50e-6, 0.05), false},
		{"slower and scattered", rememberer(r, 300, 200e-6, 200e-6, 0.5), rememberer(r, 300, 47e-6, 50e-6, 0.02), false},
		{"too few to tell", rememberer(r, 7, 110e-6, 30e-6, 0), honest, false},
		{"too few of the other", rememberer(r, 20, 110e-6, 30e-6, 0), rememberer(r, 7, 100e-6, 100e-6, 0), false},
		{"all but a few with nothing to compare them with", dropped, honest, false},
		{"there is no other", honest, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := Anew(test.mine, test.other, 0); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
		})
	}
}

// Six samples above seven happen by chance once in 858 times, seven above seven once in 1716.
func TestGreater(t *testing.T) {
	from := func(first float64, n int, step float64) (out []float64) {
		for i := range n {
			out = append(out, first+float64(i)*step)
		}
		return out
	}
	for name, test := range map[string]struct {
		one, other []float64
		want       bool
	}{
		"six above seven":   {from(10, 6, 1), from(0, 7, 1), false},
		"seven above seven": {from(10, 7, 1), from(0, 7, 1), true},
		"seven below seven": {from(0, 7, 1), from(10, 7, 1), false},
		"a little above":    {from(0.11, 200, 0.005), from(0, 200, 0.005), true},
		"a little below":    {from(0, 200, 0.005), from(0.11, 200, 0.005), false},
	} {
		if got := greater(test.one, test.other); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// together returns the timings of two versions with pairs of samples on the same new data.
func together(r *rand.Rand, pairs int, noise float64, mine, theirs [2]float64) (a, b *result.Timing) {
	scattered := func(seconds float64) float64 { return seconds * (1 + noise*(r.Float64()-0.5)) }
	a, b = &result.Timing{}, &result.Timing{}
	for pair := range pairs {
		for _, side := range []struct {
			t    *result.Timing
			took [2]float64
		}{{a, mine}, {b, theirs}} {
			samples := &side.t.Samples
			samples.Fresh = append(samples.Fresh, result.Fresh{At: len(samples.Seconds), Pair: pair + 1})
			samples.Seconds = append(samples.Seconds, scattered(side.took[0]))
			for range 12 {
				samples.Seconds = append(samples.Seconds, scattered(side.took[1]))
			}
		}
	}
	return a, b
}

func TestAnewTogether(t *testing.T) {
	for _, test := range []struct {
		name         string
		pairs        int
		mine, theirs [2]float64 // microseconds on new data, and usually
		claimed      float64
		found        bool
	}{
		{"all of the gain is lost", 30, [2]float64{100, 30}, [2]float64{100, 100}, 0, true},
		{"ten pairs will do", 10, [2]float64{100, 30}, [2]float64{100, 100}, 0, true},
		{"nine will not", 9, [2]float64{100, 30}, [2]float64{100, 100}, 0, false},
		{"all of it is there", 30, [2]float64{30, 30}, [2]float64{100, 100}, 0, false},
		{"most of it is there", 30, [2]float64{50, 30}, [2]float64{100, 100}, 0, false},
		{"less than two thirds are", 30, [2]float64{60, 30}, [2]float64{100, 100}, 0, true},
		{"new data takes both longer by as much", 30, [2]float64{130, 30}, [2]float64{200, 100}, 0, false},
		{"and both are quicker on it by as many times", 30, [2]float64{3, 30}, [2]float64{10, 100}, 0, false},
		{"a tenth, lost", 30, [2]float64{100, 90}, [2]float64{100, 100}, 0, true},
		{"a small gain, lost", 30, [2]float64{100, 95.5}, [2]float64{100, 100}, 0, false},
		{"no gain", 30, [2]float64{130, 100}, [2]float64{100, 100}, 0, false},
		{"a gain that medians do not show", 30, [2]float64{100, 100}, [2]float64{100, 100}, -0.5, true},
		{"a loss is claimed", 30, [2]float64{130, 130}, [2]float64{100, 100}, 0.3, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			mine, theirs := together(rand.New(rand.NewPCG(7, 8)), test.pairs, 0.02, test.mine, test.theirs)
			if found := Anew(mine, theirs, test.claimed); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
			if n := CountAnew(mine, theirs); n != test.pairs {
				t.Errorf("%d pairs, want %d", n, test.pairs)
			}
			for i := range mine.Samples.Fresh { // of other turns
				mine.Samples.Fresh[i].Pair += 1000
			}
			if found := Anew(mine, theirs, test.claimed); len(found) > 0 || CountAnew(mine, theirs) > 0 {
				t.Errorf("of different data: %+v", found)
			}
		})
	}
}

// Threads that must be woken before some samples on new data are no memory; a version without threads has
// no such excuse, nor has one that takes longer in all of them.
func TestAnewWithThreads(t *testing.T) {
	for _, test := range []struct {
		share, threads int // of a hundred samples on new data that take longer
		found          bool
	}{{80, 2, false}, {80, 0, true}, {80, 1, true}, {100, 2, true}} {
		r := rand.New(rand.NewPCG(5, 6))
		slow := func(mine *result.Timing) {
			mine.Threads = test.threads
			for i, f := range mine.Samples.Fresh {
				mine.Samples.Seconds[f.At] = 45e-6
				if i*test.share/100 != (i+1)*test.share/100 {
					mine.Samples.Seconds[f.At] = 120e-6
				}
			}
		}
		mine, other := rememberer(r, 60, 45e-6, 45e-6, 0.1), rememberer(r, 60, 54e-6, 54e-6, 0.1)
		slow(mine)
		if got := Anew(mine, other, 0); (len(got) == 1) != test.found {
			t.Errorf("usual times, %+v: %+v", test, got)
		}
		mine, other = together(r, 60, 0.02, [2]float64{45e-6, 45e-6}, [2]float64{54e-6, 54e-6})
		slow(mine)
		if got := Anew(mine, other, 0); (len(got) == 1) != test.found {
			t.Errorf("pairs, %+v: %+v", test, got)
		}
	}
}

// Versions that are honestly faster are almost never accused, whatever the time on new data.
func TestAnewTogetherByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	accused := 0
	for range 4000 {
		usual, longer := 20+70*r.Float64(), 100*r.Float64()
		mine, theirs := together(r, 10+r.IntN(40), 1, [2]float64{usual + longer + 4, usual}, [2]float64{100 + longer, 100})
		accused += len(Anew(mine, theirs, 0))
	}
	if accused > 4 {
		t.Errorf("%d of 4000 are accused", accused)
	}
}

// Equal versions are almost never told apart.
func TestAnewByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	accused := 0
	for range 4000 {
		mine, other := rememberer(r, 8+r.IntN(20), 104e-6, 100e-6, 1), rememberer(r, 8+r.IntN(20), 100e-6, 100e-6, 1)
		accused += len(Anew(mine, other, 0))
	}
	if accused > 4 {
		t.Errorf("%d of 4000 are accused", accused)
	}
}

// Microseconds by which samples on new data exceeded the usual time at their place, in a check of
// python/memory_until_new_data against the honest softmax on a busy machine: in some cells it never
// had a chance to remember.
var (
	rememberedMore = []float64{-166, -143, -136, -65, -60, -58, -45, 3, 11, 20, 37, 39, 589, 666, 689, 725, 725, 765, 781, 870, 887, 913, 916, 923, 923, 933, 948, 950, 963, 979, 1000, 1032, 1036, 1111, 1205, 1497, 1767, 2472, 2959}
	honestMore     = []float64{-1037, -943, -909, -898, -861, -854, -648, -577, -570, -546, -480, -452, -435, -314, -281, -268, -193, -180, -163, -158, -150, -133, -132, -130, -124, -122, -119, -116, -105, -102, -97, -96, -94, -83, -80, -65, -61, -52, -48, -48, -33, -28, -6, -5, 1, 10, 22, 30, 30, 33, 36, 38, 40, 42, 46, 51, 53, 96, 104, 105, 113, 127, 167, 184, 199, 272, 394, 673, 712}
)

func TestAnewOfARealCheck(t *testing.T) {
	timing := func(usual float64, more []float64) *result.Timing {
		out := &result.Timing{}
		for range 1500 {
			out.Samples.Seconds = append(out.Samples.Seconds, usual)
		}
		for _, m := range more {
			out.Samples.Fresh = append(out.Samples.Fresh, result.Fresh{At: len(out.Samples.Seconds), UsualS: usual})
			out.Samples.Seconds = append(out.Samples.Seconds, usual+m*1e-6)
		}
		return out
	}
	if found := Anew(timing(1005e-6, rememberedMore), timing(2003e-6, honestMore), 0); len(found) != 1 {
		t.Error("not found")
	}
	if found := Anew(timing(1005e-6, honestMore), timing(2003e-6, rememberedMore), 0); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
