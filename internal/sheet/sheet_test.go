package sheet

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// example is a sheet with everything on it.
func example() Sheet {
	nan := math.NaN()
	noise := func(median float64) (list []float64) {
		for i := range 400 {
			x := math.Mod(float64(i)*0.6180339887, 1) // spread evenly
			list = append(list, median*(1+0.01*math.Tan(2.8*(x-0.5))))
		}
		return list
	}
	return Sheet{
		Title: "spill_bad(float *, const float *, int) <<<4096, 256>>>", Subtitle: "NVIDIA H200 · ncu 2025.3.1, caches flushed, clocks free", Versions: []string{"base", "change"},
		Roof: &Roof{Bandwidth: 4.8e12, Peak: 66.9e12, Pipe: "f32", Points: []Point{{526, 23.3e12}, {0.31, 0.98e12}}},
		Use: []Bar{
			{"SM", []float64{68, 15}},
			{"memory", []float64{8.7, 65}},
			{"DRAM", []float64{0.9, 65}},
			{"L2", []float64{5.2, 73}},
			{"L1", []float64{8.7, 34}},
			{"tensor cores", []float64{0.1, 0}},
			{"issue slots", []float64{71, 6.8}},
			{"occupancy", []float64{36, 91}},
			{"nobody knows", []float64{nan, nan}},
		},
		Waits: []Bar{
			{"long_scoreboard", []float64{2, 72}}, {"lg_throttle", []float64{nan, 25}}, {"not_selected", []float64{46, 1}}, {"dispatch_stall", []float64{16, 0.1}}, {"math_pipe_throttle", []float64{15.6, 0.1}}, {"selected", []float64{12, 0.5}}, {"wait", []float64{6.7, 0.8}},
		},
		Samples: [][]float64{noise(95e-6), noise(99e-6)},
		Facts:   []Fact{{"registers per thread", []string{"80", "32"}}, {"shared memory per block", []string{"0 B", "0 B"}}, {"possible occupancy", []string{"37.5%", "100%"}}, {"limited by", []string{"registers", "registers, warps"}}, {"instructions", []string{"67,170,304", "155,287,552"}}},
		Findings: []Finding{
			{"registers spill to local memory", "at most 47× faster", "56% of instructions load or store local memory; 32 registers per thread; warps wait 97% of the time for memory", "allow more registers: a larger second argument of __launch_bounds__ or no maxrregcount"},
			{"<script>alert(1)</script> & more", "gain not known", "a \x01 control character", ""},
		},
		Foot: "pawl 0.1.0",
	}
}

func TestPNG(t *testing.T) {
	for name, theme := range map[string]Theme{"light": Light, "dark": Dark} {
		var b bytes.Buffer
		if err := example().PNG(&b, theme); err != nil {
			t.Fatal(err)
		}
		if folder := os.Getenv("PAWL_KEEP_PICTURES"); folder != "" {
			if err := os.WriteFile(folder+"/sheet-"+name+".png", b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		picture, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w := picture.Bounds().Dx(); w != pageWidth*sharpness {
			t.Errorf("%d pixels wide", w)
		}
		ground := theme.palette()[back]
		if r, g, bl, _ := picture.At(1, 1).RGBA(); uint8(r>>8) != ground.R || uint8(g>>8) != ground.G || uint8(bl>>8) != ground.B {
			t.Errorf("%s: the ground is %x %x %x", name, r, g, bl)
		}
		marked := 0
		want := theme.palette()[accent]
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				if r, g, bl, _ := picture.At(x, y).RGBA(); uint8(r>>8) == want.R && uint8(g>>8) == want.G && uint8(bl>>8) == want.B {
					marked++
				}
			}
		}
		if marked < 5000 {
			t.Errorf("%s: %d pixels of the accent", name, marked)
		}
	}
}

func TestSVG(t *testing.T) {
	text, err := example().SVG(Auto)
	if err != nil {
		t.Fatal(err)
	}
	if folder := os.Getenv("PAWL_KEEP_PICTURES"); folder != "" {
		if err := os.WriteFile(folder+"/sheet.svg", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "&lt;script&gt;", "long_scoreboard", "35% of the roof", "66% of the roof", "not measured", "at most 47× faster", "80 → 32", "0 B</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range []string{"<script", "\x01", "NaN", "Inf", "nobody knows"} {
		if strings.Contains(text, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	again, err := example().SVG(Auto)
	if err != nil || again != text {
		t.Errorf("the same sheet gives other bytes (%v)", err)
	}
}

// Whatever is missing, there is a picture.
func TestPartialSheets(t *testing.T) {
	whole := example()
	for name, s := range map[string]Sheet{
		"empty": {}, "a title": {Title: "k"}, "one version": {Title: "k", Use: []Bar{{"SM", []float64{3}}}, Samples: [][]float64{{1, 2, 3}}},
		"no roof": {Title: "k", Roof: &Roof{}}, "a point at nothing": {Roof: &Roof{Bandwidth: 1e12, Peak: 1e12, Points: []Point{{0, 0}}}}, "equal samples": {Samples: [][]float64{{1, 1, 1}, {1, 1}}},
		"one sample": {Samples: [][]float64{{1}, {}}}, "beyond": {Use: []Bar{{"SM", []float64{250, -4}}}}, "without roof": {Use: whole.Use, Findings: whole.Findings},
		"a long title": {Title: strings.Repeat("template<int, int> ", 40), Findings: []Finding{{Title: strings.Repeat("word ", 60), Evidence: strings.Repeat("x", 500)}}},
	} {
		text, err := s.SVG(Light)
		if err != nil || !strings.HasSuffix(text, "</svg>\n") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %v %s", name, err, text)
		}
		if err := s.PNG(io.Discard, Dark); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names of templates have tens of thousands of letters, and a stranger's sentence may have more.
func TestLongTexts(t *testing.T) {
	endless, words := strings.Repeat("T", 1<<20), strings.Repeat("word ", 1<<17)
	s := example()
	s.Title, s.Subtitle, s.Foot, s.Versions = endless, words, endless, []string{endless, words}
	s.Use, s.Waits = []Bar{{endless, []float64{1, 2}}}, []Bar{{words, []float64{1, 2}}}
	s.Facts, s.Findings = []Fact{{"a", []string{endless, words}}}, []Finding{{endless, endless, endless, words}, {words, words, words, words}}
	began := time.Now()
	text, err := s.SVG(Light)
	if took := time.Since(began); err != nil || took > 5*time.Second || len(text) > 64<<10 {
		t.Errorf("%v: %d bytes after %v", err, len(text), took)
	}
	if _, rest, _ := strings.Cut(text, `height="`); len(strings.SplitN(rest, `"`, 2)[0]) > len("9999.5") {
		t.Errorf("a page too high: %.40s", rest)
	}
}

func BenchmarkPNG(b *testing.B) {
	s := example()
	for b.Loop() {
		if err := s.PNG(io.Discard, Light); err != nil {
			b.Fatal(err)
		}
	}
}
