package tune

import (
	"fmt"
	"time"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// worthwhile is the gain below which a setting is not suggested: it would be lost in the difference
// between two machines of a kind.
const worthwhile = 0.05

// conclusion records how the search ended.
func (t *tune) conclusion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.exhausted:
		t.tuning.Ended = "exhausted"
	case t.Most > 0 && t.asked >= t.Most:
		t.tuning.Ended = "count"
	default:
		t.tuning.Ended = "budget"
	}
}

// conclude says what is suggested, and if nothing is, why.
func (t *tune) conclude() {
	t.tuning.SpentS = time.Since(t.began).Seconds() + t.journal.before
	var winner *result.Finalist
	for _, f := range t.tuning.Finalists {
		if f.Fault == nil {
			winner = f
			break
		}
	}
	tried := unit.Plural(len(t.tuning.Trials), "setting", "settings")
	switch {
	case t.best == nil:
		t.tuning.NoSuggestion = "none of the " + tried + " that were tried works"
	case !t.defaultsWork:
		t.tuning.NoSuggestion = "today's defaults do not work, so that nothing can be said to be faster; the best that works is " + t.kernelSetting(t.best)
	case len(t.tuning.Finalists) == 0 && len(t.contenders()) == 0:
		t.tuning.NoSuggestion = "none of " + tried + " is faster than today's defaults"
	case winner == nil && len(t.tuning.Finalists) == 0:
		t.tuning.NoSuggestion = "the search ended before the best could play against today's defaults: " + t.kernelSetting(t.best) + " looked " + unit.PercentPlain(1-t.best.Cost) + " faster"
	case winner == nil:
		t.tuning.NoSuggestion = "no finalist could play to the end: " + t.tuning.Finalists[0].Fault.Message
	case winner.Overall > -worthwhile:
		t.tuning.NoSuggestion = fmt.Sprintf("the best is %s faster than today's defaults: under %s is noise, do not bother", unit.PercentPlain(max(0, -winner.Overall)), unit.PercentPlain(worthwhile))
	default:
		for _, row := range t.report.Rows {
			if row.Verdict == result.Regression {
				t.tuning.NoSuggestion = "the best over all configs is slower on " + row.Name()
			}
		}
	}
}
