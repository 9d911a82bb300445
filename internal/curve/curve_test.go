package curve

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/spec"
)

const class = "host-some-processor"

// add counts this many decisions with these verdicts and a change that scatters a
// little, each in a set of its own.
func (l *Level) add(n int, v result.Verdict) {
	for range n {
		set := len(l.Decisions)
		l.Decisions = append(l.Decisions, Decision{Set: set, Verdict: v, Change: l.Nominal + 0.001*float64(set%3-1)})
	}
}

// made returns a curve with decisions of two levels.
func made() *Curve {
	c := &Curve{
		Schema: Schema, Method: Method, DeviceClass: class, Device: "Some Processor", Cell: "host", Tool: result.Tool{Version: "test"},
		Gate:    Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005},
		Started: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Updated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC), Sets: 3, Seconds: 80,
	}
	c.At("compute", 0, false).add(3, result.Maintained)
	c.At("compute", 0.05, false).add(1, result.Regression)
	return c
}

func TestLevels(t *testing.T) {
	c := &Curve{}
	l := c.At("k", 0.02, false)
	for i, v := range []result.Verdict{result.Regression, result.Improvement, result.Maintained, result.Inconclusive, result.Inconclusive} {
		l.Decisions = append(l.Decisions, Decision{Set: i / 2, Verdict: v})
	}
	if l.Failed() != 1 || l.Undecided() != 2 || l.Sets() != 3 || c.Decisions() != 5 {
		t.Errorf("%d failed, %d undecided, %d sets, %d decisions", l.Failed(), l.Undecided(), l.Sets(), c.Decisions())
	}
	for _, other := range []*Level{c.At("k", 0.02, true), c.At("k", 0.03, false), c.At("other", 0.02, false)} {
		if other == l || len(other.Decisions) > 0 {
			t.Errorf("%+v is taken for %+v", other, l)
		}
	}
	if c.At("k", 0.02, false) != l || len(c.Levels) != 4 {
		t.Errorf("%d levels", len(c.Levels))
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
		l := &Level{}
		l.add(test.failed, result.Regression)
		l.add(test.passed, result.Maintained)
		l.add(test.inconclusive, result.Inconclusive)
		if got := l.FailBound(); math.Abs(got-test.fail) > 2e-6 {
			t.Errorf("%+v: fails at most %.6f", test, got)
		}
		if got := l.PassBound(); math.Abs(got-test.pass) > 2e-6 {
			t.Errorf("%+v: passes at most %.6f", test, got)
		}
	}
}

// Decisions of one set of cells share what befell it: 400 in 25 sets are 25 where
// all of a set agree, and 400 at most.
func TestBoundsCountSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bound := func(shared, own float64) float64 {
		l := &Level{}
		for set := range 25 {
			common := shared * random.NormFloat64()
			for range 16 {
				l.Decisions = append(l.Decisions, Decision{Set: set, Verdict: result.Maintained, Change: common + own*random.NormFloat64()})
			}
		}
		return l.FailBound()
	}
	if got, want := bound(0.001, 0), 1-math.Pow(0.05, 1.0/25); math.Abs(got-want) > 1e-9 {
		t.Errorf("sets that agree: %g, want %g", got, want)
	}
	if got := bound(0.001, 0.001); got < 0.03 || got > 0.1 {
		t.Errorf("sets that agree in half of it: %g", got)
	}
	if got := bound(0, 0.001); got < 0.0075 || got > 0.02 {
		t.Errorf("decisions that have nothing in common: %g", got)
	}
}

func TestTruth(t *testing.T) {
	l := &Level{Nominal: 0.04}
	if median, half := l.Truth(); !math.IsNaN(median) || half < 1 {
		t.Errorf("nothing is known: %g ± %g", median, half)
	}
	l.add(30, result.Regression)
	if median, half := l.Truth(); math.Abs(median-0.04) > 1e-9 || half > 0.001 || half <= 0 {
		t.Errorf("%g ± %g", median, half)
	}
}

