package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/term"
)

// answered gives a row the verification of a check: one case, and two timed samples.
func answered(row *result.Row, oracle string, abs float64) *result.Row {
	v := &result.Verification{Oracle: oracle, Integrity: result.Clean, Seed: 42}
	for i, lane := range []string{"config", "timed", "timed"} {
		c := caseOf(lane, "B=32 H=8 S=512 D=64", abs/float64(i+1), 1e-4, 1e-7)
		c.Outputs[0].Atol, c.Outputs[0].Rtol = 2e-5, 1e-5
		v.Cases = append(v.Cases, c)
	}
	row.Verification = v
	return tally2(row)
}

// examination returns a check whose kernels were all verified.
func examination() *result.Report {
	s := stage{rand.New(rand.NewPCG(11, 12))}
	good := answered(s.duet("attention/training_512", result.Maintained, 52e-6, 0.001, nil), "built-in attention", 6.1e-7)
	also := answered(s.duet("attention/inference_4k", result.Maintained, 861e-6, 0.002, nil), "built-in attention", 5.2e-7)
	unproven := answered(s.duet("rope/s4k", result.Improvement, 33e-6, -0.1, nil), "the base version", 0)
	unproven.Verification.Limits = []string{"the kernel has no oracle: its answers were compared with the base version's, which are not verified"}
	unproven.Moved = &result.Moved{Refused: "the kernel has no oracle: its answers were only compared with the previous version's", Hint: "pawl baseline accept --reason makes it the best-known version anyway"}
	unproven.Trust = "author"
	unproven.Verification.Kernels = []string{"_Z4ropePKfPfi", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"}
	doubtful := answered(s.duet("softmax/rows_1k", result.Improvement, 18e-6, -0.4, nil), "built-in softmax", 1e-9)
	doubtful.Verification.Integrity = result.Suspicious
	doubtful.Verification.Findings = []result.Finding{{Exploit: "speed-cliff", Severity: result.Suspicious, Message: "rows_1k is 6.2 times as fast as its neighbours"}}
	doubtful.Moved = &result.Moved{Refused: "its result is suspicious", Hint: "pawl baseline accept --reason makes it the best-known version anyway"}

	mistaken := &result.Row{Kernel: "gemm", Config: "4k", Cell: "cuda", Trust: "harness", Verdict: result.Incorrect, Verification: &result.Verification{
		Oracle: "kernel gemm_ref", Integrity: result.Clean, Seed: 42,
		Cases: []*result.Case{failing(caseOf("config", "M=4096 N=64 K=64", 0.51, 1, 0.02), 28672, result.Element{Index: []int64{447, 12}, Got: "0", Want: "0.51"}, lastRows())},
	}}
	tally2(mistaken)
	cheat := answered(s.duet("scan/n_1m", result.Rejected, 18e-6, 0.01, nil), "built-in sum", 1e-9)
	failing(cheat.Verification.Cases[1], 4, result.Element{Index: []int64{0}, Got: "NaN", Want: "1"}, nil)
	tally2(cheat)
	finding := result.Finding{Exploit: "timed-only", Severity: result.Cheated, Message: "a timed sample has a wrong answer, though the same launch is right when it is not timed: " + cheat.Verification.Cases[1].Reason}
	cheat.Verification.Findings, cheat.Verification.Integrity = []result.Finding{finding}, result.Cheated
	cheat.Fault = &result.Fault{Stage: "verify", Cause: result.CauseCheat, Message: finding.Exploit + ": " + finding.Message, Hint: "docs/integrity.md explains how this is detected"}
	silent := &result.Row{Kernel: "norm", Config: "rows", Cell: "host", Trust: "author", Fault: &result.Fault{
		Stage: "verify", Cause: result.CauseOracle, Message: "the oracle does not answer: oracles.py: No module named 'torch'", Hint: "pawl fuzz norm shows it at work",
	}, Verification: &result.Verification{Oracle: "oracles:norm", Integrity: result.Clean}}
	return checkOf(good, also, unproven, doubtful, mistaken, cheat, silent, unchangedRow("transpose", "c1"))
}

// Which neighbouring sizes were tried, and which not, is in every form but the short one.
func TestNeighbours(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	row := answered(s.duet("a/b", result.Maintained, 1e-3, 0, nil), "built-in sum", 1e-9)
	row.Verification.Neighbours = []result.Neighbour{{Size: "N=65"}, {Size: "M=9", Untried: "3s were over"}, {Size: "K=5", Slower: 5.71, Aligned: "K=8"}, {Size: "L=6", Untried: "3s were over"}}
	r := checkOf(row, answered(s.duet("a/c", result.Maintained, 1e-3, 0, nil), "built-in sum", 1e-9))
	const want = "tried at N=65, K=5 (5.7 times as long for the same work; not so at K=8), not tried at M=9, L=6 (3s were over)"
	page, err := HTML(r)
	if err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"-v": textIn(t, r, TextOptions{Verbose: true}), "Markdown": Markdown(r), "page": string(page)} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s has\n%s", form, text)
		}
	}
	if text := textIn(t, r, TextOptions{}); strings.Contains(text, "N=65") {
		t.Error(text)
	}
}

func TestCheckVerification(t *testing.T) {
	golden(t, "verified_text", checkedText(t, examination(), term.Style{}))
	golden(t, "verified_color", checkedText(t, examination(), term.Style{Color: true}))
	golden(t, "verified_markdown", Markdown(examination()))
	golden(t, "verified_html", styleSheet.ReplaceAllString(sectionOf(pageOf(t, examination()), "failures", "verified", "warnings", "notes"), "<style/>"))
	raw, err := CSV(examination())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "verified_csv", string(raw))
}

