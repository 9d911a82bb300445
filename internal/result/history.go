package result

import "time"

// HistoryPoint is the best-known version after one move of the baseline.
type HistoryPoint struct {
	Commit  string    `json:"commit,omitempty"` // commit that it is built from
	Time    time.Time `json:"time"`
	MedianS float64   `json:"median_s,omitempty"` // as stored then; 0: a reset removed it
	LowS    float64   `json:"ci_95_low,omitempty"`
	HighS   float64   `json:"ci_95_high,omitempty"` // 0: the interval is no longer known
	By      string    `json:"by"`                   // check, accept, reset
	Reason  string    `json:"reason,omitempty"`
}
