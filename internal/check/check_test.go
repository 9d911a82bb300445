package check

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/diag"
	"pawl/internal/explain"
	"pawl/internal/judge"
	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

func TestFirstBaseline(t *testing.T) {
	p := newProject(t)
	began := time.Now().Add(-time.Second)
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.New, result.NoBaseline)
	if row.Moved == nil || row.Moved.Done || !strings.Contains(row.Moved.Hint, "--update-baseline") || row.Timing == nil {
		t.Errorf("moved %+v", row.Moved)
	}
	if p.stored() != nil {
		t.Error("a baseline was written without being asked for")
	}
	report := p.check(update)
	mustBe(t, rowOf(t, report, "k/c"), result.New, result.NoBaseline)
	first := p.stored()
	if first == nil || math.Abs(first.MedianMS-0.5) > 1e-9 || first.Commit != p.git("rev-parse", "HEAD") {
		t.Fatalf("stored %+v", first)
	}
	if first.Time.Before(began) || first.Moved().Time.Before(began) || first.Moved().Who != "Ann" || first.Moved().Run != report.ID {
		t.Errorf("stored at %v, moved %+v", first.Time, first.Moved())
	}
	p.commit("baseline")

	p.replace("k.c", "void", "/* why */ void")
	p.commit("comment")
	row = rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Unchanged)
	if row.Timing != nil || row.Plan != "nothing: unchanged" {
		t.Errorf("measured all the same: %s", row.Plan)
	}
}

// Base and best-known differ: all three play.
func TestTrios(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*project){
		"a small step too far": func(p *project) { p.kernel("k", 520) },
		"creep":                func(p *project) { p.replace("k.c", "n & 7", "n & 3") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newBaselined(t)
			best := p.stored().Commit
			speed := 530.0
			if name != "creep" {
				speed = 510
			}
			p.kernel("k", speed)
			base := p.commit("slower")
			change(p)
			p.commit("change")
			row := rowOf(t, p.check(), "k/c")
			against, known := sideOf(t, row, result.Base), sideOf(t, row, result.Best)
			if against.Commit != base || known.Commit != best || against.Change == nil || known.Change == nil || known.Row.Timing == nil {
				t.Fatalf("%s", sidesOf(row))
			}
			if name == "creep" {
				mustBe(t, row, result.Maintained, result.Creep)
				if math.Abs(known.Change.Median-0.06) > 1e-9 || against.Change.Confirmed {
					t.Errorf("%s", sidesOf(row))
				}
				return
			}
			mustBe(t, row, result.Regression, result.TooFar) // 2% behind its base, 4% behind the best
			if row.Why != nil {
				t.Errorf("explained without being asked: %+v", row.Why)
			}
			if c := against.Change; math.Abs(c.Median-(520.0/510-1)) > 1e-9 || math.Abs(known.Change.Median-0.04) > 1e-9 || !c.Confirmed || len(c.Cells) != 8 {
				t.Errorf("%s, %d cells", sidesOf(row), len(c.Cells))
			}
		})
	}
}

func TestImprovementMovesTheBaseline(t *testing.T) {
	p := newBaselined(t)
	first := p.stored()
	p.kernel("k", 400)
	p.commit("faster")
	row := rowOf(t, p.check(update), "k/c")
	mustBe(t, row, result.Improvement)
	if m := row.Moved; m == nil || !m.Done || m.From != first.Commit || math.Abs(m.FromS-500e-6) > 1e-12 {
		t.Errorf("moved %+v", m)
	}
	now := p.stored()
	if math.Abs(now.MedianMS-0.4) > 1e-9 || len(now.Moves) != 2 || now.Moved().Change == nil || math.Abs(now.Moved().Change.Median+0.2) > 1e-6 || row.Moved.ToS != now.MedianMS/1e3 {
		t.Errorf("stored %+v, moved %+v", now, row.Moved)
	}
	// The stored numbers are those of the confirming cells alone.
	all := sideOf(t, row, result.Base).Change
	if n := len(row.Timing.Samples.Kept()); now.Samples.Of == 0 || now.Samples.Of >= n || len(all.Cells) != 8 || now.Cells != 4 || now.Pairs == 0 || now.Pairs >= all.Pairs {
		t.Errorf("stored %d of %d samples, %d of %d cells, %d of %d pairs", now.Samples.Of, n, now.Cells, len(all.Cells), now.Pairs, all.Pairs)
	}
	p.commit("baseline")
	audit, err := ratchet.Open(p.dir).Audit(t.Context(), class)
	if err != nil || len(audit.Findings) > 0 {
		t.Errorf("%v: %+v", err, audit)
	}
}

