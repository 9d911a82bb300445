package check

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/curve"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// Configs are the base's: a change passes neither by dropping the one it makes
// slower, nor by making it smaller.
func TestConfigsAreTheBases(t *testing.T) {
	p := newProject(t)
	p.spec("configs: {c: {N: 64}, large: {N: 4096}}\n")
	p.commit("two configs")
	p.spec("configs: {c: {N: 8}, more: {N: 100}}\n")
	p.commit("other configs")
	report := p.check(planOnly)
	var names []string
	for _, row := range report.Rows {
		names = append(names, row.Name()+" "+row.Vars["N"])
		mustBe(t, row, result.Unchanged)
	}
	if got := strings.Join(names, ", "); got != "k/c 64, k/more 100, k/large 4096" {
		t.Errorf("judged: %s", got)
	}
	mustWarn(t, rowOf(t, report, "k/c").Warnings, "config", "different values; it is judged with the base's values")
	if w := rowOf(t, report, "k/more").Warnings; len(w) > 0 {
		t.Errorf("a config that is new: %+v", w)
	}
	// A pattern that names a config selects that one alone.
	if rows := p.only("k/more").check(planOnly).Rows; len(rows) != 1 {
		t.Errorf("%d rows of one that was named", len(rows))
	}

	// The candidate need not know the names in the base's configs.
	p.spec("configs: {c: {M: 32}, large: {M: 4096}}\n", strings.ReplaceAll(entry("k"), "N]", "2 * M]"))
	p.replace("pawl.yaml", "value: N", "value: 2 * M")
	p.commit("another variable")
	report = p.check(planOnly)
	mustWarn(t, rowOf(t, report, "k/c").Warnings, "config", "no longer apply to this kernel; this change's own are used")
	if row := rowOf(t, report, "k/more"); row.Verdict != result.Broken || row.Fault.Cause != result.CauseSpec {
		t.Errorf("a config that was dropped, and cannot be resolved any more: %q %+v", row.Verdict, row.Fault)
	}
}

