package wake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/forge/forgetest"
)

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
	r.onceWithout("/runs") // GitHub is not needed to stop it
	r.expect("start gpu-1, stop gpu-1, stop gpu-1")
	r.once()
	r.expect("start gpu-1, stop gpu-1, stop gpu-1, start gpu-1")
}
