package selftest

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/check"
	"pawl/internal/fuzz"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
)

//go:embed corpus
var corpus embed.FS

// Options are the options of a selftest.
type Options struct {
	Only    []string // kinds of cells, or kind/kernel with * for anything; none: all
	Lab     lab.Options
	Timeout time.Duration // of one launch
}

// Default returns the options of a plain `pawl selftest`.
func Default() Options {
	return Options{Lab: lab.Options{Peaks: roof.Folder()}, Timeout: 20 * time.Second}
}

// selftest is a run in progress.
type selftest struct {
	Options
	run    *run.Run
	report *result.Report
	folder string
}

// Run puts the corpus through check and fuzz, as users' kernels are, and compares the outcomes with
// the required ones. It creates the folder and removes it.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	folder, err := os.MkdirTemp("", "pawl-selftest-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the corpus: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := &selftest{Options: opts, run: r, folder: folder, report: r.NewReport(ctx, result.Method{Seed: r.Seed})}
	s.report.Selftest = &result.Selftest{Seed: r.Seed}
	for _, kind := range everywhere {
		if err := s.kind(ctx, kind); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	r.Finish(ctx, s.report, 0)
	return s.report, nil
}

// unpack writes one kind's folder of the corpus.
func (s *selftest) unpack(kind string) (string, error) {
	to := filepath.Join(s.folder, kind)
	files, err := fs.Sub(corpus, "corpus/"+kind)
	if err == nil {
		err = os.CopyFS(to, files)
	}
	return to, err
}

// kind tries everything of one cell kind.
func (s *selftest) kind(ctx context.Context, kind string) error {
	subjects := slices.DeleteFunc(Subjects(), func(one Subject) bool { return one.Kind != kind || !wanted(s.Only, kind, one.Kernel) })
	mutants := slices.DeleteFunc(Mutants(), func(m Mutant) bool { return m.Kind != kind || !wanted(s.Only, kind, m.Kernel) })
	if len(subjects)+len(mutants) == 0 {
		return nil
	}
	dir, err := s.unpack(kind)
	if err != nil {
		return err
	}
	if len(subjects) > 0 {
		if err := commit(ctx, dir, kind); err != nil {
			return err
		}
	}
	project, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		return err
	}
	if err := s.try(ctx, project, subjects); err != nil {
		return err
	}
	return s.mutants(ctx, project, mutants)
}

// wanted reports whether a kernel is among those asked for.
func wanted(only []string, kind, kernel string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(pattern string) bool {
		matches, _ := path.Match(pattern, kind+"/"+kernel)
		return pattern == kind || matches
	})
}