func TestFloor(t *testing.T) {
	c := &Curve{Gate: Gate{HalfWidth: 0.005}}
	if got := c.Floor(); got != 0 {
		t.Errorf("nothing is known: %g", got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	add := func(n int, sigma float64) {
		l := c.At("k", 0, false)
		for range n {
			l.Decisions = append(l.Decisions, Decision{Verdict: result.Maintained, Change: sigma * random.NormFloat64()})
		}
	}
	if add(19, 0.001); c.Floor() != 0 {
		t.Errorf("19 decisions: %g", c.Floor())
	}
	if add(381, 0.001); math.Abs(c.Floor()/0.00196-1) > 0.15 {
		t.Errorf("estimates scatter by 0.1%%: %g, want about 0.00196", c.Floor())
	}
	c.At("k", 0, false).Decisions = append(c.At("k", 0, false).Decisions, Decision{Change: 0.5})
	if c.Floor() > 0.0025 {
		t.Errorf("one estimate far out makes it %g", c.Floor())
	}
	if add(4000, 0.05); c.Floor() != 0.0025 {
		t.Errorf("a wild machine: %g, want half of what decisions ask for", c.Floor())
	}
	// Estimates of true slowdowns, of rows behind the best and of other kernels say
	// nothing of it.
	other := &Curve{Gate: Gate{HalfWidth: 0.005}}
	other.At("k", 0.03, false).add(100, result.Maintained)
	other.At("k", 0, true).add(100, result.Maintained)
	other.At("other", 0, false).add(100, result.Maintained)
	if got := other.Floor(); got != 0 {
		t.Errorf("by other levels: %g", got)
	}
}

func TestAlarms(t *testing.T) {
	c := &Curve{Updated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)}
	if got := c.Alarms(10); got != nil {
		t.Errorf("nothing is known: %+v", got)
	}
	c.At("k", 0, false).add(400, result.Maintained)
	c.At("other", 0, false).add(50, result.Maintained)
	got := c.Alarms(10)
	if got.Kernel != "k" || got.Decisions != 400 || got.Sets != 400 || got.Failed != 0 || got.Configs != 10 || !got.Calibrated.Equal(c.Updated) {
		t.Errorf("%+v", got)
	}
	if math.Abs(got.PerDecision-0.007461) > 1e-6 || math.Abs(got.PerRun-(1-math.Pow(1-0.007461, 10))) > 1e-5 {
		t.Errorf("%+v", got)
	}
	if len(got.Others) != 1 || got.Others[0].Kernel != "other" || got.Others[0].Decisions != 50 || math.Abs(got.Others[0].PerDecision-0.058155) > 1e-6 {
		t.Errorf("%+v", got.Others)
	}
	c.At("k", 0, true) // wanted, and not tried yet
	if got = c.Alarms(10); got.Decisions != 400 || math.Abs(got.PerDecision-0.007461) > 1e-6 {
		t.Errorf("beside a level without decisions: %+v", got)
	}
	// Innocent rows behind the best-known version fail, too: they count.
	c.At("k", 0, true).add(199, result.Maintained)
	c.At("k", 0, true).add(1, result.Regression)
	if got = c.Alarms(1); got.Decisions != 600 || got.Failed != 1 || math.Abs(got.PerDecision-0.023498) > 1e-6 {
		t.Errorf("with rows behind the best: %+v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		l := &Level{}
		l.add(rapid.IntRange(0, 20).Draw(t, "failed"), result.Regression)
		l.add(rapid.IntRange(1, 400).Draw(t, "passed"), result.Maintained)
		c := &Curve{Levels: []*Level{l}}
		n := rapid.IntRange(1, 50).Draw(t, "configs")
		one, many := c.Alarms(n), c.Alarms(n+1)
		if rate := float64(l.Failed()) / float64(len(l.Decisions)); one.PerDecision < rate || one.PerRun < one.PerDecision-1e-12 || many.PerRun < one.PerRun || many.PerRun > 1 {
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
	if c.Method--; c.Fits(gate, "550.1") {
		t.Error("another method")
	}
}

// Curves of several gates lie beside each other.
func TestPath(t *testing.T) {
	seen := map[string]bool{}
	for _, gate := range []spec.Gate{spec.DefaultGate, {Regression: 0.03, Improvement: 0.051}, {Regression: 0.031, Improvement: 0.05}, {Regression: 0.3, Improvement: 0.05}} {
		seen[Path("folder", class, gate)] = true
	}
	if want := filepath.Join("folder", class+".gate-3-5.method-5.json"); len(seen) != 4 || !seen[want] {
		t.Errorf("%v, want %s among them", seen, want)
	}
}

func TestSaveAndLoad(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "calibration")
	if c, err := Load(folder, class, spec.DefaultGate); c != nil || err != nil {
		t.Errorf("nothing is there: %v, %v", c, err)
	}
	if c, err := Load("", class, spec.DefaultGate); c != nil || err != nil {
		t.Errorf("no folder: %v, %v", c, err)
	}
	want := made()
	path, err := Save(folder, want)
	if err != nil || path != Path(folder, class, spec.DefaultGate) {
		t.Fatal(path, err)
	}
	got, err := Load(folder, class, spec.DefaultGate)
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
		"empty":                   {"", "unexpected end of JSON input"},
		"truncated":               {string(whole[:len(whole)/2]), "unexpected end of JSON input"},
		"no JSON":                 {"half", "invalid character"},
		"another schema":          {replaced(`"schema": 2`, `"schema": 1`), "expected schema 2, got 1"},
		"no schema":               {"{}", "expected schema 2, got 0"},
		"of another device":       {replaced(class, "nvidia-h200"), `it is of "nvidia-h200", not of "` + class + `"`},
		"a null level":            {replaced(`"levels": [`, `"levels": [null,`), "a level is null"},
		"a change that cannot be": {replaced(`"change": 0.049`, `"change": -1`), "level 0.05: a change of -1"},
		"a number too large":      {replaced("0.049", "1e999"), "cannot unmarshal number 1e999"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Load(folder, class, spec.DefaultGate)
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
	if _, err := Load(folder, class, spec.DefaultGate); err == nil || !strings.HasPrefix(err.Error(), "read the calibration: ") {
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
	f.Add([]byte(`{"schema": 2, "device_class": "` + class + `"}`))
	f.Add([]byte(`{"schema": 2, "device_class": "` + class + `", "levels": [{"nominal": 0, "decisions": [{"verdict": "regression"}]}, {"nominal": 0}]}`))
	f.Add([]byte(`{"schema": 2, "device_class": "` + class + `", "gate": {"half_width": -1}, "levels": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(Path(folder, class, spec.DefaultGate), raw, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Load(folder, class, spec.DefaultGate)
		if err != nil {
			return
		}
		chance := func(what string, v float64) {
			if !(v >= 0 && v <= 1) {
				t.Errorf("%s: %g", what, v)
			}
		}
		for _, l := range c.Levels {
			chance("fails", l.FailBound())
			chance("passes", l.PassBound())
		}
		if a := c.Alarms(10); a != nil {
			chance("false alarms of a run", a.PerRun)
		}
		if floor := c.Floor(); math.IsNaN(floor) || math.IsInf(floor, 0) || floor < 0 || floor > max(0, c.Gate.HalfWidth/2) {
			t.Errorf("floor %g", floor)
		}
		if _, err := Save(folder, c); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(folder, class, spec.Gate{Regression: c.Gate.Regression, Improvement: c.Gate.Improvement}); err != nil {
			t.Errorf("what was saved cannot be read again: %v", err)
		}
	})
}
