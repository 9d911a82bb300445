// Package curve holds the operating curve of a gate on a device class: for each true slowdown, zero
// included, how often a change with that slowdown fails the gate. calibrate measures it, once per
// machine and for as long as the user likes; every check cites it.
package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pawl/internal/disk"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/unit"
)

// Schema is the version of the file format.
const Schema = 2

// Method numbers the way decisions are made: how samples are taken and estimated, when sampling
// stops, and how a verdict is reached. It is raised when one of these changes: decisions of another
// method say nothing of the present one.
//
//	1  a processor's turn was its fastest sample
//	2  all ratios of neighbouring samples
//	3  what no second set of cells confirms is undecided, and half a microsecond never is
//	4  on a processor, ratios of samples on the same data
//	5  on a GPU, the middle of a cell's blocks by Hodges and Lehmann, not their median
const Method = 5

// Curve holds everything that was found out about a gate on a device class.
type Curve struct {
	Schema      int         `json:"schema"`
	Method      int         `json:"method"`
	DeviceClass string      `json:"device_class"`
	Device      string      `json:"device"` // product name
	Cell        string      `json:"cell"`   // cuda or host
	Driver      string      `json:"driver,omitempty"`
	Tool        result.Tool `json:"tool"`
	Gate        Gate        `json:"gate"`
	Started     time.Time   `json:"started"`
	Updated     time.Time   `json:"updated"`
	Levels      []*Level    `json:"levels"`
	Sets        int         `json:"sets"`    // sets of cells, each of which served several decisions
	Seconds     float64     `json:"seconds"` // spent on decisions
}

// Gate is the gate of the decisions.
type Gate struct {
	Regression  float64 `json:"regression"`
	Improvement float64 `json:"improvement"`
	HalfWidth   float64 `json:"half_width"`
}

// Level is one true slowdown of one kernel.
type Level struct {
	Kernel    string     `json:"kernel"`                // one of pawl's own
	Nominal   float64    `json:"nominal"`               // the slowdown, by the work it was given
	Behind    bool       `json:"behind_best,omitempty"` // the version it is compared with is behind the best-known one, by more than the gate
	Decisions []Decision `json:"decisions"`
}

// Decision is one verdict. Those of one set were made in the same cells.
type Decision struct {
	Set     int            `json:"set"`
	Verdict result.Verdict `json:"verdict"`
	Change  float64        `json:"change"` // the estimate
}

// At returns the level of a kernel with a nominal slowdown, and creates it if it is missing.
func (c *Curve) At(kernel string, nominal float64, behind bool) *Level {
	for _, l := range c.Levels {
		if l.Kernel == kernel && l.Nominal == nominal && l.Behind == behind {
			return l
		}
	}
	l := &Level{Kernel: kernel, Nominal: nominal, Behind: behind}
	c.Levels = append(c.Levels, l)
	return l
}

// Decisions returns the number of decisions.
func (c *Curve) Decisions() int {
	n := 0
	for _, l := range c.Levels {
		n += len(l.Decisions)
	}
	return n
}

// Failed returns how many decisions were a regression.
func (l *Level) Failed() int { return l.count(result.Regression) }

// Undecided returns how many decisions were undecided.
func (l *Level) Undecided() int { return l.count(result.Inconclusive) }

func (l *Level) count(verdict result.Verdict) int {
	n := 0
	for _, d := range l.Decisions {
		if d.Verdict == verdict {
			n++
		}
	}
	return n
}

// Sets returns how many sets of cells the decisions were made in.
func (l *Level) Sets() int { return len(l.bySet()) }

// bySet returns the estimates, set by set.
func (l *Level) bySet() [][]float64 {
	var out [][]float64
	at := map[int]int{}
	for _, d := range l.Decisions {
		i, known := at[d.Set]
		if !known {
			i = len(out)
			at[d.Set] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], d.Change)
	}
	return out
}

// FailBound returns the one-sided 95% upper bound of how often the level fails. Decisions of one
// set of cells are correlated; they count as fewer, as their estimates show.
func (l *Level) FailBound() float64 { return l.bound(l.Failed(), 1) }

// PassBound returns the same bound for passing or staying undecided.
func (l *Level) PassBound() float64 { return l.bound(len(l.Decisions)-l.Failed(), 1) }

// bound returns the bound of events after grown times as many decisions, if they turn out alike.
func (l *Level) bound(events int, grown float64) float64 {
	n := float64(len(l.Decisions))
	if n == 0 {
		return 1
	}
	effective := grown * stat.EffectiveSize(l.bySet())
	return stat.RateBound(float64(events)*effective/n, effective)
}

// Truth returns the level's true slowdown, estimated from all its duets, and the half-width of its
// 95% interval, from the differences between sets of cells; NaN and infinite where too little is
// known.
func (l *Level) Truth() (median, half float64) {
	logs := l.bySet()
	for _, set := range logs {
		for i := range set {
			set[i] = math.Log1p(set[i])
		}
	}
	e := stat.CellEstimate(logs, 0)
	return math.Expm1(e.Median), e.HalfWidth()
}