// A median does not show one slow launch in five. The row says so, and the baseline stays,
// whichever version the row is compared with.
func TestSlowTailMovesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		between float64 // a commit before, and after the best-known one, that takes so long; 0: none
		change  puppet.Script
		want    result.Verdict
		reasons []result.Reason
		says    string
	}{
		"faster, but not always": {0, puppet.Script{Micros: 400, Part: 20, By: 3}, result.Improvement, []result.Reason{result.SlowTail}, "that of the base version: P90 500 µs → 1.20 ms"},
		"as fast, but not always": {
			900, puppet.Script{Micros: 400, Part: 20, By: 2}, result.Improvement, nil, "that of the best version: P90 500 µs → 800 µs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && test.between > 0 {
				t.Skip("long: run by make long")
			}
			p := newBaselined(t)
			before := p.stored()
			if test.between > 0 {
				p.kernel("k", test.between)
				p.commit("slower")
			}
			p.script("k", test.change)
			p.commit("change")
			row := rowOf(t, p.check(update), "k/c")
			mustBe(t, row, test.want, test.reasons...)
			if m := row.Moved; m == nil || m.Done || !strings.Contains(m.Refused, test.says) || !strings.Contains(m.Hint, "baseline accept") {
				t.Errorf("moved %+v, want it refused: %s", m, test.says)
			}
			if p.stored().Sum != before.Sum {
				t.Error("the baseline moved")
			}
		})
	}
}

// A change is judged by the gate that was there before it, to the tenth of a percent.
func TestGateIsTheBases(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_sides.txt has a looser gate")
	}
	t.Parallel()
	for name, test := range map[string]struct {
		micros float64
		want   result.Verdict
		reason []result.Reason
	}{
		"3.2% slower": {516, result.Regression, nil},
		"4.8% faster": {476, result.Maintained, []result.Reason{result.Faster}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.kernel("k", test.micros)
			p.spec("gate: {regression: 50%, improvement: 1%}\n")
			p.commit("change, and another gate for it")
			report := p.check()
			row := rowOf(t, report, "k/c")
			mustBe(t, row, test.want, test.reason...)
			if c := sideOf(t, row, result.Base).Change; c.Confirmed != (test.reason == nil) {
				t.Errorf("confirmed %t", c.Confirmed)
			}
			mustWarn(t, report.Warnings, "gate", "different gate; it is judged by the gate of HEAD~1")
			if report.Gate == nil || report.Gate.Regression != 0.03 || report.Gate.Improvement != 0.05 {
				t.Errorf("gate %+v", report.Gate)
			}
		})
	}
}

// The same code with a different launch is measured as different.
func TestLaunchIsPartOfIdentity(t *testing.T) {
	p := newProject(t)
	before := rowOf(t, p.check(planOnly), "k/c")
	p.spec("", entry("k", "launch: {threads: 2}"))
	p.commit("two threads")
	row := rowOf(t, p.check(planOnly), "k/c")
	if row.Code != before.Code || row.Identity == before.Identity || !strings.HasPrefix(row.Plan, "play against base ") {
		t.Errorf("code %.8s → %.8s, identity %.8s → %.8s, plan %s", before.Code, row.Code, before.Identity, row.Identity, row.Plan)
	}
}

func TestPlan(t *testing.T) {
	p := newBaselined(t)
	p.kernel("k", 510)
	middle := p.commit("slower")
	p.kernel("k", 600)
	p.commit("much slower")
	row := rowOf(t, p.check(planOnly), "k/c")
	best := p.stored().Commit
	if want := "play against base " + middle[:7] + " and best " + best[:7]; row.Plan != want || row.Verdict != "" || row.Timing != nil {
		t.Errorf("plan %q, verdict %q; want %q", row.Plan, row.Verdict, want)
	}
}

