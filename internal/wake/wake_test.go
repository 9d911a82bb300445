package wake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/forge"
	"pawl/internal/forge/forgetest"
)

// rig is a service with GitHub on loopback, real commands, and a clock that the test moves.
type rig struct {
	t      *testing.T
	api    *forgetest.Actions
	folder string
	config *Config
	w      *Wake

	mu    sync.Mutex
	clock time.Time
	logs  []string
	lines chan string
}

const script = `#!/bin/sh
cat > "$WAKE_TEST/stdin"
env > "$WAKE_TEST/env"
printf '%s\n' "$0" "$@" > "$WAKE_TEST/args"
echo "start $PAWL_MACHINE $PAWL_RUNNER" >> "$WAKE_TEST/calls"
if [ -e "$WAKE_TEST/start-fails" ]; then echo "no capacity; I was given $(cat "$WAKE_TEST/stdin")" >&2; exit 7; fi
`

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, api: forgetest.NewActions(t), folder: t.TempDir(), clock: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), lines: make(chan string, 1000)}
	r.api.Now = r.now
	t.Setenv("WAKE_TEST", r.folder)
	t.Setenv("PAWL_FORGE_TOKEN", forgetest.Token)
	r.write("start", script)
	r.write("stop", "#!/bin/sh\necho \"stop $PAWL_MACHINE\" >> \"$WAKE_TEST/calls\"\n[ ! -e \"$WAKE_TEST/stop-fails\" ]\n")
	r.write("wake.yaml", fmt.Sprintf(`
version: 1
repository: o/r
api: %s
state: %q
pass: [WAKE_TEST]
machines:
  - name: gpu
    labels: [self-hosted, gpu]
    start: [%q, please]
    stop: [%q]
    price_per_hour: 3.5
`, r.api.URL, filepath.Join(r.folder, "state"), filepath.Join(r.folder, "start"), filepath.Join(r.folder, "stop")))
	config, err := ReadConfig(filepath.Join(r.folder, "wake.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range change {
		one(config)
	}
	r.config = config
	r.open()
	t.Cleanup(func() { r.w.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	w, err := New(Options{
		Config: r.config, Forge: forge.Options{Token: forgetest.Token, Agent: "pawl/test"}, Secret: secret, now: r.now,
		Log: func(line string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logs = append(r.logs, line)
			select {
			case r.lines <- line:
			default: // nobody reads them
			}
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
}

// restart ends the process, as far as a test can, and begins another.
func (r *rig) restart() {
	r.t.Helper()
	r.w.Close()
	r.open()
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(text)
}

// once looks once, which must succeed.
func (r *rig) once() {
	r.t.Helper()
	if err := r.w.Once(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// calls returns the commands that were run, without the names of runners.
func (r *rig) calls() string {
	var out []string
	for line := range strings.Lines(r.read("calls")) {
		fields := strings.Fields(line)
		out = append(out, strings.Join(fields[:2], " "))
	}
	return strings.Join(out, ", ")
}

func (r *rig) expect(calls string) {
	r.t.Helper()
	if got := r.calls(); got != calls {
		r.t.Fatalf("commands %q, expected %q\n%s", got, calls, strings.Join(r.logs, "\n"))
	}
}

func (r *rig) machine(name string) *Machine { return r.w.state.machine(name) }

// runner returns the name of the runner that a machine has.
func (r *rig) runner(machine string) string { return r.machine(machine).Runner }

func (r *rig) reason(job int64) string {
	if known := r.w.state.Jobs[job]; known != nil {
		return known.Reason
	}
	return "unknown"
}

func (r *rig) entries() (entries []Entry) {
	for line := range strings.Lines(r.read("state/ledger.jsonl")) {
		var entry Entry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			r.t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// The whole life of a machine, found by polling alone: started for a job, kept while it is busy, warm for
// the next job, stopped when nobody needs it.
func TestLife(t *testing.T) {
	r := newRig(t)
	r.once()
	r.expect("")
	r.api.Queue(1, "ada", "gpu", "Self-Hosted")
	r.api.Queue(2, "ada", "ubuntu-latest")
	r.api.Queue(3, "ada", "gpu")
	r.api.SetStatus(3, "waiting") // for an approval: a machine would idle
	r.once()
	r.expect("start gpu-1")
	first := r.runner("gpu-1")
	if names := r.api.Runners(); len(names) != 1 || names[0] != first || !strings.HasPrefix(first, "pawl-gpu-1-") {
		t.Errorf("runners %v of %q", names, first)
	}
	r.once() // nothing has changed
	r.expect("start gpu-1")

	r.api.Take(first, 1)
	r.pass(time.Hour)
	r.once()
	r.api.Complete(1)
	r.once()
	r.expect("start gpu-1")
	entries := r.entries()
	if len(entries) != 1 || entries[0].Job != 1 || entries[0].Author != "ada" || entries[0].Seconds != 3600 || entries[0].Cost != 3.5 {
		t.Errorf("ledger %+v", entries)
	}

	r.pass(9 * time.Minute)
	r.api.Queue(4, "ben", "gpu")
	r.once()
	r.expect("start gpu-1, start gpu-1")
	second := r.runner("gpu-1")
	r.api.Take(second, 4)
	r.once()
	r.pass(2 * time.Minute)
	r.api.Complete(4)
	r.once()
	r.pass(9 * time.Minute)
	r.once()
	r.expect("start gpu-1, start gpu-1")
	r.pass(time.Minute)
	r.once()
	r.expect("start gpu-1, start gpu-1, stop gpu-1")
	if m := r.machine("gpu-1"); m.Phase != Off || m.Runner != "" || first == second {
		t.Errorf("%+v", m)
	}
	// The machine was on for 81 minutes, and had jobs for 62.
	entries = r.entries()
	if last := entries[len(entries)-1]; len(entries) != 3 || last.Machine != "gpu-1" || last.Job != 0 || last.Seconds != 81*60 {
		t.Errorf("ledger %+v", entries)
	}
	r.pass(24 * time.Hour)
	r.once()
	r.expect("start gpu-1, start gpu-1, stop gpu-1")
}

// The start command has the runner's config on its standard input, the price, and no secret of the service.
func TestCommandKeepsSecrets(t *testing.T) {
	for _, name := range secrets {
		t.Setenv(name, "never-to-be-seen")
	}
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	name := r.runner("gpu-1")
	if got := r.read("stdin"); got != forgetest.ConfigOf(name)+"\n" {
		t.Errorf("standard input %q", got)
	}
	env := r.read("env")
	for _, want := range []string{"PAWL_MACHINE=gpu-1\n", "PAWL_RUNNER=" + name + "\n", "PAWL_PRICE_PER_HOUR=3.5\n", "PAWL_REPOSITORY=o/r\n", "PAWL_LABELS=self-hosted,gpu\n", "PATH="} {
		if !strings.Contains(env, want) {
			t.Errorf("the environment lacks %q:\n%s", want, env)
		}
	}
	r.config.Machines[0].Price = 0
	for _, line := range r.config.commandFor(r.machine("gpu-1"), true, "", os.LookupEnv).env {
		if strings.HasPrefix(line, "PAWL_PRICE") {
			t.Errorf("a machine without a price has %s", line)
		}
	}
	everything := env + r.read("args") + strings.Join(r.logs, "\n") + r.read("state/state.json") + r.read("state/ledger.jsonl")
	for _, bad := range []string{"never-to-be-seen", forgetest.Token, forgetest.ConfigOf(name)} {
		if strings.Contains(everything, bad) {
			t.Errorf("%q is where it must not be", bad)
		}
	}
}

// A job that is cancelled after it was found, and before its machine is started, starts nothing.
func TestCancelledBeforeStart(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.api.Fail = func(request string) int {
		if request == "GET /repos/o/r/actions/jobs/1" {
			r.api.Cancel(1)
		}
		return 0
	}
	r.once()
	r.expect("")
	if names := r.api.Runners(); names != nil || r.reason(1) != "unknown" {
		t.Errorf("runners %v, job: %s", names, r.reason(1))
	}
}

// A job that is cancelled after the start leaves a runner without a job: it is removed, and the machine stopped.
func TestCancelledAfterStart(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Connect(r.runner("gpu-1"))
	r.api.Cancel(1)
	r.pass(9 * time.Minute)
	r.once()
	r.expect("start gpu-1")
	r.pass(time.Minute)
	r.once()
	r.expect("start gpu-1, stop gpu-1")
	if names := r.api.Runners(); names != nil {
		t.Errorf("runners %v", names)
	}
	if m := r.machine("gpu-1"); m.Failures != 0 {
		t.Errorf("it is no failure: %+v", m)
	}
}

// A start command that fails is tried again, later each time; what it began is stopped, and its runner removed.
func TestStartFails(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.write("start-fails", "")
	calls := []string{}
	for _, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute} {
		err := r.w.Once(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no capacity; I was given ***") || !strings.Contains(err.Error(), "exit status 7") {
			t.Fatalf("error %v", err)
		}
		calls = append(calls, "start gpu-1", "stop gpu-1")
		r.expect(strings.Join(calls, ", "))
		if names := r.api.Runners(); names != nil || r.machine("gpu-1").Phase != Off {
			t.Errorf("runners %v, machine %+v", names, r.machine("gpu-1"))
		}
		r.pass(wait - time.Second)
		r.once() // not yet
		r.expect(strings.Join(calls, ", "))
		if want := fmt.Sprintf("gpu-1 could not be started, %d times: ", len(calls)/2); !strings.HasPrefix(r.reason(1), want) || !strings.Contains(r.reason(1), "no capacity") {
			t.Errorf("reason %q, expected %q", r.reason(1), want)
		}
		r.pass(time.Second)
	}
	os.Remove(filepath.Join(r.folder, "start-fails"))
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	if m := r.machine("gpu-1"); m.Failures != 0 || m.Error != "" {
		t.Errorf("%+v", m)
	}
	if got := []time.Duration{backoff(8), backoff(100)}; !slices.Equal(got, []time.Duration{time.Hour, time.Hour}) {
		t.Errorf("pauses %v", got)
	}
}

// A start command that does not end is ended, with what it started.
func TestStartHangs(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Machines[0].Register.Duration = 3 * time.Second })
	r.write("start", "#!/bin/sh\necho \"start $PAWL_MACHINE x\" >> \"$WAKE_TEST/calls\"\nsleep 1000 & echo $! > \"$WAKE_TEST/child\"\nwait\n")
	r.api.Queue(1, "ada", "gpu")
	if err := r.w.Once(t.Context()); err == nil || !strings.Contains(err.Error(), "no end within 3s") {
		t.Fatal(err)
	}
	r.expect("start gpu-1, stop gpu-1")
	stat := ""
	for range 100 { // it is dead; its new parent may need a moment to notice
		text, err := os.ReadFile("/proc/" + strings.TrimSpace(r.read("child")) + "/stat")
		if stat = string(text); err != nil || strings.Contains(stat, ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("its child lives: %s", stat)
}

// A start command may leave a process behind, such as the runner itself: it lives on. It need not read
// its input.
func TestStartLeavesProcess(t *testing.T) {
	r := newRig(t)
	r.write("start", "#!/bin/sh\nsleep 1000 & echo $! > \"$WAKE_TEST/child\"\n")
	r.api.Queue(1, "ada", "gpu")
	r.once()
	child, err := strconv.Atoi(strings.TrimSpace(r.read("child")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("it was ended: %v", err)
	}
	if m := r.machine("gpu-1"); m.Phase != Up || m.Failures != 0 {
		t.Errorf("%+v", m)
	}
}

// A machine whose runner never appears is stopped, and started again later.
func TestNeverRegisters(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.pass(10*time.Minute - time.Second)
	r.once()
	r.expect("start gpu-1")
	r.pass(time.Second)
	r.once()
	r.expect("start gpu-1, stop gpu-1")
	if names := r.api.Runners(); names != nil || !strings.Contains(r.machine("gpu-1").Error, "not online within 10m0s") {
		t.Errorf("runners %v, machine %+v", names, r.machine("gpu-1"))
	}
	r.pass(30 * time.Second)
	r.once()
	r.expect("start gpu-1, stop gpu-1, start gpu-1")
}

// A runner that the forge does not know is given a minute, and counts as a failed start afterwards: the job
// that still waits does not register runner after runner.
func TestRunnerVanishes(t *testing.T) {
	r := newRig(t)
	registered := 0
	r.api.Fail = func(request string) int {
		switch {
		case strings.HasPrefix(request, "GET /repos/o/r/actions/runners/"):
			return http.StatusNotFound
		case strings.HasPrefix(request, "POST /repos/o/r/actions/runners/generate-jitconfig"):
			if registered++; registered > 3 {
				return http.StatusInternalServerError
			}
		}
		return 0
	}
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.pass(59 * time.Second)
	r.once()
	r.expect("start gpu-1")
	if why := r.reason(1); why != "a runner is on its way" {
		t.Errorf("the job waits because %s", why)
	}
	r.pass(time.Second)
	r.once()
	r.expect("start gpu-1, stop gpu-1")
	if m := r.machine("gpu-1"); m.Failures != 1 || !strings.Contains(m.Error, "never seen online") {
		t.Errorf("%+v", m)
	}
	r.pass(30 * time.Second)
	r.once()
	r.expect("start gpu-1, stop gpu-1, start gpu-1")
	r.pass(time.Minute)
	r.once()
	r.pass(59 * time.Second) // of the second pause
	r.once()
	r.expect("start gpu-1, stop gpu-1, start gpu-1, stop gpu-1")
}

// A runner that had its job between two looks has not vanished, also where no list of jobs was read.
func TestJobBetweenLooks(t *testing.T) {
	for _, full := range []bool{true, false} {
		r := newRig(t)
		r.api.Queue(1, "ada", "gpu")
		r.once()
		r.api.Take(r.runner("gpu-1"), 1)
		r.api.Complete(1)
		r.pass(2 * time.Minute)
		if err := r.w.step(t.Context(), full); err != nil {
			t.Fatal(err)
		}
		if m := r.machine("gpu-1"); m.Failures != 0 || m.Runner != "" || m.Phase != Up || len(r.entries()) != 1 {
			t.Errorf("full %v: %+v, ledger %v", full, m, r.entries())
		}
		r.expect("start gpu-1")
	}
}

// A runner that is online and gets no job, though one waits, is replaced. A job that has only just come
// is no reason to.
func TestRunnerWithoutJob(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Connect(r.runner("gpu-1"))
	r.pass(5 * time.Minute)
	r.once()
	r.pass(5 * time.Minute)
	r.once()
	r.expect("start gpu-1, stop gpu-1")
	if m := r.machine("gpu-1"); m.Failures != 1 || !strings.Contains(m.Error, "runner group") {
		t.Errorf("%+v", m)
	}

	r = newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Connect(r.runner("gpu-1"))
	r.api.Cancel(1)
	r.pass(10 * time.Minute)
	r.api.Queue(2, "ada", "gpu")
	r.once()
	r.expect("start gpu-1")
}

// A busy machine is not stopped, however long it works. It also is not stopped when its job came a
// moment before.
func TestBusyAtIdleTime(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	name := r.runner("gpu-1")
	r.api.Take(name, 1)
	for range 5 {
		r.pass(10 * time.Hour)
		r.once()
	}
	r.expect("start gpu-1")

	r = newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	name = r.runner("gpu-1")
	r.api.Connect(name)
	r.api.Cancel(1)
	r.pass(time.Hour)
	r.api.Fail = func(request string) int {
		if strings.HasPrefix(request, "DELETE ") {
			r.api.Queue(2, "ada", "gpu")
			r.api.Take(name, 2)
		}
		return 0
	}
	r.once()
	r.api.Fail = nil
	r.expect("start gpu-1")
	if m := r.machine("gpu-1"); !m.Busy || m.Phase != Up {
		t.Errorf("%+v", m)
	}
	r.once()
	r.pass(time.Minute)
	r.api.Complete(2)
	r.once()
	if entries := r.entries(); len(entries) != 1 || entries[0].Job != 2 {
		t.Errorf("ledger %+v", entries)
	}
}

// A job that nobody told of keeps a machine from being stopped: it gets it.
func TestQueuedAtIdleTime(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.api.Complete(1)
	r.once()
	r.pass(time.Hour)
	r.api.Queue(2, "ada", "gpu")
	if err := r.w.step(t.Context(), false); err != nil { // for some other webhook
		t.Fatal(err)
	}
	if err := r.w.finish(t.Context(), <-r.w.ended); err != nil {
		t.Fatal(err)
	}
	r.expect("start gpu-1, start gpu-1")
}

// Without GitHub nothing is stopped or started.
func TestForgeDown(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.api.Complete(1)
	r.once2("/actions/jobs/1") // it is no longer listed
	if !r.machine("gpu-1").Busy || r.reason(1) == "unknown" {
		t.Errorf("forgotten: %+v", r.machine("gpu-1"))
	}
	r.once()
	r.pass(time.Hour)
	for _, down := range []string{"/runs", "/jobs", "/runners"} {
		r.api.Queue(5, "ada", "gpu")
		r.once2(down)
	}
	status, err := ReadStatus(r.config, r.now())
	if err != nil || !strings.Contains(status.Problem, "403") {
		t.Errorf("status %+v: %v", status, err)
	}
	r.expect("start gpu-1")
	r.pass(30 * time.Second) // the registration failed
	r.once()
	r.expect("start gpu-1, start gpu-1")
	if status, err := ReadStatus(r.config, r.now()); err != nil || status.Problem != "" {
		t.Errorf("status %+v: %v", status, err)
	}
}

// once2 looks once while a part of the API is down.
func (r *rig) once2(down string) {
	r.t.Helper()
	r.api.Fail = func(request string) int {
		if strings.Contains(request, down) {
			return http.StatusForbidden
		}
		return 0
	}
	if err := r.w.Once(r.t.Context()); err == nil {
		r.t.Errorf("%s is down, and nobody says so", down)
	}
	r.api.Fail = nil
}

// A registration that fails counts as a failed start. What may have been registered is removed.
func TestRegisterFails(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once2("generate-jitconfig")
	r.expect("")
	r.once()
	if m := r.machine("gpu-1"); m.Phase != Off || m.Runner != "" || m.Failures != 1 {
		t.Errorf("%+v", m)
	}
	r.pass(30 * time.Second)
	r.once()
	r.expect("start gpu-1")
}

// A stop command that fails is run until it succeeds, and the machine is not used meanwhile.
func TestStopFails(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.api.Complete(1)
	r.once()
	r.write("stop-fails", "")
	r.pass(10 * time.Minute)
	if err := r.w.Once(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "/stop: exit status 1") {
		t.Errorf("the stop command failed: %v", err)
	}
	r.api.Queue(2, "ada", "gpu")
	r.once()
	r.expect("start gpu-1, stop gpu-1")
	if !strings.Contains(r.reason(2), "gpu-1 could not be stopped, 1 times") {
		t.Errorf("reason %q", r.reason(2))
	}
	os.Remove(filepath.Join(r.folder, "stop-fails"))
	r.pass(30 * time.Second)
	r.once2("/runs") // GitHub is not needed to stop it
	r.expect("start gpu-1, stop gpu-1, stop gpu-1")
	r.once()
	r.expect("start gpu-1, stop gpu-1, stop gpu-1, start gpu-1")
}

// A process may end at any point; the next one continues.
func TestRestart(t *testing.T) {
	t.Run("while the start command runs", func(t *testing.T) {
		r := newRig(t)
		r.api.Queue(1, "ada", "gpu")
		r.w.run = func(context.Context, command) error { return nil }
		if err := r.w.step(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		<-r.w.ended // and nobody hears of it
		r.restart()
		r.once()
		name := r.runner("gpu-1")
		if m := r.machine("gpu-1"); m.Phase != Up || name == "" {
			t.Errorf("%+v", m)
		}
		r.expect("") // not a second time
		r.api.Take(name, 1)
		r.once()
		r.restart()
		r.once()
		r.pass(time.Minute)
		r.api.Complete(1)
		r.restart()
		r.once()
		if entries := r.entries(); len(entries) != 1 || entries[0].Seconds != 60 {
			t.Errorf("ledger %+v", entries)
		}
	})
	t.Run("while the runner is registered", func(t *testing.T) {
		r := newRig(t)
		r.api.Queue(1, "ada", "gpu")
		was := ""
		r.api.Fail = func(request string) int {
			if strings.HasPrefix(request, "POST ") {
				was = r.read("state/state.json")
			}
			return 0
		}
		r.w.run = func(context.Context, command) error { return nil }
		r.once()
		r.api.Fail = nil
		lost := r.api.Runners()
		r.write("state/state.json", was)
		r.restart()
		r.once()
		r.expect("start gpu-1")
		if now := r.api.Runners(); len(now) != 1 || now[0] == lost[0] || now[0] != r.runner("gpu-1") {
			t.Errorf("runners %v, before %v", now, lost)
		}
	})
	t.Run("while the stop command runs", func(t *testing.T) {
		r := newRig(t)
		r.api.Queue(1, "ada", "gpu")
		r.once()
		r.api.Take(r.runner("gpu-1"), 1)
		r.once()
		r.api.Complete(1)
		r.once()
		r.pass(10 * time.Minute)
		r.w.run = func(context.Context, command) error { return nil }
		if err := r.w.step(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		<-r.w.ended
		r.restart()
		if m := r.machine("gpu-1"); m.Phase != Stopping {
			t.Fatalf("%+v", m)
		}
		r.once()
		r.expect("start gpu-1, stop gpu-1")
	})
	t.Run("after the ledger, before the state", func(t *testing.T) {
		r := newRig(t)
		r.api.Queue(1, "ada", "gpu")
		r.once()
		r.api.Take(r.runner("gpu-1"), 1)
		r.once()
		was := r.read("state/state.json")
		r.api.Complete(1)
		r.once()
		r.write("state/state.json", was)
		r.write("state/ledger.jsonl", r.read("state/ledger.jsonl")+`{"job":7,"au`)
		r.restart()
		r.once()
		if n := strings.Count(r.read("state/ledger.jsonl"), `"job":1,`); n != 1 {
			t.Errorf("%d lines:\n%s", n, r.read("state/ledger.jsonl"))
		}
		if err := r.w.ledger.add(Entry{Job: 8, Ended: r.now()}, r.now()); err != nil {
			t.Fatal(err)
		}
		if again, err := openLedger(r.config.State, r.now()); err != nil || len(again.recent) != 2 {
			t.Errorf("%+v: %v", again.recent, err)
		}
	})
}

// The ledger keeps all lines, and only those of two days in memory.
func TestLedgerForgets(t *testing.T) {
	folder, now := t.TempDir(), time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	book, err := openLedger(folder, now)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(5) {
		at := now.Add(time.Duration(i) * 24 * time.Hour)
		if err := book.add(Entry{Job: i + 1, Began: at, Ended: at}, at); err != nil {
			t.Fatal(err)
		}
	}
	jobs := func(l *ledger) (ids []int64) {
		for _, e := range l.recent {
			ids = append(ids, e.Job)
		}
		return ids
	}
	again, err := openLedger(folder, now.Add(4*24*time.Hour))
	if err != nil || !slices.Equal(jobs(book), []int64{4, 5}) || !slices.Equal(jobs(again), []int64{4, 5}) {
		t.Errorf("remembered %v, read %v: %v", jobs(book), jobs(again), err)
	}
	text, err := os.ReadFile(book.path)
	if err != nil || strings.Count(string(text), "\n") != 5 {
		t.Errorf("%s: %v", text, err)
	}
	if info, err := os.Stat(book.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
}

// A machine that the config forgets while it is on would never be stopped.
func TestForgottenMachine(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Machines[0].Count = 3 })
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.w.Close()
	r.config.Machines[0].Name = "other"
	if _, err := New(Options{Config: r.config, Forge: forge.Options{Token: "x"}}); err == nil || !strings.Contains(err.Error(), "machine gpu-1 is up, and the config has no machines named gpu") {
		t.Error(err)
	}
	r.config.Machines[0].Name, r.config.Machines[0].Count = "gpu", 2
	r.open()
	if n := len(r.w.state.Machines); n != 2 {
		t.Errorf("%d machines", n)
	}
}

func TestTwoServices(t *testing.T) {
	r := newRig(t)
	if _, err := New(Options{Config: r.config, Forge: forge.Options{Token: "x"}}); err == nil || !strings.Contains(err.Error(), "another pawl ci wake") {
		t.Error(err)
	}
}

// Two jobs at once use two machines, if there are two; else the second waits for the first's end.
func TestTwoJobs(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Machines[0].Count = 2 })
	r.api.Queue(1, "ada", "gpu")
	r.api.Queue(2, "ben", "gpu")
	r.api.Queue(3, "eve", "gpu")
	r.once()
	calls := strings.Split(r.calls(), ", ")
	slices.Sort(calls)
	if !slices.Equal(calls, []string{"start gpu-1", "start gpu-2"}) || r.reason(3) != "all 2 machines are in use" {
		t.Fatalf("%q, reason %q", calls, r.reason(3))
	}
	// GitHub gives the runners to whom it likes.
	r.api.Take(r.runner("gpu-1"), 3)
	r.once()
	r.api.Take(r.runner("gpu-2"), 1)
	r.once()
	if len(strings.Split(r.calls(), ", ")) != 2 || r.reason(2) != "all 2 machines are in use" {
		t.Fatalf("%q, reason %q", r.calls(), r.reason(2))
	}
	r.api.Complete(1)
	r.once()
	if !strings.HasSuffix(r.calls(), ", start gpu-2") {
		t.Errorf("%q", r.calls())
	}
}

// A machine without idle time is thrown away after each job, and never used for two.
func TestThrownAway(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Machines[0].Idle.Duration = 0 })
	r.api.Queue(1, "ada", "gpu")
	r.api.Queue(2, "ada", "gpu")
	r.once()
	r.api.Connect(r.runner("gpu-1"))
	r.once() // its job is on its way
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.expect("start gpu-1")
	r.api.Complete(1)
	r.once()
	r.expect("start gpu-1, stop gpu-1, start gpu-1")
}

// An author who has used a day's jobs waits for the next day; others do not.
func TestJobsOfADay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Daily.Jobs, c.Machines[0].Count = 2, 9 })
	for id := range int64(3) {
		r.api.Queue(id+1, "ada", "gpu")
	}
	r.api.Queue(4, "ben", "gpu")
	r.once()
	if n := len(r.api.Runners()); n != 3 || r.reason(3) != "ada has used 2 of 2 jobs of this day (UTC)" {
		t.Fatalf("%d runners, reason %q", n, r.reason(3))
	}
	r.restart()
	r.once()
	held := slices.DeleteFunc(slices.Clone(r.logs), func(line string) bool { return !strings.Contains(line, "left in the queue") })
	if len(r.api.Runners()) != 3 || len(held) != 1 {
		t.Errorf("%d runners, logged %q", len(r.api.Runners()), held)
	}
	for i, id := range []int64{1, 2, 4} {
		r.api.Take(r.runner(fmt.Sprintf("gpu-%d", i+1)), id)
	}
	r.once()
	r.pass(time.Minute)
	for _, id := range []int64{1, 2, 4} {
		r.api.Complete(id)
	}
	r.once()
	r.pass(time.Hour)
	r.once()
	if got := r.calls(); strings.Count(got, "start") != 3 || strings.Count(got, "stop") != 3 {
		t.Fatalf("a job that is held keeps no machine on: %s", got)
	}
	status, err := ReadStatus(r.config, r.now())
	if err != nil || len(status.Jobs) != 1 || !status.Jobs[0].Held || status.Today["ada"].Jobs != 2 || status.Today["ben"].Minutes != 1 {
		t.Errorf("status %+v: %v", status, err)
	}
	r.pass(r.now().Truncate(24 * time.Hour).Add(24*time.Hour - time.Second).Sub(r.now()))
	r.once()
	if len(r.api.Runners()) != 0 {
		t.Error("started before midnight")
	}
	r.pass(time.Second)
	r.once()
	if len(r.api.Runners()) != 1 {
		t.Errorf("not started at midnight: %s", r.reason(3))
	}
}

// Minutes count for the day on which they were; a job that runs counts too.
func TestMinutesOfADay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Daily.Minutes, c.Machines[0].Count = 30, 2 })
	r.pass(14*time.Hour + 40*time.Minute) // 23:40
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.pass(19 * time.Minute)
	r.once()
	if used := r.w.ledger.used(r.w.runningEntries(r.now()), r.now())["ada"]; used.Minutes != 19 || used.Jobs != 1 {
		t.Errorf("%+v", used)
	}
	r.pass(26 * time.Minute) // 0:25: 20 minutes yesterday, 25 today
	r.api.Queue(2, "ada", "gpu")
	r.once()
	if r.runner("gpu-2") == "" {
		t.Fatalf("held: %s", r.reason(2))
	}
	r.api.Take(r.runner("gpu-2"), 2)
	r.pass(5 * time.Minute)
	r.api.Queue(3, "ada", "gpu")
	r.once()
	if want := "ada has used 35 of 30 minutes of this day (UTC)"; r.reason(3) != want {
		t.Errorf("reason %q, expected %q", r.reason(3), want)
	}
	r.api.Complete(1)
	r.api.Complete(2)
	r.once()
	used := r.w.ledger.used(nil, r.now())["ada"]
	if used.Minutes != 35 || used.Jobs != 1 || math.Abs(used.Cost-35./60*3.5) > 1e-9 {
		t.Errorf("%+v", used)
	}
}
