package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

var pages = flag.String("pages", "", "write pages to look at into this folder")

func pageOf(t testing.TB, r *result.Report) string {
	t.Helper()
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// pictured returns the sample with samples to draw and resources to list.
func pictured() *result.Report {
	r := sample()
	random := rand.New(rand.NewPCG(3, 4))
	r.Rows[0].Timing = drawn(random, 1.2345e-3, 60)
	r.Rows[0].Vars = map[string]string{"M": "512", "N": "512"}
	r.Rows[0].Build = &result.Build{Resources: []result.Resources{{Entry: "gemm", Registers: 96, SpillStores: 8, SpillLoads: 16}}}
	r.Rows[0].Rivals[0].Row.Timing = drawn(random, 2.5e-3, 20)
	r.Rows[1].Timing = drawn(random, 52.1e-6, 45)
	return r
}

// The style sheets are seen, not compared.
var styleSheet = regexp.MustCompile(`(?s)<style>.*</style>`)

func TestHTML(t *testing.T) {
	golden(t, "html", styleSheet.ReplaceAllString(pageOf(t, pictured()), "<style/>"))
}

func TestHTMLOfNothing(t *testing.T) {
	r := &result.Report{Schema: result.Schema, Kind: result.KindBench}
	checkPage(t, pageOf(t, r))
	r = sample()
	r.Rows, r.Warnings = nil, nil
	page := pageOf(t, r)
	checkPage(t, page)
	if !strings.Contains(page, "Nothing was measured.") {
		t.Error("does not say that nothing was measured")
	}
}

// checkPage makes sure that every element is closed and that the page is made of
// known elements and attributes only: nothing that runs, and nothing from elsewhere.
func checkPage(t *testing.T, page string) {
	t.Helper()
	elements := strings.Fields(`html head meta title style body header h1 dl div dt dd nav a main section h2 h3 article
		table thead tbody tr th td p ul li pre details summary span b small footer img picture source svg g path line circle rect text`)
	attributes := strings.Fields(`lang charset name content http-equiv class data-head id href scope colspan open role aria-label aria-hidden
		width height viewBox preserveAspectRatio tabindex d x y x1 x2 y1 y2 cx cy r dx dy text-anchor alt src srcset media`)
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains(elements, element.Name.Local) {
			t.Errorf("unexpected element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if !slices.Contains(attributes, a.Name.Local) {
				t.Errorf("unexpected attribute %s of %s", a.Name.Local, element.Name.Local)
			}
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("refers to %s", a.Value)
			}
			if a.Name.Local == "src" {
				checkPicture(t, a.Value)
			}
		}
	}
	_, sheet, _ := strings.Cut(page, "<style>")
	sheet, _, _ = strings.Cut(sheet, "</style>")
	for _, word := range []string{"url(", "@import", "//"} {
		if strings.Contains(sheet, word) {
			t.Errorf("the style sheet has %s", word)
		}
	}
}

// checkPicture makes sure that a picture stands in the page itself, is whole, and has nothing that runs.
func checkPicture(t *testing.T, address string) {
	t.Helper()
	packed, own := strings.CutPrefix(address, "data:image/svg+xml;base64,")
	svg, err := base64.StdEncoding.DecodeString(packed)
	if !own || err != nil {
		t.Fatalf("a picture from elsewhere: %.80s", address)
	}
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("a picture is not well formed: %v", err)
		}
		if element, ok := token.(xml.StartElement); ok && !slices.Contains(strings.Fields("svg title style rect text path circle"), element.Name.Local) {
			t.Errorf("unexpected element %s in a picture", element.Name.Local)
		}
	}
}

func TestHTMLIsClosedAndSelfContained(t *testing.T) {
	for name, r := range map[string]*result.Report{"sample": sample(), "pictured": pictured(), "sweep": sweep()} {
		t.Run(name, func(t *testing.T) { checkPage(t, pageOf(t, r)) })
	}
}

