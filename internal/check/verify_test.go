package check

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/verify"
	"pawl/internal/worker/puppet"
)

// withoutOracle returns a kernel whose right answers nobody knows.
func withoutOracle(name string, more ...string) string {
	return strings.Replace(entry(name, more...), "    oracle: {elementwise: in}\n", "", 1)
}

// A kernel that is wrong is never timed as a pass, however fast it is.
func TestWrongAnswers(t *testing.T) {
	for _, tc := range []struct {
		wrong   string
		verdict result.Verdict
		timed   bool
		says    string // in the case's reason, or the fault
		exploit string
	}{
		{"always", result.Incorrect, false, "64 of 64 elements are wrong", ""},
		{"random", result.Incorrect, false, "gives other bits in out", ""},
		{"stale", result.Rejected, false, "still bit-identical to the answer for the previous inputs", verify.StaleOutput},
		{"timed", result.Rejected, true, "a timed sample has a wrong answer", verify.TimedOnly},
		{"late", result.Rejected, true, "a timed sample has a wrong answer", verify.TimedOnly},
		{"data", result.Incorrect, true, "64 of 64 elements are wrong", ""}, // timed or not
	} {
		t.Run(tc.wrong, func(t *testing.T) {
			if testing.Short() && tc.wrong == "timed" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.script("k", puppet.Script{Micros: 100, Wrong: tc.wrong})
			p.commit("five times as fast")
			row := rowOf(t, p.check(update), "k/c")
			mustBe(t, row, tc.verdict)
			if got := row.Timing != nil; got != tc.timed {
				t.Errorf("timed %t", got)
			}
			v := row.Verification
			text := v.Cases[len(v.Cases)-1].Reason
			if row.Fault != nil {
				text += row.Fault.Message
			}
			if !strings.Contains(text, tc.says) {
				t.Errorf("it says %q", text)
			}
			found := ""
			for _, f := range v.Findings {
				found = f.Exploit
			}
			if found != tc.exploit || v.Oracle != "in" || v.Failed == 0 {
				t.Errorf("exploit %q, %+v", found, v)
			}
			if p.stored() != nil || row.Moved != nil && row.Moved.Done {
				t.Error("it became the baseline")
			}
		})
	}
}

// judgedTimed is how many timed samples docs/architecture.md says are judged where
// that is quick. It is no constant of the code: fewer would let more cheats pass.
const (
	judgedTimed  = 6
	judgedFaster = 35 // where it is faster
)

func TestRightAnswers(t *testing.T) {
	p := newProject(t)
	p.kernel("k", 400)
	p.commit("faster")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Improvement)
	v := row.Verification
	lanes := ""
	for _, c := range v.Cases {
		lanes += c.Lane + " "
	}
	if v.Integrity != result.Clean || v.Passed != 1+judgedFaster || v.Failed+v.Skipped != 0 || lanes != "config "+strings.Repeat("timed ", judgedFaster) || v.Cases[0].Repeats != 2 {
		t.Errorf("%s: %+v", lanes, v)
	}
}

// A version that is as fast as before is inspected less.
func TestRightAnswersAsBefore(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 501})
	p.commit("as fast")
	row := rowOf(t, p.check(), "k/c")
	if v := row.Verification; row.Verdict != result.Maintained || v.Integrity != result.Clean || v.Passed != 1+judgedTimed || v.Failed+v.Skipped != 0 {
		t.Errorf("%s %+v", row.Verdict, v)
	}
}

