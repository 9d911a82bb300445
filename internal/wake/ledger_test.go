package wake

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

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

// A job that is cancelled after a machine was started for it counts, once: otherwise somebody could
// start machines without end.
func TestCancelledJobsOfADay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Daily.Jobs, c.Machines[0].Idle = 2, &Span{} })
	for id := range int64(4) {
		r.api.Queue(id+1, "ada", "gpu")
		r.once()
		if r.runner("gpu-1") != "" {
			r.api.Connect(r.runner("gpu-1"))
			r.once()
		}
		r.api.Cancel(id + 1)
		r.restart()
		for range 3 {
			r.pass(11 * time.Minute)
			r.once()
		}
	}
	if got := r.calls(); got != "start gpu-1, stop gpu-1, start gpu-1, stop gpu-1" {
		t.Errorf("two jobs a day are allowed: %s", got)
	}
	if status, err := ReadStatus(r.config, r.now()); err != nil || status.Today["ada"] == nil || status.Today["ada"].Jobs != 2 || status.Today["ada"].Minutes != 0 {
		t.Errorf("status %+v: %v", status, err)
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
