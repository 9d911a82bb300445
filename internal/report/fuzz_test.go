package report

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/term"
)

func TestFuzzReport(t *testing.T) {
	golden(t, "fuzz_text", checkedText(t, trials(), term.Style{}))
	golden(t, "fuzz_color", checkedText(t, briefly(), term.Style{Color: true}))
	golden(t, "fuzz_matrix", checkedText(t, fuzzOf(matrix()), term.Style{}))
	golden(t, "fuzz_markdown", Markdown(briefly()))
	golden(t, "fuzz_html", styleSheet.ReplaceAllString(pageOf(t, briefly()), "<style/>"))
	raw, err := CSV(briefly())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "fuzz_csv", string(raw))
}

func TestFuzzPage(t *testing.T) {
	for name, r := range map[string]*result.Report{"trials": trials(), "matrix": fuzzOf(matrix()), "selftest": selftestSample(), "verified": examination()} {
		page := pageOf(t, r)
		checkPage(t, page)
		for _, link := range regexp.MustCompile(`href="#(\w+)"`).FindAllStringSubmatch(page, -1) {
			if strings.Count(page, `id="`+link[1]+`"`) != 1 {
				t.Errorf("%s: #%s is not there once", name, link[1])
			}
		}
	}
	if n := strings.Count(pageOf(t, trials()), `<tr><th scope="row">ROWS=`); n != 1321 {
		t.Errorf("%d of 1321 cases are on the page", n)
	}
}

// Of a lane with many cases those that pass are one line; those that fail are not
// hidden, and not all told in full.
func TestFuzzFolds(t *testing.T) {
	report := func(pass, fail, skip int) string {
		row := fuzzRow("k", "built-in sum")
		for i := range pass {
			row.Verification.Cases = append(row.Verification.Cases, caseOf("matrix", fmt.Sprintf("P=%d", i), 1e-6, 1e-5, 1e-7))
		}
		for i := range fail {
			c := failing(caseOf("matrix", fmt.Sprintf("F=%d", i), 1, 1, 1), 3, result.Element{Index: []int64{1}, Got: "1", Want: "2"}, nil)
			row.Verification.Cases = append(row.Verification.Cases, c)
		}
		for i := range skip {
			row.Verification.Cases = append(row.Verification.Cases, &result.Case{Lane: "matrix", Names: []string{"X"}, Vars: map[string]string{"X": fmt.Sprint(i)}, Skipped: "no room"})
		}
		return checkedText(t, fuzzOf(tally2(row)), term.Style{})
	}
	lines := func(text, pattern string) int { return len(regexp.MustCompile(`(?m)`+pattern).FindAllString(text, -1)) }
	for _, test := range []struct {
		text, pattern string
		want          int
	}{
		{report(40, 0, 0), `^  matrix  P=.* PASS$`, 40},
		{report(41, 0, 0), `^  matrix  P=`, 0},
		{report(41, 0, 0), `^  matrix  41 cases  1\.0e-06 .* PASS  the largest errors of all$`, 1},
		{report(41, 40, 0), `^  matrix  F=.* FAIL `, 40},
		{report(41, 100, 0), `^  matrix  F=.* FAIL `, 40},
		{report(41, 100, 0), `^  matrix  60 more cases +FAIL`, 1},
		{report(0, 100, 0), `^  FAIL k F=`, 5},
		{report(0, 100, 0), `^  … and 95 more failures in the report$`, 1},
		{report(1, 0, 8), `^  matrix  X=.* skipped +no room$`, 8},
		{report(1, 0, 9), `^  matrix  9 cases +skipped  no room$`, 1},
		{report(1, 0, 9), `^  \[1/1\] k  PASS  one size only; against built-in sum; 9 skipped`, 1},
	} {
		if got := lines(test.text, test.pattern); got != test.want {
			t.Errorf("%d lines like %s, want %d:\n%s", got, test.pattern, test.want, test.text)
		}
	}
}

