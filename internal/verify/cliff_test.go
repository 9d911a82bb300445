package verify

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A cliff counts only if every try shows it: the slowest launch here is compared with the fastest
// there.
func TestCliff(t *testing.T) {
	here := instance(t, "k")
	near := Neighbours(here)[0]
	type times struct{ here, there float64 }
	same := func(here, there float64) []times {
		return []times{{here, there}, {here, there}, {here, there}, {here, there}}
	}
	for _, tc := range []struct {
		name  string
		looks []times
		says  string // "": nothing is found
		taken int    // tries
	}{
		{"none", same(100e-6, 290e-6), "", 1},
		{"a cliff", same(100e-6, 400e-6), "100 µs at this size, 400 µs at the next (N=65): 3.9 times as long", 4},
		{"less than a launch may vary by", same(1e-6, 5e-6), "", 1},
		{"once", []times{{148e-6, 2.53e-3}, {148e-6, 150e-6}}, "", 2},
		{"twice", []times{{148e-6, 2.53e-3}, {148e-6, 2.6e-3}, {2.6e-3, 2.5e-3}}, "", 3},
		{"all but the last", []times{{1e-4, 1e-3}, {1e-4, 1e-3}, {1e-4, 1e-3}, {1e-4, 1e-4}}, "", 4},
		{"each steep, and not to each other", []times{{1e-4, 4e-4}, {1e-3, 4e-3}}, "", 2},
		{"the least of it counts", []times{{1e-4, 1e-3}, {2e-4, 4e-3}, {1e-4, 8e-4}, {1e-4, 9e-4}}, "200 µs at this size, 800 µs at the next (N=65): 3.9 times", 4},
	} {
		taken := 1
		again := func() (float64, float64, error) {
			look := tc.looks[taken]
			taken++
			return look.here, look.there, nil
		}
		found, err := cliff(here, near, tc.looks[0].here, tc.looks[0].there, again)
		if err != nil || taken != tc.taken || (len(found) == 1) != (tc.says != "") {
			t.Errorf("%s: %+v, %v after %d looks", tc.name, found, err, taken)
			continue
		}
		if tc.says != "" && (found[0].Exploit != SpeedCliff || found[0].Severity != result.Suspicious || !strings.Contains(found[0].Message, tc.says)) {
			t.Errorf("%s: %+v", tc.name, found[0])
		}
	}
	gone := errors.New("the cell is gone")
	if found, err := cliff(here, near, 1e-4, 1e-3, func() (float64, float64, error) { return 0, 0, gone }); found != nil || !errors.Is(err, gone) {
		t.Errorf("%+v, %v", found, err)
	}
}

// The aligned size is a multiple of the power of two that the size is a multiple of, up to 256, unless
// that makes the problem too large.
func TestAligned(t *testing.T) {
	for _, tc := range []struct {
		size string
		want string // "": there is none
	}{
		{"64", "N=96"}, {"4096", "N=4352"}, {"1000", "N=1008"}, {"448", "N=512"}, {"12", "N=16"}, {"8", "N=12"}, {"1002", "N=1004"}, {"1001", ""}, {"16384", "N=16640"},
	} {
		s, err := spec.Parse("pawl.yaml", []byte("version: 1\nkernels:\n  k:\n    source: k.c\n    entry: k\n    args:\n      - {name: y, dtype: f32, shape: [N], role: out}\n    configs: {c: {N: "+tc.size+", SEED: 64}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		var variant spec.Variant
		for variant = range s.Kernels[0].Variants() {
			break
		}
		here, err := variant.At(s.Kernels[0].Configs[0])
		if err != nil {
			t.Fatal(err)
		}
		near := Neighbours(here)
		if len(near) != 1 {
			t.Fatalf("%s: %d neighbours", tc.size, len(near))
		}
		got := ""
		if aligned := Aligned(here, near[0]); aligned != nil {
			got = differing(here.Config, aligned.Config)
		}
		if got != tc.want {
			t.Errorf("N=%s: %q, expected %q", tc.size, got, tc.want)
		}
	}
}

// Launches that take nearly all the time they may are not cut off.
func TestFewSlowLaunches(t *testing.T) {
	b := &Bench{Candidate: Side{Instance: instance(t, "k")}, Timeout: time.Minute}
	m, spent := b.few(), 0.0
	for taken := 0; taken < m.Count && (taken == 0 || spent <= m.MaxS); taken++ { // as a cell takes them
		spent += b.Timeout.Seconds()
	}
	if spent > m.DeadlineS {
		t.Errorf("samples may take %v s, and are cut off after %v s", spent, m.DeadlineS)
	}
}

// A few elements that are wrong by a few times the tolerance may be rounding; many, a large error, NaN,
// what is no real number or answers that must be exact are not. Of a small output one element may be.
func TestRounded(t *testing.T) {
	few := result.OutputError{Count: 65536, Wrong: 4, Atol: 1e-5, Rtol: 1e-5, Worst: &result.Element{Got: "0.86340237", Want: "0.86337744"}}
	for name, tc := range map[string]struct {
		change func(*result.OutputError)
		want   bool
	}{
		"a few":          {func(*result.OutputError) {}, true},
		"many":           {func(o *result.OutputError) { o.Wrong = 700 }, false},
		"far":            {func(o *result.OutputError) { o.Worst = &result.Element{Got: "0.9", Want: "0.86"} }, false},
		"NaN":            {func(o *result.OutputError) { o.NaNs, o.Worst = 1, &result.Element{Got: "nan", Want: "0.86"} }, false},
		"not there":      {func(o *result.OutputError) { o.Blank = 1 }, false},
		"exact":          {func(o *result.OutputError) { o.Exact = true }, false},
		"one of a few":   {func(o *result.OutputError) { o.Count, o.Wrong = 64, 1 }, true},
		"two of a few":   {func(o *result.OutputError) { o.Count, o.Wrong = 64, 2 }, false},
		"near no number": {func(o *result.OutputError) { o.Worst = &result.Element{Got: "0", Want: "(0+1i)"} }, false},
		"no number":      {func(o *result.OutputError) { o.Worst = &result.Element{Got: "(0+1i)", Want: "0"} }, false},
		"none wrong":     {func(o *result.OutputError) { o.Wrong = 0 }, false},
	} {
		o := few
		tc.change(&o)
		if got := Rounded(&result.Case{Outputs: []result.OutputError{{Count: 9}, o}}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