// Without git everything is new, whatever has been stored, and nothing moves.
func TestNoGit(t *testing.T) {
	p := newProject(t)
	if err := os.RemoveAll(filepath.Join(p.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	report := p.check(update)
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.New, result.NoBaseline)
	if report.Commit != nil || report.Base != nil || row.Moved.Done || !strings.Contains(row.Moved.Refused, "no commit") || !strings.Contains(row.Moved.Hint, "git") {
		t.Errorf("commit %v, base %v, moved %+v", report.Commit, report.Base, row.Moved)
	}
	if _, err := p.run(func(o *Options) { o.Base = "main" }); err == nil || !strings.Contains(err.Error(), "--base main") {
		t.Errorf("a base where there is no git: %v", err)
	}
}

func TestDirtyTree(t *testing.T) {
	p := newProject(t)
	p.replace("k.c", "void", "/* why */ void")
	report := p.check(update)
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.Unchanged)
	if report.Base.Ref != "HEAD" || row.Moved.Done || !strings.Contains(row.Moved.Refused, "files have changed since its commit") || !strings.Contains(row.Moved.Hint, "commit them") {
		t.Errorf("base %+v, moved %+v", report.Base, row.Moved)
	}
	if p.stored() != nil {
		t.Errorf("stored %+v", p.stored())
	}
}

func TestOtherBases(t *testing.T) {
	p := newProject(t)
	p.git("checkout", "--quiet", "-b", "change")
	p.kernel("k", 600)
	p.commit("slower")
	p.replace("k.c", "n & 7", "n & 3")
	p.commit("more")
	// A branch answers for everything since it left main.
	report := p.check(planOnly)
	if want := p.git("rev-parse", "main"); report.Base.SHA != want || report.Base.Ref != "main" {
		t.Errorf("base %+v, want %s", report.Base, want)
	}
	report = p.check(planOnly, func(o *Options) { o.Base = "HEAD~1" })
	if want := p.git("rev-parse", "HEAD~1"); report.Base.SHA != want || report.Base.Ref != "HEAD~1" {
		t.Errorf("base %+v, want %s", report.Base, want)
	}
	if _, err := p.run(func(o *Options) { o.Base = "mian" }); err == nil || !strings.Contains(err.Error(), "mian is not in this clone") {
		t.Errorf("a base that is not: %v", err)
	} else if problems := diag.Problems(err); len(problems) != 1 || problems[0].Hint != "did you mean main?" {
		t.Errorf("without a hint: %v", err)
	}
}

// A baseline whose commit is gone: the base still decides; without one nothing does.
func TestCommitThatIsGone(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestAcceptOfBestKnownWhoseCommitIsGone has such a commit")
	}
	p := newBaselined(t)
	gone := p.stored().Commit
	p.squash()
	mustBe(t, rowOf(t, p.check(), "k/c"), result.Unchanged) // the version itself is here
	p.replace("k.c", "n & 7", "n & 3")
	p.git("commit", "--quiet", "--amend", "-am", "squashed, and other code")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Incomparable)
	side := sideOf(t, row, result.Best)
	if side.Commit != gone || len(side.Reason) != 1 || !strings.Contains(side.Reason[0], "commit "+gone[:7]+" is not in this clone") || side.Row != nil || math.Abs(side.StoredS-500e-6) > 1e-12 {
		t.Errorf("%+v", side)
	}
	if row.Moved != nil {
		t.Errorf("moved %+v", row.Moved)
	}
	p.kernel("k", 500)
	p.git("commit", "--quiet", "--amend", "-am", "squashed")
	p.kernel("k", 510)
	p.commit("slower")
	// The base is the best-known, by its identity: the commit is not needed.
	if row := rowOf(t, p.check(planOnly), "k/c"); len(row.Sides) != 1 || len(row.Sides[0].Reason) > 0 {
		t.Errorf("%s", sidesOf(row))
	}
	p.kernel("k", 515)
	p.commit("slower still")
	row = rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Maintained, result.Slower)
	if side := sideOf(t, row, result.Best); side.Change != nil || len(side.Reason) != 1 {
		t.Errorf("%+v", side)
	}
}

func TestBrokenSides(t *testing.T) {
	p := newProject(t)
	p.replace("k.c", "out[0]", "oops")
	p.commit("broken")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Broken)
	if row.Fault.Cause != result.CauseCompile || row.Plan != "nothing: the kernel does not build" {
		t.Errorf("%+v, plan %s", row.Fault, row.Plan)
	}
	p.kernel("k", 500)
	p.replace("k.c", "n & 7", "n & 3")
	p.commit("mended")
	row = rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Incomparable)
	side := sideOf(t, row, result.Base)
	if side.Row.Fault == nil || len(side.Reason) != 1 || !strings.HasPrefix(side.Reason[0], "the base version is not available: ") {
		t.Errorf("%+v", side)
	}
}

