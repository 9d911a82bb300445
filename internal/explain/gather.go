package explain

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/lab"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// mostKept is how many bytes of profiles a run keeps. A report of all counters takes some megabytes.
const mostKept = 32 << 20

// profile runs the profiler on all versions that launch on a GPU, as few times as can be.
func (a *asking) profile(ctx context.Context, questions []Question) {
	var jobs []*lab.Job
	repeats := max(1, a.Repeats)
	for _, q := range questions {
		if len(q.Versions) > 1 && a.Repeats == 0 {
			repeats = 3 // what launches of one version differ by is noise
		}
		for _, v := range q.Versions {
			if a.lab.OnGPU(v.Job) && !slices.Contains(jobs, v.Job) {
				jobs = append(jobs, v.Job)
			}
		}
	}
	if a.Static || len(jobs) == 0 {
		return
	}
	opts := lab.Profiling{Full: a.Full, Clock: cmp.Or(a.Clock, "none"), Cache: a.caches(), Replay: cmp.Or(a.Replay, "kernel"), Repeats: repeats, Stranger: a.Stranger, Seed: a.run.Seed}
	if gpu := a.lab.Report.Machine.GPU; gpu != nil {
		opts.Metrics = profile.Curated(ccOf(gpu.Arch))
	}
	groups := lab.Profiles(jobs)
	for i, group := range groups {
		a.run.Emit(run.Event{Kind: run.Profile, Row: group[0].Name(), Done: i, Total: len(groups)})
		made, err := a.lab.Profile(ctx, group, opts)
		if err == nil {
			err = a.read(group, made, opts)
		}
		for _, job := range group {
			if err != nil {
				a.of(job).lacks(ctx, "not profiled", err)
			}
			if len(made.Unknown) > 0 {
				a.of(job).limits = append(a.of(job).limits, result.Warning{Code: "unseen", Message: "this ncu does not know " + strings.Join(made.Unknown, ", ")})
			}
		}
	}
}

// ccOf reads an architecture such as sm_90 as a compute capability × 10; 0: it is none.
func ccOf(arch string) int {
	cc, _ := strconv.Atoi(strings.TrimRight(strings.TrimPrefix(arch, "sm_"), "af"))
	return cc
}

// caches is what the profiler does to caches before each pass: as the run that was timed.
func (a *asking) caches() string {
	if a.lab.Report.Method.Cache == "hot" {
		return "none"
	}
	return "all"
}

// read turns what the profiler wrote into profiles of the functions that a group's jobs launch.
func (a *asking) read(group []*lab.Job, made *lab.Profiled, opts lab.Profiling) error {
	file, err := profile.Read("the profile of "+group[0].Name(), made.Raw)
	if err != nil {
		return err
	}
	rest := file.Launches
	theirs := make([][]*profile.Launch, len(group))
	for i, job := range group { // all of them, before any of them counts: one that is wrong puts the others in doubt
		count := len(rest)
		if i < len(made.Launches) && made.Launches[i] >= 0 {
			count = made.Launches[i]
		}
		if count > len(rest) {
			return fmt.Errorf("%d launches were profiled, and %s has %d from the %d. on", len(file.Launches), job.Name(), count, len(file.Launches)-len(rest)+1)
		}
		theirs[i], rest = rest[:count], rest[count:]
	}
	for i, job := range group {
		seen := a.of(job)
		for _, l := range theirs[i] {
			p := profile.Of(l)
			name := plain(p.Kernel)
			if !slices.Contains(seen.order, name) {
				seen.order = append(seen.order, name)
			}
			seen.launches[name] = append(seen.launches[name], p)
		}
	}
	profiler := &result.Profiler{
		Tool: made.Tool, Cache: opts.Cache, Clock: opts.Clock, Replay: opts.Replay, Full: opts.Full, Command: made.Command, Files: a.keep(group, made),
	}
	for _, job := range group {
		a.of(job).profiler = profiler
	}
	return nil
}

// keep saves what the profiler wrote with the run, as far as it is not too much, and returns the names.
func (a *asking) keep(group []*lab.Job, made *lab.Profiled) (names []string) {
	if a.run.Dir == "" {
		return nil
	}
	stem := fmt.Sprintf("profile-%d", a.kept)
	a.kept++
	for _, one := range []struct {
		ending string
		data   []byte
	}{{".csv", made.Raw}, {"-details.csv", made.Details}, {".ncu-rep", made.Report}} {
		if len(one.data) == 0 {
			continue
		}
		err := fmt.Errorf("profiles of this run take more than %d MiB", mostKept>>20)
		if a.bytes+len(one.data) <= mostKept {
			err = a.run.Keep(stem+one.ending, one.data)
		}
		if err != nil {
			for _, job := range group {
				a.of(job).lacks(context.Background(), stem+one.ending+" is not kept", err)
			}
			continue
		}
		a.bytes += len(one.data)
		names = append(names, filepath.Base(stem+one.ending))
	}
	return names
}

// uncounted says which of the processor's events were not counted, one line for each reason.
func (s *seen) uncounted() {
	var reasons []string
	names := map[string][]string{}
	hints := map[string]string{}
	for _, c := range s.counters.Absent {
		if names[c.Why] == nil {
			reasons = append(reasons, c.Why)
		}
		names[c.Why], hints[c.Why] = append(names[c.Why], c.Name), c.Hint
	}
	for _, reason := range reasons {
		s.limits = append(s.limits, result.Warning{Code: "unseen", Message: "not counted: " + unit.Few(names[reason], 3) + ": " + reason, Hint: hints[reason]})
	}
}

// look gathers what is known of a job without a profiler, once.
func (a *asking) look(ctx context.Context, job *lab.Job) {
	seen := a.of(job)
	if seen.looked {
		return
	}
	seen.looked = true
	switch {
	case job.Cell() == spec.CellCUDA:
		static, err := a.lab.Static(ctx, job)
		if err != nil {
			seen.lacks(ctx, "the compiled code was not read", err)
			return
		}
		seen.static = static
		for _, u := range static.Unseen {
			seen.limits = append(seen.limits, result.Warning{Code: "unseen", Message: u.What + ": " + u.Why, Hint: u.Hint})
		}
	case !a.lab.OnGPU(job):
		counted, err := a.lab.Counters(ctx, job)
		if err != nil {
			seen.lacks(ctx, "the processor's events were not counted", err)
			return
		}
		seen.counters = counted
		seen.uncounted()
	}
}
