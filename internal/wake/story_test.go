package wake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever happens, in any order: no machine is stopped while its runner has a job, none is started twice
// without need, there are never more than allowed, and in the end all are off and every job is paid for once.
func TestStories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const count = 2
		r := newRig(t, func(c *Config) {
			c.Machines[0].Count = count
			c.Machines[0].Idle.Duration = rapid.SampledFrom([]time.Duration{0, 5 * time.Minute, 20 * time.Minute}).Draw(rt, "idle")
		})
		defer r.w.Close()
		var mu sync.Mutex // commands run beside each other
		on := map[string]bool{}
		have := map[string]string{} // the runner that a machine has the config of
		failing := ""
		commands := func(_ context.Context, c command) error {
			mu.Lock()
			defer mu.Unlock()
			name, runner := c.machine, ""
			for _, line := range c.env {
				if value, is := strings.CutPrefix(line, "PAWL_RUNNER="); is {
					runner = value
				}
			}
			if c.start {
				if failing == "start" {
					return errors.New("no capacity")
				}
				on[name], have[name] = true, runner
				if len(on) > count {
					rt.Errorf("%d machines are on", len(on))
				}
				return nil
			}
			if failing == "stop" {
				return errors.New("no answer")
			}
			if busy := have[name]; busy != "" && slices.Contains(r.api.Busy(), busy) {
				rt.Errorf("%s is stopped while %s has a job", name, busy)
			}
			delete(on, name)
			delete(have, name)
			return nil
		}
		r.w.run = commands
		next, ran, seen := int64(0), map[int64]bool{}, map[int64]bool{}
		var queued, running []int64
		free := func() (names []string) { // runners whose machines are on
			for _, name := range r.api.Runners() {
				for _, runner := range have {
					if runner == name && !slices.Contains(r.api.Busy(), name) {
						names = append(names, name)
					}
				}
			}
			return names
		}
		look := func() {
			_ = r.w.Once(t.Context()) // commands may fail
			for id := range r.w.state.Jobs {
				seen[id] = true
			}
		}
		pick := func(list *[]int64, what string) int64 {
			i := rapid.IntRange(0, len(*list)-1).Draw(rt, what)
			id := (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			return id
		}
		rt.Repeat(map[string]func(*rapid.T){
			"a job comes": func(*rapid.T) {
				next++
				r.api.Queue(next, "ada", "gpu")
				queued = append(queued, next)
			},
			"a job is cancelled": func(rt *rapid.T) {
				if len(queued) > 0 {
					r.api.Cancel(pick(&queued, "cancelled"))
				}
			},
			"a job begins": func(rt *rapid.T) {
				if names := free(); len(names) > 0 && len(queued) > 0 {
					id := pick(&queued, "begins")
					r.api.Take(rapid.SampledFrom(names).Draw(rt, "runner"), id)
					running = append(running, id)
				}
			},
			"a job ends": func(rt *rapid.T) {
				if len(running) > 0 {
					id := pick(&running, "ends")
					r.api.Complete(id)
					ran[id] = true
				}
			},
			"time passes": func(rt *rapid.T) {
				r.pass(time.Duration(rapid.IntRange(1, 15).Draw(rt, "minutes")) * time.Minute)
			},
			"a look":     func(*rapid.T) { look() },
			"a restart":  func(*rapid.T) { r.restart(); r.w.run = commands },
			"start ends": func(*rapid.T) { failing = "start" },
			"stop ends":  func(*rapid.T) { failing = "stop" },
			"all well":   func(*rapid.T) { failing = "" },
		})
		failing = ""
		off := func(m *Machine) bool { return m.Phase == Off && m.Runner == "" && m.On.IsZero() }
		for range 60 { // and in the end
			look()
			if len(queued) == 0 && len(running) == 0 && !slices.ContainsFunc(r.w.state.Machines, func(m *Machine) bool { return !off(m) }) {
				break
			}
			for _, id := range running {
				r.api.Complete(id)
				ran[id] = true
			}
			running = nil
			for _, name := range free() {
				if len(queued) > 0 {
					r.api.Take(name, queued[0])
					running, queued = append(running, queued[0]), queued[1:]
				}
			}
			r.pass(10 * time.Minute)
		}
		if len(queued) > 0 || len(running) > 0 || len(on) > 0 || len(r.api.Runners()) > 0 {
			rt.Fatalf("jobs %v wait, %v run, machines %v are on, runners %v are left:\n%q", queued, running, on, r.api.Runners(), r.logs)
		}
		for _, m := range r.w.state.Machines {
			if !off(m) {
				rt.Errorf("%+v", m)
			}
		}
		paid := map[int64]int{}
		for _, entry := range r.entries() {
			if entry.Job != 0 {
				paid[entry.Job]++
			}
		}
		for id := range ran {
			if paid[id] > 1 || paid[id] == 0 && seen[id] {
				rt.Errorf("job %d is %d times in the ledger", id, paid[id])
			}
		}
	})
}
