package result

// Outcome is what a whole run came to. Faces show it, and the exit code says it.
type Outcome struct {
	Result   Ending          `json:"result"`
	Reasons  []string        `json:"reasons,omitempty"`  // why it did not pass
	Verdicts map[Verdict]int `json:"verdicts,omitempty"` // how many rows have each
}

// Ending is one of the ways that a run can end.
type Ending string

// All endings.
const (
	Passed      Ending = "passed"
	Failed      Ending = "failed"      // a regression, wrong, broken or rejected: the kernels' fault
	Undecided   Ending = "undecided"   // judged, and something may be either way
	Unjudged    Ending = "unjudged"    // something could not be judged, and the kernels are not to blame
	Interrupted Ending = "interrupted" // by the user; the report has what was found until then
)
