package ratchet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/git"
	"pawl/internal/stat"
)

// project is a real repository with a baseline in a folder below its root.
type project struct {
	*testing.T
	root  string
	store *Store
	moves int
}

func newProject(t *testing.T) *project {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
	root := t.TempDir()
	p := &project{T: t, root: root, store: Open(filepath.Join(root, "kernels"))}
	p.git("init", "--quiet", "--initial-branch=main")
	write(t, filepath.Join(root, "kernels", "pawl.yaml"), []byte("version: 1\n"))
	p.commit("first")
	return p
}

// copy returns a copy of the repository, for a test within its own.
func (p *project) copy(t *testing.T) *project {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(p.root)); err != nil {
		t.Fatal(err)
	}
	return &project{T: t, root: root, store: Open(filepath.Join(root, "kernels")), moves: p.moves}
}

func (p *project) git(args ...string) string {
	p.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.root}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) commit(message string) string {
	p.Helper()
	p.git("add", "--all")
	p.git("commit", "--quiet", "--allow-empty", "-m", message)
	return p.git("rev-parse", "HEAD")
}

// move moves an entry by a duet with this outcome, without asking the policy.
func (p *project) move(config string, by By, reason string, change float64) {
	p.Helper()
	p.moves++
	c := candidate(config, p.moves, 2)
	put(p, p.store, func(f *File) error {
		if former := f.Entry("attention", config); former != nil {
			c = c.against(former, change)
		}
		f.put(c, by, reason)
		return nil
	})
}

// retime moves an entry by a duet that found it 10% faster, to a version of another time.
func (p *project) retime(config string, ms float64) {
	p.Helper()
	put(p, p.store, func(f *File) error {
		f.put(candidate(config, 8, ms).against(f.Entry("attention", config), -0.1), ByCheck, "")
		return nil
	})
}

func (p *project) reset(config, reason string) {
	p.Helper()
	put(p, p.store, func(f *File) error {
		_, err := f.Reset("attention/"+config, Actor{Who: "bob", Time: started}, reason)
		return err
	})
}

// edit changes the file as an editor would.
func (p *project) edit(old, replacement string) {
	p.Helper()
	path := p.store.Path(class)
	raw, err := os.ReadFile(path)
	if err != nil {
		p.Fatal(err)
	}
	edited := bytes.Replace(raw, []byte(old), []byte(replacement), 1)
	if bytes.Equal(raw, edited) {
		p.Fatalf("%q is not in the file", old)
	}
	write(p, path, edited)
}

// forge changes an entry and makes its checksum fit.
func (p *project) forge(config string, change func(*Entry)) {
	p.Helper()
	f, err := p.store.Read(class)
	if err != nil {
		p.Fatal(err)
	}
	e := f.Entry("attention", config)
	change(e)
	for i := range e.Moves {
		if i > 0 {
			e.Moves[i].Prev = e.Moves[i-1].Sum
		}
		e.Moves[i].Sum = e.Moves[i].sum(class, e.Name)
	}
	e.Sum = e.sum(class)
	write(p, p.store.Path(class), encoded(p, f))
}

func (p *project) audit() *Audit {
	p.Helper()
	a, err := p.store.Audit(p.Context(), class)
	if err != nil {
		p.Fatal(err)
	}
	return a
}

