package check

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// squash turns the whole history into one commit on main; the commits before it are lost.
func (p *project) squash() {
	p.t.Helper()
	p.git("checkout", "--quiet", "--orphan", "anew")
	p.git("commit", "--quiet", "-m", "squashed")
	p.git("branch", "--quiet", "-D", "main")
	p.git("branch", "--quiet", "-M", "main")
	p.git("reflog", "expire", "--expire=now", "--all")
	p.git("gc", "--quiet", "--prune=now")
}

// mustBeSound audits the baseline against its history.
func (p *project) mustBeSound() {
	p.t.Helper()
	audit, err := ratchet.Open(p.dir).Audit(p.t.Context(), class)
	if err != nil || len(audit.Findings) > 0 {
		p.t.Errorf("%v: %+v", err, audit)
	}
}

// gone returns a project whose candidate is the best-known version, which is faster than its
// base, and whose entry names a commit that nobody has.
func gone(t *testing.T) *project {
	t.Helper()
	p := newBaselined(t)
	p.squash()
	p.kernel("k", 600)
	p.commit("slower")
	p.kernel("k", 500)
	p.commit("and back")
	return p
}

// A best-known version whose commit is gone is known by its identity, and bound to the
// commit that has it now.
func TestBestKnownIsBoundToAnotherCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_git.txt has such a commit")
	}
	p := gone(t)
	before := p.stored()
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Improvement)
	if m := row.Moved; m == nil || !m.Anchor || m.Done || m.Refused != "" || m.From != before.Commit || !strings.Contains(m.Hint, "--update-baseline binds") {
		t.Errorf("%+v", m)
	}
	if p.stored().Sum != before.Sum || len(row.Sides) != 1 {
		t.Errorf("it moved, or sides: %s", sidesOf(row))
	}
	if m := rowOf(t, p.check(update), "k/c").Moved; m == nil || !m.Anchor || !m.Done {
		t.Errorf("%+v", m)
	}
	now := p.stored()
	if now.Commit != p.git("rev-parse", "HEAD") || now.MedianMS != before.MedianMS || now.Samples != before.Samples || now.Identity != before.Identity {
		t.Errorf("stored %+v", now)
	}
	if m := now.Moved(); m.By != ratchet.ByAnchor || !strings.Contains(m.Reason, "commit "+before.Commit[:7]+" can no longer be built") || m.Who != "Ann" {
		t.Errorf("%+v", m)
	}
	p.commit("baseline")
	p.mustBeSound()
	if row := rowOf(t, p.check(update), "k/c"); row.Moved != nil || row.Verdict != result.Unchanged {
		t.Errorf("again: %s, %+v", row.Verdict, row.Moved)
	}
}

// After a squash merge nothing changes any more; the version is bound to the new commit all the
// same.
func TestUnchangedBestKnownIsBoundToAnotherCommit(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestBestKnownThatIsNotBound has one")
	}
	p := newBaselined(t)
	p.squash()
	p.replace("k.c", "void", "/* why */ void")
	p.commit("comment")
	row := rowOf(t, p.check(update), "k/c")
	mustBe(t, row, result.Unchanged)
	if m := row.Moved; m == nil || !m.Done || !m.Anchor || row.Timing != nil || p.stored().Commit != p.git("rev-parse", "HEAD") {
		t.Errorf("%+v", m)
	}
}

func TestBestKnownThatIsNotBound(t *testing.T) {
	p := gone(t)
	p.replace("k.c", "void", "/* why */ void")
	before := p.stored()
	stranger := rowOf(t, p.check(update, func(o *Options) { o.Fork = true }), "k/c").Moved
	if stranger == nil || stranger.Done || !strings.Contains(stranger.Refused, "fork") {
		t.Errorf("%+v", stranger)
	}
	m := rowOf(t, p.check(update), "k/c").Moved
	if m == nil || m.Done || !m.Anchor || !strings.Contains(m.Refused, "files have changed since its commit") || p.stored().Sum != before.Sum {
		t.Errorf("%+v", m)
	}
	if m := rowOf(t, p.check(), "k/c").Moved; m == nil || !m.Uncommitted || !strings.HasPrefix(m.Hint, "commit it; then ") {
		t.Errorf("%+v", m)
	}
}

// An accept has the same effect.
func TestAcceptOfBestKnownWhoseCommitIsGone(t *testing.T) {
	p := gone(t)
	report := p.check()
	row := rowOf(t, report, "k/c")
	err := ratchet.Open(p.dir).Update(t.Context(), class, func(f *ratchet.File) error {
		_, err := f.Accept(ratchet.CandidateOf(report, row, f.Entry("k", "c"), "Ann"), "main was squashed")
		return err
	})
	now := p.stored()
	if err != nil || now.Commit != p.git("rev-parse", "HEAD") || now.Moved().Reason != "main was squashed" {
		t.Fatalf("%v: %+v", err, now)
	}
	p.commit("baseline")
	p.mustBeSound()
}