func TestFuzzWords(t *testing.T) {
	good := func() *result.Row { return fuzzRow("k", "o", caseOf("matrix", "N=1", 0, 0, 0)) }
	with := func(row *result.Row, change func(*result.Row)) *result.Row {
		change(row)
		return row
	}
	fault := func(c result.Cause) func(*result.Row) {
		return func(r *result.Row) { r.Fault = &result.Fault{Cause: c} }
	}
	for _, test := range []struct {
		word, headline string
		interrupted    bool
		row            *result.Row
	}{
		{"PASS", "1 of 1 case passes", false, good()},
		{"PASS", "interrupted: 1 of 1 case passes", true, good()},
		{"SUSPICIOUS", "1 of 1 case passes, 1 kernel suspicious", false, with(good(), func(r *result.Row) { r.Verification.Integrity = result.Suspicious })},
		{"ENDED EARLY", "1 of 1 case passes, 1 kernel ended early", false, with(good(), fault(result.CauseOracle))},
		{"NOT TRIED", "nothing was tried, 1 kernel not tried", false, with(fuzzRow("k", ""), fault(result.CauseOracle))},
		{"INTERRUPTED", "interrupted: nothing was tried", true, fuzzRow("k", "o")},
		{"INTERRUPTED", "interrupted: nothing was tried", true, with(fuzzRow("k", "o"), fault(result.CauseInterrupted))},
		{"NO CASE", "nothing was tried", false, fuzzRow("k", "o")},
		{"NO CASE", "nothing was tried", false, &result.Row{Kernel: "k"}},
		{"ALL SKIPPED", "nothing was tried, 1 skipped", false, fuzzRow("k", "o", &result.Case{Skipped: "no room"})},
		{"FAIL", "1 of 1 case fails", false, fuzzRow("k", "o", &result.Case{Reason: "wrong"})},
		{"REJECTED", "1 of 1 case passes, 1 kernel rejected", false, with(good(), func(r *result.Row) { r.Verdict = result.Rejected })},
		{"BROKEN", "nothing was tried, 1 kernel broken", false, with(fuzzRow("k", "o"), func(r *result.Row) { r.Verdict = result.Broken })},
	} {
		r := fuzzOf(test.row)
		r.Interrupted = test.interrupted
		rows := triedRows(r)
		if got := rows[0].word(); got != test.word {
			t.Errorf("got %s, want %s", got, test.word)
		}
		if got := fuzzHeadline(r, rows); got != test.headline {
			t.Errorf("got %q, want %q", got, test.headline)
		}
		text := checkedText(t, r, term.Style{})
		if !strings.Contains(text, "k  "+test.word) || strings.Contains(text, "\n\n\n") {
			t.Errorf("the text does not say %s:\n%s", test.word, text)
		}
		if f := flaw(Markdown(r)); f != "" {
			t.Error(f)
		}
		checkPage(t, pageOf(t, r))
	}
}

func TestFuzzOfNothing(t *testing.T) {
	for _, r := range []*result.Report{{Kind: result.KindFuzz}, fuzzOf(), {Kind: result.KindSelftest}, {Kind: result.KindSelftest, Selftest: &result.Selftest{}}} {
		text := checkedText(t, r, term.Style{})
		if !strings.HasPrefix(text, "pawl ") || strings.Contains(text, "\n\n\n") {
			t.Errorf("got %q", text)
		}
		if f := flaw(Markdown(r)); f != "" {
			t.Error(f)
		}
		page := pageOf(t, r)
		checkPage(t, page)
		if !strings.Contains(page, "Nothing was tried.") {
			t.Error("the page does not say that nothing was tried")
		}
		if _, err := CSV(r); err != nil {
			t.Error(err)
		}
	}
}

// The output that is told is the one that fails, or that comes nearest to it.
func TestClosest(t *testing.T) {
	c := &result.Case{Outputs: []result.OutputError{
		{Name: "near", MaxAbs: 9e-4, Atol: 1e-3}, {Name: "far", MaxAbs: 1e-3, Atol: 1}, {Name: "relative", MaxRel: 1e-9, Rtol: 1e-3},
	}}
	if got := closest(c); got.Name != "near" {
		t.Errorf("got %s", got.Name)
	}
	c.Outputs[2].Wrong = 1
	if got := closest(c); got.Name != "relative" {
		t.Errorf("got %s", got.Name)
	}
	if got := strings.Join(caseNotes(c), "; "); got != "in relative; 1 wrong" {
		t.Errorf("got %q", got)
	}
}