// finds checks which findings stand: "kind name", and in which commit.
func (p *project) finds(commit string, want ...string) {
	p.Helper()
	var got []string
	for _, f := range p.audit().Findings {
		got = append(got, strings.TrimSpace(string(f.Kind)+" "+f.Name))
		if f.Commit != commit || f.What == "" {
			p.Errorf("in commit %q: %+v", f.Commit, f)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("(-want +got):\n%s\n%+v", diff, p.audit())
	}
}

func TestAuditOfAnHonestHistory(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	p.move("large", ByCheck, "", 0)
	p.finds("") // not committed yet
	first := p.commit("baseline")
	p.move("small", ByCheck, "", -0.1)
	p.move("small", ByCheck, "", -0.1) // two moves in one commit, as after a squash
	p.commit("faster")
	p.move("small", ByAccept, "correct now", 0.2)
	p.commit("slower on purpose")
	p.reset("large", "the config is gone")
	p.commit("reset")
	p.move("large", ByCheck, "", 0)
	p.commit("and back")
	p.git("commit", "--quiet", "--allow-empty", "-m", "other work")
	p.finds("")
	a := p.audit()
	if a.Entries != 2 || a.Commits != 5 || a.Shallow || a.Oldest != first || len(a.Settled) != 0 {
		t.Errorf("%+v", a)
	}
	if len(a.Reasons) != 2 || a.Reasons[0].Move.By != ByReset || a.Reasons[1].Move.Reason != "correct now" {
		t.Errorf("%+v", a.Reasons)
	}
	events, err := p.store.History(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	var story []string
	for _, e := range events {
		story = append(story, fmt.Sprintf("%s %s %s", e.Name, e.Move.By, p.git("log", "-1", "--format=%s", e.Recorded)))
	}
	want := []string{
		"attention/large check baseline", "attention/large reset reset", "attention/large check and back",
		"attention/small check baseline", "attention/small check faster", "attention/small check faster", "attention/small accept slower on purpose",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// settledShort are harms that short tests settle too: one of every kind of finding.
var settledShort = []string{"edited by hand", "a move rewritten", "slower by check", "accept without reason", "an entry deleted", "truncated"}

func TestAuditFinds(t *testing.T) {
	correct := newProject(t)
	correct.move("small", ByCheck, "", 0)
	correct.move("large", ByCheck, "", 0)
	correct.commit("baseline")
	correct.move("small", ByCheck, "", -0.1)
	good := correct.commit("faster")
	correct.finds("")
	for name, test := range map[string]struct {
		harm func(p *project)
		want string
	}{
		"edited by hand":        {func(p *project) { p.edit(`"median_ms": 2,`, `"median_ms": 3,`) }, "edited attention/large"},
		"checksum made to fit":  {func(p *project) { p.forge("small", func(e *Entry) { e.MedianMS = 3 }) }, "edited attention/small"},
		"a time that is none":   {func(p *project) { p.forge("small", func(e *Entry) { e.LowMS = -1 }) }, "edited attention/small"},
		"forged more carefully": {func(p *project) { p.forge("small", func(e *Entry) { e.Identity = "another" }) }, "edited attention/small"},
		"a move rewritten":      {func(p *project) { p.forge("small", func(e *Entry) { e.Moves[0].Who = "nobody" }) }, "rewritten attention/small"},
		"a move taken back":     {func(p *project) { p.git("checkout", "--quiet", "HEAD~1", "--", ".") }, "rewritten attention/small"},
		"slower by check":       {func(p *project) { p.move("small", ByCheck, "", 0.05) }, "worse attention/small"},
		"check without a duet": {func(p *project) {
			put(p, p.store, func(f *File) error { f.put(candidate("small", 7, 2), ByCheck, ""); return nil })
		}, "worse attention/small"},
		"accept without reason": {func(p *project) { p.move("small", ByAccept, "", 0.05) }, "unreasoned attention/small"},
		"by nobody knows what":  {func(p *project) { p.move("small", "magic", "because", -0.05) }, "edited attention/small"},
		"an entry deleted": {func(p *project) {
			f := load(p, p.store)
			delete(f.Entries, "attention/small")
			write(p, p.store.Path(class), encoded(p, f))
		}, "vanished attention/small"},
		"deleted and made anew": {func(p *project) {
			f := load(p, p.store)
			delete(f.Entries, "attention/small")
			write(p, p.store.Path(class), encoded(p, f))
			p.move("small", ByCheck, "", 0)
		}, "rewritten attention/small"},
		"the file deleted":  {func(p *project) { os.Remove(p.store.Path(class)) }, "vanished"},
		"a merge conflict":  {func(p *project) { p.edit("{", "<<<<<<< HEAD\n{") }, "unreadable"},
		"truncated":         {func(p *project) { write(p, p.store.Path(class), []byte(`{"schema": 1, "cl`)) }, "unreadable"},
		"hardly shown":      {func(p *project) { p.move("small", ByCheck, "", -0.001) }, "worse attention/small"},
		"another time":      {func(p *project) { p.retime("small", 0.5) }, "edited attention/small"},
		"samples gone":      {func(p *project) { os.Remove(p.store.samplesPath(class)) }, "no samples attention/large\nno samples attention/small"},
		"samples of others": {func(p *project) { write(p, p.store.samplesPath(class), emptySamples(p)) }, "no samples attention/large\nno samples attention/small"},
	} {
		t.Run(name, func(t *testing.T) {
			p := correct.copy(t)
			test.harm(p)
			want := strings.Split(test.want, "\n")
			p.finds("", want...) // before it is committed
			commit := p.commit("harm")
			if strings.HasPrefix(test.want, "no samples") {
				p.finds("") // git's history has them
				return
			}
			p.finds(commit, want...)
			if testing.Short() && !slices.Contains(settledShort, name) {
				return
			}
			p.git("commit", "--quiet", "--allow-empty", "-m", "other work")
			p.finds(commit, want...)

			// Restoring a correct state corrects the finding, and it is still listed.
			p.git("checkout", "--quiet", good, "--", ".")
			p.finds("")
			p.commit("restored")
			p.finds("")
			if settled := p.audit().Settled; commit != "" && (len(settled) != len(want) || settled[0].Commit != commit) {
				t.Errorf("settled: %+v", settled)
			}
		})
	}
}

// The median of an entry is that of its samples.
func TestAuditOfSamples(t *testing.T) {
	for name, test := range map[string]struct {
		samples int
		factor  float64 // of the median
		want    []string
	}{
		"all kept":        {201, 1, nil},
		"of an even list": {200, 1, nil},
		"all kept, wrong": {201, 0.9999, []string{"no samples attention/small"}},
		"some kept":       {3001, 1, nil},
		"some, wrong":     {3001, 0.9, []string{"no samples attention/small"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			c := candidate("small", 1, 2)
			random := rand.New(rand.NewPCG(1, 2))
			var seconds []float64
			for range test.samples {
				seconds = append(seconds, 2e-3*(1+0.1*random.NormFloat64()))
			}
			c.Row.Timing.Samples.Seconds = seconds
			stats := &c.Row.Timing.Stats
			stats.Median = test.factor * stat.Median(seconds)
			stats.Low, stats.High = 0.99*stats.Median, 1.01*stats.Median
			put(p, p.store, moveTo(c))
			p.finds("", test.want...)
		})
	}
}

func emptySamples(t testing.TB) []byte {
	t.Helper()
	raw, err := blocks{}.encode()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A later reason justifies earlier moves.
func TestReasonsSettle(t *testing.T) {
	correct := newProject(t)
	correct.move("small", ByCheck, "", 0)
	correct.commit("baseline")
	correct.move("small", ByCheck, "", -0.1)
	correct.commit("faster")
	for name, harm := range map[string]func(p *project){
		"worse":      func(p *project) { p.move("small", ByCheck, "", 0.05) },
		"unreasoned": func(p *project) { p.move("small", ByAccept, "", 0.05) },
		"forged":     func(p *project) { p.forge("small", func(e *Entry) { e.Identity = "another" }) },
		"rewritten":  func(p *project) { p.git("checkout", "--quiet", "HEAD~1", "--", ".") },
	} {
		for _, how := range []By{ByAccept, ByReset} {
			t.Run(name+" "+string(how), func(t *testing.T) {
				p := correct.copy(t)
				harm(p)
				p.commit("harm")
				if len(p.audit().Findings) != 1 {
					t.Fatalf("%+v", p.audit())
				}
				p.move("small", ByCheck, "", -0.1) // a later improvement does not
				p.commit("faster")
				if len(p.audit().Findings) != 1 {
					t.Fatalf("%+v", p.audit())
				}
				if how == ByReset {
					p.reset("small", "it was wrong")
				} else {
					p.move("small", ByAccept, "it is right", 0.01)
				}
				p.commit("settled")
				p.finds("")
				if len(p.audit().Settled) != 1 {
					t.Errorf("%+v", p.audit().Settled)
				}
			})
		}
	}
	t.Run("edited", func(t *testing.T) {
		p := newProject(t)
		p.move("small", ByCheck, "", 0)
		p.commit("baseline")
		p.edit(`"median_ms": 2,`, `"median_ms": 3,`)
		p.commit("harm")
		p.reset("small", "edited by mistake")
		p.commit("settled")
		p.finds("")
	})
}

func TestAuditOfMerges(t *testing.T) {
	branched := newProject(t)
	branched.move("small", ByCheck, "", 0)
	branched.commit("baseline")
	branched.git("branch", "side")
	branched.move("small", ByCheck, "", -0.1)
	branched.commit("faster on main")
	branch := branched.copy
	merge := func(p *project, resolve func()) string {
		p.Helper()
		// Both sides may have changed the file; only the result matters.
		_ = exec.Command("git", "-C", p.root, "merge", "--quiet", "--no-commit", "--no-ff", "side").Run()
		resolve()
		return p.commit("merge")
	}
	from := func(p *project, ref string) func() {
		return func() { p.Helper(); p.git("checkout", ref, "--", ".") }
	}
	t.Run("side is older", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.commit("elsewhere")
		p.git("switch", "--quiet", "main")
		merge(p, func() {})
		p.finds("")
	})
	t.Run("the improvement is thrown away", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.commit("elsewhere")
		p.git("switch", "--quiet", "main")
		at := merge(p, from(p, "side"))
		p.finds("")
		if r := p.audit().Reasons; len(r) != 1 || r[0].Name != "attention/small" || r[0].Recorded != at || r[0].Move.By != ByMerge || r[0].Move.Time.IsZero() {
			t.Errorf("it is not said: %+v", r)
		}
		p.move("small", ByCheck, "", -0.1)
		p.commit("goes on")
		p.finds("")
	})
	t.Run("an entry of one side is left out", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.move("large", ByCheck, "", 0)
		p.commit("new on side")
		p.git("switch", "--quiet", "main")
		merge(p, from(p, "main"))
		p.finds("")
		if r := p.audit().Reasons; len(r) != 1 || r[0].Name != "attention/large" || r[0].Move.By != ByMerge {
			t.Errorf("it is not said: %+v", r)
		}
		p.move("large", ByCheck, "", 0)
		p.commit("measured anew")
		p.finds("")
	})
	// Each side moved its own entry: the entries merge, but only one samples file is taken.
	t.Run("samples of one side", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		put(p, p.store, moveTo(candidate("large", 9, 50))) // whose samples nothing else has
		p.commit("new on side")
		theirs := load(t, p.store)
		p.git("switch", "--quiet", "main")
		merge(p, func() {
			p.git("checkout", "main", "--", ".")
			f := load(t, p.store)
			f.Entries["attention/large"] = theirs.Entries["attention/large"]
			write(t, p.store.Path(class), encoded(t, f))
		})
		if bare := load(t, p.store).Bare(); len(bare) != 1 {
			t.Fatalf("without samples: %q", bare)
		}
		p.finds("")
		if lost, err := p.store.Recover(t.Context(), class); err != nil || lost != nil {
			t.Fatalf("%q, %v", lost, err)
		}
		f := load(t, p.store)
		if _, err := f.Samples(f.Entry("attention", "large")); err != nil {
			t.Error(err)
		}
		p.git("checkout", "--quiet", "--", ".")

		// Where the other side's history is gone, nothing has them.
		p.git("checkout", "--quiet", "--orphan", "squashed")
		at := p.commit("squashed")
		p.finds(at, "no samples attention/large")
		if lost, err := p.store.Recover(t.Context(), class); err != nil || len(lost) != 1 {
			t.Errorf("%q, %v", lost, err)
		}
		p.reset("large", "its samples are lost")
		p.move("large", ByCheck, "", 0)
		p.commit("measured anew")
		p.finds("")
	})
	t.Run("both moved, one is taken", func(t *testing.T) {
		for _, ref := range []string{"main", "side"} {
			p := branch(t)
			p.git("switch", "--quiet", "side")
			p.move("small", ByCheck, "", -0.2)
			p.commit("faster on side")
			p.git("switch", "--quiet", "main")
			merge(p, from(p, ref))
			p.finds("")
			p.move("small", ByCheck, "", -0.1)
			p.commit("and on")
			p.finds("")
		}
	})
	t.Run("both moved, neither is taken", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.move("small", ByCheck, "", -0.2)
		p.commit("faster on side")
		p.git("switch", "--quiet", "main")
		p.finds(merge(p, from(p, "main~1")), "rewritten attention/small")
	})
	t.Run("measured again in the merge", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.move("small", ByCheck, "", -0.2)
		p.commit("faster on side")
		p.git("switch", "--quiet", "main")
		merge(p, func() { from(p, "main")(); p.move("small", ByCheck, "", -0.3) })
		p.finds("")
	})
	t.Run("damage on a side is not taken", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.edit(`"median_ms": 2,`, `"median_ms": 3,`)
		p.commit("harm")
		p.git("switch", "--quiet", "main")
		merge(p, from(p, "main"))
		p.finds("")
	})
	t.Run("damage on a side is taken", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.edit(`"median_ms": 2,`, `"median_ms": 3,`)
		harm := p.commit("harm")
		p.git("switch", "--quiet", "main")
		commit := merge(p, from(p, "side"))
		var kinds []string
		for _, f := range p.audit().Findings {
			kinds = append(kinds, string(f.Kind)+" "+p.git("log", "-1", "--format=%s", f.Commit))
		}
		if len(kinds) == 0 {
			t.Errorf("nothing found in %s and %s", harm, commit)
		}
	})
	t.Run("squashed over a later move", func(t *testing.T) {
		p := branch(t)
		p.git("switch", "--quiet", "side")
		p.move("small", ByCheck, "", -0.2)
		p.commit("faster on side")
		p.git("switch", "--quiet", "main")
		p.git("checkout", "side", "--", ".")
		p.finds(p.commit("squash"), "rewritten attention/small")
	})
}

