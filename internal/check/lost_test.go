package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/git"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// merged returns a project whose baseline names a commit of a branch that main has squashed:
// 400 µs instead of 500. The branch's own sources may make no sense.
func merged(t *testing.T, broken bool) *project {
	t.Helper()
	p := newProject(t)
	p.git("checkout", "--quiet", "-b", "branch")
	p.kernel("k", 400)
	if broken {
		p.write("k.c", "no C at all\n")
	}
	measured := p.commit("faster")
	p.git("checkout", "--quiet", "main")
	p.kernel("k", 400)
	p.commit("squashed")
	report := p.check(planOnly)
	row := rowOf(t, report, "k/c")
	row.Verdict, report.Commit.SHA = result.New, measured
	row.Timing = &result.Timing{Samples: result.Samples{Seconds: []float64{400e-6}}, Stats: result.Stats{Count: 1, Median: 400e-6, Low: 400e-6, High: 400e-6}}
	err := ratchet.Open(p.dir).Update(t.Context(), class, func(f *ratchet.File) error {
		return moveElsewhere(f, ratchet.CandidateOf(report, row, nil, "Ann"))
	})
	if err != nil {
		t.Fatal(err)
	}
	p.commit("baseline of the branch")
	return p
}

func (p *project) clone(options ...string) *project {
	p.t.Helper()
	clone := &project{t: p.t, dir: filepath.Join(p.t.TempDir(), "clone")}
	args := append(append([]string{"clone", "--quiet"}, options...), "file://"+p.dir, clone.dir)
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return clone
}

// A transient failure is no reason to bind the baseline to another commit; only the loss of the old
// one is.
func TestWhatMayPassBindsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestLostVersions tells which versions are lost")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		setup func(t *testing.T, origin, clone *project)
		bound bool
	}{
		"origin does not answer": {func(t *testing.T, origin, _ *project) {
			if err := os.Rename(origin.dir, origin.dir+" is away"); err != nil {
				t.Fatal(err)
			}
		}, false},
		"origin does not have it": {func(_ *testing.T, origin, _ *project) {
			origin.git("branch", "--quiet", "-D", "branch")
			origin.git("reflog", "expire", "--expire=now", "--all")
			origin.git("gc", "--quiet", "--prune=now")
		}, true},
		"nobody can be asked": {func(_ *testing.T, _, clone *project) { clone.git("remote", "remove", "origin") }, false},
		"its sources make no sense": {func(_ *testing.T, _, clone *project) {
			clone.git("fetch", "--quiet", "--depth=1", "origin", "branch")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			origin := merged(t, strings.Contains(name, "no sense"))
			clone := origin.clone("--depth=1")
			test.setup(t, origin, clone)
			before := clone.stored()
			row := rowOf(t, clone.check(update), "k/c")
			mustBe(t, row, result.Unchanged)
			now := clone.stored()
			if test.bound {
				if m := row.Moved; m == nil || !m.Done || !m.Anchor || now.Commit == before.Commit {
					t.Errorf("moved %+v, sides %s", m, sidesOf(row))
				}
				return
			}
			if row.Moved != nil || now.Sum != before.Sum {
				t.Errorf("moved %+v, stored %+v", row.Moved, now.Moved())
			}
			if side := sideOf(t, row, result.Best); len(side.Reason) != 1 || !strings.Contains(side.Reason[0], "cannot be rebuilt: ") {
				t.Errorf("%+v", side)
			}
		})
	}
}

// The best-known version itself, faster than its base, is not told that it cannot be shown to be
// faster than the best-known one.
func TestBestKnownWhoseCommitCannotBeAskedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestLostVersions tells which versions are lost")
	}
	p := merged(t, false)
	p.kernel("k", 600)
	p.commit("slower")
	p.kernel("k", 400)
	p.commit("and back")
	clone := p.clone("--single-branch")
	clone.git("remote", "set-url", "origin", filepath.Join(clone.dir, "nowhere"))
	before := clone.stored()
	row := rowOf(t, clone.check(update, func(o *Options) { o.Base = "HEAD~1" }), "k/c")
	mustBe(t, row, result.Improvement)
	if row.Moved != nil || clone.stored().Sum != before.Sum {
		t.Errorf("moved %+v", row.Moved)
	}
	if side := sideOf(t, row, result.Best); len(side.Reason) != 1 {
		t.Errorf("%+v", side)
	}
}

// A disk that pawl cannot write to does not bind it either: the commit is there.
func TestLostVersions(t *testing.T) {
	p := newProject(t)
	for cause, want := range map[result.Cause]bool{
		result.CauseCompile: true, result.CauseNoEntry: true, result.CauseSpec: true,
		result.CauseInternal: false, result.CauseTimeout: false, result.CauseUnsupported: false, result.CauseInterrupted: false,
	} {
		o := &side{job: &lab.Job{Record: lab.Record{Fault: &result.Fault{Cause: cause}}}}
		if o.lostForGood() != want {
			t.Errorf("%s: lost %t", cause, o.lostForGood())
		}
	}
	c := &check{Spec: p.load(), trees: map[string]*version{}, report: &result.Report{}}
	defer c.closeTrees()
	for commit, want := range map[string]bool{strings.Repeat("1", 40): true, "no hash": false} {
		if o := c.bestOf(t.Context(), &ratchet.Entry{Commit: commit}, "k", c.Spec.Kernels[0].Configs[0]); o.lostForGood() != want {
			t.Errorf("%s: lost %t: %v", git.Short(commit), o.lostForGood(), o.reasons[0])
		}
	}
}
