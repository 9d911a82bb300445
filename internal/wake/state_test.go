package wake

import (
	"context"
	"strings"
	"testing"
	"time"

	"pawl/internal/forge"
)

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
