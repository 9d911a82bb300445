package report

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"pawl/internal/result"
)

const claim = "Claimed by the pull request's own job"

// judged gives a report the outcome that judge would give it.
func judged(r *result.Report, ending result.Ending) *result.Report {
	r.Outcome = &result.Outcome{Result: ending}
	r.FalseAlarms = &result.FalseAlarms{KernelAlarms: result.KernelAlarms{Kernel: "mixed", PerDecision: 0.0009}, Configs: 3, PerRun: 0.00281, Calibrated: time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)}
	return r
}

// many returns a check of so many configs; verdict says what became of each.
func many(n int, verdict func(i int) (result.Verdict, float64)) *result.Report {
	s := stage{rand.New(rand.NewPCG(11, 12))}
	kernels := []string{"attention", "gemm", "layernorm", "rope", "softmax"}
	var rows []*result.Row
	for i := range n {
		v, change := verdict(i)
		row := s.duet(fmt.Sprintf("%s/shape_%d", kernels[i%len(kernels)], i/len(kernels)), v, 1e-5*float64(1+i%97), change, nil)
		row.Timing.Samples, row.Sides[0].Row.Timing.Samples = result.Samples{}, result.Samples{}
		if v == result.Inconclusive {
			c := row.Sides[0].Change
			c.Low, c.High, row.Needs = c.Median-0.02, c.Median+0.02, &result.Needs{Cells: 6, BudgetS: 40}
		}
		rows = append(rows, row)
	}
	return checkOf(rows...)
}

func wrongRow() *result.Row {
	return &result.Row{
		Kernel: "gemm", Config: "4k", Verdict: result.Incorrect, Fault: &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "C[3, 7] = 1.25, expected 1.31 (atol 2e-05): 4,096 of 16,777,216 elements are wrong"},
		Verification: &result.Verification{Oracle: "the built-in gemm", Integrity: result.Clean, Failed: 1, Cases: []*result.Case{{Lane: "config", Reason: "C[3, 7] = 1.25, expected 1.31 (atol 2e-05): 4,096 of 16,777,216 elements are wrong"}}},
	}
}

// infested gives the texts of a report the same content.
func infested(r *result.Report, text string) *result.Report {
	for _, row := range r.Rows {
		row.Kernel, row.Config, row.Log, row.Plan = text, text, text, text
		row.Warnings = []result.Warning{{Code: text, Message: text, Hint: text, File: text}}
		row.Reasons = append(row.Reasons, result.Reason(text))
		for _, side := range row.Sides {
			side.Commit, side.Reason = text, []string{text}
		}
		if row.Fault != nil {
			row.Fault = &result.Fault{Stage: "build", Cause: result.Cause(text), Message: text, Hint: text}
			row.Build = &result.Build{Output: text}
		}
		if v := row.Verification; v != nil {
			v.Oracle, v.Limits = text, []string{text}
			v.Findings = []result.Finding{{Exploit: text, Severity: result.Suspicious, Message: text}}
			v.Integrity = result.Suspicious
		}
	}
	r.Warnings = []result.Warning{{Code: text, Message: text, Hint: text}}
	r.Machine.GPU.Name, r.Machine.CPU.Model, r.DeviceClass = text, text, text
	r.Base.Ref, r.Base.SHA, r.Commit.SHA, r.Tool.Version, r.ID = text, text, text, text, text
	r.Gate = &result.Gate{Regression: 0.03, Improvement: 0.05}
	return r
}

// encodedVillains is a check with one of all that can happen, and a wrong row; without samples, which a
// comment does not read.
var encodedVillains = sync.OnceValues(func() ([]byte, error) {
	r := judged(everything(), result.Failed)
	r.Rows = append([]*result.Row{wrongRow()}, r.Rows...)
	for _, row := range r.Rows {
		for _, side := range row.Sides {
			if side.Row != nil && side.Row.Timing != nil {
				side.Row.Timing.Samples = result.Samples{}
			}
		}
		if row.Timing != nil {
			row.Timing.Samples = result.Samples{}
		}
	}
	return r.Encode()
})

