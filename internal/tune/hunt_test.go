package tune

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/search"
	"pawl/internal/space"
	"pawl/internal/spec"
)

// bare returns a search that has tried nothing yet, of params A and B on configs c0, c1, ….
func bare(t *testing.T, configs int) *tune {
	t.Helper()
	text := "version: 1\nkernels:\n  k:\n    source: k.c\n    entry: k\n    params: {A: [1, 2, 3], B: [10, 20]}\n" +
		"    args: [{name: y, dtype: f32, shape: [N], role: out}]\nconfigs:\n"
	for i := range configs {
		text += fmt.Sprintf("  c%d: {N: %d}\n", i, 64<<i)
	}
	s, err := spec.Parse("pawl.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	h := &tune{
		Options: Default(), run: run.Quiet(time.Now(), nil), report: &result.Report{}, kernel: s.Kernels[0], configs: s.Kernels[0].Configs,
		claims: map[string]*claim{}, journal: &journal{}, began: time.Now(),
	}
	h.run.Spec, h.wake.L = s, &h.mu
	if err := h.prepare(); err != nil {
		t.Fatal(err)
	}
	h.until = h.began.Add(time.Hour)
	if h.strategy, err = search.New("random", h.space, search.Options{}); err != nil {
		t.Fatal(err)
	}
	return h
}

// asked returns a candidate as a compiler gets it, with the identity that it will have.
func (t *tune) askedFor(a, b uint16, identity string) *candidate {
	c := t.candidate(t.kernel.At([]uint16{a, b}))
	c.identity = identity
	t.asked, t.inFlight = t.asked+1, t.inFlight+1
	return c
}

