package curve

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/spec"
)

const class = "host-some-processor"

// made is a curve with decisions of two levels.
func made() *Curve {
	c := &Curve{
		Schema: Schema, DeviceClass: class, Device: "Some Processor", Cell: "host", Tool: result.Tool{Version: "test"},
		Gate:    Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005},
		Started: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Updated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC), Runs: 2, Seconds: 80,
	}
	for range 3 {
		c.At(0).Count(result.Maintained, 0.001)
	}
	c.At(0.05).Count(result.Regression, 0.051)
	c.At(0.05).Truth = &Truth{Median: 0.05, Low: 0.0499, High: 0.0501, Cells: 40, Pairs: 1000}
	return c
}

func TestCount(t *testing.T) {
	c := &Curve{}
	l := c.At(0.02)
	for i, v := range []result.Verdict{
		result.Regression, result.Improvement, result.Maintained, result.Unchanged, result.Inconclusive, result.Incomparable, "",
	} {
		l.Count(v, float64(i))
	}
	want := &Level{Nominal: 0.02, Failed: 1, Passed: 3, Improved: 1, Inconclusive: 3, Changes: []float64{0, 1, 2, 3, 4, 5, 6}}
	if diff := cmp.Diff(want, c.At(0.02)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Decisions() != 7 || len(c.Levels) != 1 {
		t.Errorf("%d decisions, %d levels", l.Decisions(), len(c.Levels))
	}
}

// The bounds are Clopper and Pearson's, one-sided at 95%: where nothing failed,
// 1 − 0.05^(1/n).
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		failed, passed, inconclusive int
		fail, pass                   float64
	}{
		{0, 0, 0, 1, 1},
		{0, 1, 0, 0.95, 1},
		{0, 400, 0, 0.007461, 1},
		{1, 399, 0, 0.011804, 0.999872}, // p such that 400 trials have at most one event in 5%; and at most 399
		{200, 0, 0, 1, 0.014867},
		{199, 0, 1, 0.999744, 0.023498}, // undecided is not found
		{199, 1, 0, 0.999744, 0.023498},
	} {
		l := &Level{Failed: test.failed, Passed: test.passed, Inconclusive: test.inconclusive}
		if got := l.FailBound(); math.Abs(got-test.fail) > 2e-6 {
			t.Errorf("%+v: fails at most %.6f", test, got)
		}
		if got := l.PassBound(); math.Abs(got-test.pass) > 2e-6 {
			t.Errorf("%+v: passes at most %.6f", test, got)
		}
	}
}

func TestFloor(t *testing.T) {
	c := &Curve{Gate: Gate{HalfWidth: 0.005}}
	if got := c.Floor(); got != 0 {
		t.Errorf("nothing is known: %g", got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	add := func(n int, sigma float64) {
		for range n {
			c.At(0).Count(result.Maintained, sigma*random.NormFloat64())
		}
	}
	if add(19, 0.001); c.Floor() != 0 {
		t.Errorf("19 decisions: %g", c.Floor())
	}
	if add(381, 0.001); math.Abs(c.Floor()/0.00196-1) > 0.15 {
		t.Errorf("estimates scatter by 0.1%%: %g, want about 0.00196", c.Floor())
	}
	c.At(0).Count(result.Regression, 0.5)
	if c.Floor() > 0.0025 {
		t.Errorf("one estimate far out makes it %g", c.Floor())
	}
	if add(4000, 0.05); c.Floor() != 0.0025 {
		t.Errorf("a wild machine: %g, want half of what decisions ask for", c.Floor())
	}
	// Estimates of true slowdowns say nothing of it.
	other := &Curve{Gate: Gate{HalfWidth: 0.005}}
	for range 100 {
		other.At(0.03).Count(result.Maintained, random.NormFloat64())
	}
	if got := other.Floor(); got != 0 {
		t.Errorf("by other levels: %g", got)
	}
}

func TestAlarms(t *testing.T) {
	c := &Curve{Updated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)}
	if got := c.Alarms(10); got != nil {
		t.Errorf("nothing is known: %+v", got)
	}
	for range 400 {
		c.At(0).Count(result.Maintained, 0)
	}
	got := c.Alarms(10)
	if got.Decisions != 400 || got.Failed != 0 || got.Configs != 10 || !got.Calibrated.Equal(c.Updated) {
		t.Errorf("%+v", got)
	}
	if math.Abs(got.PerDecision-0.007461) > 1e-6 || math.Abs(got.PerRun-(1-math.Pow(1-0.007461, 10))) > 1e-5 {
		t.Errorf("%+v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := &Level{Failed: rapid.IntRange(0, 20).Draw(t, "failed"), Passed: rapid.IntRange(1, 400).Draw(t, "passed")}
		c := &Curve{Levels: []*Level{l}}
		n := rapid.IntRange(1, 50).Draw(t, "configs")
		one, many := c.Alarms(n), c.Alarms(n+1)
		if rate := float64(l.Failed) / float64(l.Decisions()); one.PerDecision < rate || one.PerRun < one.PerDecision-1e-12 || many.PerRun < one.PerRun || many.PerRun > 1 {
			t.Fatalf("%+v, with one more %+v", one, many)
		}
	})
}

func TestFits(t *testing.T) {
	c := made()
	c.Driver = "550.1"
	gate := spec.DefaultGate
	if !c.Fits(gate, "550.1") {
		t.Error("its own gate and driver")
	}
	if c.Fits(gate, "560.1") {
		t.Error("another driver")
	}
	for _, change := range []func(*spec.Gate){func(g *spec.Gate) { g.Regression = 0.02 }, func(g *spec.Gate) { g.Improvement = 0.1 }} {
		other := gate
		change(&other)
		if c.Fits(other, "550.1") {
			t.Errorf("another gate: %+v", other)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "calibration")
	if c, err := Load(folder, class); c != nil || err != nil {
		t.Errorf("nothing is there: %v, %v", c, err)
	}
	if c, err := Load("", class); c != nil || err != nil {
		t.Errorf("no folder: %v, %v", c, err)
	}
	want := made()
	path, err := Save(folder, want)
	if err != nil || path != Path(folder, class) {
		t.Fatal(path, err)
	}
	got, err := Load(folder, class)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-saved +loaded):\n%s", err, diff)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("%v: besides the file there are %v", err, left)
	}
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		if _, err := Save(folder, want); err == nil || !strings.HasPrefix(err.Error(), "write the calibration: ") {
			t.Errorf("a folder that cannot be written to: %v", err)
		}
	}
	if _, err := Save(path, want); err == nil || !strings.HasPrefix(err.Error(), "write the calibration: ") {
		t.Errorf("a folder that is a file: %v", err)
	}
}

