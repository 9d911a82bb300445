package sheet

import (
	"bytes"
	"fmt"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// searched returns a search with all that can be drawn.
func searched() Search {
	random := rand.New(rand.NewPCG(3, 4))
	s := Search{
		Title: "attention: 13.4% less time", Subtitle: "NVIDIA H200 · 140 of 4,212 settings in 5m0s", Foot: "pawl 0.1.0 · run 20261110T142233Z-7f3a9c2b1d04",
		Unit: "s", Today: 52e-6, Trade: &Trade{},
	}
	for i := range 140 {
		t := Try{Seconds: float64(i) * 2.1, Cost: 45e-6 * math.Exp(0.9*math.Abs(random.NormFloat64())*math.Exp(-float64(i)/90))}
		switch {
		case i == 0:
			t.Cost = 52e-6
		case random.IntN(6) == 0:
			t = Try{Seconds: t.Seconds, Failed: true}
		case t.Cost > 90e-6:
			t.Cut = true
		}
		s.Trials = append(s.Trials, t)
	}
	for i, name := range []string{"BLOCK_M", "BLOCK_N", "NUM_WARPS", "NUM_STAGES"} {
		e := Effect{Param: name, Share: 0.42 / float64(1+i*i)}
		for v := range 4 + i%2 {
			best := 45e-6 * (1 + 0.1*math.Abs(float64(v-1))/float64(1+i))
			e.Values = append(e.Values, EffectValue{Value: fmt.Sprint(16 << v), Best: best, Median: best * 1.2, Failed: float64(v*v) / 20, Suggested: v == 1, Today: v == 2})
		}
		s.Effects = append(s.Effects, e)
	}
	s.Effects[1].Values[3] = EffectValue{Value: "128", Failed: 1}
	for i := range 60 {
		s.Trade.Points = append(s.Trade.Points, TradePoint{Seconds: 48e-6 * (1 + 0.01*float64(i)), Joules: 0.022 * (1 + 0.3*random.Float64())})
	}
	s.Trade.Points = append([]TradePoint{{45e-6, 0.024, true, "suggested"}, {46e-6, 0.0225, true, ""}, {47e-6, 0.0215, true, ""}}, s.Trade.Points...)
	s.Trade.Points[40].Label = "today"
	return s
}

// The picture of a search as SVG, element by element.
func TestSearchGolden(t *testing.T) {
	for name, s := range map[string]Search{"search": searched(), "search_narrow": searched().Narrow()} {
		text, err := s.SVG(Auto)
		if err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "><", ">\n<")
		golden := filepath.Join("testdata", name+".svg.txt")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), text); d != "" {
			t.Errorf("go test ./internal/sheet -run TestSearchGolden -update\n%s", d)
		}
	}
}

// A picture is as wide as its screen, in both forms.
func TestSearchWidth(t *testing.T) {
	for _, test := range []struct {
		s     Search
		width int
	}{{searched(), 900}, {searched().Narrow(), 390}} {
		var b bytes.Buffer
		if err := test.s.PNG(&b, Dark); err != nil {
			t.Fatal(err)
		}
		config, err := png.DecodeConfig(&b)
		if err != nil {
			t.Fatal(err)
		}
		if config.Width != test.width*sharpness {
			t.Errorf("%d pixels, want %d", config.Width, test.width*sharpness)
		}
		if text, err := test.s.SVG(Light); err != nil || !strings.Contains(text, fmt.Sprintf(`width="%d"`, test.width)) {
			t.Errorf("the SVG is not %d wide: %v", test.width, err)
		}
	}
}

// extent is a canvas that remembers how far something was drawn.
type extent struct {
	*faces
	left, right, top, bottom float64
	odd                      bool
}

func (e *extent) point(x, y float64) {
	e.odd = e.odd || math.IsNaN(x+y) || math.IsInf(x+y, 0)
	e.left, e.right = math.Min(e.left, x), math.Max(e.right, x)
	e.top, e.bottom = math.Min(e.top, y), math.Max(e.bottom, y)
}

func (e *extent) points(list []float64) {
	for i := 0; i+1 < len(list); i += 2 {
		e.point(list[i], list[i+1])
	}
}

func (e *extent) rect(x, y, width, height float64, _ shade) {
	e.point(x, y)
	e.point(x+width, y+height)
}
func (e *extent) line(points []float64, _ float64, _ shade, _ []float64) { e.points(points) }
func (e *extent) area(points []float64, _ shade)                         { e.points(points) }
func (e *extent) circle(x, y, r float64, _ shade) {
	e.point(x-r, y-r)
	e.point(x+r, y+r)
}

func (e *extent) text(x, y, size float64, w weight, _ shade, a anchor, words string) {
	wide := e.width(words, size, w)
	x -= wide * map[anchor]float64{left: 0, middle: 0.5, right: 1}[a]
	e.point(x, y-size)
	e.point(x+wide, y)
}

// Whatever a search has, all that is drawn lies on the page.
func TestSearchStaysOnThePage(t *testing.T) {
	fonts, err := newFaces(1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.OneOf(rapid.Float64Range(1e-9, 1e3), rapid.Just(0.0), rapid.Just(1e-6), rapid.Just(1e299), rapid.Just(math.Inf(1)), rapid.Just(math.NaN()))
		s := Search{Title: rapid.StringMatching(`[A-Za-z_ ]{0,120}`).Draw(t, "title"), Unit: rapid.SampledFrom([]string{"s", "J", "×"}).Draw(t, "unit")}
		if v := cost.Draw(t, "today"); v > 0 && v < 1e300 {
			s.Today = v
		}
		for range rapid.IntRange(0, 12).Draw(t, "trials") {
			s.Trials = append(s.Trials, Try{Seconds: rapid.Float64Range(0, 1e5).Draw(t, "at"), Cost: cost.Draw(t, "cost"), Failed: rapid.Bool().Draw(t, "failed"), Cut: rapid.Bool().Draw(t, "cut")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "params") {
			e := Effect{Param: rapid.StringMatching(`[A-Z_]{1,60}`).Draw(t, "param"), Share: rapid.Float64Range(0, 1).Draw(t, "share")}
			for range rapid.IntRange(1, 12).Draw(t, "values") {
				v := EffectValue{Value: rapid.StringMatching(`[0-9a-z]{1,30}`).Draw(t, "value"), Failed: rapid.Float64Range(0, 1).Draw(t, "failed"), Today: rapid.Bool().Draw(t, "today")}
				if best := cost.Draw(t, "best"); best > 0 && best < 1e290 {
					v.Best, v.Median = best, best*1.5
				}
				e.Values = append(e.Values, v)
			}
			s.Effects = append(s.Effects, e)
		}
		if rapid.Bool().Draw(t, "trade") {
			s.Trade = &Trade{}
			for range rapid.IntRange(0, 5).Draw(t, "points") {
				s.Trade.Points = append(s.Trade.Points, TradePoint{cost.Draw(t, "seconds"), cost.Draw(t, "joules"), rapid.Bool().Draw(t, "front"), "name"})
			}
		}
		if rapid.Bool().Draw(t, "narrow") {
			s = s.Narrow()
		}
		e := &extent{faces: fonts}
		height := s.draw(e)
		if e.odd || e.left < -1 || e.top < -1 || e.right > s.width()+1 || e.bottom > height+1 {
			t.Fatalf("drawn from %.0f, %.0f to %.0f, %.0f on a page of %.0f × %.0f", e.left, e.top, e.right, e.bottom, s.width(), height)
		}
	})
}
