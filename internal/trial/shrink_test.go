package trial

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/formula"
	"pawl/internal/spec"
)

func intValue(n int64) formula.Value { return formula.Int(n) }

func sizesOf(t Trial) []int64 {
	var list []int64
	for _, v := range t.Vars {
		n, _ := v.Value.Int()
		list = append(list, n)
	}
	return list
}

func trialOf(sizes ...int64) Trial {
	t := Trial{Lane: LaneMatrix, Repeats: 1}
	for i, n := range sizes {
		t.Vars = append(t.Vars, spec.Var{Name: string(rune('A' + i)), Value: intValue(n)})
	}
	return t
}

var abc = []string{"A", "B", "C"}

func TestShrink(t *testing.T) {
	for name, test := range map[string]struct {
		start Trial
		free  []string
		fails func(s []int64) bool
		want  []int64
	}{
		"everything fails":       {trialOf(448, 16, 4), abc, func([]int64) bool { return true }, []int64{1, 1, 1}},
		"nothing else fails":     {trialOf(448, 16, 4), abc, func([]int64) bool { return false }, []int64{448, 16, 4}},
		"from a size on":         {trialOf(448, 16, 4), abc, func(s []int64) bool { return s[0] >= 37 }, []int64{37, 1, 1}},
		"the product":            {trialOf(64, 64, 1), abc, func(s []int64) bool { return s[0]*s[1] >= 64 }, []int64{1, 64, 1}},
		"off the tile":           {trialOf(1000, 3, 2), abc, func(s []int64) bool { return s[0]%16 != 0 && s[0] > 16 }, []int64{17, 1, 1}},
		"what is fixed stays":    {trialOf(448, 16, 4), []string{"A", "C"}, func(s []int64) bool { return s[0] > 2 }, []int64{3, 16, 1}},
		"a name that is not one": {trialOf(5), []string{"Z", "A"}, func(s []int64) bool { return s[0] > 1 }, []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Shrink(context.Background(), test.start, test.free, func(c Trial) bool { return test.fails(sizesOf(c)) }, 1000)
			if !slices.Equal(sizesOf(got), test.want) {
				t.Errorf("%v, want %v", sizesOf(got), test.want)
			}
		})
	}
}

func TestShrinkPlainer(t *testing.T) {
	start := trialOf(8)
	start.Fill, start.Exact, start.Repeats = "integers", true, 3
	any := Shrink(context.Background(), start, abc, func(Trial) bool { return true }, 100)
	if any.Fill != "equal" || any.Exact || any.Repeats != 1 {
		t.Errorf("%+v: everything fails, so the plainest is enough", any)
	}
	random := Shrink(context.Background(), start, abc, func(c Trial) bool { return c.Fill != "equal" }, 100)
	if random.Fill != "" || random.Exact {
		t.Errorf("%+v", random)
	}
	racy := Shrink(context.Background(), start, abc, func(c Trial) bool { return c.Repeats > 1 && c.Fill == "integers" }, 100)
	if racy.Fill != "integers" || !racy.Exact || racy.Repeats != 3 {
		t.Errorf("%+v: only repeated runs differ", racy)
	}
}

func TestShrinkStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	got := Shrink(ctx, trialOf(1000, 1000, 1000), abc, func(Trial) bool {
		if calls++; calls == 3 {
			cancel()
		}
		return true
	}, 100)
	if calls != 3 || slices.Equal(sizesOf(got), []int64{1, 1, 1}) {
		t.Errorf("%d calls, %v", calls, sizesOf(got))
	}
}

// Whatever fails: the result does, was seen to, is no larger in any size, and nothing
// one step below it fails; and fails is asked no more often than allowed, nor twice
// about the same trial.
func TestShrinkProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(1, 5000)
		start := trialOf(size.Draw(t, "a"), size.Draw(t, "b"), size.Draw(t, "c"))
		start.Fill = rapid.SampledFrom(append([]string{""}, Fills...)).Draw(t, "fill")
		mod, least, product := rapid.Int64Range(1, 40).Draw(t, "mod"), size.Draw(t, "least"), size.Draw(t, "product")
		fill := rapid.SampledFrom([]string{"", "equal", "any"}).Draw(t, "only")
		wrong := func(c Trial) bool {
			s := sizesOf(c)
			if fill != "any" && c.Fill != fill && c.Fill != start.Fill {
				return false
			}
			return s[0]%mod == sizesOf(start)[0]%mod && s[1] >= min(least, sizesOf(start)[1]) && s[0]*s[2] >= min(product, sizesOf(start)[0]*sizesOf(start)[2])
		}
		if !wrong(start) {
			t.Fatal("the start must fail")
		}
		budget := rapid.IntRange(0, 400).Draw(t, "budget")
		seen := map[string]bool{}
		failed := []Trial{start}
		got := Shrink(context.Background(), start, abc, func(c Trial) bool {
			if seen[key(c)] {
				t.Fatalf("asked twice: %s", c.Name())
			}
			seen[key(c)] = true
			if wrong(c) {
				failed = append(failed, c)
				return true
			}
			return false
		}, budget)
		if len(seen) > budget {
			t.Fatalf("%d calls of %d", len(seen), budget)
		}
		if !slices.ContainsFunc(failed, func(c Trial) bool { return key(c) == key(got) }) {
			t.Fatalf("%s was never seen to fail", got.Name())
		}
		for i, n := range sizesOf(got) {
			if n > sizesOf(start)[i] || n < 1 {
				t.Fatalf("%v from %v", sizesOf(got), sizesOf(start))
			}
		}
		if len(seen) == budget {
			return // it may not have been done
		}
		for _, name := range abc {
			n, _ := got.integer(name)
			for _, below := range []int64{1, n - n/2, n - 1} {
				if below >= 1 && below < n && wrong(got.With(name, intValue(below))) {
					t.Fatalf("%s with %s=%d fails too", got.Name(), name, below)
				}
			}
		}
	})
}
