package fuzz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
	"pawl/internal/trial"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
)

// The test binary stands in for pawl: kernels are really compiled, and run in a worker's cell as in
// the shipped binary.
func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	if len(os.Args) > 1 {
		var err error
		switch os.Args[1] {
		case "worker":
			err = worker.Serve(context.Background(), os.Stdin, os.Stdout, worker.ServeOptions{Tool: result.Tool{Version: "test"}})
		case "cell":
			err = cell.Serve(os.Args[2], os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
		default:
			os.Exit(m.Run())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// bench is a kernel y = 2x + 1 of N elements, written in C.
type bench struct {
	body     string // of the C function k(x, y, n)
	rest     string // of the file
	oracle   string // instead of the formula
	failed   string // a file of a failure that was kept before
	plain    bool
	patterns []string
	pool     string // a command that starts one of two workers
	follow   func(run.Event)
}

const benchSheet = `version: 1
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
    oracle: {elementwise: 2 * x + 1}
    configs: {small: {N: 4096}, large: {N: 5000}}
`

const formulaLine = "oracle: {elementwise: 2 * x + 1}"

const right = "for (long i = 0; i < n; i++) y[i] = 2 * x[i] + 1;"

func (b bench) run(ctx context.Context, t *testing.T) (report *result.Report, dir string, err error) {
	t.Helper()
	t.Parallel()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"pawl.yaml": strings.Replace(benchSheet, formulaLine, cmp.Or(b.oracle, formulaLine), 1) + b.rest,
		"k.c":       "#include <time.h>\nvoid k(float *x, float *y, long n) { " + b.body + " }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b.failed != "" {
		folder := filepath.Join(dir, ".pawl", "failures")
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "k-before.json"), []byte(b.failed), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(5)
	r, err := run.Prepare(result.KindFuzz, run.Request{Spec: s, Patterns: b.patterns, Seed: &seed, Follow: b.follow})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Its own locks: nothing is measured here, and a test that hangs would block others.
	command := []string{"env", "PAWL_LOCK_DIR=" + t.TempDir(), "GORACE=atexit_sleep_ms=0", self, "worker"}
	workers := 0
	if b.pool != "" {
		command, workers = append([]string{b.pool}, command...), 2
	}
	report, err = Run(ctx, r, Order{
		Options: trial.Options{Plain: b.plain}, Timeout: 3 * time.Second,
		Lab: lab.Options{Sandbox: "auto", Worker: command, Workers: workers, Build: build.Options{CacheDir: t.TempDir(), NoCcache: true}},
	})
	return report, dir, err
}

// row returns the row of a run that is finished.
func (b bench) row(t *testing.T) (*result.Row, string) {
	t.Helper()
	report, dir, err := b.run(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) != 1 || report.Rows[0].Verification == nil {
		t.Fatalf("rows %+v", report.Rows)
	}
	return report.Rows[0], dir
}

func kept(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".pawl", "failures", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The verdict on a kernel depends on how it fails: broken, or wrong.
func TestVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want result.Verdict
	}{
		"right":         {right, ""},
		"wrong":         {right + " y[0] = 7;", result.Incorrect},
		"crash":         {"*(volatile int *)0 = 1;", result.Broken},
		"out of bounds": {right + " y[n] = 1;", result.Broken},
		"both":          {right + " y[0] = 7; if (n > 4500) *(volatile int *)0 = 1;", result.Incorrect},
	} {
		t.Run(name, func(t *testing.T) {
			row, _ := bench{body: test.body, plain: true}.row(t)
			if row.Verdict != test.want || row.Fault != nil {
				t.Errorf("%q, %v, want %q", row.Verdict, row.Fault, test.want)
			}
		})
	}
}

// A kernel that hangs costs one launch: neither smaller cases nor the others are tried.
// The workers of a pool share the kernels, whose rows stay in the order of the file.
func TestPoolSharesTheKernels(t *testing.T) {
	folder := t.TempDir()
	pool := filepath.Join(folder, "pool")
	if err := os.WriteFile(pool, []byte("#!/bin/sh\nmktemp "+folder+"/worker.XXXXXX >/dev/null\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	rest := ""
	for _, name := range []string{"l", "m"} {
		rest += strings.Replace(benchSheet[strings.Index(benchSheet, "  k:\n"):], "  k:\n", "  "+name+":\n", 1)
	}
	report, _, err := bench{body: right, rest: rest, plain: true, pool: pool}.run(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range report.Rows {
		names = append(names, row.Kernel)
		if v := row.Verification; row.Fault != nil || v.Failed > 0 || v.Passed == 0 {
			t.Errorf("%s: %+v %+v", row.Kernel, row.Fault, v)
		}
	}
	if strings.Join(names, " ") != "k l m" {
		t.Errorf("rows of %v", names)
	}
	if workers, err := filepath.Glob(folder + "/worker.*"); err != nil || len(workers) != 2 {
		t.Errorf("%d workers, %v", len(workers), err)
	}
}

func TestHanging(t *testing.T) {
	row, dir := bench{body: "for (;;) { struct timespec second = {1, 0}; nanosleep(&second, 0); }", rest: "fuzz: {matrix: {N: [64, 65, 66]}}\n", plain: true}.row(t)
	v := row.Verification
	if row.Verdict != result.Broken || v.Failed != 1 || v.Skipped != 2 || len(v.Cases) != 3 {
		t.Fatalf("%s: %d failed, %d skipped of %d", row.Verdict, v.Failed, v.Skipped, len(v.Cases))
	}
	if first := v.Cases[0]; first.Shrunk != nil || first.Stored == "" || len(kept(t, dir)) != 1 {
		t.Errorf("shrunk to %+v, kept in %q", first.Shrunk, first.Stored)
	}
	if last := v.Cases[2]; last.Skipped != "not tried after N=64, which ran out of time" {
		t.Errorf("skipped because %q", last.Skipped)
	}
	if notes := strings.Join(v.Limits, "\n"); !strings.Contains(notes, "N=64 ran out of time (--timeout 3s): 2 cases after it are not tried") {
		t.Errorf("notes %q", notes)
	}
}

// The largest case does not fit into memory: the next one is repeated.
func TestRepeatsMove(t *testing.T) {
	const unsteady = "static int calls; float more = calls++ % 2 ? 1e-6f : 0; for (long i = 0; i < n; i++) y[i] = 2 * x[i] + 1 + more;"
	huge := "fuzz: {matrix: {N: [64, 4096, 4000000000000, 128]}}\n"
	row, _ := bench{body: unsteady, rest: huge, plain: true}.row(t)
	v := row.Verification
	if v.Passed != 2 || v.Failed != 1 || v.Skipped != 1 || !strings.Contains(v.Cases[1].Reason, "gives other bits") {
		t.Errorf("%d passed, %d failed, %d skipped; N=4096: %q", v.Passed, v.Failed, v.Skipped, v.Cases[1].Reason)
	}
}

// A deterministic kernel is counted once.
func TestRepeatsMoveAndPass(t *testing.T) {
	var far []run.Event
	row, _ := bench{
		body: right, rest: "fuzz: {matrix: {N: [64, 4096, 4000000000000]}}\n",
		follow: func(e run.Event) {
			if e.Kind == run.Verify && e.Done >= e.Total {
				far = append(far, e)
			}
		},
	}.row(t)
	v := row.Verification
	if v.Failed != 0 || v.Skipped != 1 || v.Passed != len(v.Cases)-1 || v.Cases[1].Repeats != 3 {
		t.Errorf("%d passed, %d failed, %d skipped of %d; N=4096 ran %d times", v.Passed, v.Failed, v.Skipped, len(v.Cases), v.Cases[1].Repeats)
	}
	if len(far) > 0 {
		t.Errorf("progress beyond its end: %+v", far)
	}
}

// Progress never exceeds its total, however much is shrunk, and the time of shrinking counts.
func TestProgressOfShrinking(t *testing.T) {
	smaller := 0
	row, _ := bench{
		body: right + " y[n / 2] = 7;", plain: true,
		follow: func(e run.Event) {
			if e.Kind != run.Verify {
				return
			}
			if strings.HasPrefix(e.Text, "smaller: ") {
				smaller++
			}
			if e.Done < 0 || e.Done >= e.Total {
				t.Errorf("%d of %d: %s", e.Done, e.Total, e.Text)
			}
		},
	}.row(t)
	one := row.Verification.Cases[0]
	if smaller == 0 || one.Shrunk == nil || one.WallS <= one.Shrunk.WallS {
		t.Errorf("%d smaller ones; %v s, of which the smallest took %v s", smaller, one.WallS, one.Shrunk)
	}
}

// An interrupt ends everything: a half-shrunk trial is not stored, and the kernel is not blamed for
// cells that have ended.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	smaller, after := 0, 0
	report, dir, err := bench{
		body: right + " y[n / 2] = 7;", plain: true,
		follow: func(e run.Event) {
			if e.Kind != run.Verify {
				return
			}
			if ctx.Err() != nil {
				after++
			}
			if strings.HasPrefix(e.Text, "smaller: ") {
				smaller++
			}
			if smaller == 2 {
				interrupt()
			}
		},
	}.run(ctx, t)
	if err != nil {
		t.Fatal(err)
	}
	row := report.Rows[0]
	if ctx.Err() == nil || !report.Interrupted || row.Fault != nil || after > 0 {
		t.Errorf("interrupted %t, fault %v, %d more tried", report.Interrupted, row.Fault, after)
	}
	if files := kept(t, dir); len(files) > 0 || row.Verification.Cases[0].Shrunk != nil || row.Verification.Cases[0].Stored != "" {
		t.Errorf("kept %q", files)
	}
	if row.Verdict != result.Incorrect || row.Verification.Failed != 1 {
		t.Errorf("what was seen until then: %s, %d failed", row.Verdict, row.Verification.Failed)
	}
}

// A kernel without a case is an error of its own, and among others a warning.
func TestKernelsWithoutCase(t *testing.T) {
	s, err := spec.Parse("pawl.yaml", []byte(benchSheet+`  other:
    source: k.c
    entry: k
    args: [{name: y, dtype: f32, shape: [M], role: out}]
    configs: {small: {M: 64}}
fuzz: {matrix: {N: [0], M: [5]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		patterns []string
		err      bool
	}{{[]string{"k"}, true}, {nil, false}} {
		r, err := run.Prepare(result.KindFuzz, run.Request{Spec: s, Patterns: test.patterns})
		if err != nil {
			t.Fatal(err)
		}
		report := &result.Report{}
		f := &fuzzing{run: r, report: report, store: OpenStore(t.TempDir()), progress: &progress{}}
		subjects, err := f.plan()
		if (err != nil) != test.err || !test.err && len(subjects) != 1 {
			t.Fatalf("%v: %v", test.patterns, err)
		}
		const want = "the only case of k cannot be tried: N=0: shape of x must be at least 1"
		if test.err {
			problems := diag.Problems(err)
			if !errors.Is(err, trial.ErrNoCase) || len(problems) != 1 || !strings.HasPrefix(problems[0].Message, want) || problems[0].Hint == "" {
				t.Errorf("%v", err)
			}
		}
		if w := report.Warnings; len(w) != 1 || !strings.HasPrefix(w[0].Message, want) || w[0].Hint == "" {
			t.Errorf("warnings %+v", w)
		}
	}
}

// A stored trial was shrunk when it was stored: shrinking it again would add a file with every run.
func TestReplaysAreNotMadeSmaller(t *testing.T) {
	const before = `{"schema": 1, "kernel": "k", "vars": {"N": 300}, "repeats": 1, "seed": 5, "batch": 0, "lane": "shape", "fixed": false, "first_seen": "2026-11-15T12:00:00Z"}`
	row, dir := bench{body: right + " if (n < 4000) y[0] = 7;", failed: before, plain: true}.row(t)
	if len(row.Verification.Cases) == 0 {
		t.Fatalf("nothing was tried: %+v, %+v", row.Fault, row.Warnings)
	}
	first := row.Verification.Cases[0]
	if !first.Replay || first.Reason == "" || first.Shrunk != nil || filepath.Base(first.Stored) != "k-before.json" {
		t.Errorf("%+v", first)
	}
	if files := kept(t, dir); len(files) != 1 {
		t.Errorf("kept %q", files)
	}
}

// pawl's own cases do not replace those that the file asks for.
func TestNothingAskedForWasTried(t *testing.T) {
	for rest, want := range map[string]result.Verdict{"[4000000000000]": result.Inconclusive, "[64, 4000000000000]": ""} {
		t.Run(rest, func(t *testing.T) {
			row, _ := bench{body: right, rest: "fuzz: {matrix: {N: " + rest + "}}\n"}.row(t)
			v := row.Verification
			said := strings.Contains(strings.Join(v.Limits, "\n"), "no requested case was tried")
			if row.Verdict != want || said != (want != "") || v.Passed == 0 || v.Skipped == 0 {
				t.Errorf("verdict %q, %d passed, %d skipped, notes %q", row.Verdict, v.Passed, v.Skipped, v.Limits)
			}
		})
	}
}

// A kernel that nobody can judge has no other notes, and is not built.
func TestNoNotesWithoutOracle(t *testing.T) {
	row, _ := bench{body: right, oracle: "requires: []"}.row(t)
	if v := row.Verification; row.Fault == nil || row.Fault.Cause != result.CauseNoOracle || len(v.Limits) > 0 {
		t.Errorf("%v, notes %q", row.Fault, v.Limits)
	}
	if row.Build != nil {
		t.Errorf("built: %+v", row.Build)
	}
}

// A kernel that only answers for another is tried if it is named; its own lack of an oracle is
// nobody's concern otherwise.
func TestOraclesAreNotTried(t *testing.T) {
	const reference = "  ref:\n    source: k.c\n    entry: k\n" +
		"    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]\n" +
		"    configs: {small: {N: 4096}}\n"
	for name, tc := range map[string]struct {
		oracle   string
		patterns []string
		rows     []string
		outcome  result.Ending
	}{
		"an oracle":               {"oracle: {kernel: ref}", nil, []string{"k"}, result.Passed},
		"a rival":                 {"oracle: {elementwise: 2 * x + 1}\n    tolerance: {rival: {kernel: ref}, factor: 4}", nil, []string{"k"}, result.Passed},
		"an oracle among others":  {"oracle: {kernel: ref}", []string{"*/small"}, []string{"k"}, result.Passed},
		"a named oracle":          {"oracle: {kernel: ref}", []string{"k", "ref"}, []string{"k", "ref"}, result.Unjudged},
		"nothing but oracles":     {"oracle: {kernel: ref}", []string{"re*"}, []string{"ref"}, result.Unjudged},
		"a kernel without oracle": {formulaLine, nil, []string{"k", "ref"}, result.Unjudged},
	} {
		t.Run(name, func(t *testing.T) {
			report, _, err := bench{body: right, oracle: tc.oracle, rest: reference, patterns: tc.patterns, plain: true}.run(t.Context(), t)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, row := range report.Rows {
				rows = append(rows, row.Kernel)
				if row.Kernel == "ref" && (row.Fault == nil || row.Fault.Cause != result.CauseNoOracle) {
					t.Errorf("ref: %v", row.Fault)
				}
			}
			if !slices.Equal(rows, tc.rows) || report.Outcome.Result != tc.outcome {
				t.Errorf("rows %q, %+v", rows, report.Outcome)
			}
		})
	}
}
