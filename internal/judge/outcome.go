package judge

import (
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// Outcome returns the outcome of a whole report. An interrupted report has that outcome alone. A
// failure outweighs a row that could not be judged, which outweighs an undecided or suspicious one.
func Outcome(r *result.Report) *result.Outcome {
	out := &result.Outcome{Result: result.Passed, Verdicts: map[result.Verdict]int{}, Suspicious: suspicious(r)}
	for _, row := range r.Rows {
		out.Verdicts[row.Verdict]++
	}
	delete(out.Verdicts, "")
	judge := ofBench
	switch r.Kind {
	case result.KindCheck:
		judge = ofCheck
	case result.KindCompare:
		judge = ofComparison
	case result.KindFuzz:
		judge = ofFuzz
	case result.KindSelftest:
		judge = ofSelftest
	case result.KindTune:
		judge = ofSearch
	}
	ending, reason := judge(r, out.Verdicts)
	if r.Interrupted {
		ending, reason = result.Interrupted, interrupted(r.Kind)
	}
	if ending != result.Passed {
		out.Result, out.Reasons = ending, []string{reason}
	}
	return out
}

func interrupted(kind result.Kind) string {
	switch kind {
	case result.KindSelftest:
		return "interrupted"
	case result.KindFuzz:
		return "interrupted: what was tried so far is kept"
	case result.KindTune:
		return "interrupted: the best so far is kept, and --resume goes on"
	}
	return "interrupted: what was measured so far is kept"
}

func ofBench(r *result.Report, verdicts map[result.Verdict]int) (result.Ending, string) {
	failed := verdicts[result.Regression] + verdicts[result.Incorrect] + verdicts[result.Rejected] + verdicts[result.Broken]
	unjudged := faults(r)
	lost := brokenRivals(r)
	switch {
	case failed > 0:
		return result.Failed, unit.Plural(failed, "kernel config", "kernel configs") + " failed"
	case lost > 0:
		return result.Failed, unit.Plural(lost, "rival is", "rivals are") + " broken"
	case unjudged > 0 || len(r.Rows) == 0:
		return result.Unjudged, unit.Plural(unjudged, "kernel config", "kernel configs") + " could not be measured"
	}
	return result.Passed, ""
}

// brokenRivals counts the rivals that broke, as a row of their own would have. One that is wrong is
// not ranked, and one that cannot take the problem is none: both are answers to the question.
func brokenRivals(r *result.Report) int {
	n := 0
	for _, row := range r.Rows {
		for _, rival := range row.Rivals {
			if rival.Row.Verdict == result.Broken || rival.Row.Verdict == result.Rejected {
				n++
			}
		}
	}
	return n
}

// faults counts the rows whose fault says nothing of the kernel.
func faults(r *result.Report) int {
	n := 0
	for _, row := range r.Rows {
		if row.Fault != nil && row.Verdict == "" {
			n++
		}
	}
	return n
}

// ofCheck ignores regressions that were accepted for a recorded reason.
func ofCheck(r *result.Report, verdicts map[result.Verdict]int) (result.Ending, string) {
	failed := map[result.Verdict]int{}
	var order []result.Verdict
	unjudged := faults(r)
	for _, row := range r.Rows {
		switch row.Verdict {
		case result.Regression, result.Incorrect, result.Rejected, result.Broken:
			if row.Verdict == result.Regression && slices.Contains(row.Reasons, result.Accepted) {
				continue
			}
			if failed[row.Verdict] == 0 {
				order = append(order, row.Verdict)
			}
			failed[row.Verdict]++
		case result.Incomparable:
			if baseBroken(row) {
				unjudged++
			}
		}
	}
	switch {
	case len(order) > 0:
		var parts []string
		for _, v := range order {
			if v == result.Regression {
				parts = append(parts, unit.Plural(failed[v], "regression", "regressions"))
			} else {
				parts = append(parts, unit.Plural(failed[v], "config "+string(v), "configs "+string(v)))
			}
		}
		return result.Failed, "gate failed: " + strings.Join(parts, ", ")
	case unjudged > 0 || len(r.Rows) == 0:
		return result.Unjudged, unit.Plural(unjudged, "kernel config", "kernel configs") + " could not be judged"
	}
	var open []string
	if undecided := verdicts[result.Inconclusive] + verdicts[result.Incomparable]; undecided > 0 {
		open = append(open, unit.Plural(undecided, "kernel config", "kernel configs")+" could not be decided")
	}
	if n := suspicious(r); n > 0 {
		open = append(open, unit.Plural(n, "kernel config is", "kernel configs are")+" suspicious")
	}
	if len(open) > 0 {
		return result.Undecided, strings.Join(open, ", ")
	}
	return result.Passed, ""
}

// suspicious counts the rows with evidence against them, but no proof.
func suspicious(r *result.Report) int {
	n := 0
	for _, row := range r.Rows {
		if row.Verification != nil && row.Verification.Integrity == result.Suspicious {
			n++
		}
	}
	return n
}

// baseBroken reports whether a row could not be compared because its base does not
// build or run.
func baseBroken(row *result.Row) bool {
	return slices.ContainsFunc(row.Sides, func(s *result.Side) bool {
		return s.Role == result.Base && s.Row != nil && s.Row.Fault != nil
	})
}

// ofComparison does not judge benchmarks that only one of the two files has.
func ofComparison(_ *result.Report, verdicts map[result.Verdict]int) (result.Ending, string) {
	undecided := verdicts[result.Inconclusive] + verdicts[result.Incomparable]
	judged := undecided + verdicts[result.Regression] + verdicts[result.Improvement] + verdicts[result.Maintained] + verdicts[result.Unchanged]
	switch {
	case verdicts[result.Regression] > 0:
		return result.Failed, unit.Plural(verdicts[result.Regression], "regression", "regressions")
	case judged == 0:
		return result.Unjudged, "the files have no benchmark in common"
	case verdicts[result.Incomparable] > 0:
		return result.Undecided, unit.Plural(undecided, "benchmark", "benchmarks") + " undecided, " + unit.Count(verdicts[result.Incomparable]) + " of them incomparable"
	case undecided > 0:
		return result.Undecided, "no significant difference in " + unit.Plural(undecided, "benchmark", "benchmarks")
	}
	return result.Passed, ""
}

func ofFuzz(r *result.Report, verdicts map[result.Verdict]int) (result.Ending, string) {
	var failed, untried []string
	for _, one := range []struct {
		verdict        result.Verdict
		one, many, end string
	}{
		{result.Incorrect, "kernel gives", "kernels give", " wrong answers"},
		{result.Rejected, "kernel is", "kernels are", " rejected"},
		{result.Broken, "kernel is", "kernels are", " broken"},
	} {
		if n := verdicts[one.verdict]; n > 0 {
			failed = append(failed, unit.Plural(n, one.one, one.many)+one.end)
		}
	}
	passed, unjudged := 0, 0
	for _, row := range r.Rows {
		switch {
		case row.Verdict == result.Incorrect, row.Verdict == result.Rejected, row.Verdict == result.Broken:
		case row.Fault != nil:
			unjudged++
		case row.Verdict == result.Inconclusive:
			untried = append(untried, row.Kernel)
		case row.Verification != nil && row.Verification.Passed > 0:
			passed++
		}
	}
	switch {
	case len(failed) > 0:
		return result.Failed, strings.Join(failed, ", ")
	case unjudged > 0:
		return result.Unjudged, unit.Plural(unjudged, "kernel", "kernels") + " could not be judged"
	case len(untried) > 0:
		return result.Undecided, "nothing that pawl.yaml asks for was tried of " + strings.Join(untried, ", ") + ": every such case was skipped"
	case passed == 0:
		return result.Undecided, "no case could be tried"
	}
	return result.Passed, ""
}

func ofSelftest(r *result.Report, _ map[result.Verdict]int) (result.Ending, string) {
	t := r.Selftest
	switch {
	case t.Missed > 0:
		return result.Failed, unit.Plural(t.Missed, "cheat was", "cheats were") + " missed"
	case t.ControlsFailed > 0:
		return result.Failed, unit.Plural(t.ControlsFailed, "honest kernel was", "honest kernels were") + " refused"
	case t.MutantsKilled < t.Mutants:
		return result.Failed, unit.Plural(t.Mutants-t.MutantsKilled, "planted mistake was", "planted mistakes were") + " not found"
	case t.Caught+t.Suspicious+t.Defused+t.Open+t.ControlsPassed+t.Mutants == 0:
		return result.Unjudged, "nothing could be tried here"
	}
	return result.Passed, ""
}

// ofSearch passes a search that did its work, whether or not it found anything better: today's defaults
// being the best is an answer. One in which no candidate worked gives none.
func ofSearch(r *result.Report, _ map[result.Verdict]int) (result.Ending, string) {
	t := r.Tuning
	if t == nil {
		return result.Unjudged, "the report has no search"
	}
	worked, failed := t.Candidates()
	today := t.Default()
	switch lost := t.Count(result.TrialLost); {
	case t.Ended == "workers":
		return result.Unjudged, "no worker was left: the trials are kept, and --resume goes on"
	case worked > 0:
		return result.Passed, ""
	case failed > 0:
		reason := "every candidate failed"
		if today != nil && today.Measured() {
			reason += ", and only today's defaults work"
		}
		if causes := t.Failures(); len(causes) > 0 {
			reason += ": " + unit.Count(causes[0].Trials) + " × " + string(causes[0].Status)
			if causes[0].Message != "" {
				reason += " (" + causes[0].Message + ")"
			}
		}
		return result.Failed, reason
	case lost > 0:
		return result.Unjudged, "nothing could be tried: the worker of " + unit.Plural(lost, "candidate", "candidates") + " ended"
	case t.Count(result.TrialUnfit) > 0:
		return result.Unjudged, "nothing could be tried: this device can run none of the candidates"
	case today != nil && today.Measured() && t.Ended == "exhausted":
		return result.Passed, "" // of one point
	case t.NoSuggestion != "":
		return result.Unjudged, "nothing could be tried: " + t.NoSuggestion
	}
	return result.Unjudged, "nothing could be tried"
}
