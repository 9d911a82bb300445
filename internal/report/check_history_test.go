package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"pawl/internal/report/render"
	"pawl/internal/report/view"
	"pawl/internal/result"
)

// ratcheted returns a history whose medians, in microseconds, are given; 0 is a reset.
func ratcheted(micros ...float64) []result.HistoryPoint {
	var out []result.HistoryPoint
	for i, v := range micros {
		p := result.HistoryPoint{
			Commit: strings.Repeat(fmt.Sprint(i%10), 20), Time: time.Date(2026, 3, 1+11*i, 9, 30, 0, 0, time.UTC),
			MedianS: v / 1e6, LowS: v / 1e6 * 0.995, HighS: v / 1e6 * 1.007, By: "check",
		}
		switch {
		case v == 0:
			p.Commit, p.By, p.Reason = "", "reset", "another device"
		case i > 0 && v > micros[i-1] && micros[i-1] > 0:
			p.By, p.Reason = "accept", "deterministic sums are worth <8%>"
		}
		out = append(out, p)
	}
	return out
}

// remembered returns a check whose rows have histories of all kinds.
func remembered() *result.Report {
	s := stage{rand.New(rand.NewPCG(11, 12))}
	zero := 0.0
	slower := s.duet("attention/training_512", result.Regression, 52.1e-6, 0.052, nil)
	slower.History = ratcheted(81, 74.2, 60.5, 63.9, 55, 52.1)
	shallow := s.duet("attention/inference_4k", result.Maintained, 861e-6, 0.002, &zero)
	shallow.History = ratcheted(1210, 870)
	shallow.History[0].LowS, shallow.History[0].HighS = 0, 0
	again := s.duet("gemm/4k", result.Improvement, 1.21e-3, -0.124, nil)
	again.Moved = &result.Moved{Done: true, FromS: 1.2e-3, From: bestCommit}
	again.History = ratcheted(1400, 1300, 0, 1250, 1210)
	leap := s.duet("softmax/rows", result.Maintained, 18.3e-6, 0.001, nil)
	leap.History = ratcheted(2400, 730, 101, 19)
	once := s.duet("softmax/columns", result.Maintained, 18.3e-6, 0.001, nil)
	once.History = ratcheted(18.3)
	still := unchangedRow("scan", "c1")
	still.History = ratcheted(33.1, 30.9, 30.7)
	alone := unchangedRow("scan", "c2")
	alone.History = ratcheted(33.1)
	reset := unchangedRow("scan", "c3")
	reset.History = ratcheted(0, 33.1)
	return checkOf(slower, shallow, again, leap, once, still, alone, reset, unchangedRow("scan", "c4"))
}

func historySection(page string) string {
	_, rest, _ := strings.Cut(page, `<section id="history">`)
	section, _, _ := strings.Cut(rest, "</section>")
	return section
}

func TestHistorySection(t *testing.T) {
	r := remembered()
	page := pageOf(t, r)
	checkPage(t, page)
	section := historySection(page)
	golden(t, "check_history", strings.ReplaceAll(section, "><", ">\n<"))
	for _, want := range []string{
		`<details open="">`, "81.0 → 52.1 µs, now ", "log scale", "33.1 → 30.7 µs<", "this run: ", "moved by accept: deterministic sums are worth &lt;8%&gt;",
		"0000000, 2026-03-01: 1.21 ms, moved by check", "5555555, 2026-04-25: 52.1 µs, 95% interval 51.8 µs to 52.5 µs, moved by check",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("does not show %q", want)
		}
	}
	if n := strings.Count(section, `class="plot steps"`); n != 6 {
		t.Errorf("%d histories are drawn", n)
	}
	if !strings.Contains(page, `href="#history"`) {
		t.Error("nothing leads there")
	}

	for _, r := range []*result.Report{everything(), plan()} { // rows without a history
		if page := pageOf(t, r); strings.Contains(page, "#history") || strings.Contains(page, `id="history"`) {
			t.Error("a history of nothing")
		}
	}
}

func TestManyHistoriesAreFolded(t *testing.T) {
	r := sixty()
	for i, row := range r.Rows {
		row.History = ratcheted(float64(12*(i+1)), float64(10*(i+1)))
	}
	if section := historySection(pageOf(t, r)); !strings.Contains(section, "<details><summary>") {
		t.Error("sixty histories are open")
	}
	for i := range 1000 {
		row := unchangedRow("more", fmt.Sprint(i))
		row.History = ratcheted(3, 2)
		r.Rows = append(r.Rows, row)
	}
	section := historySection(pageOf(t, r))
	if n := strings.Count(section, `class="plot steps"`); n != mostDrawn || !strings.Contains(section, "960 more configs in the JSON report") {
		t.Errorf("%d histories are drawn", n)
	}
}

func TestStrangeHistories(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324, 1}
	r := remembered()
	for i := range strange {
		for j := range strange {
			for _, row := range r.Rows {
				for n := range row.History {
					p := &row.History[n]
					p.MedianS, p.LowS, p.HighS = strange[(i+n)%len(strange)], strange[j], strange[(i+j)%len(strange)]
				}
			}
			for _, drawn := range allHistories(checkedRows(r)).History {
				section := view.Section{In: view.HTML, ID: "history", History: []view.History{drawn}}
				page, err := render.HTML(view.View{Sections: []view.Section{section}})
				if err != nil {
					t.Fatal(err)
				}
				if all := historySection(string(page)); strings.Contains(all, "NaN") || strings.Contains(all, "Inf") {
					t.Fatalf("no number: %s", all)
				}
			}
		}
	}
	for _, text := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "\x1b[2J\x00", "\xff\xfe"} {
		r := remembered()
		hostile(reflect.ValueOf(r), text)
		page := pageOf(t, r)
		checkPage(t, page)
		if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
			t.Errorf("%q is not escaped", text)
		}
	}
}
