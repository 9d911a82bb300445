package result

// Outcome is the outcome of a whole run. Faces show it, and the exit code expresses it.
type Outcome struct {
	Result   Ending          `json:"result"`
	Reasons  []string        `json:"reasons,omitempty"`  // why it did not pass
	Verdicts map[Verdict]int `json:"verdicts,omitempty"` // how many rows have each
}

// Ending is the way a run ended.
type Ending string

// All endings.
const (
	Passed      Ending = "passed"
	Failed      Ending = "failed"      // a regression, wrong, broken or rejected: the kernels' fault
	Undecided   Ending = "undecided"   // judged, but some row is undecided
	Unjudged    Ending = "unjudged"    // something could not be judged, and the kernels are not to blame
	Interrupted Ending = "interrupted" // by the user; the report has the results until then
)
