package ratchet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/git"
	"pawl/internal/result"
)

// failingGit puts a git before the real one that fails at the given call, and returns how many
// calls work makes.
func failingGit(t *testing.T) func(at int, work func()) (calls int) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git here")
	}
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	script := fmt.Sprintf("#!/bin/sh\nread -r n <%[1]q\necho $((n+1)) >%[1]q\nif [ \"$n\" = \"$GIT_FAILS_AT\" ]; then echo 'fatal: the disk is broken' >&2; exit 128; fi\nexec %[2]q \"$@\"\n", count, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func(at int, work func()) int {
		write(t, count, []byte("0\n"))
		t.Setenv("GIT_FAILS_AT", strconv.Itoa(at))
		work()
		raw, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		return calls
	}
}

// Whichever git call fails, the caller gets an error: half a history would be taken for a clean
// one.
func TestGitFails(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	p.move("large", ByCheck, "", 0)
	first := p.commit("baseline")
	p.move("small", ByCheck, "", -0.1)
	p.commit("faster")
	write(t, p.store.samplesPath(class), emptySamples(p))
	p.commit("without samples")
	for name, work := range map[string]func(context.Context) error{
		"audit":     func(ctx context.Context) error { _, err := p.store.Audit(ctx, class); return err },
		"audited":   func(ctx context.Context) error { _, err := p.store.Audited(ctx); return err },
		"history":   func(ctx context.Context) error { _, err := p.store.History(ctx, class); return err },
		"intervals": func(ctx context.Context) error { _, err := p.store.Intervals(ctx, class, 9); return err },
		"load":      func(ctx context.Context) error { _, err := p.store.LoadAt(ctx, first, class); return err },
		"recover": func(ctx context.Context) error {
			f, err := p.store.Read(class)
			if err == nil {
				_, err = p.store.recover(ctx, f)
			}
			return err
		},
		"update": func(ctx context.Context) error {
			stop := errors.New("stop")
			if err := p.store.Update(ctx, class, func(*File) error { return stop }); !errors.Is(err, stop) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := failingGit(t)
			var err error
			ask := func() { err = work(t.Context()) }
			calls := run(-1, ask)
			if err != nil || calls == 0 {
				t.Fatalf("%d calls, %v", calls, err)
			}
			for at := range calls {
				if run(at, ask); err == nil {
					t.Errorf("call %d of %d failed unnoticed", at+1, calls)
				}
			}
		})
	}
}

// loop makes a path unreadable but replaceable.
func loop(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(path), os.Symlink(filepath.Base(path), path)); err != nil {
		t.Fatal(err)
	}
}

// An unreadable file is neither taken for a missing one nor overwritten.
func TestUnreadableFiles(t *testing.T) {
	for name, path := range map[string]func(*Store) string{
		"the baseline": func(s *Store) string { return s.Path(class) },
		"the samples":  func(s *Store) string { return s.samplesPath(class) },
		"the lock":     func(s *Store) string { return filepath.Join(s.dir, ".pawl", "runs", "baseline.lock") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.move("small", ByCheck, "", 0)
			p.commit("baseline")
			loop(t, path(p.store))
			if err := p.store.Update(t.Context(), class, moveTo(candidate("large", 1, 2))); err == nil {
				t.Error("Update went through")
			}
			if info, err := os.Lstat(path(p.store)); err != nil || info.Mode().Type() != os.ModeSymlink {
				t.Errorf("it was replaced: %v, %v", info, err)
			}
			a, err := p.store.Audit(t.Context(), class)
			switch name {
			case "the baseline":
				if err == nil {
					t.Errorf("the audit says %+v", a)
				}
			case "the samples":
				if err != nil || len(a.Findings) != 1 || a.Findings[0].Kind != NoSamples || a.Findings[0].Commit != "" {
					t.Errorf("the audit says %+v, %v", a, err)
				}
			}
		})
	}
}

// The next writer removes the half-written files of a killed one.
func TestLeftoversAreSweptAway(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s, moveTo(candidate("small", 1, 2)))
	left := filepath.Join(filepath.Dir(s.Path(class)), "."+filepath.Base(s.Path(class))+".123")
	write(t, left, []byte("half"))
	put(t, s, func(*File) error { return nil })
	if _, err := os.Stat(left); err == nil {
		t.Error("it is still there")
	}
}

// An entry that could not be read again is not written.
func TestUnwritableEntries(t *testing.T) {
	for name, spoil := range map[string]func(*File){
		"no name": func(f *File) { f.Entries["no name"] = f.Entries["attention/small"] },
		"no time": func(f *File) { f.Entries["attention/small"].MedianMS = math.NaN() },
	} {
		s := Open(t.TempDir())
		put(t, s, moveTo(candidate("small", 1, 2)))
		before, _ := os.ReadFile(s.Path(class))
		if err := s.Update(t.Context(), class, func(f *File) error { spoil(f); return nil }); err == nil {
			t.Errorf("%s: written", name)
		}
		if after, _ := os.ReadFile(s.Path(class)); string(after) != string(before) {
			t.Errorf("%s: the file has changed", name)
		}
	}
}

func TestClassesThatAreNone(t *testing.T) {
	p := newProject(t)
	if _, err := p.store.Audit(t.Context(), "../x"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("audit: %v", err)
	}
	if _, err := p.store.History(t.Context(), "../x"); err == nil {
		t.Error("there is a history of a path")
	}
}

