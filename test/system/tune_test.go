package system

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
)

// tunable is a kernel whose settings differ in time, crash, hang or answer wrong.
const tunable = `#include <stdlib.h>
void kernel(const float *in, float *out, int n) {
#if MODE == 1
	abort();
#elif MODE == 2
	for (volatile int i = 0;; i++) ;
#endif
	for (int i = 0; i < n; i++) {
		for (volatile int r = 0; r < WORK; r++) ;
		out[i] = (MODE == 3 ? 3 : 2) * in[i];
	}
}
`

func newTunable(t *testing.T, params string) *project {
	t.Helper()
	p := newProject(t)
	p.write("k.c", tunable)
	p.write("pawl.yaml", "version: 1\nkernels:\n"+kernelYAML("k", "params: "+params, `oracle: {elementwise: {out: "2 * in"}}`)+"configs: {small: {N: 1024}}\n")
	return p
}

// searched runs a search and returns its report.
func (p *project) searched(args ...string) (*result.Report, outcome) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "report.json")
	got := p.run(append([]string{"tune", "k", "-o", file}, args...)...)
	raw, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	report, err := result.Decode(raw)
	if err != nil {
		p.t.Fatal(err)
	}
	return report, got
}

// A setting that hangs is ended, one that crashes ends nothing else, and the budget is kept.
func TestSearchOutlivesItsTrials(t *testing.T) {
	t.Parallel()
	p := newTunable(t, "{MODE: [0, 1, 2, 3], WORK: [100, 1]}")
	began := time.Now()
	report, got := p.searched("--budget", "40s")
	if took := time.Since(began); took > 45*time.Second || got.code != 0 {
		t.Errorf("exit code %d after %s: the budget is 40 s, to within 5\n%s", got.code, took, got.stderr)
	}
	want := map[string]result.TrialStatus{"0 100": "ok", "0 1": "ok", "1 100": "crash", "1 1": "crash", "2 100": "timeout", "2 1": "timeout", "3 100": "wrong answer", "3 1": "wrong answer"}
	for _, trial := range report.Tuning.Trials {
		key := trial.Params["MODE"] + " " + trial.Params["WORK"]
		if trial.Status != want[key] {
			t.Errorf("MODE, WORK = %s: %s (%v), want %s", key, trial.Status, trial.Fault, want[key])
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("never tried: %v", want)
	}
	if report.Tuning.Ended != "exhausted" || report.Tuning.Winner() == nil || report.Tuning.Winner().Params["WORK"] != "1" {
		t.Errorf("ended %s, winner %+v", report.Tuning.Ended, report.Tuning.Winner())
	}
}

// A search that is killed loses what was under way, and goes on with --resume.
func TestKilledSearchGoesOn(t *testing.T) {
	t.Parallel()
	p := newTunable(t, "{MODE: [0], WORK: [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]}")
	cmd := p.command("tune", "k", "--budget", "2m", "--strategy", "random")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	journals := func() []string {
		found, _ := filepath.Glob(filepath.Join(p.dir, ".pawl/runs/*/trials.jsonl"))
		return found
	}
	trials := 0
	for deadline := time.Now().Add(time.Minute); trials < 5 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		for _, file := range journals() {
			trials = max(trials, linesOf(t, file)-1)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if trials < 5 {
		t.Fatalf("only %d trials were written in a minute", trials)
	}
	file := journals()[0]
	trials = linesOf(t, file) - 1
	// A line that was half written when the power went.
	half, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = half.WriteString(`{"n":99,"params":{"MO`)
	_ = half.Close()
	report, got := p.searched("--budget", "60s", "--resume")
	if got.code != 0 || len(report.Tuning.Resumed) != 1 {
		t.Fatalf("exit code %d, resumed %v\n%s", got.code, report.Tuning.Resumed, got.stderr)
	}
	earlier, seen := 0, map[string]int{}
	for i, trial := range report.Tuning.Trials {
		if trial.N != i+1 {
			t.Errorf("trial %d has the number %d", i+1, trial.N)
		}
		seen[trial.Params["WORK"]]++
		if trial.Earlier {
			earlier++
		}
	}
	if earlier != trials {
		t.Errorf("%d trials of the killed search are there, of %d", earlier, trials)
	}
	for work, times := range seen {
		if times > 1 && work != "100" { // today's defaults are measured again
			t.Errorf("WORK=%s was tried %d times", work, times)
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d settings were tried of 10", len(seen))
	}
}

func linesOf(t *testing.T, file string) int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if json.Valid(lines.Bytes()) {
			n++
		}
	}
	return n
}

// A search that the user ends shows the best so far.
func TestInterruptedSearch(t *testing.T) {
	t.Parallel()
	p := newTunable(t, "{MODE: [0], WORK: [100, 90, 80, 70, 60, 50, 40, 30, 20, 10]}")
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := p.command("tune", "k", "--budget", "2m", "-o", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(p.dir, ".pawl/runs/*/trials.jsonl")); len(found) == 1 && linesOf(t, found[0]) > 3 {
			break
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	err := cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 130 {
		t.Errorf("%v, want exit code 130", err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report, err := result.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Interrupted || report.Tuning.Ended != "interrupted" || len(report.Tuning.Trials) < 3 || !strings.Contains(report.Tuning.NoSuggestion, "WORK=") && !strings.Contains(report.Tuning.NoSuggestion, "none of") {
		t.Errorf("interrupted %t, ended %s, %d trials, %q", report.Interrupted, report.Tuning.Ended, len(report.Tuning.Trials), report.Tuning.NoSuggestion)
	}
}

// On a machine with two GPUs both try settings; what the device cannot run by its formulas is not tried.
func TestSearchOnTwoGPUs(t *testing.T) {
	t.Parallel()
	p := newCUDAProject(t, strings.Replace(cudaKernel("k", "scale", `launch: {grid: "ceildiv(N, BLOCK)", block: BLOCK}`), "source: fake.cu", "source: fake.cu\n    params: {BLOCK: [256, 32, 64, 96, 128, 160, 192, 224, 288, 320, 352, 384, 2048, 4096]}", 1))
	report, got := p.searched("--budget", "40s", "--device", "all")
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	workers := map[int]bool{}
	for _, trial := range report.Tuning.Trials {
		workers[trial.Worker] = true
		if block := trial.Params["BLOCK"]; block == "2048" || block == "4096" {
			t.Errorf("BLOCK=%s was tried: %s", block, trial.Status)
		}
		if trial.Fault != nil {
			t.Errorf("%v: %v", trial.Params, trial.Fault)
		}
	}
	if len(report.Tuning.Trials) != 12 || report.Tuning.Workers != 2 {
		t.Errorf("%d trials on %d devices (%v)", len(report.Tuning.Trials), report.Tuning.Workers, workers)
	}
}

// Energy counts in the finals, too: the fake GPU uses the same power whatever it runs, so that a setting
// that takes a third of the time takes a third of the energy.
func TestSearchForEnergy(t *testing.T) {
	t.Parallel()
	many := "0" // more settings than there is time for
	for i := range 99 {
		many += fmt.Sprintf(", %d", i+1)
	}
	objectives := []string{"both", "energy"}
	if testing.Short() {
		objectives = objectives[:1]
	}
	for _, objective := range objectives {
		p := newCUDAProject(t, strings.Replace(cudaKernel("k", "tunable"), "source: fake.cu", "source: fake.cu\n    params: {TOOK: [300000, 100000, 200000], PAD: ["+many+"]}", 1))
		const scale = "KERNEL(scale, 8, 8, 4) {"
		p.replace("fake.cu", scale, "#ifdef TOOK\nstatic const int pad = PAD;\nKERNEL(tunable, 8, 8, 4) { twice(args, l); l->took = TOOK + pad; return 0; }\n#endif\n"+scale)
		report, got := p.searched("--budget", "25s", "--objective", objective)
		if got.code != 0 {
			t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		winner := report.Tuning.Suggested()
		if winner == nil || winner.Params["TOOK"] != "100000" {
			t.Fatalf("--objective %s suggests %+v: %s", objective, winner, report.Tuning.NoSuggestion)
		}
		const want = 1.0/3 - 1
		energy := winner.Energy["c"]
		if objective == "energy" {
			energy = winner.Changes["c"]
		}
		if energy == nil || math.Abs(energy.Median-want) > 0.03 || math.Abs(winner.Overall-want) > 0.05 {
			t.Errorf("--objective %s: %+.3f, energy %+v, want %+.3f", objective, winner.Overall, energy, want)
		}
		if report.Tuning.Ended != "budget" || len(report.Tuning.Front) == 0 {
			t.Errorf("ended by %s; on the front: %v", report.Tuning.Ended, report.Tuning.Front)
		}
	}
}