func TestHTMLLinksLeadSomewhere(t *testing.T) {
	page := pageOf(t, sweep())
	links := regexp.MustCompile(`href="#(\w+)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 5 {
		t.Errorf("only %d links", len(links))
	}
	for _, link := range links {
		if strings.Count(page, `id="`+link[1]+`"`) != 1 {
			t.Errorf("#%s is not there once", link[1])
		}
	}
}

// hostile replaces every text of a value, names of maps included.
func hostile(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			hostile(v.Elem(), text)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			hostile(v.Field(i), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			hostile(v.Index(i), text)
		}
	case reflect.Map:
		if v.Len() > 0 {
			made := reflect.MakeMap(v.Type())
			value := reflect.New(v.Type().Elem()).Elem()
			for _, one := range v.Seq2() {
				value.Set(one)
				break
			}
			hostile(value, text)
			made.SetMapIndex(reflect.ValueOf(text), value)
			v.Set(made)
		}
	case reflect.String:
		v.SetString(text)
	}
}

func TestHostileText(t *testing.T) {
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><script>`, `</title></svg><script>`,
		`{{.Tool}}`, `<!--`, `]]>`, `&lt;script&gt;`, "\x1b[2J\x00\x7f\u0085", "\xff\xfe", "javascript:alert(1)",
	} {
		r := sweep()
		r.Rows = append(r.Rows[len(r.Rows)-1:], pictured().Rows...)
		hostile(reflect.ValueOf(r), text)
		page := pageOf(t, r)
		checkPage(t, page)
		if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
			t.Errorf("%q is not escaped", text)
		}
	}
}

// Two hundred rows fit into 3 MB, and how many samples each has does not matter.
func TestHTMLIsBounded(t *testing.T) {
	r := sweep()
	random := rand.New(rand.NewPCG(5, 6))
	timing := drawn(random, 1e-3, 1_000)
	row := r.Rows[0]
	r.Rows = nil
	for i := range 200 {
		made := *row
		made.Config = strings.Repeat("c", 1+i%30) + row.Config
		made.Timing, made.Rivals, made.Log = timing, nil, strings.Repeat("much to say\n", 10_000)
		if i%20 == 0 {
			made.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: made.Config}
			made.Build = &result.Build{Output: strings.Repeat(strings.Repeat("error ", 200)+"\n", 200)}
		}
		r.Rows = append(r.Rows, &made)
	}
	page := pageOf(t, r)
	if most := 3 << 20; len(page) > most {
		t.Errorf("%d bytes, more than %d", len(page), most)
	}
	checkPage(t, page)

	r.Rows = r.Rows[1:2]
	few := len(pageOf(t, r))
	r.Rows[0].Timing = drawn(random, 1e-3, 20_000)
	if many := len(pageOf(t, r)); float64(many) > 1.02*float64(few) {
		t.Errorf("%d bytes with 1,000 samples, %d with 20,000", few, many)
	}
}

func TestStripsAreBounded(t *testing.T) {
	r := sweep()
	rows := r.Rows
	for range 6 {
		r.Rows = append(r.Rows, rows...)
	}
	made := allStrips(r)
	if len(made) != 1 || len(made[0].Strips) != mostStrips || made[0].Open || made[0].Lines[0].Text != "90 more lines in the JSON report" {
		t.Errorf("%d kernels, %d lines, open %v, %v", len(made), len(made[0].Strips), made[0].Open, made[0].Lines)
	}
}

