package result

import "time"

// Input is a file that a comparison was made of.
type Input struct {
	File        string      `json:"file"`
	Format      string      `json:"format"` // who wrote it
	DeviceClass string      `json:"device_class,omitempty"`
	Machine     Fingerprint `json:"machine,omitzero"`
	Commit      *Commit     `json:"commit,omitempty"`
	Measured    time.Time   `json:"measured,omitzero"`
}

// Reasons of comparisons.
const (
	TooFew  Reason = "too few samples" // so few that not even lists apart from each other would show anything
	Removed Reason = "removed"         // only the first file has it

	// It would be a regression or an improvement if the two files held nothing else.
	AmongMany Reason = "not significant among all comparisons"
)