// A version that fails while it is measured is blamed for it, and other configs go on.
func TestFaultyVersions(t *testing.T) {
	t.Parallel()
	for name, candidate := range map[string]bool{"candidate": true, "base": false} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !candidate {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.spec("configs: {small: {N: 64}, faulty: {N: 128}, large: {N: 256}}\n")
			good, bad := puppet.Script{Micros: 500}, puppet.Script{Micros: 500, Crash: "sample", After: 30, Only: 128}
			if candidate {
				p.script("k", good)
				p.commit("base")
				p.script("k", bad)
			} else {
				p.script("k", bad)
				p.commit("base")
				p.script("k", good)
			}
			p.commit("change")
			report := p.check()
			row := rowOf(t, report, "k/faulty")
			if candidate {
				mustBe(t, row, result.Broken)
				if row.Fault.Cause != result.CauseExit || row.Fault.Stage != "measure" {
					t.Errorf("%+v", row.Fault)
				}
			} else {
				mustBe(t, row, result.Incomparable)
				if side := sideOf(t, row, result.Base); side.Row.Fault == nil || side.Change != nil || !strings.Contains(side.Reason[0], "the base version cannot be measured") {
					t.Errorf("%+v", side)
				}
			}
			for _, other := range []string{"k/small", "k/large"} {
				mustBe(t, rowOf(t, report, other), result.Maintained)
			}
		})
	}
}

// One failing opponent does not save a change from the other: the remaining one plays on.
func TestFaultyVersionsInTrios(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestFaultyVersions has a version that fails, TestInterruptedWithoutTheBest plays on without one")
	}
	t.Parallel()
	crashes := func(micros float64) puppet.Script {
		return puppet.Script{Micros: micros, Crash: "sample", After: 30, Only: 128}
	}
	for name, test := range map[string]struct {
		best, base, change puppet.Script
		want               result.Verdict // of the config that they fail at
		missing            []result.Role
	}{
		"best-known, slower than its base":       {crashes(500), puppet.Script{Micros: 505}, puppet.Script{Micros: 606}, result.Regression, []result.Role{result.Best}},
		"base, slower than the best-known":       {puppet.Script{Micros: 500}, crashes(505), puppet.Script{Micros: 606}, result.Regression, []result.Role{result.Base}},
		"base and best-known":                    {crashes(500), crashes(505), puppet.Script{Micros: 606}, result.Incomparable, []result.Role{result.Base, result.Best}},
		"candidate":                              {puppet.Script{Micros: 500}, puppet.Script{Micros: 505}, crashes(606), result.Broken, nil},
		"candidate, and the best-known, as well": {crashes(500), puppet.Script{Micros: 505}, puppet.Script{Micros: 606, Crash: "sample", After: 45, Only: 128}, result.Broken, []result.Role{result.Best}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "base, slower than the best-known" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.spec("configs: {faulty: {N: 128}, large: {N: 256}}\n")
			p.script("k", test.best)
			p.commit("best")
			p.entries(500e-6)
			p.script("k", test.base)
			p.commit("base")
			p.script("k", test.change)
			p.commit("change")
			report := p.check()
			row := rowOf(t, report, "k/faulty")
			if row.Verdict != test.want {
				t.Errorf("%q, want %q: fault %v, sides %s", row.Verdict, test.want, row.Fault, sidesOf(row))
			}
			for _, side := range row.Sides {
				if !slices.Contains(test.missing, side.Role) {
					if judge.Confirm(test.want) != (side.Change != nil && side.Change.Confirmed && len(side.Change.Cells) == 8) || len(side.Reason) > 0 {
						t.Errorf("%s: %+v, %q", side.Role, side.Change, side.Reason)
					}
					continue
				}
				if side.Change != nil || side.Row.Fault == nil || len(side.Reason) != 1 || !strings.HasPrefix(side.Reason[0], "the "+string(side.Role)+" version cannot be measured: ") {
					t.Errorf("%s: %+v, fault %v, %q", side.Role, side.Change, side.Row.Fault, side.Reason)
				}
			}
			row = rowOf(t, report, "k/large") // at which all three play
			if base, best := sideOf(t, row, result.Base), sideOf(t, row, result.Best); base.Change == nil || best.Change == nil || row.Fault != nil {
				t.Errorf("fault %v, sides %s", row.Fault, sidesOf(row))
			}
		})
	}
}

