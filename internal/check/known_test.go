package check

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// elsewhere makes the checked-out version the baseline as a machine with another compiler would:
// with different code.
func (p *project) elsewhere(store func(*ratchet.File, ratchet.Candidate) error) {
	p.t.Helper()
	report := p.check(planOnly)
	row := rowOf(p.t, report, "k/c")
	row.Identity, row.Code = strings.Repeat("e", 64), strings.Repeat("e", 64)
	row.Build.Compiler, row.Verdict = "cc (Elsewhere) 13.1.0", result.New
	row.Timing = &result.Timing{Samples: result.Samples{Seconds: []float64{500e-6}}, Stats: result.Stats{Count: 1, Median: 500e-6, Low: 500e-6, High: 500e-6}}
	err := ratchet.Open(p.dir).Update(p.t.Context(), class, func(f *ratchet.File) error {
		return store(f, ratchet.CandidateOf(report, row, f.Entry("k", "c"), "Ann"))
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.commit("baseline from elsewhere")
}

func moveElsewhere(f *ratchet.File, c ratchet.Candidate) error {
	_, err := f.Move(c)
	return err
}

func acceptElsewhere(f *ratchet.File, c ratchet.Candidate) error {
	_, err := f.Accept(c, "correct now")
	return err
}

// The baseline also moves when its version now has different code: made by another compiler, or
// with other values.
func TestBaselineMovesWhenItsVersionIsOtherCodeNow(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestAcceptedForOtherValues has other values")
	}
	t.Parallel()
	for name, setup := range map[string]func(*project){
		"another compiler": func(p *project) { p.elsewhere(moveElsewhere) },
		"other values": func(p *project) {
			p.baseline()
			p.spec("configs: {c: {N: 640}}\n")
			p.commit("larger")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "other values" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			setup(p)
			first := p.stored()
			p.kernel("k", 300)
			p.commit("faster")
			report := p.check()
			row := rowOf(t, report, "k/c")
			mustBe(t, row, result.Improvement)
			if m := row.Moved; m == nil || m.Refused != "" || !strings.Contains(m.Hint, "--update-baseline") {
				t.Errorf("%+v", m)
			}
			if c := ratchet.CandidateOf(report, row, first, "Ann"); c.Change == nil || c.Against != first.Commit {
				t.Errorf("whoever accepts it is told of %+v against %q", c.Change, c.Against)
			}
			row = rowOf(t, p.check(update), "k/c")
			now := p.stored()
			if m := row.Moved; m == nil || !m.Done || m.From != first.Commit || now.Moved().Change == nil || math.Abs(now.Moved().Change.Median+0.4) > 1e-6 {
				t.Fatalf("moved %+v, stored %+v: %s %v, sides %s, fault %v, integrity %+v, warnings %v", m, now.Moved(), row.Verdict, row.Reasons, sidesOf(row), row.Fault, row.Verification.Integrity, row.Warnings)
			}
			if sameProblem := maps.Equal(first.Vars, row.Vars); sameProblem != (row.Moved.FromS > 0) {
				t.Errorf("from %g s, of %v, and now of %v", row.Moved.FromS, first.Vars, row.Vars)
			}
			p.commit("baseline")
			p.mustBeSound()
		})
	}
}

// The class is the base's: another one has another baseline, or none.
func TestClassIsTheBases(t *testing.T) {
	p := newBaselined(t)
	best := p.stored().Commit
	p.kernel("k", 510)
	p.commit("slower")
	p.git("checkout", "--quiet", "-b", "change")
	p.replace("pawl.yaml", "device_class: "+class, "device_class: mine")
	p.kernel("k", 512)
	p.commit("hardly slower, in a class of its own")
	report := p.check()
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.Maintained, result.Slower)
	mustWarn(t, report.Warnings, "class", "different device_class; the baseline of main is used")
	if sideOf(t, row, result.Best).Commit != best || row.Class != class || report.DeviceClass != class {
		t.Errorf("class %q, of the report %q, sides %s", row.Class, report.DeviceClass, sidesOf(row))
	}
}

