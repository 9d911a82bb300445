package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ianlancetaylor/demangle"

	"pawl/internal/advice"
	"pawl/internal/lab"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// Settings say how far a run goes to explain its rows. The zero value profiles with the counters that
// pawl reads, from cold caches, with the clock as it is.
type Settings struct {
	Static    bool          // run no profiler
	Full      bool          // all counters of ncu, and not just those that pawl reads
	Clock     string        // none, base, boost; "": none
	Replay    string        // kernel, application; "": kernel
	Repeats   int           // launches to profile; 0: one, or three where two versions are compared
	Stranger  bool          // the code is a stranger's
	Most      int           // questions to answer; 0: all
	Budget    time.Duration // for all questions; a profiler gets half of it; 0: no limit
	Catalogue *advice.Catalogue
}

// errNoTime says why something is not known when the budget is spent.
var errNoTime = errors.New("there was no time left for it")

// By returns the settings with the catalogue of a project: pawl's own and the project's findings.
func (s Settings) By(project *spec.Spec) (*Settings, error) {
	var err error
	s.Catalogue, err = advice.Of(project)
	return &s, err
}

// Version is one version of a row's kernel.
type Version struct {
	Name   string // as a report has it: base, change
	Job    *lab.Job
	Timing *result.Timing // nil: it was not measured
}

// Question asks why the last version takes its time or, if there are two, why it takes more or less
// than the first.
type Question struct{ Versions []Version }

// Rows answers questions about the kernels of a run, one list of reasons for each: a reason for every
// function that is launched. A reason lists what could not be seen. Profiles are kept with the run.
// Questions beyond Settings.Most, and those for which the time ran out, have nil for an answer.
func Rows(ctx context.Context, l *lab.Lab, r *run.Run, s Settings, questions []Question) [][]*result.Why {
	a := &asking{Settings: s, lab: l, run: r, seen: map[*lab.Job]*seen{}}
	asked := questions
	if s.Most > 0 && s.Most < len(questions) {
		asked = questions[:s.Most]
	}
	profiled := ctx
	if s.Budget > 0 {
		var done, all context.CancelFunc
		ctx, all = context.WithTimeoutCause(ctx, s.Budget, errNoTime)
		defer all()
		profiled, done = context.WithTimeoutCause(ctx, s.Budget/2, errNoTime)
		defer done()
	}
	a.profile(profiled, asked)
	out := make([][]*result.Why, len(questions))
	for i, q := range asked {
		if ctx.Err() == nil {
			out[i] = a.answer(ctx, q)
		}
	}
	return out
}

// asking is a call of Rows.
type asking struct {
	Settings
	lab   *lab.Lab
	run   *run.Run
	seen  map[*lab.Job]*seen
	kept  int // files of profiles
	bytes int // of them
}

// seen is what was found out about a job.
type seen struct {
	launches map[string][]*profile.Profile // by function, in the order of launches
	order    []string                      // of the functions
	limits   []result.Warning
	profiler *result.Profiler
	looked   bool
	static   *lab.Static
	counters *lab.Counters
}

func (a *asking) of(job *lab.Job) *seen {
	if a.seen[job] == nil {
		a.seen[job] = &seen{launches: map[string][]*profile.Profile{}}
	}
	return a.seen[job]
}

// lacks records why something about a job is not known.
func (s *seen) lacks(ctx context.Context, what string, err error) {
	if errors.Is(context.Cause(ctx), errNoTime) {
		err = &result.Fault{Message: errNoTime.Error(), Hint: "pawl profile takes the time it needs"}
	}
	w := result.Warning{Code: "unseen", Message: what + ": " + err.Error()}
	if fault, ok := errors.AsType[*result.Fault](err); ok {
		w.Hint = fault.Hint
	}
	if !slices.Contains(s.limits, w) {
		s.limits = append(s.limits, w)
	}
}

// answer returns the reasons of one question.
func (a *asking) answer(ctx context.Context, q Question) []*result.Why {
	now := q.Versions[len(q.Versions)-1]
	for _, v := range q.Versions {
		a.look(ctx, v.Job)
	}
	a.peaks(now)
	var out []*result.Why
	for i, name := range a.functions(now.Job) {
		var names []string
		var sides []advice.Side
		for _, v := range q.Versions {
			theirs := a.partner(now.Job, v.Job, i, name)
			names, sides = append(names, theirs), append(sides, a.side(v, theirs))
		}
		w := &result.Why{Kernel: name}
		if len(sides) == 2 {
			w = differ(name, a.catalogue().Explain(sides[0], sides[1], slowdown(q)))
		}
		for j, v := range q.Versions {
			w.Versions = append(w.Versions, a.version(v, names[j], sides[j]))
			seen := a.of(v.Job)
			for _, limit := range seen.limits {
				if !slices.Contains(w.Limits, limit) {
					w.Limits = append(w.Limits, limit)
				}
			}
			if w.Profiler == nil {
				w.Profiler = seen.profiler
			}
		}
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(x, y *result.Why) int { return compareSeconds(y, x) })
	return out
}