func TestSizes(t *testing.T) {
	for want, c := range map[string]*result.Case{
		"default":     {},
		"S=4 B=2":     {Names: []string{"S", "B"}, Vars: map[string]string{"B": "2", "S": "4"}},
		"S=4 A=1 B=2": {Names: []string{"S", "gone"}, Vars: map[string]string{"B": "2", "S": "4", "A": "1"}},
	} {
		if got := sizes(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// strange makes every number of a report something that no run should find.
func strange(v reflect.Value, numbers []float64, at *int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			strange(v.Elem(), numbers, at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				strange(v.Field(i), numbers, at)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			strange(v.Index(i), numbers, at)
		}
	case reflect.Float64:
		v.SetFloat(numbers[*at%len(numbers)])
		*at++
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{-1, math.MaxInt64, 0, math.MinInt64, 3}[*at%5])
		*at++
	}
}

// An output that no number of can be compared is not shown as one without errors.
func TestNothingToCompare(t *testing.T) {
	one := result.OutputError{Name: "y", Count: 8, Wrong: 8, NaNs: 8}
	for _, test := range []struct {
		name    string
		edit    func(o *result.OutputError)
		text    string
		csvText string
	}{
		{"all NaN", func(*result.OutputError) {}, "NaN", "NaN"},
		{"all NaN, some rightly", func(o *result.OutputError) { o.Wrong = 5 }, "NaN", "NaN"},
		{"all NaN, as they must be", func(o *result.OutputError) { o.Wrong = 0 }, "0", "0"},
		{"NaN and infinite", func(o *result.OutputError) { o.NaNs = 3 }, "NaN", "NaN"},
		{"infinite", func(o *result.OutputError) { o.NaNs = 0 }, "inf", "+Inf"},
		{"other bits of the same number", func(o *result.OutputError) { o.NaNs, o.Exact = 0, true }, "0", "0"},
		{"some NaN, the others right", func(o *result.OutputError) { o.NaNs, o.Wrong = 3, 3 }, "0", "0"},
		{"some NaN, the others wrong", func(o *result.OutputError) { o.NaNs, o.MaxAbs, o.MaxRel, o.RMS = 3, 0.5, 0.5, 0.5 }, "5.0e-01", "0.5"},
	} {
		o := one
		test.edit(&o)
		if abs, rel, rms := farOff(&o); abs != test.text || rel != test.text || rms != test.text {
			t.Errorf("%s: %s, %s, %s", test.name, abs, rel, rms)
		}
		if got := outputFields(&o)[5:8]; strings.Join(got, " ") != strings.Join([]string{test.csvText, test.csvText, test.csvText}, " ") {
			t.Errorf("%s: %q", test.name, got)
		}
		c := caseOf("config", "N=8", 1e-6, 1e-5, 1e-7)
		if e := worstOf([]*result.Case{c, {Outputs: []result.OutputError{o}}, c}); test.text != "0" && far(e.abs) != test.text {
			t.Errorf("%s: the worst of all is %s", test.name, far(e.abs))
		}
	}
}

// Where the right answer is zero there is no relative error: it is not shown as 0 beside
// an absolute one.
func TestRelativeToZero(t *testing.T) {
	for _, test := range []struct {
		name           string
		o              result.OutputError
		text, inFields string
	}{
		{"wrong", result.OutputError{Name: "y", Count: 1, Wrong: 1, MaxAbs: 27, MaxRel: math.MaxFloat64, RMS: 27}, "inf", "+Inf"},
		{"right within atol", result.OutputError{Name: "y", Count: 1, MaxAbs: 1e-9, RMS: 1e-9, Atol: 1e-6}, "–", ""},
		{"equal", result.OutputError{Name: "y", Count: 1, Atol: 1e-6}, "0", "0"},
	} {
		if abs, rel, _ := farOff(&test.o); rel != test.text {
			t.Errorf("%s: max abs %s, max rel %s", test.name, abs, rel)
		}
		if got := outputFields(&test.o)[6]; got != test.inFields {
			t.Errorf("%s: %q as CSV", test.name, got)
		}
		c := &result.Case{Outputs: []result.OutputError{test.o}}
		row := &result.Row{Kernel: "k", Config: "c", Verification: &result.Verification{Cases: []*result.Case{c}}}
		if got := verifyFields[6].text(checked{compared: compared{row: row}}); got != test.inFields {
			t.Errorf("%s: %q in the CSV of a check", test.name, got)
		}
		for _, column := range verifiedColumns {
			if column.head == "max rel" && column.text(checked{compared: compared{row: row}}) != test.text {
				t.Errorf("%s: %s in the page of a check", test.name, column.text(checked{compared: compared{row: row}}))
			}
		}
	}
}

func TestStrangeErrors(t *testing.T) {
	numbers := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324, math.Copysign(0, -1)}
	for first := range numbers {
		for _, r := range []*result.Report{briefly(), examination(), selftestSample()} {
			at := first
			for _, row := range r.Rows {
				if row.Verification != nil {
					strange(reflect.ValueOf(row.Verification), numbers, &at)
					for _, c := range row.Verification.Cases {
						for i := range c.Outputs {
							c.Outputs[i].Worst = nil // its NaN is text
						}
						c.Reason = strings.ReplaceAll(strings.ReplaceAll(c.Reason, "NaN", ""), "Inf", "")
					}
				}
			}
			strange(reflect.ValueOf(r.Selftest), numbers, &at)
			page := pageOf(t, r)
			checkPage(t, page)
			if at := regexp.MustCompile(`[^ >]NaN|>NaN[^<]|Inf\b`).FindStringIndex(sectionOf(page, "results", "cases", "verified")); at != nil {
				t.Errorf("%v is shown as a number", numbers[first])
			}
			checkedText(t, r, term.Style{})
			Markdown(r)
			if _, err := CSV(r); err != nil {
				t.Error(err)
			}
		}
	}
}

