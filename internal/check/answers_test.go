package check

import (
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/verify"
	"pawl/internal/worker/puppet"
)

// byKernel returns kernel k with kernel ref as its oracle.
func byKernel() []string {
	return []string{strings.Replace(entry("k"), "{elementwise: in}", "{kernel: ref}", 1), withoutOracle("ref")}
}

// other returns the kernels with one text replaced.
func other(kernels []string, old, by string) []string {
	out := make([]string, len(kernels))
	for i, text := range kernels {
		out[i] = strings.ReplaceAll(text, old, by)
	}
	return out
}

// doubles gives k, then ref, the types that their entries say.
func (p *project) doubles(entries ...string) {
	p.t.Helper()
	for i, text := range entries {
		if strings.Contains(text, "f64") {
			p.replace([]string{"k.c", "ref.c"}[i], "float", "double")
		}
	}
}

// Where the base's oracle cannot be asked about the change's arguments, the change's own is asked,
// and the report says so. But a change does not become the baseline by its own oracle.
func TestOwnOracleOfOtherArguments(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_oracle.txt has another name")
	}
	for name, tc := range map[string]struct {
		before, after []string
		why           string
	}{
		"an input has another name": {[]string{entry("k")}, other(other([]string{entry("k")}, "name: in", "name: x"), "elementwise: in", "elementwise: x"), `"in" uses in, which is not a readable argument; this`},
		"types":                     {byKernel(), other(byKernel(), "f32", "f64"), "its in is f32[64], the kernel's in is f64[64]; this"},
		"a formula instead":         {byKernel(), []string{strings.ReplaceAll(entry("k"), "f32", "f64"), withoutOracle("ref")}, "its in is f32[64], the kernel's in is f64[64]; this"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "an input has another name" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.kernel("ref", 1)
			p.spec("", tc.before...)
			p.commit("base")
			p.entries(500e-6)
			was := p.stored().Commit
			p.spec("", tc.after...)
			p.kernel("k", 100)
			p.doubles(tc.after...)
			p.commit("other arguments, faster")
			row := rowOf(t, p.check(update), "k/c")
			mustBe(t, row, result.Improvement)
			mustWarn(t, row.Warnings, "oracle", "cannot be used with this change's arguments: ")
			mustWarn(t, row.Warnings, "oracle", tc.why+" change's own oracle is used, so the result cannot become the baseline")
			if m := row.Moved; m == nil || m.Done || !strings.Contains(m.Refused, "verified by its own oracle") || !strings.Contains(m.Hint, "accept --reason") || p.stored().Commit != was {
				t.Errorf("moved %+v", m)
			}
			if v := row.Verification; v.Passed < 2 || v.Integrity != result.Clean {
				t.Errorf("%+v", v)
			}
			p.script("k", puppet.Script{Micros: 100, Wrong: "always"})
			p.doubles(tc.after[0])
			p.git("commit", "--quiet", "--all", "--amend", "-m", "wrong")
			mustBe(t, rowOf(t, p.check(), "k/c"), result.Incorrect)
		})
	}
}

// A variable of another name is the same problem: the base's oracle judges it, next to its
// size as well.
func TestOracleUnderOtherVariables(t *testing.T) {
	p := newProject(t)
	p.kernel("ref", 1)
	p.spec("", byKernel()...)
	p.commit("base")
	p.spec("configs: {c: {LEN: 64}}\n", other(other(byKernel(), "[N]", "[LEN]"), "value: N", "value: LEN")...)
	p.script("k", puppet.Script{Micros: 400, Away: 1000})
	p.commit("another name")
	row := rowOf(t, p.only("k").check(), "k/c")
	mustBe(t, row, result.Improvement)
	if v := row.Verification; v.Oracle != "kernel ref" || len(v.Findings) != 1 || v.Findings[0].Exploit != verify.SpeedCliff || !strings.Contains(v.Findings[0].Message, "(LEN=96)") {
		t.Errorf("%+v", v)
	}
	for _, w := range row.Warnings {
		if w.Code == "oracle" {
			t.Errorf("%+v", w)
		}
	}
}

