package check

import (
	"reflect"
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// planned returns the row k/c with what it plays against, before anything is built.
func (p *project) planned() *planned {
	p.t.Helper()
	c := &check{
		Spec: p.load(), report: &result.Report{}, store: ratchet.Open(p.dir), trees: map[string]*version{},
		baselines: map[string]baselines{},
	}
	p.t.Cleanup(c.closeTrees)
	if err := c.findBase(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	if err := c.loadBaseline(p.t.Context(), class); err != nil {
		p.t.Fatal(err)
	}
	k := c.Spec.Kernels[0]
	return c.planRow(p.t.Context(), k, k.Configs[0], class)
}

const plainInput = "{name: in, dtype: f32, shape: [N]}"

// All versions play on the same data for arguments of the same name: the base's or, where there is
// none, the change's.
func TestAllPlayOnTheSameData(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestDataOfTheBase shows it too")
	}
	t.Parallel()
	early, late, own := "{name: in, dtype: f32, shape: [N], init: {uniform: [0, 0.1]}}", "{name: in, dtype: f32, shape: [N], init: {uniform: [0.9, 1]}}",
		"{name: in, dtype: f32, shape: [N], init: {constant: 3}}"
	renamed := "{name: x, dtype: f32, shape: [N], init: {constant: 3}}"
	first := spec.Init{Kind: "uniform", Args: []float64{0, 0.1}}
	uniform, constant := spec.Init{Kind: "uniform", Args: []float64{0.9, 1}}, spec.Init{Kind: "constant", Args: []float64{3}}
	for name, test := range map[string]struct {
		base, change string
		orphan       bool // the change has no base
		warns        bool
		want         spec.Init
		best         *spec.Init // nil: as the candidate
	}{
		"the base's has moved on":             {base: late, change: late, want: uniform},
		"the change has its own":              {base: late, change: own, warns: true, want: uniform},
		"the change has another in its place": {base: late, change: renamed, want: constant, best: &uniform},
		"the base has none":                   {base: plainInput, change: own, warns: true},
		"there is no base":                    {base: late, change: own, orphan: true, want: constant},
		"there is no base, and a new name":    {base: late, change: renamed, orphan: true, want: constant, best: &first},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.replace("pawl.yaml", plainInput, early)
			p.replace("pawl.yaml", "oracle: {elementwise: in}\n", "")
			p.commit("early data")
			p.accept("nobody knows its answers")
			p.replace("pawl.yaml", early, test.base)
			p.kernel("k", 510)
			p.commit("later data")
			if test.orphan {
				p.git("branch", "--quiet", "-M", "before")
				p.git("checkout", "--quiet", "--orphan", "anew")
			}
			if test.base != test.change {
				p.replace("pawl.yaml", test.base, test.change)
			}
			p.kernel("k", 520)
			p.commit("change")
			x := p.planned()
			best := x.versions.best
			if (x.versions.base == nil) != test.orphan || best == nil || best.job == nil {
				t.Fatalf("base %+v, best %+v", x.versions.base, best)
			}
			if got := x.candidate.Instance.Args[0].Init; !reflect.DeepEqual(got, test.want) {
				t.Errorf("candidate has %+v, want %+v", got, test.want)
			}
			if test.best == nil {
				test.best = &test.want
			}
			if got := best.job.Instance.Args[0].Init; !reflect.DeepEqual(got, *test.best) {
				t.Errorf("best has %+v, want %+v", got, *test.best)
			}
			if test.warns != (len(x.planNotes) > 0) || len(best.job.Record.Warnings) > 0 {
				t.Errorf("warnings %+v, of the best %+v", x.planNotes, best.job.Record.Warnings)
			}
		})
	}
}

// Where the base's values mean nothing to the candidate any more, a version with other sizes is not
// compared: a change does not get faster by making its problem smaller.
func TestOtherSizesAreNotCompared(t *testing.T) {
	t.Parallel()
	for m, want := range map[string]result.Verdict{"32": result.Improvement, "16": result.Incomparable} {
		t.Run("M is "+m, func(t *testing.T) {
			if testing.Short() && want != result.Incomparable {
				t.Skip("long: run by make long")
			}
			p := newBaselined(t)
			p.spec("configs: {c: {M: "+m+"}}\n", strings.NewReplacer("N]", "2 * M]", "value: N", "value: 2 * M").Replace(entry("k")))
			p.kernel("k", 250)
			p.commit("another variable")
			row := rowOf(t, p.check(), "k/c")
			mustBe(t, row, want)
			if side := sideOf(t, row, result.Base); want == result.Incomparable && (len(side.Reason) != 1 || !strings.Contains(side.Reason[0], "different problem")) {
				t.Errorf("%+v", side)
			}
			if m := rowOf(t, p.check(update), "k/c").Moved; want == result.Incomparable && (m == nil || m.Done || !strings.HasSuffix(m.Refused, "solved a different problem") || strings.Contains(m.Hint, "run pawl check again")) {
				t.Errorf("%+v", m)
			}
		})
	}
}