func TestLoadOfDamaged(t *testing.T) {
	folder := t.TempDir()
	path, err := Save(folder, made())
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, by string) string {
		if !strings.Contains(string(whole), old) {
			t.Fatalf("the file has no %s", old)
		}
		return strings.Replace(string(whole), old, by, 1)
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty":              {"", "unexpected end of JSON input"},
		"truncated":          {string(whole[:len(whole)/2]), "unexpected end of JSON input"},
		"no JSON":            {"half", "invalid character"},
		"another schema":     {replaced(`"schema": 1`, `"schema": 2`), "expected schema 1, got 2"},
		"no schema":          {"{}", "expected schema 1, got 0"},
		"of another device":  {replaced(class, "nvidia-h200"), `it is of "nvidia-h200", not of "` + class + `"`},
		"a null level":       {replaced(`"levels": [`, `"levels": [null,`), "a level is null"},
		"decisions added":    {replaced(`"passed": 3`, `"passed": 400`), "level 0 counts 400 decisions and lists 3"},
		"decisions removed":  {replaced(`"failed": 1`, `"failed": 0`), "level 0.05 counts 0 decisions and lists 1"},
		"a negative count":   {replaced(`"failed": 0`, `"failed": -1`), "level 0 counts 2 decisions"},
		"a number too large": {replaced("0.051", "1e999"), "cannot unmarshal number 1e999"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Load(folder, class)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "read the calibration "+path) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(folder, class); err == nil || !strings.HasPrefix(err.Error(), "read the calibration: ") {
		t.Errorf("a folder in its place: %v", err)
	}
}

// Whatever a file holds, it is refused or gives bounds that are chances.
func FuzzLoad(f *testing.F) {
	folder := f.TempDir()
	path, err := Save(folder, made())
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/3])
	f.Add([]byte(`{"schema": 1, "device_class": "` + class + `"}`))
	f.Add([]byte(`{"schema": 1, "device_class": "` + class + `", "levels": [{"nominal": 0, "failed": 1, "changes": [0]}, {"nominal": 0}]}`))
	f.Add([]byte(`{"schema": 1, "device_class": "` + class + `", "gate": {"half_width": -1}, "levels": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(Path(folder, class), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Load(folder, class)
		if err != nil {
			return
		}
		chance := func(what string, v float64) {
			if !(v >= 0 && v <= 1) {
				t.Errorf("%s: %g", what, v)
			}
		}
		for _, l := range slices.Clone(c.Levels) { // which asking for the floor may add to
			chance("fails", l.FailBound())
			chance("passes", l.PassBound())
		}
		if a := c.Alarms(10); a != nil {
			chance("false alarms of a run", a.PerRun)
		}
		if floor := c.Floor(); math.IsNaN(floor) || math.IsInf(floor, 0) || floor > max(0, c.Gate.HalfWidth/2) {
			t.Errorf("floor %g", floor)
		}
		if _, err := Save(folder, c); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(folder, class); err != nil {
			t.Errorf("what was saved cannot be read again: %v", err)
		}
	})
}
