package result

import (
	"cmp"
	"slices"
	"strings"
)

// Failure is what trials that failed in one way have in common.
type Failure struct {
	Status  TrialStatus
	Trials  int
	Message string // the commonest, in one line; "" where none was given
	Hint    string
	Said    int    // trials with that message
	First   *Trial // the first of them
}

// Failures returns the ways in which trials failed, the commonest first.
func (t *Tuning) Failures() []Failure {
	var out []Failure
	type cause struct {
		status  TrialStatus
		message string
	}
	said := map[cause]*Failure{}
	at := map[TrialStatus]int{}
	for _, trial := range t.Trials {
		if !trial.Failed() {
			continue
		}
		i, known := at[trial.Status]
		if !known {
			i = len(out)
			at[trial.Status] = i
			out = append(out, Failure{Status: trial.Status})
		}
		out[i].Trials++
		message, hint := trial.cause()
		one := said[cause{trial.Status, message}]
		if one == nil {
			one = &Failure{Message: message, Hint: hint, First: trial}
			said[cause{trial.Status, message}] = one
		}
		if one.Said++; one.Said > out[i].Said {
			out[i].Message, out[i].Hint, out[i].Said, out[i].First = one.Message, one.Hint, one.Said, one.First
		}
	}
	slices.SortStableFunc(out, func(a, b Failure) int { return cmp.Compare(b.Trials, a.Trials) })
	return out
}

// cause says why a trial failed, in one line.
func (t *Trial) cause() (message, hint string) {
	if t.Fault == nil {
		return "", ""
	}
	return strings.Join(strings.Fields(t.Fault.Message), " "), t.Fault.Hint
}

// Count returns how many trials have one of these statuses.
func (t *Tuning) Count(statuses ...TrialStatus) int {
	n := 0
	for _, trial := range t.Trials {
		if slices.Contains(statuses, trial.Status) {
			n++
		}
	}
	return n
}

// Candidates counts the trials other than today's defaults: those that have a cost, their own or that of
// an equal one, and those that failed.
func (t *Tuning) Candidates() (worked, failed int) {
	today := t.Default()
	for _, trial := range t.Trials {
		switch {
		case trial == today:
		case trial.Failed() || trial.Status == TrialSame && trial.Cost == 0:
			failed++
		case trial.Cost > 0:
			worked++
		}
	}
	return worked, failed
}
