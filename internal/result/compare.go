package result

import "time"

// Input is one of the files of a comparison.
type Input struct {
	File        string      `json:"file"`
	Format      string      `json:"format"` // the tool that wrote it
	DeviceClass string      `json:"device_class,omitempty"`
	Machine     Fingerprint `json:"machine,omitzero"`
	Commit      *Commit     `json:"commit,omitempty"`
	Measured    time.Time   `json:"measured,omitzero"`
}

// Reasons of comparisons.
const (
	TooFew  Reason = "too few samples" // so few that even completely separate lists would show nothing
	Removed Reason = "removed"         // only the first file has it

	// It would be a regression or an improvement if the two files held nothing else.
	AmongMany Reason = "not significant among all comparisons"
)