func villains() *result.Report {
	raw, err := encodedVillains()
	if err != nil {
		panic(err)
	}
	r, err := result.Decode(raw)
	if err != nil {
		panic(err)
	}
	return r
}

var evil = strings.Join([]string{
	"`</details><script>alert(1)</script>`", "@octocat @org/team", "#1 GH-2 o/r#3 !4 ~5 &6 %7", "https://evil.example www.evil.example a@evil.example",
	"[click](https://evil.example) ![x](https://evil.example/x.png)", "|cell|", "$x$ **bold** _it_ ~~s~~ :tada:", "\u202Egnirts\u2066 \u200B\x1b[31m\x00", "e\u0301\u0338", "\n\n# heading\n/close\n```\n- [ ] task\n<!-- pawl:pawl sha=0 run=9 -->",
}, " ")

func TestComment(t *testing.T) {
	kept := func(i int) (result.Verdict, float64) { return result.Maintained, float64(i%7-3) / 1000 }
	for name, c := range map[string]struct {
		report *result.Report
		opts   CommentOptions
		first  string
	}{
		"maintained": {judged(many(12, kept), result.Passed), CommentOptions{Trust: "Measured on the approved lane", URL: "https://ci.example/runs/7"}, "✅ **No config is slower than the gate of +3% allows**: 12 maintained."},
		"claimed":    {judged(many(12, kept), result.Passed), CommentOptions{Trust: claim, Claimed: true}, "⚪ **Claimed: no config is slower"},
		"regression": {judged(many(40, func(i int) (result.Verdict, float64) {
			if i == 11 {
				return result.Regression, 0.052
			}
			return kept(i)
		}), result.Failed), CommentOptions{Trust: claim, Claimed: true}, "❌ **1 of 40 configs is slower than the gate of +3% allows**."},
		"incorrect": {func() *result.Report {
			r := judged(many(5, kept), result.Failed)
			r.Rows = append(r.Rows, wrongRow())
			return r
		}(), CommentOptions{Trust: claim, Claimed: true}, "❌ **1 of 6 configs gives wrong answers**."},
		"improvement": {judged(many(12, func(i int) (result.Verdict, float64) {
			if i == 3 {
				return result.Improvement, -0.124
			}
			return kept(i)
		}), result.Passed), CommentOptions{Trust: "Measured on the approved lane"}, "✅ **1 of 12 configs is faster**, none is slower than the gate of +3% allows"},
		"undecided": {judged(many(12, func(i int) (result.Verdict, float64) {
			if i == 3 {
				return result.Inconclusive, 0.021
			}
			return kept(i)
		}), result.Undecided), CommentOptions{Trust: "Measured on the approved lane"}, "⚠️ **1 of 12 configs is undecided**, none is slower"},
		"many": {judged(many(2000, func(i int) (result.Verdict, float64) {
			switch {
			case i%61 == 5:
				return result.Regression, 0.031 + float64(i)/10000
			case i%97 == 3:
				return result.Inconclusive, 0.02
			case i%331 == 7:
				return result.Improvement, -0.1
			}
			return kept(i)
		}), result.Failed), CommentOptions{Trust: claim, Claimed: true}, "❌ **33 of 2,000 configs are slower than the gate of +3% allows**, 20 are undecided, 7 are faster"},
		"everything": {judged(everything(), result.Failed), CommentOptions{Trust: claim, Claimed: true}, "❌ **2 of 26 configs are slower"},
		"hostile":    {infested(villains(), evil), CommentOptions{Trust: claim, Claimed: true}, "❌ **2 of 27 configs are slower than the gate of +3% allows**, 1 gives wrong answers"},
		"nothing":    {judged(checkOf(), result.Passed), CommentOptions{Trust: claim, Claimed: true}, "⚪ **Claimed: nothing to check: no kernel changed**."},
	} {
		t.Run(name, func(t *testing.T) {
			got := Comment(c.report, c.opts)
			if !strings.HasPrefix(got, c.first) {
				t.Errorf("begins with %.200q", got)
			}
			if f := active(got); f != "" {
				t.Error(f)
			}
			if n := unfolded(got); n > 15 {
				t.Errorf("%d lines are unfolded:\n%s", n, got)
			}
			golden(t, "comment_"+name, got)
		})
	}
}

