// Package curve holds the operating curve of the gate on a device class: how often
// a change that is truly so much slower fails it, a change that is none included.
// calibrate measures it, once per machine and for as long as one likes; every
// check cites it.
package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/disk"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// Schema is the version of the file's form.
const Schema = 1

// Curve is all that was found out about the gate on a device class.
type Curve struct {
	Schema      int         `json:"schema"`
	DeviceClass string      `json:"device_class"`
	Device      string      `json:"device"` // product name
	Cell        string      `json:"cell"`   // cuda or host
	Driver      string      `json:"driver,omitempty"`
	Tool        result.Tool `json:"tool"`
	Gate        Gate        `json:"gate"`
	Started     time.Time   `json:"started"`
	Updated     time.Time   `json:"updated"`
	Levels      []*Level    `json:"levels"`
	Runs        int         `json:"runs"`       // of cells that served a whole set of decisions
	FalseRuns   int         `json:"false_runs"` // in which something failed that was not slower
	Seconds     float64     `json:"seconds"`    // spent on decisions
}

// Gate is what the decisions were made by.
type Gate struct {
	Regression  float64 `json:"regression"`
	Improvement float64 `json:"improvement"`
	HalfWidth   float64 `json:"half_width"`
}

// Level is one true slowdown.
type Level struct {
	Nominal      float64   `json:"nominal"`         // by the work it was given
	Truth        *Truth    `json:"truth,omitempty"` // by one long duet
	Failed       int       `json:"failed"`          // decisions: regression
	Passed       int       `json:"passed"`          // maintained, or improvement
	Improved     int       `json:"improved"`        // of those, improvement
	Inconclusive int       `json:"inconclusive"`
	Changes      []float64 `json:"changes"` // the estimates, in order
}

// Truth is what a long duet says of a level.
type Truth struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`
	Cells  int     `json:"cells"`
	Pairs  int     `json:"pairs"`
}

// Decisions is how many there were.
func (l *Level) Decisions() int { return l.Failed + l.Passed + l.Inconclusive }

// FailBound is the one-sided 95% upper bound of how often the level fails.
func (l *Level) FailBound() float64 { return stat.RateBound(l.Failed, l.Decisions()) }

// PassBound is the same of how often it does not: passes, or is left undecided.
func (l *Level) PassBound() float64 {
	return stat.RateBound(l.Passed+l.Inconclusive, l.Decisions())
}

// At is the level with a nominal slowdown, made where it is missing.
func (c *Curve) At(nominal float64) *Level {
	for _, l := range c.Levels {
		if l.Nominal == nominal {
			return l
		}
	}
	l := &Level{Nominal: nominal}
	c.Levels = append(c.Levels, l)
	return l
}

// Count takes a decision down.
func (l *Level) Count(v result.Verdict, change float64) {
	switch v {
	case result.Regression:
		l.Failed++
	case result.Improvement:
		l.Improved++
		l.Passed++
	case result.Maintained, result.Unchanged:
		l.Passed++
	default:
		l.Inconclusive++
	}
	l.Changes = append(l.Changes, change)
}

// Floor is half the width below which no interval on this machine can be
// believed: what estimates of no change scatter by. It is 0 while too little is
// known, and never more than half of what a decision asks for.
func (c *Curve) Floor() float64 {
	const enough = 20
	same := c.At(0)
	if len(same.Changes) < enough {
		return 0
	}
	// Half the distance between the outer sixths of a normal distribution is its
	// standard deviation, and an estimate far out does not change it.
	spread := (stat.Percentile(same.Changes, 84.1) - stat.Percentile(same.Changes, 15.9)) / 2
	return min(1.96*spread, c.Gate.HalfWidth/2)
}

// Alarms says how often a run of so many decisions fails without a cause, at most.
func (c *Curve) Alarms(decisions int) *result.FalseAlarms {
	same := c.At(0)
	if same.Decisions() == 0 {
		return nil
	}
	bound := same.FailBound()
	return &result.FalseAlarms{
		Decisions: same.Decisions(), Failed: same.Failed, PerDecision: bound,
		Configs: decisions, PerRun: 1 - math.Pow(1-bound, float64(decisions)), Calibrated: c.Updated,
	}
}

// Fits tells whether the curve was made by a gate, and on a driver.
func (c *Curve) Fits(gate spec.Gate, driver string) bool {
	return c.Gate.Regression == gate.Regression && c.Gate.Improvement == gate.Improvement && c.Driver == driver
}

// Folder is where curves are kept.
func Folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "pawl", "calibration")
}

// Path is the file of a device class.
func Path(folder, class string) string { return filepath.Join(folder, class+".json") }

// Load reads the curve of a class; nil when there is none.
func Load(folder, class string) (*Curve, error) {
	if folder == "" {
		return nil, nil
	}
	path := Path(folder, class)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	c := &Curve{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("read the calibration %s: %w", path, err)
	}
	if err := c.check(class); err != nil {
		return nil, fmt.Errorf("read the calibration %s: %w", path, err)
	}
	return c, nil
}

func (c *Curve) check(class string) error {
	switch {
	case c.Schema != Schema:
		return fmt.Errorf("expected schema %d, got %d", Schema, c.Schema)
	case c.DeviceClass != class:
		return fmt.Errorf("it is of %q, not of %q", c.DeviceClass, class)
	}
	for _, l := range c.Levels {
		switch {
		case l == nil:
			return errors.New("a level is null")
		case l.Failed < 0 || l.Passed < 0 || l.Inconclusive < 0 || l.Decisions() != len(l.Changes):
			return fmt.Errorf("level %v counts %d decisions and lists %d", l.Nominal, l.Decisions(), len(l.Changes))
		}
		if err := stat.Check(l.Changes); err != nil {
			return fmt.Errorf("level %v: %w", l.Nominal, err)
		}
	}
	return nil
}

// Save writes a curve, whole or not at all.
func Save(folder string, c *Curve) (string, error) {
	raw, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	path := Path(folder, c.DeviceClass)
	if err := disk.Write(path, append(raw, '\n')); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	return path, nil
}
