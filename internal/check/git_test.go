package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/result"
)

// A repository that git refuses is not "no repository": everything would be new, and
// pass.
func TestRepositoryThatLeadsNowhere(t *testing.T) {
	p := newProject(t)
	if err := os.RemoveAll(filepath.Join(p.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	p.write(".git", "gitdir: /nowhere/at/all\n")
	_, err := p.run()
	if problems := diag.Problems(err); len(problems) != 1 || !strings.Contains(problems[0].Message, "/nowhere/at/all") {
		t.Errorf("%v", err)
	}
}

func TestWithoutGit(t *testing.T) {
	p := newProject(t)
	if err := os.RemoveAll(filepath.Join(p.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	report := p.check()
	mustBe(t, rowOf(t, report, "k/c"), result.New, result.NoBaseline)
	mustWarn(t, report.Warnings, "git", "this is not a git repository")
	p.git("init", "--quiet")
	mustWarn(t, p.check(planOnly).Warnings, "git", "the repository has no commit yet")
}

func TestGuessedBase(t *testing.T) {
	p := newProject(t)
	p.kernel("k", 510)
	p.commit("second")
	for _, w := range p.check(planOnly).Warnings {
		t.Errorf("on main: %+v", w)
	}
	p.git("branch", "--quiet", "-M", "work")
	p.git("branch", "--quiet", "other", "HEAD~1")
	mustWarn(t, p.check(planOnly).Warnings, "base", "the base HEAD~1 is a guess")
	for _, w := range p.check(planOnly, func(o *Options) { o.Base = "other" }).Warnings {
		t.Errorf("with --base: %+v", w)
	}
}

// A file that a commit cannot be built without keeps the baseline where it is, if git does not have
// it.
func TestFilesThatAreNotInGit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setup func(*project)
		names string
	}{
		"a header": {func(p *project) {
			p.write("extra.h", "#define EXTRA 0\n")
			p.replace("k.c", "const char", "#include \"extra.h\"\nconst char")
			p.git("commit", "--quiet", "-am", "includes it")
		}, "extra.h not in git"},
		"the spec": {func(p *project) {
			p.git("rm", "--quiet", "--cached", "pawl.yaml")
			p.git("commit", "--quiet", "-m", "without")
		}, "pawl.yaml not in git"},
		"the source, which git ignores": {func(p *project) {
			p.write(".gitignore", "k.c\n")
			p.git("add", ".gitignore")
			p.git("rm", "--quiet", "--cached", "k.c")
			p.git("commit", "--quiet", "-m", "without")
		}, "k.c not in git"},
		"notes": {func(p *project) { p.write("scratch.c", "int nobody_asks;\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			test.setup(p)
			report := p.check(update)
			row := rowOf(t, report, "k/c")
			if row.Moved == nil || row.Moved.Done != (test.names == "") || !strings.Contains(row.Moved.Refused, test.names) || report.Commit.Dirty == row.Moved.Done {
				t.Errorf("%+v, %+v", row.Moved, report.Commit)
			}
			if (p.stored() != nil) != row.Moved.Done {
				t.Errorf("stored %+v", p.stored())
			}
		})
	}
}

// If the baseline cannot be written, the measurements are not lost.
func TestBaselineThatCannotBeWritten(t *testing.T) {
	p := newProject(t)
	if err := os.MkdirAll(filepath.Join(p.dir, ".pawl", "runs", "baseline.lock"), 0o755); err != nil { // in the lock's way
		t.Fatal(err)
	}
	report, err := p.run(update)
	var stays *StaysError
	if !errors.As(err, &stays) || report == nil {
		t.Fatalf("%+v, %v", report, err)
	}
	row := rowOf(t, report, "k/c")
	if row.Timing == nil || row.Moved == nil || row.Moved.Done || row.Moved.Refused == "" {
		t.Errorf("%+v", row.Moved)
	}
	mustWarn(t, report.Warnings, "baseline", "baseline stays: ")
}

// A ratchet whose best-known version is gone says so, and how to go on.
func TestRatchetThatIsStuck(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_git.txt has one")
	}
	p := newBaselined(t)
	p.kernel("k", 510)
	p.commit("slower")
	p.squash()
	p.kernel("k", 300)
	p.commit("faster")
	before := p.stored()
	row := rowOf(t, p.check(update), "k/c")
	mustBe(t, row, result.Improvement)
	if m := row.Moved; m == nil || m.Done || !strings.Contains(m.Refused, "can no longer be built") || !strings.Contains(m.Hint, "pawl baseline reset") {
		t.Errorf("%+v", m)
	}
	if p.stored().Sum != before.Sum {
		t.Error("it moved")
	}
}

func TestSamplesComeBackFromGit(t *testing.T) {
	p := newBaselined(t)
	p.git("rm", "--quiet", ".pawl/baseline/"+class+".samples.zst")
	p.git("commit", "--quiet", "-m", "lost")
	mustWarn(t, p.check().Warnings, "samples", "lost the samples of k/c")
	report := p.check(update)
	for _, w := range report.Warnings {
		t.Errorf("%+v", w)
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".pawl", "baseline", class+".samples.zst")); err != nil {
		t.Error(err)
	}
}