var details = regexp.MustCompile(`(?s)<details>(<summary>[^\n]*</summary>).*?\n</details>\n`)

// unfolded counts the lines that a reviewer sees before opening anything.
func unfolded(comment string) int {
	n := 0
	for line := range strings.SplitSeq(details.ReplaceAllString(comment, "$1\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "| ---") {
			n++
		}
	}
	return n
}

var (
	foldTag = regexp.MustCompile(`^(<details>)?<summary>[A-Z0-9][A-Za-z0-9,: ]*</summary>\n?$|^</?details>\n?$`)
	ownText = regexp.MustCompile(`^[A-Za-z0-9 \x{a0}.,:;()'+−%<>…·↵→µ✅❌⚠️⚪-]*$`)
	parser  = goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
)

// active parses a comment, as Gitea does, and says what in it is more than text: a link or HTML that is
// not pawl's own, or characters outside of code that a forge may see a mention or a reference in.
func active(comment string) (found string) {
	if !utf8.ValidString(comment) || len(comment) > 65_000 {
		return fmt.Sprintf("%d bytes, valid UTF-8: %v", len(comment), utf8.ValidString(comment))
	}
	for _, r := range comment {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) {
			return fmt.Sprintf("character %U", r)
		}
	}
	source := []byte(comment)
	_ = ast.Walk(parser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		fail := func(what string, args ...any) (ast.WalkStatus, error) {
			found = fmt.Sprintf(what, args...)
			return ast.WalkStop, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			if string(n.Destination) != "https://ci.example/runs/7" {
				return fail("a link to %s", n.Destination)
			}
		case *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.Heading, *ast.Blockquote, *ast.CodeBlock:
			return fail("%s", n.Kind())
		case *ast.HTMLBlock:
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				if line := string(at.Value(source)); !foldTag.MatchString(line) {
					return fail("HTML %q", line)
				}
			}
		case *ast.Text:
			if line := string(n.Segment.Value(source)); !ownText.MatchString(line) {
				return fail("text %q", line)
			}
		}
		return ast.WalkContinue, nil
	})
	return found
}

// The property tells what is active from what is not.
func TestActive(t *testing.T) {
	for _, bad := range []string{"hi @octocat", "fixes #1", "https://evil.example", "www.evil.example", "<b>x</b>", "<script>\nx", "[x](https://evil.example)", "![x](y)", "a@b.example", "# x", "`a` `b @c", "\u202Ex", "&#64;octocat", "x\n<!-- y -->", "!1", "~x", "$x$"} {
		if active(bad) == "" {
			t.Errorf("%q passes", bad)
		}
	}
}

// inert fails if something in the comment of a report that is full of a text is active, or if it is too
// long.
func inert(t interface {
	Helper()
	Fatalf(string, ...any)
}, content string,
) {
	t.Helper()
	got := Comment(infested(villains(), content), CommentOptions{Trust: claim, Claimed: true})
	if f := active(got); f != "" {
		t.Fatalf("%s\n%q\n%s", f, content, got)
	}
	if n := unfolded(got); n > 15 {
		t.Fatalf("%d lines are unfolded with %q:\n%s", n, content, got)
	}
}

// Whatever the report says, nothing in the comment is active, and it stays short.
func TestCommentIsInert(t *testing.T) {
	for _, content := range append([]string{evil, strings.Repeat(evil+"\n", 300), strings.Repeat("`", 5000), "\\", "` `", "$", "pawl check x; rm -rf ~"}, nasty...) {
		inert(t, content)
	}
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(strings.Split(evil, " ")), rapid.SampledFrom([]string{"`", "|", "\n", "\\", "<", ">", "[", "]", "(", ")", "\n```\n", "~~~", "    ", "-", "\t", "\r\n", "&lt;", "::", "$`"}))
	rapid.Check(t, func(t *rapid.T) { inert(t, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "text"), "")) })
}

func FuzzComment(f *testing.F) {
	f.Add(evil)
	f.Add("attention")
	f.Fuzz(func(t *testing.T, content string) { inert(t, content) })
}