// Floor returns the smallest credible half-width of an interval on this machine: the scatter of
// estimates of no change. It is 0 while too little is known, and never more than half of what a
// decision requires.
func (c *Curve) Floor() float64 {
	const enough = 20
	var same []float64
	for _, l := range c.Levels {
		if l.Nominal == 0 && !l.Behind && l.Kernel == c.Levels[0].Kernel {
			for _, d := range l.Decisions {
				same = append(same, d.Change)
			}
		}
	}
	if len(same) < enough {
		return 0
	}
	// Half the distance between the outer sixths of a normal distribution is its standard
	// deviation, and an outlier does not change it.
	spread := (stat.Percentile(same, 84.1) - stat.Percentile(same, 15.9)) / 2
	return max(0, min(1.96*spread, c.Gate.HalfWidth/2))
}

// Alarms bounds how often a run of this many rows fails without a cause: by the kernel with the
// most decisions, and for each other kernel by itself. nil: no decision on equal code was made.
func (c *Curve) Alarms(rows int) *result.FalseAlarms { return c.alarms(rows, 1) }

// AlarmsAfter estimates what Alarms will say after more time at the pace so far, if the decisions turn
// out alike; nil where the pace is not known. The estimate is too high rather than too low: more sets
// can show that decisions of one set are not alike.
func (c *Curve) AlarmsAfter(more time.Duration, rows int) *result.FalseAlarms {
	if c.Seconds <= 0 {
		return nil
	}
	return c.alarms(rows, 1+more.Seconds()/c.Seconds)
}

// Telling is the largest bound for a run that is worth citing. A gate that may fail every fifth run
// without a cause would have been noticed without a calibration: a larger bound says that too little
// was tried, and nothing of the gate.
const Telling = 0.2

// Until returns how much longer a calibration takes, at its pace so far, until its bound for a run of
// this many rows is worth citing; 0 where that is not known, or takes more than a day.
func (c *Curve) Until(rows int) time.Duration {
	const step = 5 * time.Minute
	for more := step; more <= 24*time.Hour; more += step {
		if a := c.AlarmsAfter(more, rows); a != nil && a.PerRun <= Telling {
			return more
		}
	}
	return 0
}

// usualRows is how many rows a run is taken to have, at least, where somebody asks how much longer to
// calibrate: pawl calibrate, which sees no run, and a small check have one answer.
const usualRows = 10

// Lacking says what a bound must come to that checks cite, and how much longer that takes for runs of this
// many rows.
func (c *Curve) Lacking(rows int) string {
	rows = max(rows, usualRows)
	text := fmt.Sprintf("checks cite a bound of at most %s of runs; for runs of %s rows that takes ", unit.PercentPlain(Telling), unit.Count(rows))
	if more := c.Until(rows); more > 0 {
		return text + fmt.Sprintf("at most about %.0f more minutes at this pace: pawl calibrate --for %.0fm", more.Minutes(), more.Minutes())
	}
	return text + "more than a day at this pace"
}

func (c *Curve) alarms(rows int, grown float64) *result.FalseAlarms {
	var all []result.KernelAlarms
	for _, l := range c.Levels {
		if l.Nominal == 0 && !l.Behind && len(l.Decisions) > 0 {
			all = append(all, c.alarmsOf(l.Kernel, grown))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &result.FalseAlarms{
		KernelAlarms: all[0], Others: all[1:], Configs: rows, PerRun: 1 - math.Pow(1-all[0].PerDecision, float64(rows)), Calibrated: c.Updated,
	}
}

// alarmsOf counts the failures of a kernel that did not change. Rows behind the best-known version
// may fail for a step that is none; where such rows were tried too, the larger bound counts.
func (c *Curve) alarmsOf(kernel string, grown float64) result.KernelAlarms {
	out := result.KernelAlarms{Kernel: kernel}
	for _, l := range c.Levels {
		if l.Kernel == kernel && l.Nominal == 0 && len(l.Decisions) > 0 {
			out.Decisions += len(l.Decisions)
			out.Sets += l.Sets()
			out.Failed += l.Failed()
			out.PerDecision = max(out.PerDecision, l.bound(l.Failed(), grown))
		}
	}
	return out
}

// Fits reports whether the curve was made with this gate, on this driver, and by the present
// method.
func (c *Curve) Fits(gate spec.Gate, driver string) bool {
	return c.Method == Method && c.Gate.Regression == gate.Regression && c.Gate.Improvement == gate.Improvement && c.Driver == driver
}

// Folder returns the folder of curves.
func Folder() string { return disk.Cache("calibration") }

// Path returns the file of a device class and a gate, by the present method: curves of several
// projects lie beside each other.
func Path(folder, class string, gate spec.Gate) string {
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'g', 6, 64) }
	return filepath.Join(folder, fmt.Sprintf("%s.gate-%s-%s.method-%d.json", class, percent(gate.Regression), percent(gate.Improvement), Method))
}

// Load reads the curve of a class and a gate; nil when there is none.
func Load(folder, class string, gate spec.Gate) (*Curve, error) {
	if folder == "" {
		return nil, nil
	}
	path := Path(folder, class, gate)
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
		if l == nil {
			return errors.New("a level is null")
		}
		for _, d := range l.Decisions {
			if !(d.Change > -1) || math.IsInf(d.Change, 0) {
				return fmt.Errorf("level %v: a change of %v", l.Nominal, d.Change)
			}
		}
	}
	return nil
}

// Save writes a curve atomically.
func Save(folder string, c *Curve) (string, error) {
	raw, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	path := Path(folder, c.DeviceClass, spec.Gate{Regression: c.Gate.Regression, Improvement: c.Gate.Improvement})
	if err := disk.Write(path, append(raw, '\n')); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	return path, nil
}
