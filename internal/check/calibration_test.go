package check

import (
	"math"
	"strings"
	"testing"
	"time"

	"pawl/internal/curve"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// calibrated writes a calibration in which the estimates of an unchanged kernel have the given
// scatter.
func calibrated(t *testing.T, folder, class, driver string, scatter float64, updated time.Time) *curve.Curve {
	t.Helper()
	return calibratedBy(t, 400, folder, class, driver, scatter, updated)
}

// calibratedBy is calibrated by a number of decisions.
func calibratedBy(t *testing.T, decisions int, folder, class, driver string, scatter float64, updated time.Time) *curve.Curve {
	t.Helper()
	made := &curve.Curve{
		Schema: curve.Schema, Method: curve.Method, DeviceClass: class, Driver: driver, Updated: updated, Seconds: 5 * float64(decisions),
		Gate: curve.Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005},
	}
	same := made.At("k", 0, false)
	for i := range decisions {
		same.Decisions = append(same.Decisions, curve.Decision{Set: i, Verdict: result.Maintained, Change: scatter * float64(i%3-1)})
	}
	if _, err := curve.Save(folder, made); err != nil {
		t.Fatal(err)
	}
	return made
}

// mixedCheck has two rows on a GPU and one on its machine's processor.
func mixedCheck(folder string) (*check, []*judged) {
	c := &check{
		Options: Options{Curves: folder, Duet: measure.DuetOptions{Floor: 1e-6}}, gate: spec.Gate{Regression: 0.03, Improvement: 0.05},
		report: &result.Report{DeviceClass: "some-gpu", Machine: result.Fingerprint{GPU: &result.GPU{Driver: "570"}}}, curves: map[string]*curve.Curve{},
	}
	var rows []*judged
	for _, cell := range []string{spec.CellCUDA, spec.CellCUDA, spec.CellHost} {
		class := "some-gpu"
		if cell == spec.CellHost {
			class = "host-some"
		}
		x := &planned{class: class, candidate: &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Cell: cell}}}}
		rows = append(rows, &judged{played: &played{verified: &verified{built: &built{planned: x}}}, state: state{sides: sides{base: &side{plays: true}}}})
	}
	c.consult([]*planned{rows[0].planned, rows[2].planned})
	return c, rows
}

// Every row is judged by the calibration of its own device, and the run's bound is
// that of all of them.
func TestCalibrationsOfAMixedCheck(t *testing.T) {
	t.Parallel()
	folder, day := t.TempDir(), time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
	gpu := calibrated(t, folder, "some-gpu", "570", 0.0001, day.AddDate(0, 0, 1))
	host := calibrated(t, folder, "host-some", "", 0.001, day)
	c, rows := mixedCheck(folder)
	for i, want := range []*curve.Curve{gpu, gpu, host} {
		if got := c.duet(rows[i].planned).Floor; got != want.Floor() {
			t.Errorf("row %d: floor %g, want %g", i, got, want.Floor())
		}
	}
	c.cite(rows)
	a, want := c.report.FalseAlarms, gpu.Alarms(3).PerRun // both had as many decisions
	if a == nil || a.Configs != 3 || a.Decisions != 800 || math.Abs(a.PerRun-want) > 1e-12 || !a.Calibrated.Equal(day) {
		t.Errorf("%+v, want %g a run", a, want)
	}
}

// The calibration of one device is not cited for another.
func TestCalibrationOfOneDeviceOnly(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	gpu := calibrated(t, folder, "some-gpu", "570", 0.001, time.Now())
	c, rows := mixedCheck(folder)
	c.cite(rows)
	if got := c.duet(rows[2].planned).Floor; got != c.Duet.Floor || c.report.FalseAlarms != nil {
		t.Errorf("without a calibration of the processor: floor %g, %+v", got, c.report.FalseAlarms)
	}
	rows[2].base.plays = false // nothing is decided there
	c.cite(rows)
	if a := c.report.FalseAlarms; a == nil || a.Configs != 2 || a.PerRun != gpu.Alarms(2).PerRun {
		t.Errorf("%+v", a)
	}
	c.report.Machine.GPU.Driver = "575"
	if got := c.duet(rows[0].planned).Floor; got != c.Duet.Floor {
		t.Errorf("on another driver: floor %g", got)
	}
}

// A calibration of a few minutes bounds nothing: it is not cited, and -v says how long one that is
// takes.
func TestCalibrationThatSaysNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	gpu := calibratedBy(t, 12, folder, "some-gpu", "570", 0.0001, time.Now())
	calibrated(t, folder, "host-some", "", 0.001, time.Now())
	c, rows := mixedCheck(folder)
	c.cite(rows)
	if want := "false alarms are not known: the calibration has too few decisions, 12 so far; checks cite a bound of at most 20.0% of runs; for runs of 10 rows that takes at most about 15 more minutes at this pace: pawl calibrate --for 15m"; c.report.FalseAlarms != nil || c.report.Uncited != want {
		t.Errorf("%+v, %q", c.report.FalseAlarms, c.report.Uncited)
	}
	if said := gpu.Lacking(10); !strings.HasSuffix(c.report.Uncited, said) {
		t.Errorf("%q, and pawl calibrate says %q", c.report.Uncited, said)
	}
	c, rows = mixedCheck(folder)
	c.cite(rows[2:])
	if c.report.FalseAlarms == nil || c.report.Uncited != "" {
		t.Errorf("%+v, %q", c.report.FalseAlarms, c.report.Uncited)
	}
}