// Names returns all names that Options.Only may contain.
func Names() []string {
	var names []string
	for _, s := range Subjects() {
		names = append(names, s.Kind+"/"+s.Kernel)
	}
	for _, m := range Mutants() {
		names = append(names, m.Kind+"/"+m.Kernel)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Known reports whether a pattern of Options.Only matches anything.
func Known(pattern string) bool {
	return slices.ContainsFunc(Subjects(), func(s Subject) bool { return wanted([]string{pattern}, s.Kind, s.Kernel) }) ||
		slices.ContainsFunc(Mutants(), func(m Mutant) bool { return wanted([]string{pattern}, m.Kind, m.Kernel) })
}

// try checks the subjects, and fuzzes those that the check did not settle.
func (s *selftest) try(ctx context.Context, project *spec.Spec, subjects []Subject) error {
	if len(subjects) == 0 {
		return nil
	}
	short := func(patterns []string) (*result.Report, error) {
		return s.check(ctx, project, patterns, 100*time.Millisecond, shortVisit)
	}
	long := func(patterns []string) (*result.Report, error) { // as long in each cell as `pawl check`
		return s.check(ctx, project, patterns, 3*time.Second, 0)
	}
	tried := func(patterns []string) (*result.Report, error) { return s.fuzz(ctx, project, patterns) }
	reports := make([]*result.Report, 0, 4)
	for _, look := range []struct {
		at    func(patterns []string) (*result.Report, error)
		drawn bool // only for subjects that pass a check by chance
	}{{short, false}, {short, true}, {long, true}, {tried, false}} {
		patterns := unsettled(subjects, look.drawn, reports)
		if len(patterns) == 0 {
			continue
		}
		made, err := look.at(patterns)
		if err != nil {
			return err
		}
		reports = append(reports, made)
	}
	if checked := reports[0]; s.report.DeviceClass == "" || checked.Machine.GPU != nil {
		s.report.Machine, s.report.DeviceClass = checked.Machine, checked.DeviceClass
	}
	for _, subject := range subjects {
		s.judge(subject, evidenceOf(subject.Kernel, reports...))
	}
	return nil
}

// unsettled returns the kernels that reports have not settled.
func unsettled(subjects []Subject, drawn bool, reports []*result.Report) []string {
	var out []string
	for _, subject := range subjects {
		if e := evidenceOf(subject.Kernel, reports...); !e.enough(subject) && (!drawn || subject.Drawn && e.skipped == "") {
			out = append(out, subject.Kernel)
		}
	}
	return out
}

// enough reports whether a cheat has already been caught as required: further evidence could not
// clear it.
func (e *evidence) enough(subject Subject) bool {
	found := e.failed || e.suspicious && subject.Expect == Suspicious
	return subject.Expect != Pass && found && len(e.by(subject.By)) > 0
}

// shortVisit is long enough for cheats that begin late.
const shortVisit = 50 * time.Millisecond

// check plays the subjects against the honest kernels of the base, as `pawl check` does, but
// shorter.
func (s *selftest) check(ctx context.Context, project *spec.Spec, patterns []string, budget, visit time.Duration) (*result.Report, error) {
	opts := measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: visit}
	opts.Budget, opts.Timeout = budget, s.Timeout
	r, err := s.part(result.KindCheck, project, patterns)
	if err != nil {
		return nil, err
	}
	made, err := check.Run(ctx, r, check.Options{Duet: opts, Lab: s.Lab})
	s.run.Include(made)
	return made, err
}

func (s *selftest) fuzz(ctx context.Context, project *spec.Spec, patterns []string) (*result.Report, error) {
	r, err := s.part(result.KindFuzz, project, patterns)
	if err != nil {
		return nil, err
	}
	made, err := fuzz.Run(ctx, r, fuzz.Order{Lab: s.Lab, Timeout: s.Timeout, Brief: true})
	s.run.Include(made)
	return made, err
}

// part returns a run of another kind that is a part of the selftest. It has the same seed, and its
// events are the selftest's.
func (s *selftest) part(kind result.Kind, project *spec.Spec, patterns []string) (*run.Run, error) {
	return run.Prepare(kind, run.Request{
		Tool: s.run.Tool, Command: s.run.Command, Spec: project, Patterns: patterns, Seed: &s.run.Seed, Follow: s.run.Emit, Quiet: true,
	})
}

// evidence is everything that reports say of a kernel.
type evidence struct {
	names      []string // verdicts, causes, findings
	failed     bool     // it may not pass
	suspicious bool
	improves   bool     // it is an improvement, so that it may become the baseline
	verdict    string   // of the match with the honest kernel
	change     *float64 // in time against it: -0.3 is 30% less
	skipped    string   // why there is no evidence
	seconds    float64
	has        machine
}

func evidenceOf(kernel string, reports ...*result.Report) evidence {
	var e evidence
	for _, r := range reports {
		e.has.gpu = e.has.gpu || r.Machine.GPU != nil
		for _, row := range r.Rows {
			if row.Kernel == kernel {
				e.add(row)
			}
		}
	}
	return e
}

func (e *evidence) add(row *result.Row) {
	e.has.add(row)
	switch row.Verdict {
	case result.Incorrect, result.Rejected, result.Broken:
		e.failed = true
		e.name(string(row.Verdict))
	}
	if len(row.Sides) > 0 {
		e.verdict = string(row.Verdict)
		e.improves = e.improves || row.Verdict == result.Improvement
		if c := row.Sides[0].Change; c != nil && (e.change == nil || c.Median < *e.change) {
			e.change = &c.Median
		}
	}
	if f := row.Fault; f != nil {
		if row.Verdict == "" {
			e.skipped = f.Message
		}
		e.name(string(f.Cause))
		e.nameIf(strings.Contains(f.Message, tampered), tampered)
		e.nameIf(strings.Contains(f.Message, clocks), clocks)
		e.nameIf(f.Cause == result.CauseOutput && strings.Contains(f.Message, "changed its input"), input)
	}
	attempted := row.Sandbox != nil && len(row.Sandbox.Attempts) > 0
	elsewhere := row.Timing != nil && row.Timing.OtherStreams
	e.nameIf(attempted, attempts)
	e.nameIf(elsewhere, stream)
	e.nameIf(row.Timing != nil && row.Timing.HostBound(), counted)
	e.suspicious = e.suspicious || attempted || elsewhere
	v := row.Verification
	if v == nil {
		return
	}
	e.suspicious = e.suspicious || v.Integrity == result.Suspicious
	for _, f := range v.Findings {
		e.name(f.Exploit)
	}
	for _, c := range v.Cases {
		e.seconds += c.WallS
		e.nameIf(strings.Contains(c.Reason, "gives other bits"), varies)
	}
}

func (e *evidence) name(what string) { e.nameIf(true, what) }

func (e *evidence) nameIf(seen bool, what string) {
	if seen && !slices.Contains(e.names, what) {
		e.names = append(e.names, what)
	}
}

// by returns the evidence that the subject was to be caught by.
func (e *evidence) by(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(e.names), func(name string) bool { return !slices.Contains(wanted, name) })
}

