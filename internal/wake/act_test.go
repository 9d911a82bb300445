package wake

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

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
	if entries := r.entries(); len(entries) != 2 || entries[0].Job != 1 || entries[0].Seconds != 0 || entries[1].Job != 2 {
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

// A registration that fails counts as a failed start. What may have been registered is removed.
func TestRegisterFails(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.onceWithout("generate-jitconfig")
	r.expect("")
	r.once()
	if m := r.machine("gpu-1"); m.Phase != Off || m.Runner != "" || m.Failures != 1 {
		t.Errorf("%+v", m)
	}
	r.pass(30 * time.Second)
	r.once()
	r.expect("start gpu-1")
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