// ratios makes a trial of its costs on configs.
func (t *tune) ratios(status result.TrialStatus, each ...float64) *result.Trial {
	trial := &result.Trial{Status: status, Cut: status == result.TrialCut}
	for i, r := range each {
		trial.On = append(trial.On, result.TrialConfig{Config: t.configs[i].Name, MedianS: r, Ratio: r, Samples: 5})
	}
	trial.Cost = t.combine(each)
	return trial
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

func TestCombine(t *testing.T) {
	h := bare(t, 2)
	if got := h.combine([]float64{0.5, 2}); !near(got, 1) {
		t.Errorf("mean %v", got)
	}
	h.Weights = map[string]float64{"c0": 3}
	if got := h.combine([]float64{0.5, 2}); !near(got, math.Exp2(-0.5)) {
		t.Errorf("weighted mean %v", got)
	}
	h.Over = Worst
	if got := h.combine([]float64{0.5, 2}); got != 2 {
		t.Errorf("worst %v", got)
	}
}

// What a trial is cut at is no less than what would let it come near the best.
func TestCut(t *testing.T) {
	h := bare(t, 2)
	if got := h.cutAt(nil); got != 0 {
		t.Errorf("before anything is right: %v", got)
	}
	h.best = h.ratios(result.TrialOK, 0.1, 10)
	first := h.cutAt(nil)
	if total := h.combine([]float64{first, cutHope * 10}); !near(total, cutBeyond) {
		t.Errorf("cut at %v, where the cost would be %v", first, total)
	}
	if second := h.cutAt([]float64{0.1}); !near(h.combine([]float64{0.1, second}), cutBeyond) {
		t.Errorf("cut on the last config at %v", second)
	}
	h.Objective = Energy
	if got := h.cutAt(nil); got != 0 {
		t.Errorf("energy is not known from a few samples: %v", got)
	}
}

// A trial that was cut on the first of several configs never looks better than the best, however its
// configs differ.
func TestCostOfCutTrial(t *testing.T) {
	h := bare(t, 2)
	h.best, h.scale = h.ratios(result.TrialOK, 0.1, 10), []float64{1, 1}
	s := &station{tune: h}
	trial := &result.Trial{Cut: true, On: []result.TrialConfig{{Config: "c0", MedianS: 0.3, Samples: 5}}}
	s.judge(trial)
	if trial.Status != result.TrialCut || trial.Cost < cutBeyond*h.best.Cost {
		t.Errorf("%s with a cost of %v; the best has %v", trial.Status, trial.Cost, h.best.Cost)
	}
}

// Equal candidates are measured once. Those that wait for the first are told with it, whatever comes of
// it, and nothing stays in flight.
func TestClaims(t *testing.T) {
	for _, status := range []result.TrialStatus{result.TrialOK, result.TrialWrong, result.TrialLost} {
		h := bare(t, 1)
		first, second, third := h.askedFor(0, 0, "x"), h.askedFor(1, 0, "x"), h.askedFor(2, 0, "x")
		h.claims["x"] = &claim{waiting: []*candidate{second}}
		trial := &result.Trial{Status: status}
		if status == result.TrialOK {
			trial = h.ratios(status, 0.5)
		}
		h.record(first, trial)
		h.settle(third, equalTo(h.claims["x"].trial)) // as build does for one that comes later
		if h.inFlight != 0 || len(h.tuning.Trials) != 3 {
			t.Fatalf("%s: %d in flight, %d trials", status, h.inFlight, len(h.tuning.Trials))
		}
		for i, other := range h.tuning.Trials[1:] {
			want := status
			if status == result.TrialOK {
				want = result.TrialSame
			}
			if other.Same != 1 || other.Status != want || other.N != i+2 || other.Cost != trial.Cost || other.DeviceS != 0 {
				t.Errorf("%s: %+v", status, other)
			}
		}
	}
}

// Settings that are equal on one config may differ on another, by their launches.
func TestContendersDifferOnAnyConfig(t *testing.T) {
	h := bare(t, 2)
	h.defaultsWork, h.defaults.identity = true, "x y"
	h.asked, h.inFlight = 1, 1
	h.record(h.defaults, h.ratios(result.TrialOK, 1, 1))
	h.record(h.askedFor(1, 0, "x z"), h.ratios(result.TrialOK, 0.99, 0.4))
	h.record(h.askedFor(2, 0, "x z"), h.ratios(result.TrialOK, 0.98, 0.4))
	h.record(h.askedFor(2, 1, "x y"), h.ratios(result.TrialOK, 0.9, 0.9))
	if got := h.contenders(); len(got) != 1 || got[0].Identity != "x z" {
		t.Errorf("%d contenders: %+v", len(got), got)
	}
}

// A search whose last candidates were never tried has not tried everything.
func TestConclusion(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tune)
		want   string
	}{
		"all tried":           {func(h *tune) { h.exhausted = true }, "exhausted"},
		"some not tried":      {func(h *tune) { h.exhausted, h.inFlight = true, 2 }, "budget"},
		"one interrupted":     {func(h *tune) { h.exhausted, h.dropped = true, 1 }, "budget"},
		"as many as wanted":   {func(h *tune) { h.Most, h.asked = 3, 3 }, "count"},
		"not as many, by one": {func(h *tune) { h.Most, h.asked, h.inFlight = 3, 3, 1 }, "budget"},
		"time is over":        {func(*tune) {}, "budget"},
	} {
		h := bare(t, 1)
		c.change(h)
		if h.conclusion(); h.tuning.Ended != c.want {
			t.Errorf("%s: ended by %s, want %s", name, h.tuning.Ended, c.want)
		}
	}
}

// Where today's defaults fail, a search that goes on measures with the scale of the one before.
func TestScaleOfTheSearchBefore(t *testing.T) {
	h := bare(t, 2)
	unit := h.ratios(result.TrialOK, 1, 1)
	unit.On[0].MedianS, unit.On[1].MedianS = 0.25, 4
	h.journal.known = []*result.Trial{{Status: result.TrialCrash}, h.ratios(result.TrialOK, 0.5, 1), unit}
	h.rescale()
	if !slices.Equal(h.scale, []float64{0.25, 4}) {
		t.Errorf("scale %v", h.scale)
	}
}