// A config that only the base has is judged, and nobody makes a baseline of it.
func TestDroppedConfigsAreNotStored(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestConfigsAreTheBases drops one")
	}
	t.Parallel()
	for name, before := range map[string]bool{"it has a baseline": true, "it has none": false} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && before {
				t.Skip("long: run by make long")
			}
			begin := newProject
			if before {
				begin = newBaselined
			}
			p := begin(t)
			p.git("checkout", "--quiet", "-b", "change")
			p.spec("configs: {x.1: {N: 64}}\n")
			p.commit("renamed")
			if row := rowOf(t, p.check(update), "k/c"); row.Timing != nil || row.Verdict != result.Unchanged {
				t.Errorf("%s, measured %t", row.Verdict, row.Timing != nil)
			}
			p.kernel("k", 300)
			p.commit("and faster")
			first := p.stored()
			report := p.check(update)
			row := rowOf(t, report, "k/c")
			mustBe(t, row, result.Improvement)
			mustWarn(t, row.Warnings, "config", "this change removes config c")
			if row.Moved != nil || !row.Dropped {
				t.Errorf("moved %+v, dropped %t", row.Moved, row.Dropped)
			}
			if now := p.stored(); before && now.Sum != first.Sum || !before && now != nil {
				t.Errorf("stored %+v", now)
			}
			if m := rowOf(t, report, "k/x.1").Moved; m == nil || !m.Done {
				t.Errorf("the new name: %+v", m)
			}
			p.kernel("k", 400)
			p.commit("slower")
			err := ratchet.Open(p.dir).Update(t.Context(), class, func(f *ratchet.File) error {
				_, err := f.Accept(ratchet.CandidateOf(report, row, f.Entry("k", "c"), "Ann"), "wanted")
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "its commit has no config c") {
				t.Errorf("accepted: %v", err)
			}
		})
	}
}

// A slowdown that was accepted with another compiler's code is accepted: the entry's commit, built
// here, gives the same code.
func TestAcceptedWithAnotherCompiler(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestAcceptedVersionIsFetchedWhereItIsNeeded builds that version")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		after    func(*project)
		accepted bool
		warns    string
	}{
		"the same code": {func(*project) {}, true, ""},
		"other code": {func(p *project) {
			p.kernel("k", 700)
			p.commit("slower still")
		}, false, ""},
		"nobody has the commit": {func(p *project) {
			p.git("reset", "--quiet", "--soft", "main")
			p.commit("squashed")
			p.git("reflog", "expire", "--expire=now", "--all")
			p.git("gc", "--quiet", "--prune=now")
		}, false, "accepted by Ann for a build with cc (Elsewhere) 13.1.0; this build uses "},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "other code" {
				t.Skip("long: run by make long")
			}
			p := newBaselined(t)
			p.git("checkout", "--quiet", "-b", "change")
			p.kernel("k", 600)
			p.commit("slower")
			p.elsewhere(acceptElsewhere)
			test.after(p)
			row := rowOf(t, p.check(), "k/c")
			if test.accepted {
				mustBe(t, row, result.Regression, result.Accepted)
				mustWarn(t, row.Warnings, "accepted", "accepted by Ann: correct now")
				return
			}
			mustBe(t, row, result.Regression)
			if test.warns != "" {
				mustWarn(t, row.Warnings, "accept", test.warns)
			} else if slices.ContainsFunc(row.Warnings, func(w result.Warning) bool { return strings.HasPrefix(w.Code, "accept") }) {
				t.Errorf("%+v", row.Warnings)
			}
		})
	}
}

// An accept for one problem does not hold for another.
func TestAcceptedForOtherValues(t *testing.T) {
	p := newBaselined(t)
	p.spec("configs: {c: {N: 640}}\n")
	p.commit("larger")
	p.git("checkout", "--quiet", "-b", "change", "HEAD~1")
	p.kernel("k", 600)
	p.commit("slower")
	p.accept("only the small one")
	p.git("merge", "--quiet", "--no-edit", "main")
	row := rowOf(t, p.check(planOnly, func(o *Options) { o.Base = "main" }), "k/c")
	if row.Vars["N"] != "640" || len(row.Warnings) > 0 {
		t.Errorf("N %s: %+v", row.Vars["N"], row.Warnings)
	}
}

// Times of different problems are not compared, and a ratchet that can no longer move says so.
func TestIncomparableBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestOtherSizesAreNotCompared shows it too")
	}
	t.Parallel()
	for name, n := range map[string]string{"the same problem": "64", "another": "640"} {
		t.Run(name, func(t *testing.T) {
			p := newBaselined(t)
			p.spec("configs: {c: {N: " + n + "}}\n")
			p.kernel("k", 510)
			p.commit("change")
			p.squash()
			before := p.stored()
			row := rowOf(t, p.check(), "k/c")
			mustBe(t, row, result.Incomparable)
			if side := sideOf(t, row, result.Best); (side.StoredS > 0) != (n == "64") || row.Moved != nil {
				t.Errorf("stored %g s, moved %+v", side.StoredS, row.Moved)
			}
			row = rowOf(t, p.check(update), "k/c")
			mustBe(t, row, result.Incomparable)
			if m := row.Moved; m == nil || m.Done || !strings.Contains(m.Refused, "can no longer be built") || !strings.Contains(m.Hint, "pawl baseline accept k/c --reason … makes") || !strings.Contains(m.Hint, "pawl baseline reset k/c") || (m.FromS > 0) != (n == "64") {
				t.Errorf("%+v", m)
			}
			if p.stored().Sum != before.Sum {
				t.Error("it moved")
			}
		})
	}
}
