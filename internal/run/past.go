package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/result"
)

const (
	reportFile = "report.json"
	eventsFile = "events.jsonl"
)

// Past is a run that has ended, or is still going on in another process. A run is never continued:
// the decisions of a calibration are in its curve, which the next calibration continues; any other
// interrupted run is prepared again, with the report's seed.
type Past struct {
	ID  string
	Dir string
}

// List returns the runs of the project in root, newest first. Runs of the same second are in any
// order.
func List(root string) ([]Past, error) {
	entries, err := os.ReadDir(runsOf(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Past
	for _, entry := range slices.Backward(entries) {
		if entry.IsDir() {
			out = append(out, Past{ID: entry.Name(), Dir: filepath.Join(runsOf(root), entry.Name())})
		}
	}
	return out, nil
}

// Path returns the path of the run's report, which may not exist yet.
func (p Past) Path() string { return filepath.Join(p.Dir, reportFile) }

// Report reads the run's report. A run that has not ended has none: fs.ErrNotExist.
func (p Past) Report() (*result.Report, error) { return ReadReport(p.Path()) }

// ReadReport reads a report that was saved anywhere.
func ReadReport(path string) (*result.Report, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	report, err := result.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}