// A best-known version that cannot be loaded concerns every config.
func TestBestThatCannotBeLoaded(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestInterruptedWithoutTheBest plays without the best-known version")
	}
	p := newProject(t)
	p.spec("configs: {one: {N: 64}, two: {N: 128}}\n")
	p.script("k", puppet.Script{Micros: 500, Crash: "load"})
	p.commit("best")
	p.entries(500e-6)
	p.kernel("k", 505)
	p.commit("base")
	p.kernel("k", 606)
	p.commit("change")
	report := p.check()
	for _, name := range []string{"k/one", "k/two"} {
		row := rowOf(t, report, name)
		mustBe(t, row, result.Regression)
		if best := sideOf(t, row, result.Best); best.Change != nil || len(best.Reason) != 1 || row.Sandbox == nil {
			t.Errorf("%s: %+v, sandbox %v", name, best, row.Sandbox)
		}
	}
}

// A match that is interrupted while it is replayed without the failed version says nothing.
func TestInterruptedWithoutTheBest(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 500, Crash: "load"})
	p.commit("best")
	p.entries(500e-6)
	p.kernel("k", 505)
	p.commit("base")
	p.kernel("k", 606)
	p.commit("change")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.follow = func(e run.Event) {
		if e.Kind == run.Measure && e.Samples > 0 {
			cancel()
		}
	}
	report, err := p.runWith(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if row := rowOf(t, report, "k/c"); row.Verdict != "" || row.Fault == nil || row.Fault.Cause != result.CauseInterrupted {
		t.Errorf("verdict %q, fault %+v", row.Verdict, row.Fault)
	}
}

// Rows that share their cells are all held by a sandbox, and all have tried what
// it refused.
func TestSharedCellsAreDescribedInEveryRow(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {one: {N: 64}, two: {N: 128}}\n")
	p.commit("two configs")
	p.script("k", puppet.Script{Micros: 500, Reach: true})
	p.commit("reaching for the network")
	report := p.check(update, func(o *Options) { o.Lab.Sandbox = "auto" })
	for _, name := range []string{"k/one", "k/two"} {
		row := rowOf(t, report, name)
		mustBe(t, row, result.Maintained)
		if row.Trust != "author" || row.Sandbox == nil {
			t.Errorf("%s: trust %q, sandbox %+v", name, row.Trust, row.Sandbox)
			continue
		}
		if row.Sandbox.Level == "off" {
			continue // this system cannot confine anything
		}
		mustWarn(t, row.Warnings, "sandbox", "attempted something that its sandbox refuses")
		if row.Moved.Done || !strings.Contains(row.Moved.Refused, "sandbox") {
			t.Errorf("%s: moved %+v", name, row.Moved)
		}
	}
}

func TestInterrupted(t *testing.T) {
	p := newBaselined(t)
	p.kernel("k", 800)
	p.commit("slower")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.follow = func(e run.Event) {
		if e.Kind == run.Measure && e.Samples > 0 {
			cancel()
		}
	}
	report, err := p.runWith(ctx, update)
	if err != nil {
		t.Fatal(err)
	}
	row := rowOf(t, report, "k/c")
	if !report.Interrupted || row.Verdict != "" || row.Fault == nil || row.Fault.Cause != result.CauseInterrupted || row.Moved != nil {
		t.Errorf("interrupted %t, verdict %q, fault %+v, moved %+v", report.Interrupted, row.Verdict, row.Fault, row.Moved)
	}
}

// A worker that is killed says nothing of any version: the row is not judged, and is not played
// again without the version whose turn it was.
func TestWorkerKilledInAMatch(t *testing.T) {
	p := newProject(t)
	p.kernel("k", 510)
	p.commit("change")
	for _, delay := range []time.Duration{0, 20, 30} { // in turns of either version
		pid, events := filepath.Join(t.TempDir(), "pid"), 0
		p.follow = func(e run.Event) {
			if e.Kind != run.Measure || e.Samples == 0 {
				return
			}
			if events++; events == 2 {
				raw, _ := os.ReadFile(pid)
				id, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
				time.AfterFunc(delay*time.Millisecond, func() { _ = syscall.Kill(id, syscall.SIGKILL) })
			}
		}
		row := rowOf(t, p.check(func(o *Options) {
			o.Lab.Worker = append([]string{"sh", "-c", `echo $$ > "$0"; exec "$@"`, pid}, o.Lab.Worker...)
		}), "k/c")
		if row.Verdict != "" || row.Fault == nil || row.Fault.Cause != result.CauseKilled {
			t.Errorf("after %d ms: verdict %q, fault %+v", delay, row.Verdict, row.Fault)
		}
		if side := sideOf(t, row, result.Base); len(side.Reason) > 0 {
			t.Errorf("after %d ms: %v", delay, side.Reason)
		}
	}
}

