package report

import (
	"fmt"
	"strings"
	"time"

	"pawl/internal/result"
)

// caseOf makes a case of variables as people write them.
func caseOf(lane, vars string, abs, rel, rms float64) *result.Case {
	c := &result.Case{Lane: lane, Vars: map[string]string{}, Seed: 81985529216486, Repeats: 1, WallS: 0.21}
	for _, pair := range strings.Fields(vars) {
		name, value, _ := strings.Cut(pair, "=")
		c.Names = append(c.Names, name)
		c.Vars[name] = value
	}
	c.Outputs = []result.OutputError{{Name: "out", Count: 1835008, MaxAbs: abs, MaxRel: rel, RMS: rms, Atol: 2e-3, Rtol: 1e-3}}
	return c
}

func failing(c *result.Case, wrong int64, worst result.Element, tiles *result.Tiles) *result.Case {
	o := &c.Outputs[0]
	o.Wrong, o.Worst, o.Tiles = wrong, &worst, tiles
	c.Reason = fmt.Sprintf("%s: %d of %d elements are wrong (%s is %s and must be %s)", o.Name, wrong, o.Count, place(o.Name, worst.Index), worst.Got, worst.Want)
	return c
}

// lastRows returns a map of which the last row of tiles is wrong, in part.
func lastRows() *result.Tiles {
	t := &result.Tiles{Rows: 16, Columns: 16, TileRows: 1792, TileCols: 4, Wrong: make([]int64, 256)}
	for c := range 16 {
		t.Wrong[15*16+c] = []int64{7168, 7168, 6000, 3000, 40}[c%5]
		t.Wrong[3*16+c] = int64(c%2) * 12
	}
	return t
}

func fuzzOf(rows ...*result.Row) *result.Report {
	r := checkOf(rows...)
	r.Kind, r.Base, r.Command = result.KindFuzz, nil, []string{"pawl", "fuzz"}
	return r
}

func tally2(row *result.Row) *result.Row {
	v := row.Verification
	v.Passed, v.Failed, v.Skipped = 0, 0, 0
	for _, c := range v.Cases {
		switch fateOf(c) {
		case passed:
			v.Passed++
		case wrong:
			v.Failed++
		default:
			v.Skipped++
		}
	}
	return row
}

func fuzzRow(kernel, oracle string, cases ...*result.Case) *result.Row {
	return tally2(&result.Row{Kernel: kernel, Cell: "cuda", Trust: "harness", Verification: &result.Verification{
		Oracle: oracle, Integrity: result.Clean, Seed: 81985529216486, Cases: cases,
	}})
}

// matrix returns the one that a kernel for attention must pass.
func matrix() *result.Row {
	row := fuzzRow("attention", "built-in attention")
	v := row.Verification
	for i, s := range []int{448, 512, 640} {
		for j, b := range []int{16, 32, 48} {
			for k, h := range []int{4, 8, 16} {
				n := float64(9*i + 3*j + k)
				v.Cases = append(v.Cases, caseOf("matrix", fmt.Sprintf("S=%d B=%d H=%d D=64", s, b, h), 4.1e-4+n*1e-5, 1.2e-3+n*1e-4, 3.1e-5+n*1e-7))
			}
		}
	}
	v.Cases[26].Repeats = 3
	v.Limits = []string{"D: the same in all configs of the kernel, so no other value is tried"}
	return tally2(row)
}

// briefly is trials without the kernel of a thousand cases.
func briefly() *result.Report {
	r := trials()
	long := r.Rows[2].Verification
	long.Cases = append(long.Cases[:2:2], long.Cases[1300:1302]...)
	tally2(r.Rows[2])
	return r
}