// A neighbouring size that is slow whenever it is timed is a cliff, unless a size that is aligned as
// the config's is as fast; one that was slow once, while the machine was busy, is none.
func TestCliffs(t *testing.T) {
	for name, tc := range map[string]struct {
		puppet.Script
		found bool
		slow  bool // slow for its alignment: said, and not suspected
		short bool
	}{
		"none":           {},
		"at first":       {Script: puppet.Script{Odd: 5}},
		"for a while":    {Script: puppet.Script{Odd: 15}},
		"where it's odd": {Script: puppet.Script{Odd: 1000}, slow: true, short: true},
		"elsewhere":      {Script: puppet.Script{Away: 1000}, found: true, short: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !tc.short {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			tc.Micros = 400
			p.script("k", tc.Script)
			p.commit("faster")
			v := rowOf(t, p.check(), "k/c").Verification
			if got := len(v.Findings) > 0; got != tc.found || (v.Integrity == result.Clean) == tc.found {
				t.Fatalf("%s: %+v", v.Integrity, v.Findings)
			}
			if tc.found && (v.Findings[0].Exploit != verify.SpeedCliff || !strings.Contains(v.Findings[0].Message, "400 µs at this size, 4.00 ms at the next (N=96): 6.7 times")) {
				t.Errorf("%+v", v.Findings)
			}
			if len(v.Neighbours) != 1 || v.Neighbours[0].Size != "N=65" || tc.slow != (v.Neighbours[0].Slower > 9 && v.Neighbours[0].Aligned == "N=96") || !tc.slow && v.Neighbours[0].Aligned != "" {
				t.Errorf("%+v", v.Neighbours)
			}
		})
	}
}

// A gain that shows only on data that hardly differs from the last moves nothing.
func TestFasterOnOldData(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 100, Anew: 5})
	p.commit("faster on what it knows")
	row := rowOf(t, p.check(), "k/c")
	v := row.Verification
	if row.Verdict != result.Improvement || v.Integrity != result.Suspicious || len(v.Findings) == 0 || v.Findings[0].Exploit != verify.Incremental {
		t.Errorf("%s, %s: %+v", row.Verdict, v.Integrity, v.Findings)
	}
}

// Where too few samples are on wholly new data, nobody knows whether the gain is there too: nothing
// moves, and the row says why.
func TestFasterOnTooLittleNewData(t *testing.T) {
	for name, scripts := range map[string][2]puppet.Script{
		"the change":       {{Micros: 500}, {Micros: 100, Anew: -1}},
		"the base":         {{Micros: 500, Anew: -1}, {Micros: 100}},
		"there are enough": {{Micros: 500}, {Micros: 100}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "the change" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.script("k", scripts[0])
			p.commit("base")
			p.baseline()
			p.script("k", scripts[1])
			p.commit("faster")
			row := rowOf(t, p.check(update), "k/c")
			mustBe(t, row, result.Improvement)
			enough := name == "there are enough"
			says := func(text string) bool { return strings.Contains(text, "0 timed samples on entirely new data") }
			if m := row.Moved; m == nil || m.Done != enough || says(m.Refused) == enough {
				t.Errorf("%+v", m)
			}
			if v := row.Verification; v.Integrity != result.Clean || slices.ContainsFunc(v.Limits, says) == enough {
				t.Errorf("%s: %q", v.Integrity, v.Limits)
			}
		})
	}
}

// A kernel that is declared non-deterministic may return different bits each time; its answers must
// still be right.
func TestNotDeterministic(t *testing.T) {
	p := newProject(t)
	p.spec("", entry("k", "deterministic: false", "tolerance: {atol: 1, rtol: 0.99}"))
	p.script("k", puppet.Script{Micros: 500, Wrong: "random"})
	p.commit("first")
	p.script("k", puppet.Script{Micros: 501, Wrong: "random"})
	p.commit("change")
	row := rowOf(t, p.check(), "k/c")
	if row.Verdict != result.Maintained || row.Verification.Failed != 0 {
		t.Errorf("%s %+v", row.Verdict, row.Verification.Cases[0])
	}
}