func TestJudged(t *testing.T) {
	rival := func(low, high float64) line {
		return line{row: &result.Row{}, rival: &result.Rival{Ratio: &result.Ratio{Median: (low + high) / 2, Low: low, High: high}}}
	}
	fault := &result.Fault{Cause: result.CauseCrash}
	for _, test := range []struct {
		line line
		want view.Cell
	}{
		{rival(1.1, 1.3), view.Cell{Tone: view.Faster, Text: "1.20×", Rest: " [1.10, 1.30]"}},
		{rival(0.8, 0.9), view.Cell{Tone: view.Slower, Text: "0.85×", Rest: " [0.80, 0.90]"}},
		{rival(0.9, 1.1), view.Cell{Tone: view.Even, Text: "1.00×", Rest: " [0.90, 1.10]"}},
		{line{row: &result.Row{}}, view.Cell{}},
		{line{row: &result.Row{Verdict: result.Improvement}}, view.Cell{Tone: "good", Text: "improvement"}},
		{line{row: &result.Row{Verdict: result.Regression}}, view.Cell{Tone: "bad", Text: "regression"}},
		{line{row: &result.Row{Verdict: result.Broken, Fault: fault}}, view.Cell{Tone: "bad", Text: "broken: crash"}},
		{line{row: &result.Row{Fault: fault}}, view.Cell{Tone: "unsure", Text: "not measured: crash"}},
		{line{row: &result.Row{Verdict: result.Inconclusive}}, view.Cell{Tone: "unsure", Text: "inconclusive"}},
		{line{row: &result.Row{Verdict: result.New}}, view.Cell{Tone: "plain", Text: "new"}},
	} {
		if diff := cmp.Diff(test.want, test.line.judged()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// A rival that could not be measured is named all the same.
func TestChartOfBrokenRivals(t *testing.T) {
	r := sample()
	r.Rows = r.Rows[:1]
	r.Rows[0].Rivals = r.Rows[0].Rivals[1:]
	made := charts(r)
	if len(made) != 1 || made[0].Ratios == nil {
		t.Fatalf("got %+v", made)
	}
	got := made[0].Groups[0].Lines
	if len(got) != 2 || got[1].Label != "sdpa" || got[1].Badge.Text != "broken: crash" {
		t.Errorf("got %+v", got)
	}
	r.Rows[0].Rivals = nil
	if made := charts(r); made[0].Ratios != nil {
		t.Error("speedups without a rival")
	}
}

func TestStandings(t *testing.T) {
	row := func(low, median, high float64) *result.Row {
		return &result.Row{Kernel: "k", Rivals: []*result.Rival{
			{Label: "r", Row: &result.Row{}, Ratio: &result.Ratio{Median: median, Low: low, High: high}},
			{Label: "broken", Row: &result.Row{}},
		}}
	}
	r := &result.Report{Rows: []*result.Row{row(1.9, 2, 2.1), row(0.45, 0.5, 0.55), row(0.9, 1, 1.1)}}
	want := []overall{{kernel: "k", rival: "r", tone: view.Even, mean: 1, low: 0.5, high: 2, faster: 1, slower: 1, even: 1}}
	if diff := cmp.Diff(want, standings(r), cmp.AllowUnexported(overall{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Rows = r.Rows[:1]
	if got := standings(r); got != nil {
		t.Errorf("one config is no sweep: %v", got)
	}
}

func TestResources(t *testing.T) {
	r := sweep()
	s := resourceSheet(r)
	want := &view.Table{
		Look: "sheet",
		Columns: []view.Column{
			{Head: "kernel"},
			{Head: "entry"},
			{Head: "registers", Number: true},
			{Head: "static shared", Number: true},
			{Head: "dynamic shared", Number: true},
			{Head: "spilled", Number: true},
			{Head: "constant", Number: true},
			{Head: "occupancy", Number: true},
			{Head: "configs"},
		},
		Rows: []view.Row{{Cells: []view.Cell{
			{Text: "attention BLOCK_M=128 BLOCK_N=64 NUM_STAGES=2 NUM_WARPS=8"},
			{Text: "attention_fwd"},
			{Text: "168"},
			{Text: "1 KiB"},
			{Text: "96 KiB"},
			{Text: "48 B out, 96 B in"},
			{Text: "640 B"},
			{Text: "18.8%"},
			{Text: "s256, s256_causal, s512 and 9 more"},
		}}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.Rows[0].Build = nil
	if s := resourceSheet(r); len(s.Rows) != 2 || s.Rows[0].Cells[5].Text != "none" {
		t.Errorf("a config that needs less does not stand alone: %v", s.Rows)
	}
}

// TestPages writes pages for people to look at.
func TestPages(t *testing.T) {
	if *pages == "" {
		t.Skip("-pages names no folder")
	}
	for name, r := range map[string]*result.Report{"sample": pictured(), "sweep": sweep()} {
		if err := WriteFile(filepath.Join(*pages, name+".html"), r); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	r := sweep()
	for b.Loop() {
		pageOf(b, r)
	}
}
