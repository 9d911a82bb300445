package result

// Bisect is a search for the commit that made a row slower.
type Bisect struct {
	Good     string         `json:"good"`             // commit that was fast enough
	Bad      string         `json:"bad"`              // commit that is too slow
	Change   *Change        `json:"change,omitempty"` // of the bad commit against the good one
	Steps    []BisectStep   `json:"steps"`
	Suspects []BisectCommit `json:"suspects,omitempty"` // one of them made it slower; none: it is not slower
	Own      *Change        `json:"own,omitempty"`      // of the only suspect against the commit before it
}

// BisectCommit is a commit that a search looked at.
type BisectCommit struct {
	SHA     string `json:"sha"`
	Subject string `json:"subject"`
	Author  string `json:"author"`
}

// BisectStep is what a search found about a commit.
type BisectStep struct {
	BisectCommit
	Pace   string  `json:"pace"`             // fast, slow or skipped
	Known  bool    `json:"known,omitempty"`  // its code was measured before, as another commit's
	Change *Change `json:"change,omitempty"` // against the good commit
	Why    string  `json:"why,omitempty"`    // a commit is skipped
}

// The paces of a step.
const (
	BisectFast    = "fast"
	BisectSlow    = "slow"
	BisectSkipped = "skipped" // it could not be measured
)
