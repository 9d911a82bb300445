package check

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// told fails unless a row's history has these medians, in microseconds, each with an interval where
// that is known.
func told(t *testing.T, row *result.Row, known []bool, micros ...float64) {
	t.Helper()
	if len(row.History) != len(micros) {
		t.Fatalf("%s: %+v, want %v", row.Name(), row.History, micros)
	}
	for i, p := range row.History {
		if math.Abs(p.MedianS-micros[i]/1e6) > 1e-12 || p.Time.IsZero() || p.MedianS > 0 != (p.Commit != "") {
			t.Errorf("point %d: %+v, want %v µs", i, p, micros[i])
		}
		if inside := 0 < p.LowS && p.LowS <= p.MedianS && p.MedianS <= p.HighS; inside != known[i] || !inside && p.LowS+p.HighS != 0 {
			t.Errorf("point %d: interval from %v to %v; known: %v", i, p.LowS, p.HighS, known[i])
		}
	}
}

// recalled returns the history that a check finds, in a folder that has a baseline, for kernel k on
// config c.
func recalled(ctx context.Context, t *testing.T, dir string, change func(*ratchet.Entry)) *result.Row {
	t.Helper()
	store := ratchet.Open(dir)
	file, err := store.Load(class)
	if err != nil {
		t.Fatal(err)
	}
	x := &planned{class: class, entries: entries{counts: file.Entry("k", "c")}}
	change(x.entries.counts)
	m := &moved{judged: &judged{played: &played{verified: &verified{built: &built{planned: x}}}}}
	return &result.Row{Kernel: "k", Config: "c", History: (&check{store: store}).explain(ctx, []*moved{m})[0].history}
}

func asStored(*ratchet.Entry) {}

func TestHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_story.txt reads a history")
	}
	p := newBaselined(t)
	p.kernel("k", 400)
	p.commit("faster")
	p.baseline()

	// What this run makes the baseline is not yet history.
	p.kernel("k", 300)
	p.commit("faster still")
	yes := []bool{true, true, true}
	row := rowOf(t, p.check(update), "k/c")
	if row.Moved == nil || !row.Moved.Done {
		t.Fatalf("moved %+v", row.Moved)
	}
	told(t, row, yes, 500, 400)
	first := row.History[0]
	if first.By != string(ratchet.ByCheck) || first.Commit == row.History[1].Commit {
		t.Errorf("%+v", row.History)
	}

	// The file's own moves are there before its commit is, and in any clone.
	told(t, recalled(t.Context(), t, p.dir, asStored), yes, 500, 400, 300)
	p.commit("baseline")
	shallow := filepath.Join(t.TempDir(), "clone")
	p.git("clone", "--quiet", "--depth=1", "file://"+p.dir, shallow)
	told(t, recalled(t.Context(), t, shallow, asStored), []bool{false, false, true}, 500, 400, 300)

	err := ratchet.Open(p.dir).Update(t.Context(), class, func(f *ratchet.File) error {
		_, err := f.Reset("k/c", ratchet.Actor{Who: "Ann", Time: first.Time}, "a new start")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p.commit("reset")
	p.baseline()
	row = recalled(t.Context(), t, p.dir, asStored)
	told(t, row, []bool{true, true, true, false, true}, 500, 400, 300, 0, 300)
	if reset := row.History[3]; reset.By != string(ratchet.ByReset) || reset.Reason != "a new start" {
		t.Errorf("%+v", reset)
	}
}

// A check that does not wait shows the history it has at hand.
func TestHistoryIsBounded(t *testing.T) {
	p := newProject(t)
	if row := rowOf(t, p.check(update), "k/c"); row.History != nil {
		t.Errorf("a history without a baseline: %+v", row.History)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	row := recalled(ended, t, p.dir, func(e *ratchet.Entry) {
		for len(e.Moves) < 3*mostPoints {
			e.Moves = append(e.Moves, e.Moves[0])
		}
		e.Moves[len(e.Moves)-mostPoints].Commit = "oldest shown"
	})
	if got := row.History; len(got) != mostPoints || got[0].Commit != "oldest shown" || got[0].HighS != 0 || got[mostPoints-1].HighS == 0 {
		t.Errorf("%d points: %+v", len(got), got)
	}
}
