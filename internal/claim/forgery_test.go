package claim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/judge"
	"pawl/internal/result"
)

// Whatever a report claims, its samples and the base decide.
func TestForgeries(t *testing.T) {
	for name, test := range map[string]struct {
		slower float64
		change func(*result.Report, *Options)
		want   string
	}{
		"a verdict": {1.2, func(r *result.Report, _ *Options) {
			r.Rows[0].Verdict, r.Rows[0].Reasons = result.Maintained, nil
			r.Outcome = judge.Outcome(r)
		}, `it claims "maintained", but it is "regression"`},
		"a change": {1.2, func(r *result.Report, _ *Options) {
			c := r.Rows[0].Sides[0].Change
			c.Median, c.Low, c.High = 0.001, 0, 0.002
			r.Rows[0].Verdict = result.Maintained
			r.Outcome = judge.Outcome(r)
		}, "against the base version: it claims +0.1%"},
		"samples, without the rest": {1.2, func(r *result.Report, _ *Options) {
			r.Rows[0].Timing.Samples.Seconds = slices.Clone(r.Rows[0].Sides[0].Row.Timing.Samples.Seconds)
			r.Rows[0].Verdict = result.Maintained
			r.Outcome = judge.Outcome(r)
		}, "the report contradicts its own samples: it claims a median of"},
		"an outcome": {1.2, func(r *result.Report, _ *Options) { r.Outcome = &result.Outcome{Result: result.Passed} }, "the report contradicts its own rows: it claims passed, but it is failed"},
		"no outcome": {1, func(r *result.Report, _ *Options) { r.Outcome = nil }, "no outcome"},
		"a gate": {1.2, func(r *result.Report, _ *Options) {
			r.Gate.Regression = 0.5
			r.Rows[0].Verdict = result.Maintained
			r.Outcome = judge.Outcome(r)
		}, "a gate that is not the base's: it claims 50.0% slower"},
		"accepted": {1.2, func(r *result.Report, _ *Options) {
			r.Rows[0].Reasons = append(r.Rows[0].Reasons, result.Accepted)
			r.Outcome = judge.Outcome(r)
		}, "it claims passed, but it is failed"},
		"no base": {1.2, func(r *result.Report, _ *Options) {
			row := r.Rows[0]
			row.Sides, row.Play, row.Verdict, row.Reasons = nil, nil, result.New, []result.Reason{result.NoBaseline}
			r.Outcome = judge.Outcome(r)
		}, "the row has no base version"},
		"the same code, but measured": {1.2, func(r *result.Report, _ *Options) {
			r.Rows[0].Identity, r.Rows[0].Verdict = "old", result.Unchanged
			r.Outcome = judge.Outcome(r)
		}, "is the same code, and was measured"},
		"a base of another commit": {1, func(r *result.Report, _ *Options) { r.Rows[0].Sides[0].Commit = testHead }, "the base version is of another commit"},
		"no record":                {1, func(r *result.Report, _ *Options) { r.Rows[0].Play = nil }, "does not say which samples were compared"},
		"half a record":            {1.2, func(r *result.Report, _ *Options) { r.Rows[0].Play.Cells = r.Rows[0].Play.Cells[:4] }, "not every sample that counts was compared"},
		"an impossible record":     {1, func(r *result.Report, _ *Options) { r.Rows[0].Play.Cells[0].Rounds = 1000 }, "the record of its turns is impossible"},
		"a narrow interval":        {1, func(r *result.Report, _ *Options) { r.Rows[0].Play.Floor = 0 }, "narrower than a duet can be"},
		"a missing row": {1, func(r *result.Report, o *Options) {
			o.Base = parsed(t, strings.Replace(testSpec, "configs: {c: {N: 65536}}", "configs: {c: {N: 65536}, d: {N: 2}}", 1))
		}, "k/d: the base's pawl.yaml has this row, but the report does not"},
		"an unknown row":         {1, func(r *result.Report, _ *Options) { r.Rows[0].Kernel = "<script>alert(1)</script>" }, "neither the base's pawl.yaml nor the change's has this row"},
		"no rows":                {1, func(r *result.Report, _ *Options) { r.Rows = nil }, "k/c: the base's pawl.yaml has this row"},
		"wrong answers":          {1, func(r *result.Report, _ *Options) { r.Rows[0].Verification.Cases[0].Outputs[0].Wrong = 3 }, `it claims "maintained", but it is "incorrect"`},
		"wrong answers, counted": {1, func(r *result.Report, _ *Options) { r.Rows[0].Verification.Failed = 1 }, `it claims "maintained", but it is "incorrect"`},
		"a cheat": {1, func(r *result.Report, _ *Options) {
			r.Rows[0].Verification.Findings = []result.Finding{{Exploit: "no-op", Severity: result.Cheated}}
		}, `it claims "maintained", but it is "rejected"`},
		"a cheat, not named": {1, func(r *result.Report, _ *Options) { r.Rows[0].Verification.Integrity = result.Cheated }, `it claims "maintained", but it is "rejected"`},
		"a count":            {1, func(r *result.Report, _ *Options) { r.Rows[0].Timing.Stats.Count = 7 }, "from 7 samples"},
		"a removed kernel": {1, func(r *result.Report, o *Options) {
			o.Trust, o.Head = Claimed, parsed(t, strings.ReplaceAll(testSpec, "  k:\n", "  other:\n"))
			r.Rows = nil
		}, "this change removes the kernel"},
	} {
		t.Run(name, func(t *testing.T) {
			report, opts := honest(t, 1, test.slower), options(t)
			test.change(report, &opts)
			got, err := admitted(t, report, opts)
			if err != nil {
				t.Fatal(err)
			}
			if said := fmt.Sprint(got.Contradictions); got.Conclusion() != Failure || got.Outcome.Result != result.Failed || !strings.Contains(said, test.want) {
				t.Errorf("%s, %+v, %v; want %s", got.Conclusion(), got.Outcome, said, test.want)
			}
		})
	}
}

