package result

import "time"

// HistoryPoint is the best-known version as one move of the baseline left it.
type HistoryPoint struct {
	Commit  string    `json:"commit,omitempty"` // that it is built from
	Time    time.Time `json:"time"`
	MedianS float64   `json:"median_s,omitempty"` // as stored then; 0: a reset took it away
	LowS    float64   `json:"ci_95_low,omitempty"`
	HighS   float64   `json:"ci_95_high,omitempty"` // 0: the interval is not known any more
	By      string    `json:"by"`                   // check, accept, reset
	Reason  string    `json:"reason,omitempty"`
}
