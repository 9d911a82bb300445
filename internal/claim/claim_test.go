package claim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const (
	testBase = "1111111111111111111111111111111111111111"
	testHead = "2222222222222222222222222222222222222222"
)

const testSpec = `version: 1
device_class: test-device
kernels:
  k:
    source: k.c
    entry: k
    args:
      - {name: in, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
    oracle: {elementwise: in}
    tolerance: {atol: 0.001, rtol: 0.001}
    work: {flops: N, bytes: 8 * N}
configs: {c: {N: 65536}}
`

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func parsed(t testing.TB, text string) *spec.Spec {
	t.Helper()
	dir := t.TempDir()
	s, err := spec.Parse(filepath.Join(dir, "pawl.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// timed makes samples around a time: warm-up first, then what counts.
func timed(r *rand.Rand, seconds float64, count int) *result.Timing {
	t := &result.Timing{Repeat: 1, WallS: 10, Samples: result.Samples{Dropped: []result.Drop{{From: 0, To: 5, Cause: "warm-up"}}}}
	for range 5 + count {
		t.Samples.Seconds = append(t.Samples.Seconds, math.Round(1e9*seconds*math.Exp(0.01*r.NormFloat64()))/1e9)
	}
	t.Stats = measure.StatsOf(t.Samples)
	return t
}

// honest makes the report of a check: kernel k takes so many times as long as its base.
func honest(t testing.TB, seed uint64, slower float64, change ...func(*result.Row)) *result.Report {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	const cells, rounds = 8, 4
	row := &result.Row{
		Kernel: "k", Config: "c", Cell: spec.CellHost, Class: "test-device", Identity: "new",
		Timing: timed(r, 100e-6*slower, cells*rounds*4), Play: &result.Play{Sides: []result.Role{result.Base}, Shared: true, Floor: measure.DefaultFloor},
		Verification: &result.Verification{
			Oracle: "elementwise", Integrity: result.Clean, Passed: 1,
			Cases: []*result.Case{{Lane: "config", Outputs: []result.OutputError{{Name: "out", Count: 65536, Atol: 0.001, Rtol: 0.001}}}},
		},
	}
	base := &result.Row{Kernel: "k", Config: "c", Cell: spec.CellHost, Identity: "old", Timing: timed(r, 100e-6, cells*rounds*4)}
	row.Sides = []*result.Side{{Role: result.Base, Commit: testBase, Row: base}}
	for i := range cells {
		from := 5 + i*rounds*4
		row.Play.Cells = append(row.Play.Cells, result.PlayCell{Set: i / 4, From: []int{from, from}, Rounds: rounds})
	}
	played, err := measure.Replay(row, measure.Default().HalfWidth)
	if err != nil {
		t.Fatal(err)
	}
	row.Sides[0].Change = played.Changes[result.Base]
	row.Sides[0].Change.Stopped = "width"
	for _, c := range change {
		c(row)
	}
	v := row.Verification
	row.Verdict, row.Reasons = judge.Verdict(judge.Case{
		Gate: spec.DefaultGate, Fault: row.Fault, Incorrect: v != nil && v.Failed > 0 && row.Fault == nil,
		Base: &judge.Opponent{Change: row.Sides[0].Change, Median: base.Timing.Median(), Same: row.Identity == base.Identity},
	})
	report := &result.Report{
		Schema: result.Schema, Kind: result.KindCheck, ID: "1", Started: testNow.Add(-time.Minute), Finished: testNow,
		Commit: &result.Commit{SHA: testHead}, Base: &result.BaseRef{Ref: "main", SHA: testBase}, DeviceClass: "test-device",
		Method: measure.Default().Method(), Gate: &result.Gate{Regression: 0.03, Improvement: 0.05}, Rows: []*result.Row{row},
	}
	report.Outcome = judge.Outcome(report)
	return report
}

func wrong(row *result.Row) {
	v := row.Verification
	v.Passed, v.Failed = 0, 1
	v.Cases[0].Reason, v.Cases[0].Outputs[0].Wrong = "12 of 65536 elements are wrong", 12
	row.Timing, row.Play, row.Sides[0].Change, row.Sides[0].Row.Timing = nil, nil, nil, nil
}

func broken(row *result.Row) {
	row.Fault = &result.Fault{Stage: "measure", Cause: result.CauseCrash, Message: "it crashed"}
}

func caught(row *result.Row) {
	row.Verification.Suspect(result.Finding{Exploit: "timed-only", Severity: result.Cheated, Message: "it is wrong when it is timed"})
	row.Fault = row.Verification.Convict()
}

func unchanged(row *result.Row) {
	row.Identity = "old"
	row.Timing, row.Play, row.Sides[0].Change, row.Sides[0].Row.Timing, row.Verification = nil, nil, nil, nil, nil
}

// options are those of a trusted job.
func options(t testing.TB) Options {
	t.Helper()
	base := parsed(t, testSpec)
	return Options{Base: base, Head: base, BaseSHA: testBase, HeadSHA: testHead, Trust: Approved, Strict: true, Now: testNow.Add(time.Minute)}
}

func saved(t testing.TB, r *result.Report) string {
	t.Helper()
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func admitted(t testing.TB, r *result.Report, opts Options) (*Admitted, error) {
	t.Helper()
	opts.Report = saved(t, r)
	return Admit(t.Context(), opts)
}

var kinds = map[string]struct {
	slower float64
	change []func(*result.Row)
	want   result.Verdict
	ending result.Ending
}{
	"slower":    {1.2, nil, result.Regression, result.Failed},
	"faster":    {0.8, nil, result.Improvement, result.Passed},
	"as fast":   {1, nil, result.Maintained, result.Passed},
	"wrong":     {1, []func(*result.Row){wrong}, result.Incorrect, result.Failed},
	"broken":    {1, []func(*result.Row){broken}, result.Broken, result.Failed},
	"caught":    {1, []func(*result.Row){caught}, result.Rejected, result.Failed},
	"unchanged": {1, []func(*result.Row){unchanged}, result.Unchanged, result.Passed},
}

func TestHonestReportsAreAdmitted(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			report := honest(t, 1, kind.slower, kind.change...)
			got, err := admitted(t, report, options(t))
			if err != nil {
				t.Fatal(err)
			}
			row := got.Report.Rows[0]
			if report.Rows[0].Verdict != kind.want || row.Verdict != kind.want || got.Outcome.Result != kind.ending || len(got.Contradictions) > 0 || got.Outcome.Suspicious > 0 {
				t.Errorf("%s, then %s, %+v, %v, %+v", report.Rows[0].Verdict, row.Verdict, got.Outcome, got.Contradictions, row.Verification)
			}
		})
	}
}

func TestConclusion(t *testing.T) {
	for trust, want := range map[Trust][2]Conclusion{Claimed: {Neutral, Failure}, Approved: {Success, Failure}, Own: {Success, Failure}} {
		for i, slower := range []float64{1, 1.2} {
			opts := options(t)
			opts.Trust = trust
			got, err := admitted(t, honest(t, 1, slower), opts)
			if err != nil {
				t.Fatal(err)
			}
			if got.Conclusion() != want[i] || got.Trust != trust {
				t.Errorf("%s, %v times as long: %s, want %s", trust, slower, got.Conclusion(), want[i])
			}
		}
	}
}

// A report about something else is not used.
func TestRefusedSubjects(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*result.Report, *Options)
		want   string
	}{
		"another commit":  {func(r *result.Report, _ *Options) { r.Commit.SHA = testBase }, "the report is about commit"},
		"no commit":       {func(r *result.Report, _ *Options) { r.Commit = nil }, "commit none"},
		"a dirty tree":    {func(r *result.Report, _ *Options) { r.Commit.Dirty = true }, "not in it"},
		"another base":    {func(r *result.Report, _ *Options) { r.Base.SHA = testHead }, "compares with base"},
		"no base":         {func(r *result.Report, _ *Options) { r.Base = nil }, "compares with base none"},
		"another class":   {func(r *result.Report, _ *Options) { r.Rows[0].Class = "toaster" }, `device class "toaster"; expected test-device`},
		"class asked for": {func(_ *result.Report, o *Options) { o.Classes = []string{"h200"} }, "expected h200"},
		"another schema":  {func(r *result.Report, _ *Options) { r.Schema = 2 }, "schema 2"},
		"an id of lines":  {func(r *result.Report, _ *Options) { r.ID = "1\n\nCloses #1" }, "id: expected the letters"},
		"a bench":         {func(r *result.Report, _ *Options) { r.Kind = result.KindBench }, "the report of a check"},
		"hot caches":      {func(r *result.Report, _ *Options) { r.Method.Cache = "hot" }, "expected cold"},
		"a wide interval": {func(r *result.Report, _ *Options) { r.Method.HalfWidth = 1 }, "half_width"},
		"from the future": {func(r *result.Report, _ *Options) { r.Finished = testNow.Add(time.Hour) }, "finished: the time 2026-01-02T04:04:05Z is in the future"},
		"a later history": {func(r *result.Report, _ *Options) {
			r.Rows[0].History = []result.HistoryPoint{{Time: testNow.Add(time.Hour)}}
		}, "rows[0].history[0].time"},
		"backwards":       {func(r *result.Report, _ *Options) { r.Finished = r.Started.Add(-time.Second) }, "the run ends at"},
		"a row twice":     {func(r *result.Report, _ *Options) { r.Rows = append(r.Rows, r.Rows[0]) }, "rows[1]: the row \"k/c\" is there twice"},
		"a side twice":    {func(r *result.Report, _ *Options) { r.Rows[0].Sides = append(r.Rows[0].Sides, r.Rows[0].Sides[0]) }, "rows[0].sides[1].role: the side base is there twice"},
		"an unknown side": {func(r *result.Report, _ *Options) { r.Rows[0].Sides[0].Role = "other" }, "expected base or best"},
		"sides of sides": {func(r *result.Report, _ *Options) {
			r.Rows[0].Sides[0].Row.Sides = r.Rows[0].Sides[:0:0]
			r.Rows[0].Sides[0].Row.Sides = []*result.Side{{Role: result.Base}}
		}, "no sides of its own"},
		"rivals":        {func(r *result.Report, _ *Options) { r.Rows[0].Rivals = []*result.Rival{{Row: &result.Row{}}} }, "no rivals"},
		"negative":      {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Samples.Seconds[7] = -1 }, "rows[0].timing.samples.seconds[7]: a sample of -1 s"},
		"zero":          {func(r *result.Report, _ *Options) { r.Rows[0].Sides[0].Row.Timing.Samples.Seconds[7] = 0 }, "rows[0].sides[0].row.timing.samples.seconds[7]: a sample of 0 s"},
		"denormal":      {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Samples.Seconds[7] = 5e-324 }, "a sample of 5e-324 s"},
		"huge":          {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Samples.Seconds[7] = 1e300 }, "a sample of 1e+300 s"},
		"clocks":        {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Samples.GHz = []float64{1} }, "1 clocks of 133 samples"},
		"new data":      {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Samples.Fresh = []result.Fresh{{At: 133}} }, "fresh[0].at: sample 133 of 133"},
		"repeat":        {func(r *result.Report, _ *Options) { r.Rows[0].Timing.Repeat = 0 }, "rows[0].timing.repeat"},
		"unknown trust": {func(_ *result.Report, o *Options) { o.Trust = "" }, "expected claimed, approved or own"},
	} {
		t.Run(name, func(t *testing.T) {
			report, opts := honest(t, 1, 1), options(t)
			test.change(report, &opts)
			if _, err := admitted(t, report, opts); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// Only what the run was asked for must be there.
func TestPatterns(t *testing.T) {
	for patterns, missing := range map[string]string{"k/c": "", "k/c new": "", "new": "", "k": "k/d", "k/d": "k/d", "new k/d": "k/d", "": "k/d"} {
		opts := options(t)
		opts.Base = parsed(t, strings.Replace(testSpec, "configs: {c: {N: 65536}}", "configs: {c: {N: 65536}, d: {N: 2}}", 1))
		opts.Patterns = strings.Fields(patterns)
		got, err := admitted(t, honest(t, 1, 1), opts)
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(got.Contradictions); (missing == "") != (len(got.Contradictions) == 0) || !strings.Contains(said, missing) {
			t.Errorf("%q: %s, want %q", patterns, said, missing)
		}
	}
}

func TestLoosened(t *testing.T) {
	for name, test := range map[string]struct{ old, by, want string }{
		"gate":      {"configs:", "gate: {regression: 50%}\nconfigs:", "gate.regression: 3.0% becomes 50.0%"},
		"tolerance": {"rtol: 0.001", "rtol: 0.5", "tolerance of k: atol 0.001, rtol 0.001 becomes atol 0.001, rtol 0.5"},
		"oracle":    {"elementwise: in", "elementwise: in + 1", `oracle of k: elementwise "in" becomes elementwise "in + 1"`},
		"config":    {"c: {N: 65536}", "d: {N: 65536}", "config k/c is removed"},
		"values":    {"N: 65536", "N: 2", "config k/c has other values"},
		"class":     {"test-device", "toaster", `device_class: "test-device" becomes "toaster"`},
		"kernel":    {"  k:\n", "  other:\n", "kernel k is removed"},
		"same bits": {"entry: k", "entry: k\n    deterministic: false", "k is no longer deterministic"},
		"data":      {"shape: [N]}", "shape: [N], init: zero}", "argument in of k is filled differently"},
		"work":      {"bytes: 8 * N", "bytes: N", "work of k changes"},
		"nothing":   {"version: 1", "version: 1 # one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(t)
			opts.Head = parsed(t, strings.Replace(testSpec, test.old, test.by, 1))
			got, err := admitted(t, honest(t, 1, 1), opts)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got.Loosened, "; ") != test.want {
				t.Errorf("got %q, want %q", got.Loosened, test.want)
			}
		})
	}
}

func TestNamesAreDisarmed(t *testing.T) {
	report := honest(t, 1, 1)
	report.Rows[0].Log = "line\n\x1b]0;title\a\u202edone"
	report.Rows[0].Vars = map[string]string{"N\x1b": "1\r"}
	report.Commit.SHA = testHead
	got, err := admitted(t, report, options(t))
	if err != nil {
		t.Fatal(err)
	}
	row := got.Report.Rows[0]
	if row.Log != "line\n\uFFFD]0;title\uFFFD\uFFFDdone" || len(row.Vars) != 1 || row.Vars["N\uFFFD"] != "1\uFFFD" {
		t.Errorf("%q %q", row.Log, row.Vars)
	}
}