// No single change of a failing report makes it pass.
func TestNoSingleForgeryPasses(t *testing.T) {
	for name, kind := range kinds {
		if kind.ending != result.Failed {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(honest(t, 5, kind.slower, kind.change...))
			if err != nil {
				t.Fatal(err)
			}
			opts := options(t)
			opts.Report = filepath.Join(t.TempDir(), "report.json")
			tried, places := 0, 0
			mutate(t, raw, func(place string, forged []byte) {
				if places++; testing.Short() && places%5 != 0 {
					return
				}
				tried++
				if err := os.WriteFile(opts.Report, forged, 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := Admit(t.Context(), opts)
				if err == nil && got.Conclusion() != Failure {
					t.Errorf("%s: %s, %+v", place, got.Conclusion(), got.Outcome)
				}
			})
			t.Logf("%d forgeries of %d", tried, places)
			if places < 300 || tried < places/5 {
				t.Errorf("only %d forgeries of %d were tried", tried, places)
			}
		})
	}
}

// mutate changes every value of a document in turn, each in several ways. Of long lists it takes some
// places.
func mutate(t *testing.T, raw []byte, try func(place string, forged []byte)) {
	t.Helper()
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	words := []any{"", "x", "maintained", "unchanged", "passed", "clean", "best", "old", "accepted", "interrupted"}
	emit := func(place string) {
		forged, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		try(place, forged)
	}
	var walk func(place string, v any, set func(any))
	walk = func(place string, v any, set func(any)) {
		var others []any
		switch v := v.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(place+"."+key, inner, func(by any) { v[key] = by })
				delete(v, key)
				emit(place + "." + key + " deleted")
				v[key] = inner
			}
			return
		case []any:
			every := max(1, len(v)/4)
			for i := 0; i < len(v); i += every {
				walk(fmt.Sprintf("%s[%d]", place, i), v[i], func(by any) { v[i] = by })
				set(slices.Delete(slices.Clone(v), i, i+1))
				emit(fmt.Sprintf("%s[%d] deleted", place, i))
				set(v)
			}
			set([]any{})
			emit(place + " emptied")
			set(v)
			return
		case float64:
			others = []any{0, -1, 1, v / 2, v * 0.8, 1e9}
		case bool:
			others = []any{!v}
		case string:
			others = words
		}
		for _, other := range append(others, nil) {
			set(other)
			emit(fmt.Sprintf("%s = %v", place, other))
		}
		set(v)
	}
	walk("", root, func(by any) { root = by })
}

// No report makes Admit panic, and none that fails is turned into a success.
func FuzzAdmit(f *testing.F) {
	for _, name := range []string{"slower", "wrong", "as fast"} {
		raw, err := json.Marshal(honest(f, 7, kinds[name].slower, kinds[name].change...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	opts := options(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		opts := opts
		opts.Report = filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(opts.Report, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Admit(t.Context(), opts)
		if err == nil && got.Conclusion() == Success && slices.ContainsFunc(got.Report.Rows, func(r *result.Row) bool { return r.Verdict == result.Regression || r.Verdict == result.Incorrect }) {
			t.Fatalf("%+v", got.Outcome)
		}
	})
}
