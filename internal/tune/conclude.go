package tune

import (
	"fmt"
	"slices"
	"time"

	"pawl/internal/effect"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// conclusion records how the search ended.
func (t *tune) conclusion() {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.deserted != nil:
		t.tuning.Ended = "workers"
	case t.inFlight > 0 || t.dropped > 0: // the last of them were asked for, and never tried
		t.tuning.Ended = "budget"
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
	t.tuning.Effects = effect.Of(t.tuning.Space.Params, t.tuning.Trials)
	if t.Objective != Time {
		t.tuning.Front = effect.Front(t.tuning.Trials, len(t.configs))
	}
	if t.journal.broken != nil {
		t.report.Warnings = append(t.report.Warnings, t.journal.lost())
	}
	winner := t.tuning.Winner()
	switch {
	case len(t.tuning.Trials) == 0:
		t.tuning.NoSuggestion = "the search ended before anything was tried"
	case t.best == nil && len(t.tuning.Trials) == 1:
		t.tuning.NoSuggestion = "the only setting that was tried does not work"
	case t.best == nil:
		t.tuning.NoSuggestion = fmt.Sprintf("none of the %d settings that were tried works", len(t.tuning.Trials))
	case t.deserted != nil && len(t.contenders()) > 0:
		t.tuning.NoSuggestion = fmt.Sprintf("no worker was left to play the best against today's defaults: %s looked %s faster (%v)", t.kernelSetting(t.best), unit.PercentPlain(1-t.best.Cost), t.deserted)
	case t.deserted != nil:
		t.tuning.NoSuggestion = fmt.Sprintf("no worker was left to go on (%v)", t.deserted)
	case !t.defaultsWork:
		t.tuning.NoSuggestion = "today's defaults do not work, so that nothing can be said to be faster; the best that works is " + t.kernelSetting(t.best)
	case len(t.tuning.Trials) == 1:
		t.tuning.NoSuggestion = "only today's defaults were tried"
	case len(t.tuning.Finalists) == 0 && len(t.contenders()) == 0:
		t.tuning.NoSuggestion = fmt.Sprintf("none of %d settings is faster than today's defaults", len(t.tuning.Trials))
	case winner == nil && t.unverified():
		t.tuning.NoSuggestion = "the budget ended before the answers of the best were verified again: " + t.kernelSetting(t.best) + " looked " + unit.PercentPlain(1-t.best.Cost) + " faster"
	case winner == nil && t.unplayed():
		t.tuning.NoSuggestion = "the search ended before the best could play against today's defaults: " + t.kernelSetting(t.best) + " looked " + unit.PercentPlain(1-t.best.Cost) + " faster"
	case winner == nil:
		t.tuning.NoSuggestion = "no finalist could play to the end: " + t.tuning.Finalists[0].Fault.Message
	case winner.Overall > 0:
		t.tuning.NoSuggestion = "played in turns, none of the best is faster than today's defaults"
	case winner.Overall > -result.WorthwhileGain:
		t.tuning.NoSuggestion = fmt.Sprintf("the best is %s faster than today's defaults: under %s is noise, do not bother", unit.PercentPlain(max(0, -winner.Overall)), unit.PercentPlain(result.WorthwhileGain))
	case !t.sure:
		t.tuning.NoSuggestion = fmt.Sprintf("the best seems %s faster than today's defaults, but its interval includes 0: a longer --budget has time for more duets", unit.PercentPlain(-winner.Overall))
	default:
		for _, row := range t.report.Rows {
			if row.Verdict == result.Regression {
				t.tuning.NoSuggestion = "the best over all configs is slower on " + row.Name()
			}
			if v := row.Verification; v != nil && v.Integrity == result.Suspicious && len(v.Findings) > 0 {
				t.tuning.NoSuggestion = "the best is suspicious on " + row.Name() + ": " + v.Findings[0].Exploit + ": " + v.Findings[0].Message
			}
		}
	}
}

// unverified reports whether a finalist played to the end, and the budget ended while it was verified
// again.
func (t *tune) unverified() bool {
	return slices.ContainsFunc(t.tuning.Finalists, func(f *result.Finalist) bool {
		return f.Fault != nil && f.Fault.Cause == result.CauseInterrupted && f.Fault.Stage == "verify"
	})
}

// unplayed reports whether the end of the search, and nothing else, kept every finalist from playing.
func (t *tune) unplayed() bool {
	return !slices.ContainsFunc(t.tuning.Finalists, func(f *result.Finalist) bool {
		return f.Fault == nil || f.Fault.Cause != result.CauseInterrupted
	})
}