func TestAuditWhereThereIsNothing(t *testing.T) {
	p := newProject(t)
	if _, err := p.store.Audit(t.Context(), class); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	if classes, err := p.store.Audited(t.Context()); err != nil || len(classes) != 0 {
		t.Errorf("%v, %v", classes, err)
	}
	p.move("small", ByCheck, "", 0)
	p.commit("baseline")
	os.Remove(p.store.Path(class))
	p.commit("removed") // and still to be audited
	if classes, err := p.store.Audited(t.Context()); err != nil || len(classes) != 1 {
		t.Errorf("%v, %v", classes, err)
	}
	none := Open(t.TempDir())
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(none.dir))
	put(t, none, moveTo(candidate("small", 1, 2)))
	if _, err := none.Audit(t.Context(), class); !errors.Is(err, git.ErrNoRepository) {
		t.Errorf("%v", err)
	}
	if events, err := none.History(t.Context(), class); err != nil || len(events) != 1 {
		t.Errorf("%v, %v", events, err)
	}
}

func TestAuditInShallowClone(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	p.commit("baseline")
	for range 3 {
		p.move("small", ByCheck, "", -0.1)
		p.commit("faster")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	p.git("clone", "--quiet", "--depth=2", "file://"+p.root, clone)
	s := Open(filepath.Join(clone, "kernels"))
	a, err := s.Audit(t.Context(), class)
	if err != nil || !a.Shallow || a.Commits != 2 || a.Oldest != p.git("rev-parse", "HEAD~1") || len(a.Findings) != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	f, err := s.LoadAt(t.Context(), "HEAD~1", class)
	if err != nil || len(f.Entry("attention", "small").Moves) != 3 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := f.Samples(f.Entry("attention", "small")); err != nil {
		t.Error(err)
	}
	if f, err := p.store.LoadAt(t.Context(), "HEAD~4", class); err != nil || len(f.Entries) != 0 {
		t.Errorf("before there was one: %+v, %v", f, err)
	}
}