func TestPace(t *testing.T) {
	var p pace
	if got := p.ahead(1, 8); got != 9 {
		t.Errorf("%d ahead while nothing is known", got)
	}
	for range 100 {
		p.compiled(1)
		p.tried(0.5)
	}
	if got := p.ahead(1, 8); got != 4 || len(p.compile) > 50 {
		t.Errorf("%d ahead where compiling takes twice as long; %d are remembered", got, len(p.compile))
	}
	if got := p.compileMost(); got != compileLeast {
		t.Errorf("a compiler may take %s", got)
	}
	for range 100 {
		p.compiled(1000)
		p.tried(0)
	}
	if got := p.ahead(4, 2); got != 6 || p.compileMost() != compileMost {
		t.Errorf("%d ahead, %s", got, p.compileMost())
	}
}

func TestStatuses(t *testing.T) {
	for cause, want := range map[result.Cause]result.TrialStatus{
		result.CauseCompile: result.TrialCompileError, result.CauseWrong: result.TrialWrong, result.CauseTimeout: result.TrialTimeout,
		result.CauseMemory: result.TrialResources, result.CauseCheat: result.TrialRejected, result.CauseKilled: result.TrialLost, result.CauseCrash: result.TrialCrash,
		result.CauseLaunch: result.TrialLaunchError, result.CauseSpec: result.TrialUnfit,
	} {
		if got := statusOf(&result.Fault{Cause: cause}); got != want {
			t.Errorf("%s: %s, want %s", cause, got, want)
		}
	}
}

// A journal that somebody has edited gives no trial that a search cannot have written.
func TestEditedJournal(t *testing.T) {
	h := bare(t, 1)
	const on = `"on": [{"config": "c0", "median_s": 1, "samples": 5, "ratio": 0.5}]`
	good := `{"n": 1, "params": {"A": "2", "B": "10"}, "status": "ok", "cost": 0.5, ` + on + `, "at_s": 1}`
	lines := []string{
		`{"schema": 1, "kernel": "k"}`, good, "null", "{}",
		strings.Replace(good, `"cost": 0.5`, `"cost": -0.5`, 1),
		strings.Replace(good, `"cost": 0.5`, `"cost": 1e300`, 1),
		strings.Replace(good, `"ok"`, `"splendid"`, 1),
		strings.Replace(good, `"B": "10"`, `"B": "11"`, 1),
		strings.Replace(good, `"B": "10"`, `"B": "10", "C": "1"`, 1),
		strings.Replace(good, `"B": "10"`, `"C": "10"`, 1),
		strings.Replace(good, `"ratio": 0.5`, `"ratio": -0.5`, 1),
		strings.Replace(good, `"median_s": 1`, `"median_s": 0`, 1),
		strings.Replace(good, on, `"on": []`, 1),
		strings.Replace(good, `"c0"`, `"other"`, 1),
		strings.Replace(good, `"at_s": 1`, `"at_s": -1`, 1),
		strings.Replace(good, `"at_s": 1`, `"at_s": 1e200`, 1),
		strings.Replace(good, `"cost"`, `"cut": true, "cost"`, 1),
		`{"n": 1, "params": {"A": "3", "B": "10"}, "status": "crash", "at_s": 2}`,
		`{"n": 2, "params": {"A": "3", "B`,
	}
	file := filepath.Join(t.TempDir(), journalFile)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, trials, err := readJournal(file)
	if err != nil || len(trials) != len(lines)-2 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	if trials = h.sound(trials); len(trials) != 2 || trials[0].Cost != 0.5 || trials[1].Status != result.TrialCrash {
		t.Errorf("%d trials: %+v", len(trials), trials)
	}
}

