package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func gated() Levels {
	s := Linear(-0.06, 0.07)
	return Levels{
		Scale: s, Ticks: s.Ticks(7), Height: 150, Band: Mark{Value: 0.05, Low: 0.047, High: 0.053, Class: "slower"},
		Rules: []Tag{{Value: 0, Class: "zero"}, {Value: 0.03, Class: "gate", Title: "+3%"}, {Value: -0.5, Class: "gate", Title: "outside"}},
	}
}

func TestLevels(t *testing.T) {
	l := gated()
	golden(t, "levels", l.Draw([]Tag{{0.05, "first", "cell 1"}, {math.NaN(), "first", ""}, {0.2, "second", "cell <3>"}}, "a & b"))
	golden(t, "levelaxis", l.Axis(func(v float64) string { return fmt.Sprintf("%g%%", 100*v) }))
}

// A tick does not write over the name of a rule.
func TestLevelAxisLeavesRoomForRules(t *testing.T) {
	l := gated()
	l.Ticks = []float64{0.025, 0.03, 0.06}
	got := l.Axis(func(v float64) string { return fmt.Sprintf("tick %g", v) })
	if strings.Contains(got, "tick 0.025") || strings.Contains(got, "tick 0.03<") || !strings.Contains(got, "tick 0.06") || !strings.Contains(got, ">+3%<") || strings.Contains(got, "outside") {
		t.Error(got)
	}
}

func TestOverlay(t *testing.T) {
	a := []float64{1, 1.1, 1.2, 1.2, 1.3, 1.3, 1.3, 1.4, 1.5, 1.9}
	b := []float64{1.5, 1.6, 1.6, 1.7, 40}
	bins := BinTogether([][]float64{a, b}, 1, 2, 10)
	tags := []Tag{{1.3, "median base", "median 1.3"}}
	golden(t, "overlay", Histograms([]Layer{{bins[0], "base"}, {bins[1], "own"}}, tags, 96, "two lists"))
	golden(t, "courses", Courses(Linear(1, 2), []Course{{a, "base"}, {b, "own"}, {nil, "best"}, {[]float64{1.5}, "best"}}, 4, 96, "two lists"))
}

func TestBinsTogetherAreAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(0, 10), 0, 50), 1, 4).Draw(t, "lists")
		for _, list := range lists {
			slices.Sort(list)
		}
		bins := BinTogether(lists, 2, 8, 20)
		for i, b := range bins {
			if len(b.Counts) != len(bins[0].Counts) || b.Low != bins[0].Low || b.High != bins[0].High {
				t.Fatalf("%v beside %v", b, bins[0])
			}
			all := b.Below + b.Above
			share := 0.0
			for _, n := range b.Counts {
				all += n
				share += b.share(n)
			}
			if all != len(lists[i]) || share > 1+1e-9 {
				t.Fatalf("%d of %d values, shares of %v", all, len(lists[i]), share)
			}
		}
	})
}

func TestStrangeOverlays(t *testing.T) {
	const hostile = `"/><script>alert(1)</script><svg title='`
	for _, low := range strange {
		for _, high := range strange {
			s := Linear(low, high)
			l := Levels{Scale: s, Ticks: s.Ticks(5), Height: 100, Band: Mark{Value: low, Low: low, High: high, Class: hostile}, Rules: []Tag{{Value: high, Class: hostile, Title: hostile}}}
			sorted := slices.Sorted(slices.Values(strange))
			var layers []Layer
			for _, bins := range BinTogether([][]float64{sorted, nil}, low, high, 10) {
				layers = append(layers, Layer{bins, hostile})
			}
			f := Frame{Scale: s, Rules: []Tag{{low, hostile, hostile}, {high, "", ""}}, Height: 20}
			for _, got := range []string{
				l.Axis(func(float64) string { return hostile }), l.Draw([]Tag{{low, hostile, hostile}, {high, "", ""}, {1, "", ""}}, hostile), f.Blank(),
				Histograms(layers, []Tag{{low, hostile, hostile}}, 36, hostile), Courses(s, []Course{{strange, hostile}, {sorted, ""}}, 3, 36, hostile),
			} {
				if err := wrong(got); err != nil {
					t.Fatalf("%v to %v: %v", low, high, err)
				}
				if strings.Contains(got, "<script") {
					t.Fatalf("not escaped: %s", got)
				}
			}
		}
	}
	for _, got := range []string{Levels{}.Axis(nil), Levels{}.Draw(nil, ""), Histograms(nil, nil, 0, ""), Courses(Scale{}, nil, 0, 0, "")} {
		if err := wrong(got); err != nil {
			t.Error(err)
		}
	}
}
