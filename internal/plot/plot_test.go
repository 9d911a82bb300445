package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// wrong says what makes a fragment unfit for a page: that it is not well formed, or
// that a coordinate is not a number.
func wrong(fragment string) error {
	d := xml.NewDecoder(strings.NewReader(fragment))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w in %s", err, fragment)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range element.Attr {
			if a.Name.Local == "aria-label" || a.Name.Local == "class" {
				continue
			}
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				return fmt.Errorf("%s=%q in %s", a.Name.Local, a.Value, fragment)
			}
		}
	}
}

func ratioFrame() Frame {
	s := FitRatios([]float64{0.8, 2.4})
	return Frame{Scale: s, Ticks: s.Ticks(6), Reference: 1, Height: 20}
}

func TestFrame(t *testing.T) {
	f := ratioFrame()
	name := func(v float64) string { return fmt.Sprintf("%g×", v) }
	golden(t, "axis", f.Axis(name))
	golden(t, "blank", f.Blank())
	golden(t, "dot", f.Dot(Mark{Value: 2.02, Low: 1.98, High: 2.07, Class: "faster", Label: "2.02×", Title: "gemm over <ref>"}))
	golden(t, "left", f.Dot(Mark{Value: 0.82, Low: math.NaN(), High: math.NaN(), Class: "slower", Label: "0.82×", Title: "gemm"}))
}

func TestLabelStaysInside(t *testing.T) {
	f := Frame{Scale: Linear(0, 10), Height: 20}
	for value, anchor := range map[float64]string{1: "start", 5: "start", 9: "end"} {
		got := f.Dot(Mark{Value: value, Label: "x"})
		if !strings.Contains(got, `text-anchor="`+anchor+`"`) {
			t.Errorf("%v: expected anchor %s in %s", value, anchor, got)
		}
	}
	wide := f.Dot(Mark{Value: 5, Low: 0, High: 10, Label: "x"})
	if !strings.Contains(wide, `text-anchor="start"`) {
		t.Errorf("no room on either side, and yet left: %s", wide)
	}
}

func TestDistribution(t *testing.T) {
	values := []float64{1, 1.1, 1.2, 1.2, 1.3, 1.3, 1.3, 1.4, 1.5, 1.9, 40}
	tags := []Tag{{1.3, "median", "median 1.3"}, {1.9, "p95", "p95"}, {50, "p95", "outside"}}
	bins := Bin(values, 1, 2, 10)
	want := Bins{Low: 1, High: 2, Counts: bins.Counts, Above: 1}
	if diff := cmp.Diff(want, bins); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	golden(t, "histogram", Histogram(bins, tags, 36, "11 samples"))
	golden(t, "strip", Strip(Linear(1, 2), values, tags, 36, "11 samples"))
}

func TestSeries(t *testing.T) {
	values := []float64{9, 7, 5, 4, 4, 5, 4, math.NaN(), math.NaN(), 5, 4, 4, 6, 5, 4, 30}
	apart := []Span{{0, 3, "warm-up: 3 samples & more"}, {2, 4, "overlaps"}, {40, 50, "outside"}}
	golden(t, "series", Series(Linear(3, 10), values, 100, apart, 36, "16 samples"))
	golden(t, "columns", Series(Linear(3, 10), values, 8, apart[:1], 36, "16 samples"))
	if got := Series(Linear(0, 1), []float64{0.5}, 10, nil, 36, ""); !strings.Contains(got, `d="M500 50h0"`) {
		t.Errorf("a single value is not seen: %s", got)
	}
}

var strange = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e300, 1e-300, 1}

func TestStrangeNumbers(t *testing.T) {
	for _, low := range strange {
		for _, high := range strange {
			for _, s := range []Scale{{}, Linear(low, high), Log(low, high), Fit([]float64{low, high}), FitRatios([]float64{low, high})} {
				f := Frame{Scale: s, Ticks: s.Ticks(6), Reference: low, Height: 20}
				bins := Bin(slices.Sorted(slices.Values(strange)), low, high, 10)
				for _, got := range []string{
					f.Axis(func(float64) string { return "" }), f.Blank(),
					f.Dot(Mark{Value: low, Low: high, High: low, Label: "x"}), f.Dot(Mark{Value: 1, Low: low, High: high}),
					Histogram(bins, []Tag{{Value: low}, {Value: high}}, 36, ""), Strip(s, strange, []Tag{{Value: low}}, 36, ""),
					Series(s, strange, 3, []Span{{From: -4, To: 2}, {From: 1, To: 99}}, 36, ""),
				} {
					if err := wrong(got); err != nil {
						t.Fatalf("%v to %v: %v", low, high, err)
					}
				}
			}
		}
	}
}

func TestNothing(t *testing.T) {
	var f Frame
	for _, got := range []string{
		f.Axis(nil), f.Blank(), f.Dot(Mark{}), Histogram(Bins{}, nil, 0, ""), Histogram(Bin(nil, 0, 1, 0), nil, 0, ""),
		Strip(Scale{}, nil, nil, 0, ""), Series(Scale{}, nil, 0, []Span{{}}, 0, ""),
	} {
		if err := wrong(got); err != nil {
			t.Error(err)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	const hostile = `"/><script>alert(1)</script><svg title='`
	f := ratioFrame()
	for _, got := range []string{
		f.Axis(func(float64) string { return hostile }), f.Dot(Mark{Value: 1, Class: hostile, Label: hostile, Title: hostile}),
		Histogram(Bin([]float64{1}, 0, 2, 4), []Tag{{1, hostile, hostile}}, 36, hostile), Strip(Linear(0, 2), []float64{1}, []Tag{{1, hostile, hostile}}, 36, hostile),
		Series(Linear(0, 2), []float64{1, 1}, 4, []Span{{0, 1, hostile}}, 36, hostile),
	} {
		if err := wrong(got); err != nil {
			t.Error(err)
		}
		if strings.Contains(got, "<script") {
			t.Errorf("not escaped: %s", got)
		}
	}
}

func TestBinsCountEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := slices.Sorted(slices.Values(rapid.SliceOf(rapid.OneOf(rapid.Float64Range(-10, 10), rapid.SampledFrom(strange))).Draw(t, "values")))
		low, high := rapid.Float64Range(-9, 9).Draw(t, "low"), rapid.Float64Range(-9, 9).Draw(t, "high")
		most := rapid.IntRange(-1, 50).Draw(t, "most")
		bins := Bin(values, low, high, most)
		if len(bins.Counts) < 1 || len(bins.Counts) > max(most, 1) {
			t.Fatalf("%d bins of at most %d", len(bins.Counts), most)
		}
		counted, finite := bins.Below+bins.Above, 0
		for _, n := range bins.Counts {
			counted += n
		}
		for _, v := range values {
			if usable(v) {
				finite++
			}
		}
		if counted != finite {
			t.Fatalf("%d of %d values counted", counted, finite)
		}
	})
}

// A page is not to grow with the number of samples.
func TestSeriesIsBounded(t *testing.T) {
	values := make([]float64, 100_000)
	for i := range values {
		values[i] = float64(i * 7919 % 1000)
	}
	if got := len(Series(Linear(0, 1000), values, 90, []Span{{0, 999, "warm-up"}}, 36, "")); got > 4000 {
		t.Errorf("%d bytes for 90 columns", got)
	}
}

func BenchmarkSeries(b *testing.B) {
	values := make([]float64, 20_000)
	for i := range values {
		values[i] = float64(i * 7919 % 1000)
	}
	for b.Loop() {
		Series(Linear(0, 1000), values, 90, nil, 36, "")
	}
}