// A base that cannot be read says so, and leaves the best-known, or nothing.
func TestBaseWithoutASpec(t *testing.T) {
	p := newProject(t)
	good, err := os.ReadFile(filepath.Join(p.dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("pawl.yaml", "version: 1\nkernels: 7\n")
	p.commit("nonsense")
	p.write("pawl.yaml", string(good))
	p.commit("sense")
	report := p.check(planOnly)
	mustWarn(t, report.Warnings, "base", "has no kernels to compare with: pawl.yaml:2:")
	if row := rowOf(t, report, "k/c"); row.Plan != "measure alone" {
		t.Errorf("plan %q", row.Plan)
	}
	p.git("rm", "--quiet", "pawl.yaml")
	if err := os.Mkdir(filepath.Join(p.dir, "pawl.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("pawl.yaml/file", "")
	p.commit("a folder")
	p.git("rm", "--quiet", "-r", "pawl.yaml")
	p.write("pawl.yaml", string(good))
	p.commit("sense in between")
	mustWarn(t, p.check(planOnly).Warnings, "base", "has no kernels to compare with: read pawl.yaml: is a directory")
	p.git("rm", "--quiet", "pawl.yaml")
	p.commit("no spec at all")
	p.write("pawl.yaml", string(good))
	p.commit("sense again")
	mustWarn(t, p.check(planOnly).Warnings, "base", "it has no pawl.yaml")
	if row := rowOf(t, p.check(update), "k/c"); row.Verdict != result.New || row.Moved == nil || !row.Moved.Done {
		t.Errorf("the first description of a kernel: %q, moved %+v", row.Verdict, row.Moved)
	}
}

func TestKernelsOfOneSide(t *testing.T) {
	p := newProject(t)
	p.spec("", entry("k"), entry("old"), entry("gone"))
	p.kernel("old", 500)
	p.kernel("gone", 500)
	p.baseline2()
	p.git("mv", "old.c", "renamed.c")
	p.replace("renamed.c", "old", "renamed")
	p.spec("", entry("k"), entry("renamed"))
	p.commit("one renamed, one removed")
	report := p.check()
	if len(report.Rows) != 2 {
		t.Errorf("%d rows", len(report.Rows))
	}
	mustBe(t, rowOf(t, report, "k/c"), result.Unchanged)
	row := rowOf(t, report, "renamed/c")
	mustBe(t, row, result.New, result.NoBaseline)
	if row.Timing == nil || len(row.Sides) > 0 {
		t.Errorf("measured %t, against %s", row.Timing != nil, sidesOf(row))
	}
	mustWarn(t, report.Warnings, "removed", "this change removes kernel old of the base")
	mustWarn(t, report.Warnings, "removed", "this change removes kernel gone of the base")
	// A check of one kernel says nothing of the others.
	if w := p.only("k").check(planOnly).Warnings; len(w) > 0 {
		t.Errorf("%+v", w)
	}
}

// baseline2 commits, and makes what is there the baseline.
func (p *project) baseline2() {
	p.t.Helper()
	p.commit("kernels")
	p.baseline()
}

// The best-known version is built with the params that it was measured with, from
// the spec of its own commit.
func TestParamsOfTheBest(t *testing.T) {
	p := newProject(t)
	p.spec("", entry("k", "params: {TILE: [4, 8]}"))
	p.replace("k.c", "n & 7", "n & (TILE - 1)")
	p.baseline2()
	p.spec("", entry("k", "params: {TILE: [8, 4]}"))
	p.commit("another default")
	p.spec("", entry("k"))
	p.replace("k.c", "TILE - 1", "1")
	p.commit("the param is gone")
	row := rowOf(t, p.check(planOnly), "k/c")
	base, best := sideOf(t, row, result.Base), sideOf(t, row, result.Best)
	if base.Row.Params["TILE"] != "8" || best.Row.Params["TILE"] != "4" || len(row.Params) > 0 {
		t.Errorf("candidate %v, base %v, best %v", row.Params, base.Row.Params, best.Row.Params)
	}
	if base.Row.Fault != nil || best.Row.Fault != nil || base.Row.Identity == best.Row.Identity {
		t.Errorf("base %+v, best %+v", base.Row.Fault, best.Row.Fault)
	}

	// An entry that names a param which its commit does not have, or another kernel.
	c := &check{Spec: p.load(), trees: map[string]*version{}, report: &result.Report{}}
	defer c.closeTrees()
	head := p.git("rev-parse", "HEAD")
	for says, stored := range map[string]*ratchet.Entry{
		"cannot be rebuilt from " + head[:7] + ": ":               {Commit: head, Params: map[string]string{"TILE": "4"}},
		"cannot be rebuilt: check out commit 1111111: commit 111": {Commit: strings.Repeat("1", 40)},
	} {
		o := c.bestOf(t.Context(), stored, "k", c.Spec.Kernels[0].Configs[0])
		if o.job != nil || o.reasons[0] == "" || !strings.Contains(o.reasons[0], says) {
			t.Errorf("%+v, want %q", o, says)
		}
	}
	if o := c.bestOf(t.Context(), &ratchet.Entry{Commit: head}, "other", c.Spec.Kernels[0].Configs[0]); !strings.Contains(o.reasons[0], "it has no kernel other") {
		t.Errorf("%+v", o)
	}
}

// accept makes what is checked out the baseline, as pawl baseline accept does.
func (p *project) accept(reason string) {
	p.t.Helper()
	report := p.check(planOnly)
	row := rowOf(p.t, report, "k/c")
	row.Verdict = result.Regression
	row.Timing = &result.Timing{Samples: result.Samples{Seconds: []float64{600e-6}}, Stats: result.Stats{Count: 1, Median: 600e-6, Low: 600e-6, High: 600e-6}}
	err := ratchet.Open(p.dir).Update(p.t.Context(), class, func(f *ratchet.File) error {
		_, err := f.Accept(ratchet.CandidateOf(report, row, f.Entry("k", "c"), "Ann"), reason)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.commit("slower on purpose")
}

// An intended slowdown is committed with its reason and shown as accepted: in the pull request,
// then on main with --update-baseline, and for this code alone.
func TestAcceptedRegression(t *testing.T) {
	t.Parallel()
	const says = "accepted by Ann: correct now"
	for name, before := range map[string]bool{"there is a baseline": true, "it is the first": false} {
		t.Run(name, func(t *testing.T) {
			begin := newProject
			if before {
				begin = newBaselined
			}
			p := begin(t)
			p.git("checkout", "--quiet", "-b", "change")
			p.kernel("k", 600)
			p.commit("slower")
			p.accept("correct now")
			mustWarn(t, rowOf(t, p.check(planOnly), "k/c").Warnings, "accepted", says)
			p.git("checkout", "--quiet", "main")
			p.git("merge", "--quiet", "--no-ff", "--no-edit", "change")
			if before {
				mustWarn(t, rowOf(t, p.check(planOnly, update), "k/c").Warnings, "accepted", says)
			} else {
				row := rowOf(t, p.check(update), "k/c")
				mustBe(t, row, result.Regression, result.Accepted)
				mustWarn(t, row.Warnings, "accepted", says)
				if row.Moved != nil {
					t.Errorf("moved %+v", row.Moved)
				}
			}
			p.kernel("k", 700)
			p.commit("slower still")
			if w := rowOf(t, p.check(planOnly), "k/c").Warnings; len(w) > 0 {
				t.Errorf("other code: %+v", w)
			}
			p.kernel("k", 600)
			p.commit("back")
			if w := rowOf(t, p.check(planOnly), "k/c").Warnings; len(w) > 0 {
				t.Errorf("accepted in the base already: %+v", w)
			}
		})
	}
}

func TestDamagedBaselines(t *testing.T) {
	p := newBaselined(t)
	path := ".pawl/baseline/" + class + ".json"
	whole, err := os.ReadFile(filepath.Join(p.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	p.write(path, string(whole[:len(whole)/2]))
	if _, err := p.run(); err == nil || !strings.Contains(err.Error(), "it ends too early") {
		t.Errorf("truncated: %v", err)
	}
	p.write(path, strings.Replace(string(whole), `"median_ms": 0.5,`, `"median_ms": 0.4,`, 1))
	if _, err := p.run(); err == nil || !strings.Contains(err.Error(), "was edited by hand") {
		t.Errorf("edited: %v", err)
	}
	// In the base it is somebody else's: this change says so, and goes by its own.
	p.commit("edited")
	p.write(path, string(whole))
	p.kernel("k", 600)
	p.commit("restored")
	report := p.check(planOnly)
	mustWarn(t, report.Warnings, "baseline", "cannot be used")
	if row := rowOf(t, report, "k/c"); !strings.Contains(row.Plan, "play against base") {
		t.Errorf("plan %q", row.Plan)
	}
}

// A kernel that nobody has changed becomes the first baseline too.
func TestFirstBaselineOfAnOldProject(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestFirstBaseline shows it too")
	}
	p := newProject(t)
	p.commit("other work")
	if row := rowOf(t, p.check(), "k/c"); row.Verdict != result.Unchanged || row.Timing != nil || row.Moved != nil {
		t.Errorf("%s, moved %+v", row.Verdict, row.Moved)
	}
	row := rowOf(t, p.check(update), "k/c")
	mustBe(t, row, result.Unchanged)
	if row.Moved == nil || !row.Moved.Done || p.stored() == nil || math.Abs(p.stored().MedianMS-0.5) > 1e-9 {
		t.Errorf("moved %+v, stored %+v", row.Moved, p.stored())
	}
	p.commit("baseline")
	// So does a config that is new, beside one that has its baseline.
	p.spec("configs: {c: {N: 64}, more: {N: 128}}\n")
	p.commit("another config")
	report := p.check(update)
	mustBe(t, rowOf(t, report, "k/c"), result.Unchanged)
	if old, more := rowOf(t, report, "k/c"), rowOf(t, report, "k/more"); old.Timing != nil || more.Moved == nil || !more.Moved.Done {
		t.Errorf("old measured %t, new moved %+v", old.Timing != nil, more.Moved)
	}
}

func TestShallowClone(t *testing.T) {
	p := newBaselined(t)
	p.kernel("k", 600)
	p.commit("slower")
	shallow := &project{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	if out, err := exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+p.dir, shallow.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// Base and best are fetched.
	row := rowOf(t, shallow.check(planOnly), "k/c")
	if !strings.HasPrefix(row.Plan, "play against base ") || len(row.Sides) != 1 {
		t.Errorf("plan %q, sides %s", row.Plan, sidesOf(row))
	}
	// Where they cannot be fetched, the report says what is missing and what to do.
	again := &project{t: t, dir: filepath.Join(t.TempDir(), "clone")}
	if out, err := exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+p.dir, again.dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	again.git("remote", "remove", "origin")
	report := again.check()
	row = rowOf(t, report, "k/c")
	mustBe(t, row, result.Incomparable)
	mustWarn(t, report.Warnings, "base", "it is shallow")
	if side := sideOf(t, row, result.Best); !strings.Contains(side.Reason[0], "git fetch --unshallow") {
		t.Errorf("%+v", side)
	}
}

// The machine's calibration is used and cited; one that cannot be read is reported and ignored.
func TestCalibrationIsCited(t *testing.T) {
	p := newProject(t)
	p.kernel("k", 510)
	p.commit("change")
	folder := t.TempDir()
	made := &curve.Curve{Schema: curve.Schema, Method: curve.Method, DeviceClass: class, Gate: curve.Gate{Regression: 0.03, Improvement: 0.05, HalfWidth: 0.005}}
	same := made.At("compute", 0, false)
	for i := range 400 {
		same.Decisions = append(same.Decisions, curve.Decision{Set: i, Verdict: result.Maintained, Change: 0.001 * float64(i%3-1)})
	}
	path, err := curve.Save(folder, made)
	if err != nil {
		t.Fatal(err)
	}
	report := p.check(func(o *Options) { o.Curves = folder })
	if a := report.FalseAlarms; a == nil || a.Kernel != "compute" || a.Decisions != 400 || a.Configs != 1 || math.Abs(a.PerRun-0.00746) > 1e-4 {
		t.Errorf("%+v", a)
	}
	if c := sideOf(t, rowOf(t, report, "k/c"), result.Base).Change; math.Abs(c.HalfWidth()/made.Floor()-1.02) > 0.001 {
		t.Errorf("± %g, where nothing below %g can be told", c.HalfWidth(), made.Floor())
	}
	if err := os.WriteFile(path, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	report = p.check(planOnly, func(o *Options) { o.Curves = folder })
	mustWarn(t, report.Warnings, "calibration", "the calibration is not used: read the calibration "+path)
	// The curve of another gate, or by another method, says nothing of this one.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	made.Gate.Regression = 0.02
	if _, err := curve.Save(folder, made); err != nil {
		t.Fatal(err)
	}
	made.Gate.Regression, made.Method = 0.03, curve.Method-1
	if _, err := curve.Save(folder, made); err != nil {
		t.Fatal(err)
	}
	if report = p.check(planOnly, func(o *Options) { o.Curves = folder }); report.FalseAlarms != nil || len(report.Warnings) > 0 {
		t.Errorf("%+v, %+v", report.FalseAlarms, report.Warnings)
	}
}

// Interrupted before there is a worker: an error, and no report of nothing.
func TestInterruptedAtOnce(t *testing.T) {
	p := newProject(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := p.runWith(ctx); err == nil {
		t.Errorf("%+v", report)
	}
}