// trials returns a fuzz report with one of all that can happen.
func trials() *result.Report {
	attention := matrix()
	v := attention.Verification
	for i, vars := range []string{"S=1 B=2 H=2 D=64", "S=15 B=2 H=2 D=64", "S=67 B=2 H=2 D=64"} {
		v.Cases = append(v.Cases, caseOf("shape", vars, 3e-4+1e-5*float64(i), 9e-4, 2e-5))
	}
	large := caseOf("values", "S=448 B=16 H=4 D=64", 1.9e-3, 2.1e-3, 1.1e-4)
	large.Fill, large.Outputs[0].Atol, large.Outputs[0].Rtol = "normal(0, 5)", 8e-3, 4e-3
	exact := caseOf("integers", "S=256 B=16 H=4 D=64", 0, 0, 0)
	exact.Fill, exact.Outputs[0].Exact, exact.Outputs[0].Atol, exact.Outputs[0].Rtol = "zero queries, whole values", true, 0, 0
	v.Cases = append(v.Cases, large, exact)
	tally2(attention)

	replay := failing(caseOf("shape", "M=1 N=17 K=3", 0.51, 1, 0.2), 1, result.Element{Index: []int64{0, 16}, Got: "NaN", Want: "-0.27"}, nil)
	replay.Replay, replay.Stored, replay.Outputs[0].NaNs = true, ".pawl/failures/gemm-1a2b3c4d.json", 1
	bad := failing(caseOf("matrix", "M=448 N=64 K=64", 0.51, 1, 0.02), 28672, result.Element{Index: []int64{447, 12}, Got: "0", Want: "0.51"}, lastRows())
	bad.Stored = ".pawl/failures/gemm-5e6f7081.json"
	bad.Shrunk = failing(caseOf("matrix", "M=17 N=1 K=1", 0.4, 1, 0.1), 1, result.Element{Index: []int64{16, 0}, Got: "0", Want: "0.4"}, nil)
	same := failing(caseOf("matrix", "M=512 N=64 K=64", 0.5, 1, 0.02), 28672, result.Element{Index: []int64{511, 12}, Got: "0", Want: "0.5"}, lastRows())
	same.Stored = bad.Stored
	crash := &result.Case{Lane: "matrix", Names: []string{"M", "N", "K"}, Vars: map[string]string{"M": "640", "N": "64", "K": "64"}, Reason: "an illegal address was accessed", Fault: &result.Fault{
		Stage: "verify", Cause: result.CauseCrash, Message: "an illegal address was accessed", Hint: "compute-sanitizer names the line",
	}}
	bits := caseOf("matrix", "M=640 N=640 K=64", 1e-4, 1e-4, 1e-5)
	bits.Reason = "launch 2 on the same data gives other bits in out"
	rest := caseOf("matrix", "M=64 N=64 K=64", 1e-4, 1e-4, 1e-5)
	rest.Outputs[0].RivalMaxAbs = 8e-5
	tooBig := &result.Case{Lane: "matrix", Names: []string{"M"}, Vars: map[string]string{"M": "1048576"}, Skipped: "it does not fit in memory: 4.0 TiB, and 139 GiB are there"}
	gemm := fuzzRow("gemm", "kernel gemm_ref", replay, bad, same, crash, bits, rest, tooBig)
	gemm.Verdict = result.Incorrect

	long := fuzzRow("layernorm", "built-in layernorm")
	for i := range 1300 {
		long.Verification.Cases = append(long.Verification.Cases, caseOf("matrix", fmt.Sprintf("ROWS=%d COLS=64", i+1), 1e-6+1e-9*float64(i), 1e-5, 1e-7))
	}
	for i := range 20 {
		c := &result.Case{Lane: "matrix", Names: []string{"ROWS"}, Vars: map[string]string{"ROWS": fmt.Sprint(-i)}, Skipped: fmt.Sprintf("ROWS must be at least 1, and is %d", -i)}
		long.Verification.Cases = append(long.Verification.Cases, c)
	}
	long.Verification.Limits = attention.Verification.Limits
	long.Trust, long.Verification.Integrity = "author", result.Suspicious
	long.Verification.Findings = []result.Finding{{Exploit: "speed-cliff", Severity: result.Suspicious, Message: "ROWS=512 is 6.2 times as fast as its neighbours"}}
	tally2(long)

	cheat := fuzzRow("softmax", "built-in softmax", failing(caseOf("config", "ROWS=512 COLS=64", 0.5, 1, 0.1), 4, result.Element{Index: []int64{0, 0}, Got: "+Inf", Want: "1"}, nil))
	stale := result.Finding{Exploit: "stale-output", Severity: result.Cheated, Message: "the inputs changed in place, but the output is still the answer for the previous inputs"}
	cheat.Verification.Findings = []result.Finding{stale, stale}
	cheat.Verdict, cheat.Verification.Integrity = result.Rejected, result.Cheated
	cheat.Fault = &result.Fault{Stage: "verify", Cause: result.CauseCheat, Message: stale.Exploit + ": " + stale.Message, Hint: "docs/integrity.md explains how this is detected"}

	none := fuzzRow("rope", "")
	none.Fault = &result.Fault{Stage: "verify", Cause: result.CauseOracle, Message: "the kernel has no oracle, so its right answers are unknown", Hint: "add oracle: to the kernel in pawl.yaml"}
	broken := fuzzRow("scan", "oracles:scan")
	broken.Verdict = result.Broken
	broken.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: "nvcc exited with status 1"}
	broken.Build = &result.Build{Output: "scan.cu(12): error: identifier \"lanes\" is undefined\n"}

	r := fuzzOf(attention, gemm, long, cheat, none, broken)
	r.Warnings = []result.Warning{{Code: "failures", Message: ".pawl/failures/x.json: not a failure", Hint: "fix or delete the file; the other cases are tried"}}
	r.Finished = r.Started.Add(9 * time.Second)
	return r
}