// Without an oracle the base's answers count, and the report says so; a first baseline then needs a
// reason.
func TestNoOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestOracleThatTheBaseLacks judges without one")
	}
	p := newProject(t)
	p.spec("", withoutOracle("k"))
	p.commit("no oracle")
	p.commit("nothing else")
	first := rowOf(t, p.check(update), "k/c") // the same code: nothing to play against
	if first.Moved == nil || first.Moved.Done || !strings.Contains(first.Moved.Refused, "no oracle") || !strings.Contains(first.Moved.Hint, "accept --reason") {
		t.Errorf("first: %s, moved %+v", first.Verdict, first.Moved)
	}
	p.kernel("k", 400)
	p.commit("faster")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Improvement)
	if v := row.Verification; v.Oracle != "the base version" || v.Passed != 1+judgedFaster || len(v.Limits) != 1 {
		t.Errorf("%+v", v)
	}
	p.script("k", puppet.Script{Micros: 400, Wrong: "always"})
	p.commit("wrong")
	mustBe(t, rowOf(t, p.check(), "k/c"), result.Incorrect)
}

// A commit that brings the oracle is still judged without one: the base's counts, and the refusal
// says so. The next commit has it.
func TestOracleThatTheBaseLacks(t *testing.T) {
	p := newProject(t)
	p.spec("", withoutOracle("k"))
	base := p.commit("no oracle")
	p.spec("", entry("k"))
	p.commit("an oracle")
	row := rowOf(t, p.check(update), "k/c")
	m := row.Moved
	if m == nil || m.Done || !m.Asked || !strings.Contains(m.Refused, "the base (HEAD~1, "+base[:7]+") has no oracle for it yet") || strings.Contains(m.Refused, "the kernel has no oracle") {
		t.Errorf("moved %+v", m)
	}
	for _, limit := range row.Verification.Limits {
		if strings.Contains(limit, "the kernel has no oracle") {
			t.Errorf("limit: %s", limit)
		}
	}
	if m != nil && !strings.Contains(m.Hint, "after the next commit") {
		t.Errorf("hint: %s", m.Hint)
	}
	p.commit("nothing else")
	if m := rowOf(t, p.check(update), "k/c").Moved; m == nil || !m.Done {
		t.Errorf("the next commit: %+v", m)
	}
}

// An oracle that fails says nothing of the kernel, and the row does not pass.
func TestOracleThatDoesNotAnswer(t *testing.T) {
	p := newProject(t)
	p.spec("", strings.Replace(entry("k"), "{elementwise: in}", "{kernel: ref}", 1), withoutOracle("ref"))
	p.kernel("k", 500)
	p.script("ref", puppet.Script{Micros: 1, Crash: "produce"})
	base := p.commit("an oracle that crashes")
	p.kernel("k", 400)
	p.commit("change")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, "")
	if row.Fault == nil || row.Fault.Cause != result.CauseOracle || row.Timing != nil || !strings.Contains(row.Fault.Message, "the oracle of HEAD~1 ("+base[:7]+") does not answer") ||
		!strings.HasSuffix(row.Fault.Hint, "mended in a separate change before this one") && row.Fault.Hint != "mend the oracle in a separate change before this one" {
		t.Errorf("%+v", row.Fault)
	}
}

// A kernel without an oracle whose arguments changed: the base version is named, not an
// oracle that nobody has, and the remedy is one.
func TestBaseOfOtherArguments(t *testing.T) {
	p := newProject(t)
	p.spec("", withoutOracle("k"))
	base := p.commit("no oracle")
	other := func(text string) string { return strings.ReplaceAll(text, "shape: [N]", "shape: [4, N]") }
	p.spec("", other(withoutOracle("k")))
	p.kernel("k", 400)
	p.commit("four rows")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, "")
	want := "the base version of commit " + base[:7] + ", which stands in for the missing oracle, does not answer: its in is f32[64], the kernel's in is f32[4 64]"
	if row.Fault == nil || row.Fault.Cause != result.CauseOracle || row.Fault.Message != want || !strings.Contains(row.Fault.Hint, "add an oracle:") {
		t.Errorf("%+v", row.Fault)
	}
	p.spec("", other(entry("k")))
	p.commit("four rows, and an oracle")
	row = rowOf(t, p.check(func(o *Options) { o.Base = base }), "k/c")
	if row.Fault != nil || row.Verification.Oracle != "in" || row.Verification.Passed == 0 {
		t.Errorf("with an oracle: %+v, %+v", row.Fault, row.Verification)
	}
}