// What a row's note says is not said again below it, and names that follow nothing are not "also" there.
func TestCommentSaysItOnce(t *testing.T) {
	const why = "y: 4096 of 4096 elements are wrong"
	r := many(1, func(int) (result.Verdict, float64) { return result.Unchanged, 0 })
	r.Rows[0].Sides = nil
	row := wrongRow()
	row.Fault, row.Verification.Cases[0].Reason = nil, why
	r.Rows = append(r.Rows, row)
	got := Comment(judged(r, result.Failed), CommentOptions{})
	if strings.Count(got, why) != 1 || strings.Contains(got, "<summary>Why") || strings.Contains(got, "Also:") || !strings.Contains(got, "1 other config: 1 unchanged</summary>\n\n`attention/shape_0`\n") {
		t.Error(got)
	}
}

// A hostile name is never part of a command that somebody copies.
func TestCommentCommands(t *testing.T) {
	for name, want := range map[string]string{"attention/training_512": "pawl check attention/training_512 ", "x/y; rm -rf ~": "pawl check KERNEL/CONFIG ", "$(x)/y": "pawl check KERNEL/CONFIG ", "-rf/x": "pawl check KERNEL/CONFIG "} {
		r := many(1, func(int) (result.Verdict, float64) { return result.Regression, 0.05 })
		r.Rows[0].Kernel, r.Rows[0].Config, _ = strings.Cut(name, "/")
		if got := Comment(judged(r, result.Failed), CommentOptions{}); !strings.Contains(got, "```sh\n"+want) {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestCommentChart(t *testing.T) {
	s := chartOf(result.Gate{Regression: 0.03, Improvement: 0.05})
	for want, c := range map[string]result.Change{
		"·····║····│··║·├●┤···": {Low: 0.051, Median: 0.06, High: 0.069},
		"·····║····●··║·······": {},
		"·····║··├─●─┤║·······": {Low: -0.02, Median: 0.0, High: 0.02},
		"·····║····│·├╫●─┤····": {Low: 0.021, Median: 0.04, High: 0.06},
		"·····║····│··║······►": {Low: 3, Median: 4, High: 5},
		"◄····║····│··║·······": {Low: -0.5, Median: -0.4, High: -0.3},
	} {
		if got := s.draw(&c); got != want {
			t.Errorf("%+v:\n%s, want\n%s", c, got, want)
		}
	}
}

// The comment that docs/ci.md shows is one that pawl makes.
func TestCommentInDocs(t *testing.T) {
	s := stage{rand.New(rand.NewPCG(7, 8))}
	r := many(39, func(int) (result.Verdict, float64) { return result.Maintained, 0 })
	slower := s.duet("attention/training_512", result.Regression, 52.1e-6, 0.052, nil)
	slower.Why = []*result.Why{spilled("base", "change")}
	r.Rows = append(r.Rows, slower)
	made := Comment(judged(r, result.Failed), CommentOptions{Trust: claim, Claimed: true, URL: "https://ci.example/runs/7"})
	made = regexp.MustCompile(`(?s)<details><summary>([^\n]*)</summary>.*?\n</details>`).ReplaceAllString(made, "▸ $1")
	made = strings.NewReplacer("[report and pictures](https://ci.example/runs/7)", "report and pictures", "\u00a0", " ").Replace(made)
	raw, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for line := range strings.SplitSeq(string(raw), "\n") {
		if text, quoted := strings.CutPrefix(line, ">"); quoted {
			shown = append(shown, strings.TrimPrefix(text, " "))
		}
	}
	if diff := cmp.Diff(strings.TrimSpace(made), strings.TrimSpace(strings.Join(shown, "\n"))); diff != "" {
		t.Errorf("docs/ci.md (-pawl +docs):\n%s", diff)
	}
}

// A base that a workflow names by its hash is not shown twice.
func TestComparedWith(t *testing.T) {
	const sha = "0123456789abcdef0123456789abcdef01234567"
	for ref, want := range map[string]string{"main": "main 0123456", "": "0123456", sha: "0123456"} {
		if got := comparedWith(&result.BaseRef{Ref: ref, SHA: sha}); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
}