// Only so many rows are explained, those that became slower first, then those that changed most, and the report says so.
func TestMostChangedAreExplained(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}}\n", entry("k"), entry("l"), entry("m"))
	p.kernel("k", 500)
	p.kernel("l", 500)
	p.kernel("m", 500)
	p.commit("three kernels")
	p.kernel("k", 600)
	p.kernel("l", 700)
	p.kernel("m", 200)
	p.commit("change")
	report := p.check(func(o *Options) { o.Explain = &explain.Settings{Most: 1} })
	k, l, m := rowOf(t, report, "k/c"), rowOf(t, report, "l/c"), rowOf(t, report, "m/c")
	mustBe(t, m, result.Improvement)
	if k.Why != nil || l.Why == nil || m.Why != nil {
		t.Errorf("explained: k %v, l %v, m %v", k.Why != nil, l.Why != nil, m.Why != nil)
	}
	mustWarn(t, report.Warnings, "explained", "2 rows are not explained: a check looks at the 1 that changed most")
}

// A check has its verdict when there is no time left to explain it, and says so.
func TestExplainingIsBounded(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}}\n", entry("k"))
	p.kernel("k", 500)
	p.commit("base")
	p.kernel("k", 600)
	p.commit("change")
	report := p.check(func(o *Options) { o.Explain = &explain.Settings{Budget: time.Nanosecond} })
	row := rowOf(t, report, "k/c")
	mustBe(t, row, result.Regression)
	if row.Why != nil || report.Interrupted || report.Outcome.Result != result.Failed {
		t.Errorf("%+v, %+v", row.Why, report.Outcome)
	}
	mustWarn(t, report.Warnings, "explained", "1 row is not explained: a check spends 1.00 ns on that")
	if most := Default().Explain; most.Budget <= 0 || most.Budget > 10*time.Minute || most.Most <= 0 {
		t.Errorf("%+v", most)
	}
}

// The workers of a pool share the rows, which stay in the order of the plan.
func TestPoolSharesTheRows(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}}\n", entry("k"), entry("l"), entry("m"))
	for _, name := range []string{"k", "l", "m"} {
		p.kernel(name, 500)
	}
	p.commit("three kernels")
	for i, name := range []string{"k", "l", "m"} {
		p.kernel(name, 600-200*float64(i))
	}
	p.commit("change")
	report := p.check(func(o *Options) { o.Lab.Workers = 2 })
	for i, want := range []result.Verdict{result.Regression, result.Improvement, result.Improvement} {
		row := report.Rows[i]
		if row.Kernel != []string{"k", "l", "m"}[i] {
			t.Errorf("row %d is %s", i, row.Name())
		}
		mustBe(t, row, want)
	}
}

// Rows that are measured alone are judged one by one: their worker keeps outputs only for a while.
func TestRowsAloneAreNoGroup(t *testing.T) {
	t.Parallel()
	k := &spec.Kernel{Name: "k"}
	row := func(config string, alone bool) *verified {
		job := &lab.Job{Variant: spec.Variant{Kernel: k}, Config: &spec.Config{Name: config}}
		return &verified{built: &built{planned: &planned{candidate: job}, alone: alone}}
	}
	for alone, want := range map[bool]int{true: 2, false: 1} {
		if got := len(groupsOf([]*verified{row("a", alone), row("b", alone)})); got != want {
			t.Errorf("alone %t: %d groups, want %d", alone, got, want)
		}
	}
}

// A run that was prepared for something else has another seed, and drafts in it.
func TestOnlyAPreparedCheckIsChecked(t *testing.T) {
	p := newProject(t)
	r, err := run.Prepare(result.KindBench, run.Request{Spec: p.load(), Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*run.Run{r, run.Quiet(time.Now(), nil)} {
		if _, err := Run(t.Context(), r, Options{}); err == nil || !strings.Contains(err.Error(), "a check needs its own") {
			t.Error(err)
		}
	}
}

// A fault that only closing a kept cell brings to light is the row's, too.
func TestLateFaultsAreHeard(t *testing.T) {
	t.Parallel()
	job := &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k"}}, Config: &spec.Config{}}
	job.Record.Fault = &result.Fault{Cause: result.CauseForged}
	before := &judged{played: &played{verified: &verified{built: &built{planned: &planned{candidate: job}}}}, verdict: result.New}
	after := (&check{}).hear([]*judged{before})[0]
	if after.verdict != result.Rejected || after.fault != job.Record.Fault || before.verdict != result.New {
		t.Errorf("%q, %v; before %q", after.verdict, after.fault, before.verdict)
	}
}