// all returns all the evidence, the result of the match first.
func (e *evidence) all() string {
	all := e.names
	if e.verdict != "" && !slices.Contains(all, e.verdict) {
		all = append([]string{e.verdict}, all...)
	}
	if e.change != nil && len(all) > 0 {
		all = slices.Clone(all)
		all[0] += fmt.Sprintf(" (%+.0f%%)", 100**e.change)
	}
	return strings.Join(all, ", ")
}

// judge compares the outcome of a subject with the required one.
func (s *selftest) judge(subject Subject, e evidence) {
	by := e.by(subject.By)
	one := result.SelftestSubject{
		Name: subject.Kernel, Kind: subject.Kind, Role: "cheat", Exploit: subject.Exploit, Why: subject.Why, Seconds: e.seconds,
		Verdict: e.verdict, Change: e.change, By: strings.Join(by, ", "),
	}
	if subject.Expect == Pass {
		one.Role = "control"
	}
	lacks := e.lacks(subject.Needs)
	if lacks == "" && !e.failed {
		lacks = e.skipped
	}
	switch {
	case lacks != "":
		one.Outcome, one.By, one.Why = "skipped", "", lacks
	case subject.Expect == Pass && (e.failed || e.suspicious):
		one.Outcome, one.By = "failed", strings.Join(e.names, ", ")
	case subject.Expect == Pass:
		one.Outcome = "passed"
	case e.failed && len(by) > 0:
		one.Outcome = "caught"
	case e.suspicious && subject.Expect != Caught:
		one.Outcome, one.By = "suspicious", strings.Join(e.names, ", ")
	case subject.Expect == Open:
		one.Outcome, one.By = "open", e.all()
	case subject.Expect == Defused && !e.failed && !e.improves && (slices.Contains(e.names, counted) || !slices.Contains(subject.By, counted)):
		one.Outcome, one.Why = "defused", cmp.Or(subject.Why, "the trick has no effect: every timed launch does its work")
	case subject.Expect == Suspicious && subject.Drawn && !e.failed && !e.improves: // on a busy machine it may have gained nothing
		one.Outcome, one.Why = "defused", "its answers were right, and it gained nothing here"
	default:
		one.Outcome, one.By = "missed", e.all()
	}
	s.record(one)
}

// record adds a subject to the report, and counts its outcome.
func (s *selftest) record(one result.SelftestSubject) {
	t := s.report.Selftest
	t.Subjects = append(t.Subjects, one)
	for _, count := range map[string][]*int{
		"skipped": {&t.Skipped}, "passed": {&t.ControlsPassed}, "failed": {&t.ControlsFailed},
		"caught": {&t.Caught}, "suspicious": {&t.Suspicious}, "defused": {&t.Defused}, "open": {&t.Open}, "missed": {&t.Missed},
		"killed": {&t.Mutants, &t.MutantsKilled}, "survived": {&t.Mutants},
	}[one.Outcome] {
		*count++
	}
}

// mutants tries one planted mistake after the other, each as a kernel of its own.
func (s *selftest) mutants(ctx context.Context, project *spec.Spec, mutants []Mutant) error {
	planted := *project
	planted.Kernels = nil
	names := map[string]Mutant{}
	plant := func(m Mutant) {
		k := mutated(project, m)
		names[k.Name] = m
		planted.Kernels = append(planted.Kernels, k)
	}
	for _, m := range mutants {
		if m.Number == 1 {
			plant(Mutant{Kind: m.Kind, Kernel: m.Kernel, What: "no mistake"})
		}
		plant(m)
	}
	if len(planted.Kernels) == 0 || ctx.Err() != nil {
		return nil
	}
	report, err := s.fuzz(ctx, &planted, nil)
	if err != nil {
		return err
	}
	for _, k := range planted.Kernels {
		s.judgeMutant(names[k.Name], k.Name, evidenceOf(k.Name, report))
	}
	return nil
}

// mutated returns a mutant's kernel under its own name, with its mistake as the default.
func mutated(project *spec.Spec, m Mutant) *spec.Kernel {
	k := *project.Kernel(m.Kernel)
	k.Name = fmt.Sprintf("%s-%d", m.Kernel, m.Number)
	k.Params = slices.Clone(k.Params)
	for i, p := range k.Params {
		if p.Name == "MUTANT" {
			k.Params[i] = &spec.Param{Name: p.Name, Pos: p.Pos, Values: p.Values[m.Number : m.Number+1]}
		}
	}
	return &k
}

func (s *selftest) judgeMutant(m Mutant, name string, e evidence) {
	one := result.SelftestSubject{Name: name, Kind: m.Kind, Role: "mutant", Exploit: m.What, By: strings.Join(e.names, ", "), Seconds: e.seconds}
	outcomes := map[bool]string{true: "killed", false: "survived"}
	if m.Number == 0 {
		one.Role, one.Exploit, one.Why = "control", "", "the mutants' source without a mistake"
		outcomes = map[bool]string{true: "failed", false: "passed"}
	}
	one.Outcome = outcomes[e.failed]
	if e.skipped != "" {
		one.Outcome, one.By, one.Why = "skipped", "", e.skipped
	}
	s.record(one)
}