// A search that goes on tries those again whose worker was lost; the others keep what they are equal to.
func TestLostTrialsAreTriedAgain(t *testing.T) {
	h := bare(t, 1)
	const on = `"on": [{"config": "c0", "median_s": 1, "samples": 5, "ratio": 0.5}]`
	head := h.heading()
	raw, _ := json.Marshal(head)
	lines := []string{
		string(raw),
		`{"n": 1, "params": {"A": "1", "B": "10"}, "status": "lost"}`,
		`{"n": 2, "params": {"A": "2", "B": "10"}, "status": "ok", "cost": 0.5, ` + on + `}`,
		`{"n": 3, "params": {"A": "3", "B": "10"}, "status": "lost", "same": 1}`,
		`{"n": 4, "params": {"A": "2", "B": "20"}, "status": "same", "same": 2, "cost": 0.5, ` + on + `}`,
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, journalFile), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.resume(head, []run.Past{{ID: "1", Dir: dir}}); err != nil {
		t.Fatal(err)
	}
	known := h.journal.known
	if len(known) != 2 || known[0].N != 1 || known[0].Params["A"] != "2" || known[1].N != 2 || known[1].Same != 1 {
		t.Errorf("%d trials: %+v", len(known), known)
	}
}

// A search that was killed before it had written anything does not hide the one before it.
func TestEmptyJournal(t *testing.T) {
	h := bare(t, 1)
	dir := t.TempDir()
	var all []run.Past
	for name, text := range map[string]string{"2": "", "1": `{"schema": 1, "kernel": "other"}` + "\n"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, journalFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, run.Past{ID: name, Dir: filepath.Join(dir, name)})
	}
	if err := h.resume(heading{Kernel: "k"}, all); err == nil || !strings.Contains(err.Error(), "there is no earlier search of k") {
		t.Error(err)
	}
}

// The ground of a device has only what fits it, and asks once about each point.
func TestGround(t *testing.T) {
	h := bare(t, 1)
	asked := 0
	g := &fitting{Space: h.space, known: map[string]bool{}, fits: func(p space.Point) bool { asked++; return p[0] != 1 }, over: func() bool { return false }}
	n := 0
	for p := range g.All() {
		if n++; p[0] == 1 || len(g.Neighbours(p)) != 2 {
			t.Errorf("%v has the neighbours %v", p, g.Neighbours(p))
		}
	}
	if n != 4 || g.Exact() || g.Contains([]uint16{1, 0}) || asked != 6 {
		t.Errorf("%d points, asked %d times", n, asked)
	}
}

// Where nothing fits, looking for a point ends with the search, which has not seen all points then.
func TestNothingFits(t *testing.T) {
	h := bare(t, 1)
	asked := 0
	g := &fitting{Space: h.space, known: map[string]bool{}, fits: func(space.Point) bool {
		if asked++; asked == 2 {
			h.until = h.began.Add(-time.Minute)
		}
		return false
	}}
	g.over = func() bool { return h.over(t.Context()) }
	h.clock.ended = true
	var err error
	if h.strategy, err = search.New("random", g, search.Options{}); err != nil {
		t.Fatal(err)
	}
	if c := h.next(t.Context()); c != nil || h.exhausted || asked != 2 {
		t.Errorf("%v, exhausted: %t, asked of %d points", c, h.exhausted, asked)
	}
	for p := range g.All() {
		t.Errorf("found %v", p)
	}
	if asked != 2 {
		t.Errorf("asked of %d points", asked)
	}
}

// Evidence against a winner keeps it from being suggested.
func TestSuspiciousWinner(t *testing.T) {
	h := bare(t, 1)
	h.best, h.defaultsWork, h.sure = h.ratios(result.TrialOK, 0.5), true, true
	h.tuning.Trials = []*result.Trial{h.ratios(result.TrialOK, 1), h.best}
	h.tuning.Finalists = []*result.Finalist{{Trial: 1, Overall: -0.5}}
	row := &result.Row{Kernel: "k", Config: "c0", Verification: &result.Verification{Integrity: result.Clean}}
	h.report.Rows = []*result.Row{row}
	if h.conclude(); h.tuning.NoSuggestion != "" {
		t.Errorf("clean: %s", h.tuning.NoSuggestion)
	}
	row.Verification.Suspect(result.Finding{Exploit: "hidden-work", Severity: result.Suspicious, Message: "it works beside the clock"})
	if h.conclude(); !strings.Contains(h.tuning.NoSuggestion, "suspicious on") {
		t.Errorf("suspicious: %q", h.tuning.NoSuggestion)
	}
}