// An error about an oracle names its owner, and a remedy that this change can apply.
func TestNoOracleCanBeAsked(t *testing.T) {
	wide := strings.ReplaceAll(byKernel()[0], "f32", "f64")
	const theirs = "cannot be used with this change's arguments: its in is f32[64], the kernel's in is f64[64]"
	for name, tc := range map[string]struct{ after, says, hint string }{
		"neither": {
			wide, "this change's oracle cannot be used: its in is f32[64], the kernel's in is f64[64]; the oracle of HEAD~1 (BASE) " + theirs,
			"fix the oracle: of k in pawl.yaml, or name another there",
		},
		"own is gone": {
			strings.Replace(wide, "    oracle: {kernel: ref}\n", "", 1), "the oracle of HEAD~1 (BASE) " + theirs + "; this change has none",
			"give k an oracle: for its arguments in pawl.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.kernel("ref", 1)
			p.spec("", byKernel()...)
			base := p.commit("base")
			p.spec("", tc.after, withoutOracle("ref"))
			p.kernel("k", 100)
			p.doubles(tc.after)
			p.commit("other types")
			row := rowOf(t, p.only("k").check(), "k/c")
			mustBe(t, row, "")
			if f := row.Fault; f == nil || f.Cause != result.CauseOracle || f.Message != strings.ReplaceAll(tc.says, "BASE", base[:7]) || f.Hint != tc.hint {
				t.Errorf("%+v", f)
			}
		})
	}
}

// An oracle of the same name counts as another one if its source differs, or its tolerance.
func TestOtherOracles(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(p *project)
		says   string // "": nothing
	}{
		"nothing else": {func(*project) {}, ""},
		"its source":   {func(p *project) { p.kernel("ref", 2) }, "this change has a different oracle"},
		"its place":    {func(p *project) { p.kernel("more", 1); p.replace("pawl.yaml", "source: ref.c", "source: more.c") }, "this change has a different oracle"},
		"another one":  {func(p *project) { p.replace("pawl.yaml", "{kernel: ref}", "{elementwise: in * 0}") }, "this change has a different oracle"},
		"a wide tolerance": {func(p *project) {
			p.spec("", entry("k", "tolerance: {atol: 9}"))
			p.replace("pawl.yaml", "{elementwise: in}", "{kernel: ref}")
			p.replace("pawl.yaml", "configs:", withoutOracle("ref")+"configs:")
		}, "this change's own is different, atol "},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.kernel("ref", 1)
			p.spec("", byKernel()...)
			p.commit("base")
			p.script("k", puppet.Script{Micros: 100, Wrong: "always"})
			tc.change(p)
			p.commit("wrong")
			row := rowOf(t, p.only("k").check(), "k/c")
			mustBe(t, row, result.Incorrect)
			if tc.says != "" {
				code := "oracle"
				if name == "a wide tolerance" {
					code = "tolerance"
				}
				mustWarn(t, row.Warnings, code, tc.says)
			} else if len(row.Warnings) > 0 {
				t.Errorf("%+v", row.Warnings)
			}
		})
	}
}

// Right answers, too, say which tolerance they were held against, if it is not the change's.
func TestToleranceOfTheBase(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestOtherOracles has a wide tolerance")
	}
	p := newProject(t)
	p.kernel("k", 100)
	p.spec("", entry("k", "tolerance: {atol: 0.5, rtol: 0}"))
	base := p.commit("base")
	p.kernel("k", 101)
	p.spec("", entry("k", "tolerance: {atol: 9, rtol: 0.25}"))
	p.commit("a wide tolerance")
	row := rowOf(t, p.check(), "k/c")
	if row.Verification == nil || row.Verification.Passed == 0 {
		t.Fatalf("%+v", row)
	}
	mustWarn(t, row.Warnings, "tolerance", "judged by the oracle of HEAD~1 ("+base[:7]+"), with its tolerance, atol 0.5 and rtol 0; this change's own is different, atol 9 and rtol 0.25, and does not apply")
}