// compareSeconds compares how long the kernels of two reasons take under a profiler.
func compareSeconds(x, y *result.Why) int {
	a, _ := x.Last().Get(string(profile.Duration))
	b, _ := y.Last().Get(string(profile.Duration))
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// peaks says what to do where a row's time and work would say how far it is from the roof, but nobody has
// measured the machine's peaks.
func (a *asking) peaks(v Version) {
	seen := a.of(v.Job)
	if in := v.Job.Instance; in.Flops+in.Bytes == 0 || v.Timing == nil || len(seen.order) > 0 || a.lab.HasPeaks(v.Job) {
		return
	}
	seen.limits = append(seen.limits, result.Warning{Code: "unseen", Message: "how far it is from the roof is not known: nobody has measured this machine's peaks", Hint: "pawl calibrate --roofline"})
}

// slowdown is the measured time after over before; 0: it is not known, or of several launches.
func slowdown(q Question) float64 {
	before, after := q.Versions[0], q.Versions[1]
	if before.Timing.Median() <= 0 || len(after.Job.Instance.Launches) > 1 {
		return 0
	}
	return after.Timing.Median() / before.Timing.Median()
}

// functions are those that a job launches, each once: as the profiler saw them, else as pawl.yaml says.
func (a *asking) functions(job *lab.Job) []string {
	if names := a.of(job).order; len(names) > 0 {
		return names
	}
	var names []string
	for i := range job.Instance.Launches {
		if name := symbol(job, i); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// symbol is the name of the function of a job's launch, as people write it.
func symbol(job *lab.Job, launch int) string {
	if launch < len(job.Artifact.Symbols) {
		return plain(job.Artifact.Symbols[launch])
	}
	return job.Instance.Launches[launch].Entry
}

// plain returns the name of a function without its arguments, whether it is mangled or not.
func plain(name string) string { return base(demangle.Filter(name)) }

// partner is the function of another version that a function is compared with: the one of its name, else
// the one at its place, unless that has its own partner.
func (a *asking) partner(now, other *lab.Job, at int, name string) string {
	if now == other {
		return name
	}
	theirs := a.functions(other)
	if slices.Contains(theirs, name) || at >= len(theirs) || slices.Contains(a.functions(now), theirs[at]) {
		return name
	}
	return theirs[at]
}

// side gathers the evidence about one function of a version.
func (a *asking) side(v Version, name string) advice.Side {
	job, seen := v.Job, a.of(v.Job)
	s := advice.Side{Repeats: seen.launches[name]}
	switch {
	case !a.lab.OnGPU(job):
		s.Evidence = a.lab.HostEvidence(job, v.Timing, seen.counters)
	case seen.static != nil:
		s.Evidence = a.lab.StaticEvidence(job, v.Timing, seen.kernel(name))
	case len(a.functions(job)) == 1: // time and work are of all functions together
		s.Seconds, s.Flops, s.Bytes = v.Timing.Median(), job.Instance.Flops, job.Instance.Bytes
	}
	if len(s.Repeats) > 0 {
		s.Profile = profile.Mean(s.Repeats)
		s.Profile.Complete()
	}
	if b := job.Record.Build; b != nil {
		s.Compiler, s.Flags = b.Compiler, b.Flags
	}
	if oracle := job.Variant.Kernel.Oracle; oracle != nil && a.lab.OnGPU(job) {
		product := slices.Contains([]string{"gemm", "matmul", "attention"}, oracle.Builtin)
		s.Matmul = &product
	}
	return s
}

// kernel is what the compiled code says of a function.
func (s *seen) kernel(name string) lab.StaticKernel {
	if at := slices.IndexFunc(s.static.Kernels, func(k lab.StaticKernel) bool { return plain(k.Symbol) == name }); at >= 0 {
		return s.static.Kernels[at]
	}
	return lab.StaticKernel{}
}

// version returns what is known of a version, in the report's words.
func (a *asking) version(v Version, name string, s advice.Side) result.ExplainedSide {
	facts := advice.Gather(s.Evidence)
	out := explained(v.Name, label(name, s.Profile), s.Profile, facts, a.catalogue().Judge(facts))
	if out.Roof == nil {
		out.Roof = a.roofline(v, s)
	}
	return out
}

// roofline places a version by its declared work and the measured peaks, where no profiler has.
func (a *asking) roofline(v Version, s advice.Side) *result.Roofline {
	memory, compute, names := a.lab.Ceilings(v.Job, v.Timing)
	if s.Seconds <= 0 || s.Flops <= 0 || s.Bytes <= 0 || memory <= 0 || compute <= 0 {
		return nil
	}
	return rooflineOf(&profile.Roofline{
		Intensity: s.Flops / s.Bytes, Rate: s.Flops / s.Seconds, Bandwidth: memory, Peak: compute,
		Pipe: fmt.Sprintf("%s, %s", names[1], names[0]), Measured: true, Declared: true,
	})
}

func (a *asking) catalogue() *advice.Catalogue {
	if a.Catalogue != nil {
		return a.Catalogue
	}
	return advice.Builtin()
}
