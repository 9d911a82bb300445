// Package tune searches for params that make a kernel faster. A strategy (package search) chooses
// what to try; compilers work ahead of the device; every trial is verified before it counts, and
// what is clearly slower than the best is given up early. The best trials then play duets against
// today's defaults, and the first of them is verified again. Nothing that a trial does ends the run.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/search"
	"pawl/internal/spec"
)

// Objectives: what a trial costs.
const (
	Time   = "time"
	Energy = "energy" // of a launch, in stretches of 100 ms and more
	Both   = "both"   // the geometric mean of the two; the report has all that no other trial beats in both
)

// Ways to make one cost of several configs. The cost on each is relative to today's defaults there.
const (
	Worst = "worst"
	Mean  = "mean" // weighted, geometric
)

// Options say what to search for, and how.
type Options struct {
	Strategy  string
	Budget    time.Duration // of the whole search, finalists included
	Most      int           // trials; 0: as many as there is time for
	Objective string
	Over      string
	Weights   map[string]float64 // by config, for Mean; 1 where none is given
	Resume    bool               // go on from the last search of the kernel that did not end
	Known     []Known            // their best trials are tried first
	Compilers int                // at once; 0: one per core
	Measure   measure.Options    // of a trial on a config
	Duet      measure.DuetOptions
	Lab       lab.Options
	Devices   []int // which GPUs share the trials; nil: all there are
}

// Known is an earlier search, and the file it was read from.
type Known struct {
	*result.Tuning
	File string
}

// Default returns the options of a plain `pawl tune`.
func Default() Options {
	opts := Options{
		Strategy: search.Default, Budget: 20 * time.Minute, Objective: Time, Over: Mean,
		Measure: measure.Default(), Lab: lab.Options{Peaks: roof.Folder()},
	}
	opts.Measure.Budget, opts.Measure.MinSamples, opts.Measure.HalfWidth, opts.Measure.Rough = 100*time.Millisecond, 5, 0.01, true
	opts.Duet = measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor}
	return opts
}

// Check refuses settings that make no sense.
func (o Options) Check() error {
	switch {
	case o.Budget <= 0:
		return &diag.SettingError{Setting: "budget", Value: o.Budget, Expected: "a time such as 20m: compiling, measuring and the final duets have to fit"}
	case o.Most < 0:
		return &diag.SettingError{Setting: "trials", Value: o.Most, Expected: "how many settings to try at most, or 0 for as many as there is time for"}
	case !slices.Contains([]string{Time, Energy, Both}, o.Objective):
		return &diag.SettingError{Setting: "objective", Value: o.Objective, Expected: "time, energy or both"}
	case o.Over != Worst && o.Over != Mean:
		return &diag.SettingError{Setting: "over", Value: o.Over, Expected: "worst or mean"}
	case !slices.Contains(search.Names(), o.Strategy):
		return &diag.SettingError{Setting: "strategy", Value: o.Strategy, Expected: diag.Meant(o.Strategy, search.Names())}
	}
	for config, weight := range o.Weights {
		if !(weight > 0) || math.IsInf(weight, 0) {
			return &diag.SettingError{Setting: "weight", Value: fmt.Sprintf("%s=%g", config, weight), Expected: "a positive number"}
		}
	}
	return cmp.Or(o.Measure.Check(), o.Lab.Check())
}

// Run searches for better params of one kernel. It returns a report whatever happens to the trials;
// the error concerns the whole run.
func Run(ctx context.Context, r *run.Run, opts Options) (*result.Report, error) {
	if err := cmp.Or(r.Of(result.KindTune), opts.Check()); err != nil {
		return nil, err
	}
	opts.Measure.Seed, opts.Duet.Seed = r.Seed, r.Seed
	opts.Duet.Keep = true // answers of timed samples are verified
	kernel, configs, err := chosen(r)
	if err != nil {
		return nil, err
	}
	t := &tune{
		Options: opts, run: r, kernel: kernel, configs: configs, began: time.Now(),
		report: r.NewReport(ctx, opts.Measure.Method()), claims: map[string]*claim{},
	}
	t.wake.L = &t.mu
	if err := t.prepare(); err != nil {
		return nil, err
	}
	place := opts.Lab
	place.Class, place.Timeout, place.OnWait = r.Spec.DeviceClass, opts.Measure.Timeout, t.waits
	if len(opts.Devices) > 0 {
		place.Device = opts.Devices[0]
	}
	t.lab = lab.New(r, t.report, place)
	defer t.lab.Close()
	r.Stage("build")
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	if err := t.recall(ctx); err != nil {
		return nil, err
	}
	defer t.journal.close()
	r.Stage("search")
	if err := t.search(ctx); err != nil {
		if len(t.tuning.Trials) <= len(t.journal.known)+1 {
			return nil, err // nothing but today's defaults was tried
		}
		t.deserted = err
	}
	t.conclusion()
	if t.hasFinalists(ctx) {
		r.Stage("finals")
		t.playFinals(ctx)
	}
	if ctx.Err() != nil {
		t.tuning.Ended = "interrupted"
	}
	t.conclude()
	r.Finish(ctx, t.report, t.lab.Held())
	return t.report, nil
}

// chosen returns the kernel and the configs of a search: a search is of one kernel.
func chosen(r *run.Run) (*spec.Kernel, []*spec.Config, error) {
	var tunable []spec.Selection
	for _, s := range spec.Without(r.Selections, r.Patterns, spec.IsReference) {
		if len(s.Kernel.Params) > 0 {
			tunable = append(tunable, s)
		}
	}
	switch {
	case len(tunable) == 1:
		return tunable[0].Kernel, tunable[0].Configs, nil
	case len(tunable) == 0:
		var names []string
		for _, s := range r.Selections {
			names = append(names, s.Kernel.Name)
		}
		return nil, nil, &diag.Problem{
			Message: fmt.Sprintf("there is nothing to search: %s has no params", strings.Join(names, ", ")),
			Hint:    "list the macros that may have other values, the one of today first: params: {BLOCK: [128, 64, 256]}",
		}
	}
	var names []string
	for _, s := range tunable {
		names = append(names, s.Kernel.Name)
	}
	return nil, nil, &diag.Problem{
		Message: fmt.Sprintf("a search is of one kernel, and %d have params: %s", len(names), strings.Join(names, ", ")), Hint: "name one: pawl tune " + names[0],
	}
}