// The oracle that counts is the base's: a change cannot bring its own.
func TestOracleOfTheBase(t *testing.T) {
	p := newProject(t)
	base := p.git("rev-parse", "HEAD")
	p.script("k", puppet.Script{Micros: 100, Wrong: "always"})
	p.spec("", strings.Replace(entry("k"), "{elementwise: in}", "{elementwise: in * 0}", 1))
	p.commit("wrong, and an oracle that agrees")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Incorrect)
	if row.Verification.Oracle != "in" {
		t.Errorf("judged by %q", row.Verification.Oracle)
	}
	mustWarn(t, row.Warnings, "oracle", "judged by the oracle of HEAD~1 ("+base[:7]+"); this change has a different oracle")
}

// A change does not choose the data it is judged on, nor whether it may vary.
func TestDataOfTheBase(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 100, Wrong: "always"}) // zeros
	p.spec("", strings.Replace(entry("k", "deterministic: false"), "{name: in, dtype: f32, shape: [N]}", "{name: in, dtype: f32, shape: [N], init: zero}", 1))
	p.commit("zeros, for inputs of zeros")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Incorrect)
	mustWarn(t, row.Warnings, "init", "in is filled as the base's pawl.yaml says")
	p.script("k", puppet.Script{Micros: 100, Wrong: "random"})
	mustBe(t, rowOf(t, p.check(func(o *Options) { o.Base = "HEAD~1" }), "k/c"), result.Incorrect)
}

// Host code shares its cell with what measures it: a stranger's result moves nothing.
func TestForkMovesNothing(t *testing.T) {
	p := newProject(t)
	row := rowOf(t, p.check(update, func(o *Options) { o.Fork = true }), "k/c")
	if row.Moved == nil || row.Moved.Done || !strings.Contains(row.Moved.Refused, "fork") {
		t.Errorf("moved %+v", row.Moved)
	}
}

// A fault that ends a cell at one problem does not affect the next problem. A candidate may crash at
// a neighbouring size if its base does, and the oracle may have no answer there.
func TestCellsThatEndInAnExamination(t *testing.T) {
	two := "configs: {c: {N: 64}, d: {N: 128}}\n"
	for name, tc := range map[string]struct {
		base, candidate, ref puppet.Script
		unjudged             string // config that has no answer
	}{
		"both versions, at a neighbour": {base: puppet.Script{Crash: "produce", Only: 65}, candidate: puppet.Script{Micros: 400, Crash: "produce", Only: 65}, ref: puppet.Script{Micros: 1}},
		"the oracle, at a neighbour":    {candidate: puppet.Script{Micros: 400}, ref: puppet.Script{Micros: 1, Crash: "produce", Only: 65}},
		"the oracle, at a config":       {candidate: puppet.Script{Micros: 400}, ref: puppet.Script{Micros: 1, Crash: "produce", Only: 64}, unjudged: "k/c"},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "both versions, at a neighbour" {
				t.Skip("long: run by make long")
			}
			p := newProject(t)
			p.spec(two, strings.Replace(entry("k"), "{elementwise: in}", "{kernel: ref}", 1), withoutOracle("ref"))
			tc.base.Micros = 500
			p.script("k", tc.base)
			p.script("ref", tc.ref)
			p.commit("base")
			p.script("k", tc.candidate)
			p.commit("change")
			made := p.only("k").check()
			for _, config := range []string{"k/c", "k/d"} {
				row := rowOf(t, made, config)
				if config == tc.unjudged {
					mustBe(t, row, "")
					continue
				}
				if row.Fault != nil || row.Verification.Passed < 2 || row.Verification.Skipped > 0 {
					t.Errorf("%s: %+v, %+v", config, row.Fault, row.Verification)
				}
				mustBe(t, row, result.Improvement)
			}
		})
	}
}

