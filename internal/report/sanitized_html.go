package report

import (
	"pawl/internal/result"
	"pawl/internal/unit"
)

// sanitizerView is what compute-sanitizer said, as a page shows it.
type sanitizerView struct {
	Kernels []sanitizedKernel
	More    string
}

type sanitizedKernel struct {
	Name, On string
	Tools    []toolPage
}

type toolPage struct {
	Name, Skipped string
	Outcome       outcome
	Findings      []foundPage
	Raw           string
}

// Told says whether there is more to a tool than its outcome.
func (p toolPage) Told() bool { return len(p.Findings) > 0 || p.Skipped != "" || p.Raw != "" }

type foundPage struct {
	Kind, Source, Device string
	Outcome              outcome
	Lines                []string
}

// sanitizerPage has as many findings as a page holds; nil where no tool was run.
func sanitizerPage(rows []tried) *sanitizerView {
	view, left := &sanitizerView{}, 0
	told := 0
	for _, t := range rows {
		runs := t.sanitized()
		if len(runs) == 0 {
			continue
		}
		if len(view.Kernels) == mostListed {
			left += len(runs)
			continue
		}
		k := sanitizedKernel{Name: t.row.Kernel + variant(t.row), On: launchedOn(runs)}
		for _, r := range runs {
			page := toolPage{Name: r.Tool, Outcome: outcome{r.class(), r.word(), ""}}
			if r.Skipped != "" {
				page.Outcome.Text, page.Skipped = shortWord(r), r.Skipped
			}
			for _, f := range r.Findings {
				if told == mostListed {
					left++
					continue
				}
				told++
				page.Findings = append(page.Findings, foundOf(f))
			}
			if r.Raw != "" && told < mostListed {
				told++
				page.Raw = excerpt(r.Raw)
			}
			k.Tools = append(k.Tools, page)
		}
		view.Kernels = append(view.Kernels, k)
	}
	if len(view.Kernels) == 0 {
		return nil
	}
	if left > 0 {
		view.More = unit.Count(left) + " more in the JSON report"
	}
	return view
}

// shortWord is the word without the reason, which has a line of its own there.
func shortWord(r toolRun) string {
	brief := *r.SanitizerRun
	brief.Skipped = ""
	if len(brief.Findings) == 0 {
		return string(skipped)
	}
	return toolRun{&brief}.word()
}

func foundOf(f result.SanitizerFinding) foundPage {
	class := "unsure"
	if defect(f) {
		class = "bad"
	}
	source, device := whereFound(f)
	return foundPage{Kind: f.Kind, Source: source, Device: device, Outcome: outcome{class, f.Severity, ""}, Lines: belowFound(f)}
}
