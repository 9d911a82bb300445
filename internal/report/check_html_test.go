package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

func TestCheckOfStrangeNumbers(t *testing.T) {
	strange := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324}
	for i, v := range strange {
		r := everything()
		for _, row := range r.Rows {
			for _, side := range row.Sides {
				if c := side.Change; c != nil {
					c.Median, c.Low, c.High, c.Delta = v, strange[(i+1)%len(strange)], strange[(i+2)%len(strange)], v
					for j := range c.Cells {
						c.Cells[j].Median = strange[(i+j)%len(strange)]
					}
				}
			}
			if row.Timing != nil {
				row.Timing.Stats.Median, row.Timing.Stats.Low, row.Timing.Stats.High = v, v, v
				row.Timing.Samples.Seconds[20], row.Timing.Samples.Seconds[30] = v, strange[(i+1)%len(strange)]
			}
		}
		page := pageOf(t, r)
		checkPage(t, page)
		if at := regexp.MustCompile(`NaN|\bInf\b`).FindStringIndex(page); at != nil {
			t.Errorf("%v is shown as no number: %s", v, page[max(0, at[0]-100):at[1]+20])
		}
		checkedText(t, r, term.Style{})
		Markdown(r)
	}
}

func TestCheckHTMLIsBounded(t *testing.T) {
	sample := everything()
	r := checkOf()
	for i := range 5000 {
		row := *sample.Rows[i%len(sample.Rows)]
		row.Config += fmt.Sprint(i)
		if row.Fault != nil {
			row.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: row.Config}
			row.Build = &result.Build{Output: strings.Repeat("error\n", 500)}
		}
		r.Rows = append(r.Rows, &row)
	}
	page := pageOf(t, r)
	if most := 5 << 20; len(page) > most {
		t.Errorf("%d bytes, more than %d", len(page), most)
	}
	for _, want := range []string{"more rows in the JSON report", "more configs in the JSON report", "more problems in the JSON report"} {
		if !strings.Contains(page, want) {
			t.Errorf("does not say %q", want)
		}
	}
	checkPage(t, page)
}

func TestCheckHTML(t *testing.T) {
	for name, r := range map[string]*result.Report{"everything": everything(), "plan": plan(), "sixty": sixty()} {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, r)
			checkPage(t, page)
			for _, link := range regexp.MustCompile(`href="#(\w+)"`).FindAllStringSubmatch(page, -1) {
				if strings.Count(page, `id="`+link[1]+`"`) != 1 {
					t.Errorf("#%s is not there once", link[1])
				}
			}
		})
	}
	page := pageOf(t, everything())
	for _, want := range []string{
		"<h1>gate failed: 2 regressions, 2 broken, 1 inconclusive, 1 incomparable, 1 not measured</h1>", "<b>2</b> regressions", "<b>11</b> unchanged", "false alarms on this GPU: &lt; 0.3% per run",
		"against</span> best 1a2b3c4", "creep: behind best by 6.1%", "baseline moved: 1.20 ms (1a2b3c4) → 1.09 ms (0123456)", "accepted by ann: deterministic sums are worth 8%",
		"best-known 337 µs as stored, −1",
		"each cell against base 89abcde", "fused (base 89abcde)", "attention (base 89abcde)", `class="point second"`, "base loaded first", "best 1a2b3c4, as stored",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("does not show %q", want)
		}
	}
	if n := strings.Count(page, `<details class="duet"`); n != 10 {
		t.Errorf("%d duets are drawn", n)
	}
}

// A report of 14 rows with 1,000 samples a side, in all forms that check writes.
func BenchmarkCheckReport(b *testing.B) {
	s := stage{rand.New(rand.NewPCG(3, 4))}
	var rows []*result.Row
	change := 0.02
	for i := range 14 {
		row := s.duet("kernel/"+strings.Repeat("c", i+1), result.Regression, 1e-4, 0.05, &change)
		row.Timing = drawn(s.Rand, 1e-4, 1000)
		for _, side := range row.Sides {
			side.Row.Timing = drawn(s.Rand, 1e-4, 1000)
		}
		rows = append(rows, row)
	}
	r := checkOf(rows...)
	for b.Loop() {
		pageOf(b, r)
		Markdown(r)
		checkedText(b, r, term.Style{})
	}
}

// TestCheckPages writes pages for people to look at.
func TestCheckPages(t *testing.T) {
	if *pages == "" {
		t.Skip("-pages names no folder")
	}
	for name, r := range map[string]*result.Report{
		"check": everything(), "history": remembered(), "plan": plan(), "sixty": sixty(), "verified": examination(), "fuzz": trials(), "matrix": fuzzOf(matrix()), "selftest": selftestSample(),
	} {
		for _, ending := range Endings {
			if err := WriteFile(filepath.Join(*pages, name+ending), r); err != nil {
				t.Error(err)
			}
		}
	}
}
