package tune

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/worker/puppet"
)

func TestMain(m *testing.M) {
	if puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		return
	}
	cache, err := os.MkdirTemp("", "pawl-tune-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CACHE_HOME", cache)
	code := puppet.Run(m)
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// searched searches kernel k, which is one puppet for every value of MODE.
func searched(t *testing.T, follow func(run.Event), change func(*Options), modes ...puppet.Script) *result.Report {
	t.Helper()
	dir := t.TempDir()
	code, values := "", []string{}
	for i, s := range modes {
		code += fmt.Sprintf("#if MODE == %d\nconst char script[] = %q;\n#endif\n", i, s)
		values = append(values, strconv.Itoa(i))
	}
	code += "void k(const float *in, float *out, long n) { out[0] = in[0] + script[n & 7]; }\n"
	text := "version: 1\nkernels:\n  k:\n    source: k.c\n    entry: k\n    params: {MODE: [" + strings.Join(values, ", ") + "]}\n    oracle: {elementwise: in}\n" +
		"    args: [{name: in, dtype: f32, shape: [N]}, {name: out, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]\nconfigs: {c: {N: 64}}\n"
	for name, content := range map[string]string{"k.c": code, "pawl.yaml": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(42)
	r, err := run.Prepare(result.KindTune, run.Request{
		Tool: result.Tool{Version: "test"}, Command: []string{"pawl", "tune"}, File: filepath.Join(dir, "pawl.yaml"), Patterns: []string{"k"}, Seed: &seed, Follow: follow,
	})
	if err != nil {
		t.Fatal(err)
	}
	command, err := puppet.Worker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opts := Default()
	opts.Lab = lab.Options{Build: build.Options{NoCcache: true}, Sandbox: "off", Worker: command}
	opts.Budget, opts.Strategy = 30*time.Second, "random"
	if change != nil {
		change(&opts)
	}
	report, err := Run(t.Context(), r, opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// A setting that is wrong only when it is timed is never suggested, though it answers right whenever it
// is verified.
func TestWrongWhenTimed(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"timed", "late"} {
		got := searched(t, nil, nil, puppet.Script{Micros: 2000}, puppet.Script{Micros: 500, Wrong: when}).Tuning
		found := got.Count(result.TrialRejected) == 1 || len(got.Finalists) == 1 && got.Finalists[0].Fault != nil
		if got.Suggested() != nil || !found {
			t.Errorf("wrong when %s: %q, %+v", when, got.NoSuggestion, got.Finalists)
		}
	}
}

// Nor does it keep others from being suggested, which would be given up beside it.
func TestRightBesideWrongWhenTimed(t *testing.T) {
	t.Parallel()
	got := searched(t, nil, nil, puppet.Script{Micros: 2000}, puppet.Script{Micros: 300, Wrong: "timed"}, puppet.Script{Micros: 1000}).Tuning
	if got.Suggested() == nil || got.Suggested().Params["MODE"] != "2" {
		t.Errorf("suggested %+v: %s", got.Suggested(), got.NoSuggestion)
	}
	for _, trial := range got.Trials {
		if want := trial.Params["MODE"] == "1"; want != (trial.Status == result.TrialRejected) {
			t.Errorf("%v: %s", trial.Params, trial.Status)
		}
	}
}

// The only worker of a pool that is lost in the middle of a trial is replaced, and every setting is tried.
func TestOnlyWorkerIsLost(t *testing.T) {
	t.Parallel()
	pids := t.TempDir()
	var kill sync.Once
	follow := func(e run.Event) {
		if e.Kind != run.Tune || e.Done < 3 {
			return
		}
		kill.Do(func() {
			raw, err := os.ReadFile(filepath.Join(pids, "pid"))
			if err != nil {
				t.Error(err)
				return
			}
			pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
			if process, err := os.FindProcess(pid); err != nil || process.Kill() != nil {
				t.Errorf("worker %d cannot be killed", pid)
			}
		})
	}
	modes := []puppet.Script{}
	for i := range 8 {
		modes = append(modes, puppet.Script{Micros: 2000 - 100*float64(i)})
	}
	report := searched(t, follow, func(o *Options) {
		o.Lab.Worker = append([]string{"sh", "-c", `echo $$ >"$0/pid"; exec "$@"`, pids}, o.Lab.Worker...)
		o.Lab.Workers = 1
	}, modes...)
	for _, trial := range report.Tuning.Trials {
		if trial.Status != result.TrialOK && trial.Status != result.TrialCut {
			t.Errorf("%v: %s, %v", trial.Params, trial.Status, trial.Fault)
		}
	}
	if len(report.Tuning.Trials) != len(modes) || report.Tuning.Ended != "exhausted" {
		t.Errorf("%d trials, ended by %s", len(report.Tuning.Trials), report.Tuning.Ended)
	}
}

// When no worker is left for good, what was tried is in the report, which says so and how to go on; nothing that
// was not played is suggested.
func TestNoWorkerIsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var kill sync.Once
	follow := func(e run.Event) {
		if e.Kind != run.Tune || e.Done < 3 {
			return
		}
		kill.Do(func() {
			if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600); err != nil {
				t.Error(err)
			}
			raw, _ := os.ReadFile(filepath.Join(dir, "pid"))
			pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
			if process, err := os.FindProcess(pid); err != nil || process.Kill() != nil {
				t.Errorf("worker %d cannot be killed", pid)
			}
		})
	}
	modes := []puppet.Script{}
	for i := range 12 {
		modes = append(modes, puppet.Script{Micros: 2000 - 100*float64(i)})
	}
	report := searched(t, follow, func(o *Options) {
		o.Lab.Worker = append([]string{"sh", "-c", `[ ! -e "$0/stop" ] || exit 1; echo $$ >"$0/pid"; exec "$@"`, dir}, o.Lab.Worker...)
		o.Lab.Workers = 1
	}, modes...)
	got := report.Tuning
	if n := len(got.Trials); n < 3 || n >= len(modes) || got.Ended != "workers" || got.Suggested() != nil {
		t.Errorf("%d trials, ended by %s, suggested %v", n, got.Ended, got.Suggested())
	}
	if !strings.Contains(got.NoSuggestion, "no worker was left") {
		t.Errorf("nothing is suggested since %q", got.NoSuggestion)
	}
	if o := report.Outcome; o.Result != result.Unjudged || !strings.Contains(o.Reasons[0], "--resume goes on") {
		t.Errorf("outcome %+v", o)
	}
}

// The budget holds even where verifying a winner again takes longer than the whole search: it is not
// suggested, and the report says why.
func TestBudgetEndsWhileTheWinnerIsVerified(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long")
	}
	t.Parallel()
	const budget = 20 * time.Second
	slow := func(micros float64) puppet.Script { return puppet.Script{Micros: micros, Think: 3200} }
	got := searched(t, nil, func(o *Options) { o.Budget = budget }, slow(2000), slow(500)).Tuning
	if len(got.Trials) != 2 || got.SpentS > budget.Seconds()+5 {
		t.Errorf("%d trials in %g s", len(got.Trials), got.SpentS)
	}
	if !strings.Contains(got.NoSuggestion, "the budget ended before the answers of the best were verified again: MODE=1 looked 75") {
		t.Errorf("%q, %+v", got.NoSuggestion, got.Finalists)
	}
}
