package system

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/bench"
	"pawl/internal/check"
	"pawl/internal/diag"
	"pawl/internal/fuzz"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
)

// face is a second face, made of the services alone: whatever it gets as the command
// line does is no rule of the command line's.
type face struct{ *project }

func (f face) prepare(kind result.Kind, patterns ...string) (*run.Run, error) {
	return run.Prepare(kind, run.Request{File: filepath.Join(f.dir, "pawl.yaml"), Patterns: patterns})
}

// place has the shipped binary for a worker. Compilers are not confined: that, too, is
// the binary started again.
func (f face) place(where *lab.Options) {
	where.Worker, where.Sandbox = []string{pawl, "worker"}, "off"
}

func (f face) report(ctx context.Context, kind result.Kind) (*result.Report, error) {
	r, err := f.prepare(kind)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var report *result.Report
	switch kind {
	case result.KindCheck:
		opts := check.Default()
		opts.Duet.Budget = 50 * time.Millisecond
		f.place(&opts.Lab)
		report, err = check.Run(ctx, r, opts)
	case result.KindBench:
		opts := bench.Default()
		opts.Measure.Budget, opts.Devices = 50*time.Millisecond, []int{0}
		f.place(&opts.Lab)
		report, err = bench.Run(ctx, r, opts)
	case result.KindFuzz:
		order := fuzz.DefaultOrder()
		order.Plain = true
		f.place(&order.Lab)
		report, err = fuzz.Run(ctx, r, order)
	}
	if err == nil {
		_, err = r.Save(report)
	}
	return report, err
}

// newFace returns a change of which no clock decides: one kernel is as it was, one is new, one
// gives wrong answers now and one does not compile.
func newFace(t *testing.T) face {
	t.Helper()
	p := newChange(t)
	for _, variable := range p.env {
		if name, value, _ := strings.Cut(variable, "="); name == "XDG_CACHE_HOME" || name == "PAWL_LOCK_DIR" || strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, value)
		}
	}
	const oracle = "oracle: {elementwise: in * 2 + 1}"
	yaml := "version: 1\nkernels:\n" + kernelYAML("good", oracle) + kernelYAML("wrong", oracle)
	const configs = "configs:\n  small: {N: 4096}\n"
	const right = "void kernel(const float *in, float *out, int n) {\n    for (int i = 0; i < n; i++) out[i] = in[i] * 2 + 1;\n}\n"
	p.write("wrong.c", right)
	p.write("pawl.yaml", yaml+configs)
	p.git("add", "--all")
	p.git("commit", "--quiet", "-m", "base")
	p.write("wrong.c", strings.Replace(right, "+ 1", "+ 2", 1))
	p.write("fresh.c", right)
	p.write("broken.c", strings.Replace(right, "+ 1", "+", 1))
	p.write("pawl.yaml", yaml+kernelYAML("fresh", oracle)+kernelYAML("broken", oracle)+configs)
	p.git("add", "--all")
	p.git("commit", "--quiet", "-m", "change")
	return face{p}
}

func TestSecondFace(t *testing.T) {
	f := newFace(t)
	for kind, test := range map[result.Kind]struct {
		flags  []string
		secret bool
		reason string
	}{
		result.KindCheck: {[]string{"--budget", "50ms"}, true, "gate failed: 1 config incorrect, 1 config broken"},
		result.KindBench: {[]string{"--budget", "50ms"}, false, "1 kernel config failed"},
		result.KindFuzz:  {[]string{"--plain"}, true, "1 kernel gives wrong answers, 1 kernel is broken"},
	} {
		shipped := f.run(append([]string{string(kind), "--json", "--no-sandbox"}, test.flags...)...)
		theirs, err := result.Decode([]byte(shipped.stdout))
		if err != nil {
			t.Fatalf("%s: %v (exit %d)\n%s", kind, err, shipped.code, shipped.stderr)
		}
		ours, err := f.report(t.Context(), kind)
		if err != nil {
			t.Fatal(err)
		}
		if same := theirs.Method.Seed == ours.Method.Seed; same == test.secret {
			t.Errorf("%s: seeds %d and %d", kind, theirs.Method.Seed, ours.Method.Seed)
		}
		if o := ours.Outcome; o == nil || o.Result != result.Failed || strings.Join(o.Reasons, "") != test.reason || shipped.code != 1 {
			t.Errorf("%s: exit code %d, outcome %+v, want %s", kind, shipped.code, o, test.reason)
		}
		if !strings.HasSuffix(shipped.stderr, "pawl: "+test.reason+"\n") {
			t.Errorf("%s: stderr ends otherwise:\n%s", kind, shipped.stderr)
		}
		if diff := cmp.Diff(lasting(t, theirs), lasting(t, ours)); diff != "" {
			t.Errorf("%s: the shipped binary (-) and the second face (+) differ:\n%s", kind, diff)
		}
	}
	if runs, err := run.List(f.dir); err != nil || len(runs) != 6 {
		t.Errorf("%d runs are kept: %v", len(runs), err)
	}
}

func TestSecondFaceRefusesDrafts(t *testing.T) {
	f := newFace(t)
	f.replace("pawl.yaml", "  wrong:\n", "  wrong: # TODO is this the name?\n")
	_, err := f.prepare(result.KindCheck)
	shipped := f.run("check")
	problems := diag.Problems(err)
	if len(problems) != 1 || shipped.code != 3 {
		t.Fatalf("%v; exit code %d\n%s", err, shipped.code, shipped.stderr)
	}
	// The command line names the file as it is seen from the folder it is called in.
	want := "pawl: " + strings.ReplaceAll(problems[0].Detail(), f.dir+"/", "") + "\n"
	if shipped.stderr != want {
		t.Errorf("the shipped binary says\n%s\nand the second face\n%s", shipped.stderr, want)
	}
	for _, kind := range []result.Kind{result.KindBench, result.KindFuzz} {
		if _, err := f.prepare(kind); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := f.prepare(result.KindCheck, "good"); err != nil {
		t.Errorf("a kernel that is no draft: %v", err)
	}
	if runs, err := run.List(f.dir); err != nil || len(runs) > 0 {
		t.Errorf("runs are left: %v, %v", runs, err)
	}
}

// lasting returns what two runs of the same thing have in common: who ran them, when, with
// which seed, and what a clock or the data said, is not.
func lasting(t *testing.T, r *result.Report) *result.Report {
	t.Helper()
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := result.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if c := out.Cost; c != nil {
		c.WallS, c.DeviceS = 0, 0
		for i := range c.Stages {
			c.Stages[i].Seconds = 0
		}
	}
	out.ID, out.Tool, out.Command, out.Started, out.Finished, out.Method.Seed = "", result.Tool{}, nil, time.Time{}, time.Time{}, 0
	out.Spec.File = filepath.Base(out.Spec.File)
	for _, row := range out.Rows {
		forget(row)
	}
	return out
}

func forget(row *result.Row) {
	row.Timing, row.Warnings = nil, nil
	if row.Build != nil {
		row.Build.Cached, row.Build.Seconds, row.Build.Sandbox = false, 0, nil // a build from the cache needs no sandbox
	}
	if row.Fault != nil && row.Fault.Cause == result.CauseWrong {
		row.Fault.Message = ""
	}
	if v := row.Verification; v != nil {
		row.Verification = &result.Verification{Oracle: v.Oracle, Integrity: v.Integrity, Limits: v.Limits}
	}
	for _, side := range row.Sides {
		side.Change = nil
		if side.Row != nil {
			forget(side.Row)
		}
	}
}
