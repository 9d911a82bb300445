package claim

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat/rounds"
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

// Rows that nobody can have measured are suspicious, and so are those whose clocks say so.
func TestImplausible(t *testing.T) {
	copy1 := func(by float64) func(*result.Row) {
		return func(row *result.Row) {
			base := row.Sides[0].Row.Timing
			for i := range base.Samples.Seconds {
				row.Timing.Samples.Seconds[i] = base.Samples.Seconds[i] * by
			}
			restated(t, row)
		}
	}
	for name, test := range map[string]struct {
		change func(*result.Row)
		report func(*result.Report, *Options)
		want   string
	}{
		"copied":         {copy1(1), nil, "the same samples in the same order"},
		"copied, scaled": {copy1(0.9), nil, "the same samples in the same order"},
		"a part": {func(row *result.Row) {
			copy(row.Timing.Samples.Seconds[80:120], row.Sides[0].Row.Timing.Samples.Seconds[20:60])
			restated(t, row)
		}, nil, "the same samples in the same order"},
		"repeated": {func(row *result.Row) {
			copy(row.Timing.Samples.Seconds[80:120], row.Timing.Samples.Seconds[20:60])
			restated(t, row)
		}, nil, "the same samples in the same order"},
		"even": {func(row *result.Row) {
			for i := range row.Timing.Samples.Seconds {
				row.Timing.Samples.Seconds[i] = 1e-4
			}
			restated(t, row)
		}, nil, "no machine is that even"},
		"in no time":      {func(row *result.Row) { row.Timing.WallS = 1e-3 }, nil, "but it was measured for 1.00 ms"},
		"in no time, all": {nil, func(r *result.Report, _ *Options) { r.Started = r.Finished.Add(-10 * time.Millisecond) }, "all samples of the report add up to"},
		"at another time": {func(row *result.Row) { row.Timing.FirstSample = testNow.Add(-time.Hour) }, nil, "outside of the run"},
		"no answers":      {func(row *result.Row) { row.Verification = nil }, nil, "no answer was verified"},
		"loose answers":   {func(row *result.Row) { row.Verification.Cases[0].Outputs[0].Rtol = 0.5 }, nil, "rtol 0.5; the base's pawl.yaml has"},
		"clock": {func(row *result.Row) {
			row.Timing.Clock = &result.ClockCheck{ClaimedS: 1e-4, MeanS: 1e-3, WorkerS: 1e-3}
		}, nil, "a few launches take far longer"},
		"over the roof": {nil, func(r *result.Report, o *Options) {
			o.Peaks = t.TempDir()
			text := `{"schema": 1, "device_class": "test-device", "cell": "host", "peaks": [{"name": "dram", "rate": 1, "unit": "GB/s"}]}`
			if err := os.WriteFile(filepath.Join(o.Peaks, "test-device.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "of the roof: the kernel would do 5.2"},
	} {
		t.Run(name, func(t *testing.T) {
			change := test.change
			if change == nil {
				change = func(*result.Row) {}
			}
			report, opts := honest(t, 2, 1, change), options(t)
			if test.report != nil {
				test.report(report, &opts)
			}
			got, err := admitted(t, report, opts)
			if err != nil {
				t.Fatal(err)
			}
			v := got.Report.Rows[0].Verification
			if got.Outcome.Suspicious != 1 || got.Conclusion() == Success || len(got.Contradictions) > 0 || v == nil || !strings.Contains(fmt.Sprint(v.Findings), test.want) {
				t.Errorf("%s, %+v, %v, %+v; want %s", got.Conclusion(), got.Outcome, got.Contradictions, v, test.want)
			}
		})
	}
}

// restated makes a row consistent with its samples, as a careful forger would.
func restated(t *testing.T, row *result.Row) {
	t.Helper()
	row.Timing.Stats = measure.StatsOf(row.Timing.Samples)
	played, err := measure.Replay(row, measure.Default().HalfWidth)
	if err != nil {
		t.Fatal(err)
	}
	row.Sides[0].Change = played.Changes[result.Base]
}

// Measured samples are not taken for copies, even by a clock that gives a handful of values.
func TestHonestSamplesAreNotCopies(t *testing.T) {
	for _, resolution := range []float64{1e-9, 1e-7, 1e-6, 3e-6} {
		r := rand.New(rand.NewPCG(3, 4))
		var all []*series
		for range 40 {
			one := timed(r, 100e-6, 2000)
			drift := 0.0
			for i := range one.Samples.Seconds { // neighbours are alike
				drift = 0.95*drift + 0.003*r.NormFloat64()
				one.Samples.Seconds[i] = math.Round(one.Samples.Seconds[i]*math.Exp(drift)/resolution) * resolution
			}
			all = append(all, &series{row: &result.Row{Kernel: "k"}, timing: one})
		}
		if i := slices.IndexFunc(copied(all), func(s *series) bool { return s != nil }); i >= 0 {
			t.Errorf("resolution %g s: series %d looks copied", resolution, i)
		}
	}
}

// Nor are those of a GPU: rounds on an H200, all in one report.
func TestRoundsOfAGPUAreNotCopies(t *testing.T) {
	r := rounds.Read(t)
	var all []*series
	add := func(ms []float64) {
		one := &result.Timing{}
		for _, v := range ms {
			one.Samples.Seconds = append(one.Samples.Seconds, v/1e3)
		}
		if distinct(one.Samples.Seconds) == 1 {
			t.Errorf("%d samples of a GPU are equal", len(ms))
		}
		all = append(all, &series{row: &result.Row{Kernel: "k"}, timing: one})
	}
	for _, some := range [][]rounds.Series{r.Small, r.Big, r.CopyA, r.CopyB} {
		for _, one := range some {
			add(one.MS)
		}
	}
	for _, some := range [][]rounds.Duet{r.Copy, r.SameBig} {
		for _, one := range some {
			add(one.A)
			add(one.B)
		}
	}
	if i := slices.IndexFunc(copied(all), func(s *series) bool { return s != nil }); i >= 0 || len(all) < 100 {
		t.Errorf("series %d of %d looks copied", i, len(all))
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
