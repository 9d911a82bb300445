package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
	"pawl/internal/foreign"
	"pawl/internal/result"
	"pawl/internal/spec"
)

func read(t *testing.T, name, text string) *foreign.File {
	t.Helper()
	f, err := foreign.Parse(name, text, foreign.Options{}, func(string) ([]byte, error) { return bytes.Repeat([]byte{0, 0, 128, 63}, 30), nil })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func compareFiles(t *testing.T, before, after *foreign.File, opts Options) *result.Report {
	t.Helper()
	if opts.Gate == (spec.Gate{}) {
		opts.Gate = spec.DefaultGate
	}
	r, err := Parsed(context.Background(), before, after, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outline returns a report's verdicts, reasons and warnings, a line each.
func outline(r *result.Report) string {
	var b strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%s: %s", row.Name(), row.Verdict)
		for _, reason := range row.Reasons {
			fmt.Fprintf(&b, ", %s", reason)
		}
		for _, side := range row.Sides {
			for _, why := range side.Reason {
				fmt.Fprintf(&b, "; %s", why)
			}
		}
		for _, w := range row.Warnings {
			fmt.Fprintf(&b, "; ! %s", w.Message)
		}
		b.WriteByte('\n')
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "! %s: %s\n", w.Code, w.Message)
	}
	return b.String()
}

// times are n samples around a median, within ± 1%.
func times(n int, median float64) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint(median*(1+0.01*(float64(i*7%n)/float64(n)*2-1))))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func pawlReport(class, extra, row string) string {
	return fmt.Sprintf(`{"schema": 1, "kind": "bench", "device_class": %q%s, "rows": [%s]}`, class, extra, row)
}

func row(seconds, extra string) string {
	return fmt.Sprintf(`{"kernel": "k", "config": "c"%s, "timing": {"samples": {"seconds": %s}}}`, extra, seconds)
}

// hyper returns a file of hyperfine's; all of the command's runs end alike.
func hyper(times string, code int) string {
	codes := strings.TrimSuffix(strings.Repeat(fmt.Sprint(code, ", "), 1+strings.Count(times, ",")), ", ")
	return fmt.Sprintf(`{"results": [{"command": "k", "mean": 1.0, "times": %s, "exit_codes": [%s]}]}`, times, codes)
}

// nvbenchStates returns a file of a machine with two GPUs, one benchmark on both, one on
// the device given.
func nvbenchStates(device int) string {
	state := func(device int) string {
		return fmt.Sprintf(`{"name": "Device=%d c", "device": %d, "summaries": [
			{"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value": "x-bin/0.bin"}, {"name": "size", "value": "30"}]}]}`, device, device)
	}
	return fmt.Sprintf(`{"devices": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": "NVIDIA A100"}], "benchmarks": [
		{"name": "k", "states": [%s, %s]}, {"name": "j", "states": [%s]}]}`, state(0), state(1), state(device))
}

const apart = "! apart: measured at different times: the difference includes what the machine did in between\n"