// spoilAnswers makes every text hostile but those that decide how a report is shown.
func spoilAnswers(r *result.Report, text string) {
	kind := r.Kind
	var kept []result.Row
	for _, row := range r.Rows {
		kept = append(kept, *row)
	}
	hostile(reflect.ValueOf(r), text)
	r.Kind = kind
	for i, row := range r.Rows {
		row.Verdict, row.Reasons = kept[i].Verdict, nil
		for _, side := range row.Sides {
			side.Role = result.Base
		}
		if row.Fault != nil {
			row.Fault.Stage = "build"
		}
	}
}

func TestHostileAnswers(t *testing.T) {
	for _, text := range nasty {
		for _, r := range []*result.Report{briefly(), examination(), selftestSample()} {
			spoilAnswers(r, text)
			if len(text) < 100 {
				page := pageOf(t, r)
				checkPage(t, page)
				if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
					t.Errorf("%s: %.40q is not escaped in the page", r.Kind, text)
				}
			}
			if out := checkedText(t, r, term.Style{}); strings.ContainsAny(out, "\x1b\x00\u0085\r") {
				t.Errorf("%s: %.40q steers the terminal", r.Kind, text)
			}
			if f := flaw(Markdown(r)); f != "" {
				t.Errorf("%s: %.40q: %s", r.Kind, text, f)
			}
		}
	}
}

