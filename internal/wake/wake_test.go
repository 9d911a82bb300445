package wake

import (
	"strings"
	"testing"
	"time"
)

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

// Without GitHub nothing is stopped or started.
func TestForgeDown(t *testing.T) {
	r := newRig(t)
	r.api.Queue(1, "ada", "gpu")
	r.once()
	r.api.Take(r.runner("gpu-1"), 1)
	r.once()
	r.api.Complete(1)
	r.onceWithout("/actions/jobs/1") // it is no longer listed
	if !r.machine("gpu-1").Busy || r.reason(1) == "unknown" {
		t.Errorf("forgotten: %+v", r.machine("gpu-1"))
	}
	r.once()
	r.pass(time.Hour)
	for _, down := range []string{"/runs", "/jobs", "/runners"} {
		r.api.Queue(5, "ada", "gpu")
		r.onceWithout(down)
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