// Where the worker ends before answers are verified, and cannot be started again at once, nothing is
// known of them.
func TestWorkerThatEndsBeforeTheExamination(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 100, Wrong: "always"})
	p.commit("five times as fast, and wrong")
	state := t.TempDir()
	p.write("worker", `#!/bin/sh
cd "`+state+`"
echo "$$" >> started
[ $(wc -l < started) = 2 ] && exit 1
exec "$@"
`)
	worker := filepath.Join(p.dir, "worker")
	if err := os.Chmod(worker, 0o755); err != nil {
		t.Fatal(err)
	}
	p.follow = func(e run.Event) {
		raw, err := os.ReadFile(filepath.Join(state, "started"))
		if pid, more := strconv.Atoi(strings.TrimSpace(string(raw))); e.Kind == run.Build && e.Done == e.Total && cmp.Or(err, more) == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			for syscall.Kill(pid, 0) == nil {
				time.Sleep(time.Millisecond)
			}
		}
	}
	report := p.check(func(o *Options) { o.Lab.Worker = append([]string{worker}, o.Lab.Worker...) })
	row := rowOf(t, report, "k/c")
	if row.Fault == nil || row.Fault.Stage != "verify" || row.Verdict != "" || report.Outcome.Result != result.Unjudged {
		t.Errorf("%q, fault %v, outcome %+v", row.Verdict, row.Fault, report.Outcome)
	}
}

// To be slower than a version that is wrong is no regression.
func TestBaseThatIsWrong(t *testing.T) {
	p := newProject(t)
	p.script("k", puppet.Script{Micros: 100, Wrong: "always"})
	p.commit("fast and wrong")
	p.script("k", puppet.Script{Micros: 500})
	p.commit("right")
	row := rowOf(t, p.check(), "k/c")
	mustBe(t, row, result.Incomparable)
	if said := strings.Join(row.Sides[0].Reason, " "); !strings.Contains(said, "the base version gives wrong answers: out: 64 of 64 elements are wrong") {
		t.Errorf("%q", said)
	}
	if testing.Short() {
		return // long: that a base which is right is compared with is what most tests are about
	}
	p.script("k", puppet.Script{Micros: 900})
	p.commit("slower")
	mustBe(t, rowOf(t, p.check(), "k/c"), result.Regression)
}

// Clocks accuse a candidate that differs from all versions it played against.
func TestClocksOfTrios(t *testing.T) {
	t.Parallel()
	timing := func(beyond float64) *result.Timing {
		return &result.Timing{Clock: &result.ClockCheck{ClaimedS: 100e-6, Beyond: slices.Repeat([]float64{beyond}, 60)}}
	}
	for name, test := range map[string]struct {
		base, best float64
		want       result.Integrity
	}{
		"hides more than both":            {5e-6, 5e-6, result.Suspicious},
		"hides as much as its base":       {60e-6, 5e-6, result.Clean},
		"hides as much as the best-known": {5e-6, 60e-6, result.Clean},
	} {
		j := &judged{state: state{timing: timing(60e-6), verification: &result.Verification{Integrity: result.Clean}}}
		j.base, j.best = &side{plays: true, timing: timing(test.base)}, &side{plays: true, timing: timing(test.best)}
		(&check{}).checkTiming(j)
		if v := j.verification; v.Integrity != test.want || (len(v.Findings) == 1) != (test.want == result.Suspicious) {
			t.Errorf("%s: %s, %+v", name, v.Integrity, v.Findings)
		}
	}
}