// However many kernels and cases there are and whatever they say, a comment is short
// enough for a forge and a page for a browser.
func TestFuzzIsBounded(t *testing.T) {
	long := strings.Repeat("a|`<b>\n", 60)
	r := fuzzOf()
	r.Selftest = &result.Selftest{}
	sample := briefly()
	for i := range 150 {
		row := *sample.Rows[i%len(sample.Rows)]
		v := *row.Verification
		v.Cases = nil
		for j := range 20 {
			for _, c := range row.Verification.Cases[:min(5, len(row.Verification.Cases))] {
				one := *c
				one.Lane, one.Stored = fmt.Sprint(j), ""
				if one.Reason != "" {
					one.Reason += long
				}
				v.Cases = append(v.Cases, &one)
			}
		}
		v.Limits = append(v.Limits, long+fmt.Sprint(i))
		row.Verification, row.Kernel = &v, fmt.Sprint("k", i, long)
		r.Rows = append(r.Rows, &row)
		r.Warnings = append(r.Warnings, result.Warning{Message: long})
		r.Selftest.Subjects = append(r.Selftest.Subjects, result.SelftestSubject{Kind: fmt.Sprint(i%60, long), Name: long, Outcome: "skipped", Why: fmt.Sprint(long, i)})
		r.Selftest.Subjects = append(r.Selftest.Subjects, r.Selftest.Subjects[len(r.Selftest.Subjects)-1], r.Selftest.Subjects[len(r.Selftest.Subjects)-1])
	}
	for _, kind := range []result.Kind{result.KindFuzz, result.KindCheck, result.KindSelftest} {
		r.Kind = kind
		if f := flaw(Markdown(r)); f != "" {
			t.Errorf("%s: %s", kind, f)
		}
		page := pageOf(t, r)
		if most := 8 << 20; len(page) > most {
			t.Errorf("%s: a page of %d bytes, more than %d", kind, len(page), most)
		}
		checkPage(t, page)
	}
}

func TestFuzzMarkdownBound(t *testing.T) {
	sample := briefly()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(nasty))
		r := fuzzOf()
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			row := *sample.Rows[rapid.IntRange(0, len(sample.Rows)-1).Draw(t, "row")]
			row.Kernel = text.Draw(t, "name")
			v := *row.Verification
			v.Oracle, v.Limits = text.Draw(t, "oracle"), []string{text.Draw(t, "limit")}
			v.Cases = append(append([]*result.Case{}, v.Cases...), &result.Case{Lane: text.Draw(t, "lane"), Reason: text.Draw(t, "reason"), Fill: text.Draw(t, "fill")})
			row.Verification = &v
			r.Rows = append(r.Rows, &row)
		}
		if f := flaw(Markdown(r)); f != "" {
			t.Fatal(f)
		}
	})
}

// What is true of several kernels alike, such as that nobody knows their answers, is said once.
func TestFuzzWithoutOraclesSaysItOnce(t *testing.T) {
	var rows []*result.Row
	for _, name := range []string{"blur", "dot", "scale", "norm"} {
		row := fuzzRow(name, "")
		row.Fault = &result.Fault{Stage: "verify", Cause: result.CauseNoOracle, Message: "there is no oracle", Hint: "add one"}
		rows = append(rows, row)
	}
	r := fuzzOf(rows...)
	for name, text := range map[string]string{"text": checkedText(t, r, term.Style{}), "markdown": Markdown(r), "page": pageOf(t, r)} {
		if strings.Count(text, "there is no oracle") != 1 || strings.Count(text, "add one") != 1 || !strings.Contains(text, "blur, dot, scale and 1 more") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A kernel that writes nothing to an output is told what to look at, by its language.
func TestFuzzOfAnOutputThatNobodyWrites(t *testing.T) {
	for cell, hint := range map[string]string{
		"python": "a parameter of an output's name is to be written to; without one the returned value is taken",
		"host":   "the kernel writes nothing to out: check its role in pawl.yaml, and the order of the arguments",
	} {
		row := fuzzRow("k", "built-in sum", failing(caseOf("matrix", "N=8", 1, 1, 1), 8, result.Element{Index: []int64{1}, Got: "NaN", Want: "2"}, nil))
		row.Cell = cell
		o := &row.Verification.Cases[0].Outputs[0]
		for blank, told := range map[int64]bool{o.Count: true, o.Count - 1: false, 0: false} {
			o.Blank = blank
			if text := checkedText(t, fuzzOf(tally2(row)), term.Style{}); strings.Contains(text, "hint: "+hint) != told {
				t.Errorf("%s, %d of %d:\n%s", cell, blank, o.Count, text)
			}
		}
	}
}