// On a branch that has moved the baseline there is nothing left to do, and a check says
// that, with --update-baseline or without.
func TestBranchThatMovedTheBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_story.txt has such a branch")
	}
	p := newBaselined(t)
	first := p.stored()
	p.git("checkout", "--quiet", "-b", "fast")
	p.kernel("k", 300)
	p.commit("faster")
	if m := rowOf(t, p.check(update), "k/c").Moved; m == nil || !m.Done || m.Already {
		t.Fatalf("%+v", m)
	}
	p.commit("baseline")
	now := p.stored()
	for name, with := range map[string]func(*Options){"plain": func(*Options) {}, "update": update} {
		row := rowOf(t, p.check(with), "k/c")
		mustBe(t, row, result.Improvement)
		if m := row.Moved; m == nil || !m.Already || m.Done || m.Hint != "" || m.From != first.Commit {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if p.stored().Sum != now.Sum {
		t.Error("it moved again")
	}
	p.kernel("k", 200)
	p.commit("faster still")
	if m := rowOf(t, p.check(), "k/c").Moved; m == nil || m.Already || !strings.Contains(m.Hint, "--update-baseline") {
		t.Errorf("other code: %+v", m)
	}
}

// A run that cannot start leaves nothing behind.
func TestNoRunIsLeftOfWhatCannotBegin(t *testing.T) {
	p := newProject(t)
	for name, change := range map[string]func(*Options){
		"no such kernel": func(*Options) { p.patterns = []string{"nope"} },
		"no such base":   func(o *Options) { p.patterns, o.Base = nil, "nope" },
		"a bad baseline": func(*Options) {
			if err := os.MkdirAll(filepath.Join(p.dir, ".pawl", "baseline"), 0o755); err != nil {
				t.Fatal(err)
			}
			p.write(filepath.Join(".pawl", "baseline", class+".json"), "{")
		},
	} {
		if _, err := p.run(change); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, err := os.ReadDir(filepath.Join(p.dir, ".pawl", "runs")); len(left) > 0 || !os.IsNotExist(err) {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}

// A faster version becomes the baseline only if enough of its timed samples were right.
func TestTooFewTimedSamples(t *testing.T) {
	for looked, want := range map[int]string{
		judgedFaster - 1: "34 of its timed samples could be verified; at least 35 are needed",
		judgedFaster:     "",
	} {
		v := &result.Verification{Integrity: result.Clean, Passed: 1 + looked}
		for range looked {
			v.Cases = append(v.Cases, &result.Case{Lane: result.TimedLane})
		}
		v.Cases = append(v.Cases, &result.Case{Lane: result.TimedLane, Skipped: "the oracle has ended"}, &result.Case{Lane: "config"})
		c := &check{Options: Options{Duet: measure.DuetOptions{Options: measure.Options{Keep: true}}}}
		x := &planned{candidate: &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Cell: spec.CellCUDA}}}, entries: entries{counts: &ratchet.Entry{}}}
		of := &verified{built: &built{planned: x}, exam: &exam{}}
		if why := c.unproven(&judged{played: &played{verified: of}, verdict: result.Improvement, state: state{verification: v}}); why != want {
			t.Errorf("%d: %q, want %q", looked, why, want)
		}
	}
}

// A kernel that is the oracle of another is expected to have none, and no baseline.
func TestOracleKernelsRaiseNoDoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestOtherOracles has a kernel that answers")
	}
	for name, tc := range map[string]struct {
		kernel string
		doubts bool
	}{
		"of nobody": {entry("k"), true},
		"of k":      {strings.Replace(entry("k"), "{elementwise: in}", "{kernel: ref}", 1), false},
	} {
		for _, change := range []string{"new", "changed"} {
			t.Run(name+", "+change, func(t *testing.T) {
				p := newProject(t)
				p.spec("", tc.kernel, withoutOracle("ref"))
				p.kernel("ref", 500)
				if change == "changed" {
					p.commit("with ref")
					p.kernel("ref", 400)
				}
				p.commit("this")
				row := rowOf(t, p.check(update), "ref/c")
				if got := row.Moved != nil; got != tc.doubts || (len(row.Verification.Limits) > 0) != tc.doubts {
					t.Errorf("%s: moved %+v, limits %q", row.Verdict, row.Moved, row.Verification.Limits)
				}
			})
		}
	}
}