func TestVerdicts(t *testing.T) {
	same, slow, fast := times(30, 1), times(30, 1.06), times(30, 0.85)
	wide, wider := `[0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 0.85]`, `[1.11, 1.12, 1.12, 1.2, 1.3, 1.35, 1.4, 1.45]`
	for _, test := range []struct {
		name, before, after string
		opts                Options
		want                string
	}{
		{
			"every outcome",
			`{"gone": [1, 2], "slow": ` + same + `, "fast": ` + same + `, "same": ` + same + `, "one": [1]}`,
			`{"one": [2], "slow": ` + slow + `, "fast": ` + fast + `, "same": ` + same + `, "born": [1]}`,
			Options{},
			"one: inconclusive, too few samples\nslow: regression\nfast: improvement\nsame: maintained\nborn: new\ngone: , removed\n" + apart,
		},
		{"one benchmark each, whatever its name", `{"old": ` + same + `}`, `{"new": ` + slow + `}`, Options{}, "new: regression\n" + apart},
		{"a wider gate", same, slow, Options{Gate: spec.Gate{Regression: 0.1, Claim: 0.1, Delta: 0.3, CV: 1}}, "samples: maintained, slower\n"},
		{"in turns", same, slow, Options{Paired: true}, "samples: regression\n"},
		{"noise", same, `[1, 2, 1, 2, 1, 2, 3, 1, 1, 2]`, Options{}, "samples: inconclusive; ! x.after: samples vary by 43.7% (more than 12.0%)\n"},
		{"wild", same, `[1, 1, 1, 1, 1, 1, 1, 1, 1, 90]`, Options{}, "samples: maintained; ! x.after: samples vary wildly: half take at most 1.00 s, the slowest took 90.0 s\n"},

		{
			"another GPU", pawlReport("nvidia-h200", "", row(same, "")), pawlReport("nvidia-h100", "", row(slow, "")),
			Options{},
			"k/c: incomparable, fingerprint differs\n! machine: not measured under the same conditions: device nvidia-h200 → nvidia-h100\n",
		},
		{
			"another GPU, forced", pawlReport("nvidia-h200", "", row(same, "")), pawlReport("nvidia-h100", "", row(slow, "")),
			Options{Force: true},
			"k/c: regression\n! machine: not measured under the same conditions: device nvidia-h200 → nvidia-h100\n" + apart,
		},
		{
			"another driver, compiler and cache", pawlReport("g", `, "method": {"cache": "cold"}, "machine": {"gpu": {"name": "G", "driver": "1"}, "compilers": {"nvcc": "12"}}`, row(same, "")),
			pawlReport("g", `, "method": {"cache": "hot"}, "machine": {"gpu": {"name": "G", "driver": "2"}, "compilers": {"nvcc": "13"}}`, row(same, "")),
			Options{},
			"k/c: maintained\n! machine: not measured under the same conditions: driver 1 → 2; nvcc 12 → 13; cache cold → hot\n",
		},
		{
			"the class of a GPU that another tool names", pawlReport("nvidia-h200", "", row(same, "")),
			`{"devices": [{"id": 0, "name": "NVIDIA A100"}], "benchmarks": [{"name": "k", "states": [{"name": "Device=0 c", "device": 0, "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1.0"}]}]}]}]}`,
			Options{},
			"k/c: incomparable, fingerprint differs; ! x.after: the file has only a mean, not the samples; without them nothing can be judged\n! machine: not measured under the same conditions: device nvidia-h200 → nvidia-a100\n",
		},
		{
			"the same GPU, named by two tools", pawlReport("nvidia-h200", "", row(same, "")),
			`{"devices": [{"id": 0, "name": "NVIDIA H200"}], "benchmarks": [{"name": "k", "states": [{"name": "Device=0 c", "device": 0, "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1.0"}]}]}]}]}`,
			Options{},
			"k/c: inconclusive, too few samples; ! x.after: the file has only a mean, not the samples; without them nothing can be judged\n",
		},
		{
			"a state on another device", nvbenchStates(0), nvbenchStates(1),
			Options{},
			"k/Device=0 c: maintained\nk/Device=1 c: maintained\nj/c: incomparable, fingerprint differs\n",
		},
		{
			"the same code", pawlReport("g", "", row(same, `, "identity": "i"`)), pawlReport("g", "", row(slow, `, "identity": "i"`)),
			Options{},
			"k/c: inconclusive, same code: only the machine differs; ! the code is the same in both files: its times differ because the machine did other things\n" + apart,
		},
		{
			"the same code, faster", pawlReport("g", "", row(same, `, "identity": "i"`)), pawlReport("g", "", row(fast, `, "identity": "i"`)),
			Options{},
			"k/c: inconclusive, same code: only the machine differs; ! the code is the same in both files: its times differ because the machine did other things\n" + apart,
		},
		{"a wide interval", wide, wider, Options{}, "samples: inconclusive, interval too wide; ! x.before: samples vary by 12.6% (more than 12.0%)\n" + apart},
		{"a wide interval beyond the gate", wide, `[1.9, 1.7, 1.8, 2.1, 2.2, 1.75, 1.85, 2.05]`, Options{}, "samples: regression; ! x.before: samples vary by 12.6% (more than 12.0%)\n" + apart},
		{
			"a param that vanished", pawlReport("g", "", row(same, `, "params": {"TILE": "32", "OLD": "1"}`)), pawlReport("g", "", row(same, `, "params": {"TILE": "64"}`)),
			Options{},
			"k/c: maintained; ! other params: OLD 1 → none, TILE 32 → 64\n",
		},
		{
			"a kernel that broke", pawlReport("g", "", row(same, "")), pawlReport("g", "", `{"kernel": "k", "config": "c", "verdict": "broken", "fault": {"message": "it crashed"}}`),
			Options{},
			"k/c: incomparable; in x.after: it crashed\n",
		},
		{
			"a kernel that is wrong", pawlReport("g", "", row(same, "")), pawlReport("g", "", row(fast, `, "verdict": "incorrect"`)),
			Options{},
			"k/c: incomparable; in x.after it is incorrect\n",
		},
		{
			"a command that fails now", hyper(same, 0), hyper(fast, 139),
			Options{},
			"k: incomparable; in x.after: the command failed in 30 of 30 runs\n",
		},
		{
			"a command that always fails", hyper(same, 1), hyper(slow, 1),
			Options{},
			"k: regression; ! x.before: the command failed in 30 of 30 runs; ! x.after: the command failed in 30 of 30 runs\n" + apart,
		},
		{
			"not measured, since nothing had changed", pawlReport("g", "", `{"kernel": "k", "config": "c", "identity": "i", "verdict": "unchanged"}`),
			pawlReport("g", "", `{"kernel": "k", "config": "c", "identity": "i", "verdict": "unchanged"}`),
			Options{},
			"k/c: unchanged\n",
		},
		{
			"no samples kept", pawlReport("g", "", row("[1]", "")), pawlReport("g", "", `{"kernel": "k", "config": "c", "timing": {"samples": {"seconds": [1], "dropped": [{"from": 0, "to": 1}]}}}`),
			Options{},
			"k/c: incomparable; no samples in x.after\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := compareFiles(t, read(t, "x.before", test.before), read(t, "x.after", test.after), test.opts)
			if diff := cmp.Diff(test.want, outline(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			raw, err := r.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := result.Decode(raw); err != nil {
				t.Errorf("not a report: %v", err)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	r := compareFiles(t, read(t, "a", times(30, 1)), read(t, "b", times(40, 1.1)), Options{})
	got := r.Rows[0]
	side := got.Sides[0]
	if side.Role != result.Other || side.Change.Paired || len(side.Change.Cells) != 0 {
		t.Errorf("not a comparison of files: %+v", side)
	}
	was, is, c := side.Row.Timing.Stats, got.Timing.Stats, side.Change
	if was.Count != 30 || is.Count != 40 || c.Median != is.Median/was.Median-1 || c.Low != is.Low/was.High-1 || c.High != is.High/was.Low-1 {
		t.Errorf("numbers that contradict each other: %+v, %+v, %+v", was, is, c)
	}
	if !(was.Low < was.Median && was.Median < was.High) || c.Delta != 1 || *c.U != 0 || *c.P > 1e-6 {
		t.Errorf("%+v, %+v", was, c)
	}
	if r.Method.Interval != "percentile bootstrap, 10,000 resamples, seed 42" {
		t.Errorf("interval: %s", r.Method.Interval)
	}
	want := []result.Input{{File: "a", Format: "JSON list"}, {File: "b", Format: "JSON list"}}
	if diff := cmp.Diff(want, r.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// Beyond this many benchmarks the closed form stands in, and the report says so. Both
// lead to the same verdicts.
func TestClosedForm(t *testing.T) {
	before, after := many(mostResampled+1, 20, 1, 1), many(mostResampled+1, 20, 1.05, 2)
	all := compareFiles(t, before, after, Options{})
	if all.Method.Interval != "percentile bootstrap, closed form" {
		t.Errorf("interval: %s", all.Method.Interval)
	}
	before.Report.Rows, after.Report.Rows = before.Report.Rows[:50], after.Report.Rows[:50]
	for i, row := range compareFiles(t, before, after, Options{}).Rows {
		if other := all.Rows[i]; other.Verdict != row.Verdict || row.Verdict != result.Regression {
			t.Errorf("%s: %s by resampling, %s in closed form", row.Name(), row.Verdict, other.Verdict)
		}
	}
}

func TestCycles(t *testing.T) {
	with := func(seconds, ghz float64) *foreign.File {
		f := read(t, "x", pawlReport("g", "", row(times(30, seconds), "")))
		s := &f.Report.Rows[0].Timing.Samples
		for range s.Seconds {
			s.GHz = append(s.GHz, ghz)
		}
		s.Dropped = []result.Drop{{From: 0, To: 2, Cause: "warm-up"}}
		return f
	}
	r := compareFiles(t, with(1, 2), with(1.1, 2/1.1), Options{})
	c := r.Rows[0].Sides[0].Change
	if c.Cycles == nil || *c.Cycles > 1e-9 || *c.Cycles < -1e-9 {
		t.Fatalf("cycles: %+v", c)
	}
	if diff := cmp.Diff("k/c: regression, clock effect\n"+apart, outline(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := compareFiles(t, with(1, 2), with(1.1, 2), Options{}); len(r.Rows[0].Reasons) != 0 {
		t.Errorf("slower in cycles too: %v", r.Rows[0].Reasons)
	}
	if r := compareFiles(t, with(1, 0), with(1.1, 2), Options{}); r.Rows[0].Sides[0].Change.Cycles != nil {
		t.Error("a clock of 0 gave a number of cycles")
	}
}

// Files without a benchmark in common are an error that names some of both.
func TestNothingInCommon(t *testing.T) {
	report := pawlReport("g", "", row(times(30, 1), ""))
	for _, test := range []struct{ before, after, want string }{
		{`{"a": [1], "b": [1], "c": [1], "d": [1], "e": [1]}`, `{"x": [1]}`, "the files have no benchmark in common: old has a, b, c and 2 more, and new has x"},
		{report, strings.ReplaceAll(report, `"kernel": "k"`, `"kernel": "other"`), "the files have no benchmark in common: old has k/c, and new has other/c"},
		{report, `[1, 2, 3]`, ""}, // whoever gives one list means it
	} {
		_, err := Parsed(t.Context(), read(t, "old", test.before), read(t, "new", test.after), Options{Gate: spec.DefaultGate})
		got := ""
		if problems := diag.Problems(err); len(problems) == 1 {
			got = problems[0].Message
		}
		if got != test.want {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestPairedLengths(t *testing.T) {
	_, err := Parsed(context.Background(), read(t, "a", `{"x": [1, 2], "y": [1], "z": [1]}`), read(t, "b", `{"x": [1], "y": [1], "w": [1]}`), Options{Paired: true, Gate: spec.DefaultGate})
	problems := diag.Problems(err)
	if len(problems) != 1 {
		t.Fatalf("got %v", err)
	}
	want := "b: x has 1 samples, and in a 2; expected as many of both, measured in turns\n  hint: omit --paired for lists that were measured separately"
	if diff := cmp.Diff(want, problems[0].Detail()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := write("a.csv", "time_ms\n1\n2\n"), write("b.json", "[0.001, 0.002]")
	r, err := Files(context.Background(), a, b, Options{Gate: spec.DefaultGate})
	if err != nil || r.Rows[0].Sides[0].Change.Median != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, pair := range [][2]string{{write("bad.json", "["), b}, {a, filepath.Join(dir, "none")}} {
		if _, err := Files(context.Background(), pair[0], pair[1], Options{}); err == nil {
			t.Errorf("%v were compared", pair)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Files(ctx, a, b, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Files without a change hold no claim, though many of their benchmarks would be
// claims by themselves; the rows that lost one say so, and nothing else about it.
// A kernel that neither run had to measure is unchanged, though an older pawl wrote one of the files.
func TestFormerIdentity(t *testing.T) {
	file := func(identity, former string) *foreign.File {
		row := &result.Row{Kernel: "k", Identity: identity, Former: former, Verdict: result.Unchanged}
		return &foreign.File{Path: "x", Format: foreign.JSONList, Report: &result.Report{Rows: []*result.Row{row}}}
	}
	for _, test := range []struct {
		old, new *foreign.File
		want     result.Verdict
	}{
		{file("file", ""), file("entry", "file"), result.Unchanged},
		{file("entry", "file"), file("file", ""), result.Unchanged},
		{file("entry", "file"), file("entry", "another file"), result.Unchanged},
		{file("file", ""), file("entry", "another file"), result.Incomparable},
		{file("", ""), file("", ""), result.Incomparable},
	} {
		if row := compareFiles(t, test.old, test.new, Options{}).Rows[0]; row.Verdict != test.want {
			t.Errorf("%+v: %s, expected %s", row, row.Verdict, test.want)
		}
	}
}

func TestAmongManyComparisons(t *testing.T) {
	noise := func(seed uint64, factor float64) *foreign.File {
		random := rand.New(rand.NewPCG(seed, 1))
		f := &foreign.File{Path: "x", Format: foreign.JSONList, Report: &result.Report{}}
		for i := range 600 {
			code := "same"
			if i == 0 {
				code = fmt.Sprint(seed)
			}
			seconds := make([]float64, 20)
			for j := range seconds {
				seconds[j] = 1 + 0.1*random.NormFloat64()
				if i == 0 {
					seconds[j] *= factor
				}
			}
			f.Report.Rows = append(f.Report.Rows, &result.Row{Kernel: fmt.Sprint("k", i), Identity: code, Timing: &result.Timing{Samples: result.Samples{Seconds: seconds}}})
		}
		return f
	}
	lost := 0
	for i, row := range compareFiles(t, noise(1, 1), noise(2, 1.5), Options{}).Rows {
		change := row.Sides[0].Change
		switch {
		case i == 0:
			if row.Verdict != result.Regression || change.PAdjusted == nil || *change.PAdjusted > 0.01 || change.Family != 600 {
				t.Errorf("the changed one: %s %v %+v", row.Verdict, row.Reasons, change)
			}
		case row.Verdict == result.Regression || row.Verdict == result.Improvement:
			t.Errorf("%s is called %s", row.Name(), row.Verdict)
		case slices.Contains(row.Reasons, result.AmongMany):
			lost++
			same := func(w result.Warning) bool { return w.Code == "identity" }
			if row.Verdict != result.Inconclusive || !(*change.PAdjusted > 0.025) || change.Family != 600 || slices.ContainsFunc(row.Warnings, same) {
				t.Errorf("%s: %s %+v %v", row.Name(), row.Verdict, change, row.Warnings)
			}
		case change.PAdjusted != nil:
			t.Errorf("%s claims nothing and has an adjusted p", row.Name())
		}
	}
	if lost == 0 {
		t.Error("no benchmark looked slower by chance: the noise is no test")
	}
}

// What is 5% slower is found among many that are not, at a coefficient of variation of 3%: no interval of 20
// samples is too wide to show it.
func TestFivePercentIsFound(t *testing.T) {
	const changed = 40
	file := func(seed uint64, factor float64) *foreign.File {
		random := rand.New(rand.NewPCG(seed, 1))
		f := &foreign.File{Path: "x", Format: foreign.JSONList, Report: &result.Report{}}
		for i := range 1000 {
			seconds := make([]float64, 20)
			for j := range seconds {
				if seconds[j] = 1 + 0.03*random.NormFloat64(); i < changed {
					seconds[j] *= factor
				}
			}
			f.Report.Rows = append(f.Report.Rows, &result.Row{Kernel: fmt.Sprint("k", i), Timing: &result.Timing{Samples: result.Samples{Seconds: seconds}}})
		}
		return f
	}
	found, wide, wrong := 0, 0, 0
	for i, row := range compareFiles(t, file(1, 1), file(2, 1.05), Options{}).Rows {
		switch {
		case slices.Contains(row.Reasons, result.TooCoarse):
			wide++
		case row.Verdict == result.Regression && i < changed:
			found++
		case row.Verdict == result.Regression:
			wrong++
		}
	}
	if found < changed*8/10 || wide > 0 || wrong > 0 {
		t.Errorf("%d of %d are found; %d intervals are too wide; %d equal ones are called slower", found, changed, wide, wrong)
	}
}