func TestLoadAtOfAnEditedCommit(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	good := p.commit("baseline")
	p.edit(`"median_ms": 2,`, `"median_ms": 1,`)
	bad := p.commit("edit")
	if f, err := p.store.LoadAt(t.Context(), good, class); err != nil || len(f.Entries) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := p.store.LoadAt(t.Context(), bad, class); f != nil || err == nil || !strings.HasPrefix(err.Error(), "in commit "+git.Short(bad)+": ") {
		t.Errorf("%+v, %v", f, err)
	}
}

// Where a commit removed samples, the finding says how to restore them.
func TestRemedyOfLostSamples(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	write(t, p.store.samplesPath(class), emptySamples(p))
	at := p.commit("without samples")
	if a := p.audit(); len(a.Findings) != 1 || a.Findings[0].Commit != at || !strings.Contains(a.Findings[0].Remedy, "pawl baseline reset attention/small --reason") {
		t.Errorf("%+v", a.Findings)
	}
}

// Reasons are listed by name, whether a person gave them or a merge.
func TestReasonsAreSorted(t *testing.T) {
	p := newProject(t)
	p.move("a", ByCheck, "", 0)
	p.move("b", ByCheck, "", 0)
	p.commit("baseline")
	p.git("checkout", "--quiet", "-b", "side")
	p.move("a", ByCheck, "", -0.1)
	p.commit("faster")
	p.git("checkout", "--quiet", "main")
	p.move("b", ByAccept, "meant", 0.1)
	p.commit("slower")
	p.git("merge", "--quiet", "-s", "ours", "-m", "merge", "side")
	var names []string
	for _, r := range p.audit().Reasons {
		names = append(names, r.Name+" "+string(r.Move.By))
	}
	if got := strings.Join(names, ", "); got != "attention/a merge, attention/b accept" {
		t.Error(got)
	}
}

func TestTimesOfACandidate(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*result.Timing)
		good  bool
	}{
		"measured":              {func(*result.Timing) {}, true},
		"without a median":      {func(t *result.Timing) { t.Stats.Median = 0 }, false},
		"without a lower end":   {func(t *result.Timing) { t.Stats.Low = 0 }, false},
		"without an upper end":  {func(t *result.Timing) { t.Stats.High = math.Inf(1) }, false},
		"below its interval":    {func(t *result.Timing) { t.Stats.Low = t.Stats.Median * 2; t.Stats.High = t.Stats.Median * 3 }, false},
		"above its interval":    {func(t *result.Timing) { t.Stats.High = t.Stats.Median / 2; t.Stats.Low = t.Stats.Median / 3 }, false},
		"without samples":       {func(t *result.Timing) { t.Samples.Seconds = nil }, false},
		"a sample that is none": {func(t *result.Timing) { t.Samples.Seconds = append(t.Samples.Seconds, 0) }, false},
	} {
		c := candidate("small", 1, 2)
		test.spoil(c.Row.Timing)
		if err := c.timed(); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A candidate without an entry to replace, or without a duet, has no change.
func TestCandidateWithoutAFormer(t *testing.T) {
	report := &result.Report{Commit: &result.Commit{SHA: sha(2)}}
	row := &result.Row{Moved: &result.Moved{From: sha(1), Anchor: true}, Sides: []*result.Side{{Role: result.Best, Commit: sha(1), Change: &result.Change{Median: -0.1}}}}
	c := CandidateOf(report, row, nil, "")
	if c.Gone != "" || c.Change != nil || c.Against != "" {
		t.Errorf("%+v", c)
	}
	timing := &result.Timing{}
	if again := c.Remeasured(timing); again.Change != nil || again.Row.Timing != timing || row.Timing != nil {
		t.Errorf("%+v", again)
	}
}

// Moves form a chain: each names the one before and matches its own hash.
func TestFitting(t *testing.T) {
	const name = "attention/small"
	moves := appendMove(class, name, nil, Move{By: ByCheck, MedianMS: 2, Commit: sha(1)})
	moves = appendMove(class, name, moves, Move{By: ByCheck, MedianMS: 1, Commit: sha(2), From: &From{2, sha(1)}})
	if got := fitting(class, name, moves); len(got) != 2 {
		t.Fatalf("%d moves fit", len(got))
	}
	for what, spoil := range map[string]func(*Move){
		"another before":     func(m *Move) { m.Prev = "0"; m.Sum = m.sum(class, name) },
		"another hash":       func(m *Move) { m.Sum = "0" },
		"from another time":  func(m *Move) { m.From = &From{3, sha(1)}; m.Sum = m.sum(class, name) },
		"from nothing":       func(m *Move) { m.From = nil; m.Sum = m.sum(class, name) },
		"of another's story": func(m *Move) { m.Sum = m.sum(class, "attention/large") },
	} {
		forged := append([]Move{}, moves...)
		spoil(&forged[1])
		if got := fitting(class, name, forged); len(got) != 1 {
			t.Errorf("%s: %d moves fit", what, len(got))
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]float64{1.23456789: 1.234568, 123456789: 123456800, -0.00012345678: -0.0001234568, math.Inf(1): 0} {
		if got := short(v); got != want {
			t.Errorf("%v became %v", v, got)
		}
	}
}