// sectionOf returns some sections of a page.
func sectionOf(page string, ids ...string) string {
	out := ""
	for _, id := range ids {
		_, after, _ := strings.Cut(page, `<section id="`+id+`">`)
		text, _, _ := strings.Cut(after, "</section>")
		out += "== " + id + "\n" + text
	}
	return out
}

// What a check says of answers, it says once.
func TestVerificationIsSaidOnce(t *testing.T) {
	r := examination()
	for name, text := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "html": sectionOf(pageOf(t, r), "problems", "failures", "warnings", "notes")} {
		for _, words := range []string{"address space", "does not become the baseline: the kernel has no oracle", "though the same launch is right", "6.2 times as fast"} {
			if n := strings.Count(text, words); n != 1 {
				t.Errorf("%s: %q is there %d times", name, words, n)
			}
		}
		if strings.Contains(text, "which are not verified") {
			t.Errorf("%s says twice that there is no oracle", name)
		}
	}
	r.Rows[2].Moved = nil
	if text := checkedText(t, r, term.Style{}); !strings.Contains(text, "! rope/s4k: the kernel has no oracle: its answers were compared with the base version's") {
		t.Errorf("what limits the check is not said:\n%s", text)
	}
	r.Rows[2].Verification.Limits = []string{"it shares its cell's address space"}
	if text := checkedText(t, r, term.Style{}); strings.Count(text, "address space") != 1 {
		t.Error("trust is said twice")
	}
}

// Of many kernels one line says what was verified.
func TestManyVerified(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(1, 2))}
	var rows []*result.Row
	for i := range 14 {
		rows = append(rows, answered(s.duet(fmt.Sprintf("kernel%d/c", i), result.Maintained, 1e-5, 0, nil), "built-in gemm", 1e-6))
	}
	text := checkedText(t, checkOf(rows...), term.Style{})
	if want := "  14 configs verified against built-in gemm; 28 timed samples verified\n"; !strings.Contains(text, want) {
		t.Errorf("does not say %q:\n%s", want, text)
	}
	if text := Markdown(checkOf(rows...)); !strings.Contains(text, "| baseline moved | verified |") || !strings.Contains(text, "<summary>14 configs verified</summary>") {
		t.Errorf("the comment does not count them:\n%s", text)
	}
}

func TestAccuracy(t *testing.T) {
	row := answered(&result.Row{}, "o", 6.1e-7)
	for _, test := range []struct {
		want   string
		change func(*result.OutputError)
	}{
		{"max abs 6.1e-07 (atol 2e-05)", func(*result.OutputError) {}},
		{"max abs 3.0e-05, max rel 1.0e-04 (atol 2e-05, rtol 1e-05)", func(o *result.OutputError) { o.MaxAbs = 3e-5 }},
		{"max abs 3.0e-05", func(o *result.OutputError) { o.Atol = 1 }},
	} {
		test.change(&row.Verification.Cases[0].Outputs[0])
		if got := accuracy(row); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	row.Verification.Cases = row.Verification.Cases[:1]
	row.Verification.Cases[0].Outputs[0] = result.OutputError{Exact: true}
	if got := accuracy(row); got != "max abs 0 (exact)" {
		t.Errorf("got %q", got)
	}
	row.Verification.Cases = nil
	if got := accuracy(row); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestSuspicionIsInTheHeadline(t *testing.T) {
	r := examination()
	r.Rows = r.Rows[:4]
	if got, want := headline(r, checkedRows(r)), "gate passed: 2 improvements, 2 maintained, 1 suspicious"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPlainName(t *testing.T) {
	for mangled, want := range map[string]string{
		"_Z7softmaxPKfPfi": "softmax", "softmax": "softmax", "_Z": "_Z", "_Z9short": "_Z9short", "_ZN3foo3barEv": "_ZN3foo3barEv", "": "",
		"_Z0abc": "_Z0abc", "_Z9223372036854775807abc": "_Z9223372036854775807abc", "_Z99999999999999999999999abc": "_Z99999999999999999999999abc",
	} {
		if got := plainName(mangled); got != want {
			t.Errorf("%s: %s, want %s", mangled, got, want)
		}
	}
}

// Wrong answers that may be rounding are the first doubt: whoever sees only one sees what may excuse a row.
func TestRoundingIsTheFirstDoubt(t *testing.T) {
	r := everything()
	for i, name := range []string{"a", "b"} {
		row := *r.Rows[0]
		row.Kernel, row.Verdict = name, result.Incorrect
		row.Warnings = []result.Warning{{Code: "whole-file", Message: "whole"}, {Code: "rounding", Message: "as those of rounding are: " + name, Hint: "a tolerance admits it"}}
		r.Rows = append(r.Rows[:i+2:i+2], append([]*result.Row{&row}, r.Rows[i+2:]...)...)
	}
	r.Rows[0].Warnings = append(r.Rows[0].Warnings, result.Warning{Code: "rounding", Message: "of a right row"})
	text := textIn(t, r, TextOptions{})
	if !strings.Contains(text, "doubts (-v shows all): a/"+r.Rows[0].Config+": as those of rounding are: a; likewise b/"+r.Rows[0].Config+" (a tolerance admits it)\n") {
		t.Error(text)
	}
}
