package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/bench"
	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// benchOptions say what is measured, and how.
type benchOptions struct {
	bench.Options
	project  projectOptions
	output   outputOptions
	sandbox  sandboxOptions
	seed     uint64
	settings []string
	pool     string
	device   string
	named    bool // the user has named the device
}

func (o *benchOptions) AddFlags(f *pflag.FlagSet) {
	o.Options = bench.Default()
	o.project.AddFlags(f)
	o.output.AddFlags(f)
	o.sandbox.AddFlags(f)
	f.StringVar(&o.Measure.Cache, "cache", o.Measure.Cache, "state of the caches before a launch: cold or hot")
	f.DurationVar(&o.Measure.Budget, "budget", o.Measure.Budget, "time to sample each config for")
	f.IntVar(&o.Measure.MinSamples, "min-samples", o.Measure.MinSamples, "samples taken whatever the budget says")
	f.IntVar(&o.Measure.MaxSamples, "max-samples", o.Measure.MaxSamples, "and never more than this")
	f.DurationVar(&o.Measure.Timeout, "timeout", o.Measure.Timeout, "the longest one launch may take")
	f.Uint64Var(&o.seed, "seed", run.BenchSeed, "seed of the generated inputs")
	f.BoolVar(&o.Measure.Sustain, "sustain", false, "launch back to back in stretches of 100 ms and more, as a power-limited kernel runs in production")
	f.StringSliceVar(&o.Against, "against", nil, "kernels to take turns with, and be compared to")
	f.IntVar(&o.Lab.LockMHz, "lock-clocks", 0, "lock the GPU clock at this frequency (MHz); always restored")
	f.StringVar(&o.device, "device", "0", "which GPU to measure on; several share the work: 0,1 or all")
	f.StringVar(&o.pool, "pool", "", "measure on a worker of this pool instead of this machine")
	f.StringArrayVar(&o.settings, "set", nil, "give a param another value: --set BLOCK_M=128 (may be repeated)")
}

// check refuses settings that make no sense, before anything is built.
func (o *benchOptions) check() error {
	m := o.Measure
	switch {
	case m.Cache != "cold" && m.Cache != "hot":
		return usage("--cache %s: expected cold or hot", m.Cache)
	case m.Budget <= 0 || m.Budget > time.Hour:
		return usage("--budget %v: expected more than 0 and at most 1h", m.Budget)
	case m.MinSamples < 1:
		return usage("--min-samples %d: expected at least 1", m.MinSamples)
	case m.MaxSamples < m.MinSamples:
		return usage("--max-samples %d: expected at least --min-samples (%d)", m.MaxSamples, m.MinSamples)
	case o.Lab.LockMHz < 0:
		return usage("--lock-clocks %d: expected a frequency in MHz", o.Lab.LockMHz)
	case m.Timeout <= 0:
		return usage("--timeout %v: expected more than 0", m.Timeout)
	}
	var err error
	if o.Devices, err = parseDevices(o.device); err != nil {
		return err
	}
	return o.output.check()
}

// parseDevices reads the GPUs to measure on; none named means all.
func parseDevices(text string) ([]int, error) {
	if text == "all" {
		return nil, nil
	}
	var devices []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		switch {
		case err != nil || n < 0:
			return nil, usage("--device %s: expected numbers of GPUs, counted from 0, or all", text)
		case slices.Contains(devices, n):
			return nil, usage("--device %s: GPU %d is named twice", text, n)
		}
		devices = append(devices, n)
	}
	return devices, nil
}

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// sandboxOptions say how candidate code is sandboxed.
type sandboxOptions struct{ require, off bool }

func (o *sandboxOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.require, "require-sandbox", false, "refuse to run where the kernel cannot give the whole sandbox")
	f.BoolVar(&o.off, "no-sandbox", false, "compile and run candidate code unconfined; only for code you trust")
}

func (o *sandboxOptions) mode() (string, error) {
	switch {
	case o.require && o.off:
		return "", usage("--require-sandbox and --no-sandbox exclude each other")
	case o.require:
		return "require", nil
	case o.off:
		return "off", nil
	}
	return "auto", nil
}

func newBench(e *env) *cobra.Command {
	opts := &benchOptions{}
	cmd := &cobra.Command{
		Use: "bench [kernel[/config]…]", Short: "build and time kernels", GroupID: groupDaily,
		Example: "  pawl bench\n  pawl bench 'attention/*' --cache hot\n  pawl bench gemm --set TILE=64 -o gemm.md\n  pawl bench attention --against sdpa,sdpa:flash -o sweep.md -o sweep.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.Measure.Sustain && cmd.Flags().Changed("cache") {
				return usage("--sustain and --cache exclude each other: launches back to back find the caches as the last one left them")
			}
			opts.named = cmd.Flags().Changed("device")
			return runBench(cmd.Context(), e, opts, args)
		},
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runBench(ctx context.Context, e *env, opts *benchOptions, patterns []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	live := newFollower(e)
	r, err := opts.project.prepare(result.KindBench, e.request(patterns, &opts.seed, live))
	if err != nil {
		return err
	}
	if opts.named && opts.pool == "" && !slices.ContainsFunc(r.Selections, func(s spec.Selection) bool { return s.Kernel.Cell != spec.CellHost }) {
		e.warn("--device %s is ignored: none of these kernels runs on a GPU", opts.device)
	}
	if opts.Set, err = parseSettings(opts.settings); err != nil {
		return err
	}
	if err := place(&opts.Lab, r.Spec, &opts.sandbox, opts.pool); err != nil {
		return err
	}
	made, err := bench.Run(ctx, r, opts.Options)
	live.done()
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made, false)
}

// namedPool returns the pool of a name; an empty one for this machine.
func namedPool(s *spec.Spec, name string) (*spec.Pool, error) {
	if name == "" {
		return &spec.Pool{}, nil
	}
	var names []string
	for _, pool := range s.Pools {
		if pool.Name == name {
			return pool, nil
		}
		names = append(names, pool.Name)
	}
	if len(names) == 0 {
		return nil, usage("--pool %s: %s has no pools", name, s.File)
	}
	return nil, usage("--pool %s: no such pool (%s)", name, diag.Meant(name, names))
}

// place sets where kernels are measured, and how they are sandboxed there.
func place(where *lab.Options, s *spec.Spec, box *sandboxOptions, pool string) (err error) {
	if where.Sandbox, err = box.mode(); err != nil {
		return err
	}
	from, err := namedPool(s, pool)
	if err == nil {
		where.Worker, where.Workers = from.Launch, from.Workers
	}
	return err
}

func parseSettings(words []string) ([]bench.Setting, error) {
	var out []bench.Setting
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" || value == "" {
			return nil, usage("--set %s: expected NAME=VALUE", word)
		}
		out = append(out, bench.Setting{Name: name, Value: value})
	}
	return out, nil
}

// projectOptions say where the spec is.
type projectOptions struct{ file string }

func (o *projectOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.file, "file", "f", "", "the spec (default: pawl.yaml here or in a folder above)")
}

func (o *projectOptions) load() (*spec.Spec, error) {
	file := o.file
	if file == "" {
		var err error
		if file, err = spec.Find("."); err != nil {
			return nil, err
		}
		file = relative(file)
	}
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: there is no such file", file), Hint: "without -f it is pawl.yaml, here or in a folder above; pawl init drafts one"}
	case err == nil && info.IsDir():
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: this is a folder", file), Hint: "name the file in it: -f " + filepath.Join(file, spec.FileName)}
	}
	return spec.Load(file)
}

// prepare makes a run of the project, as far as its rules allow.
func (o *projectOptions) prepare(kind result.Kind, q run.Request) (_ *run.Run, err error) {
	if q.Spec, err = o.load(); err != nil {
		return nil, err
	}
	return run.Prepare(kind, q)
}

// request returns the request that every command makes for a run.
func (e *env) request(patterns []string, seed *uint64, live *follower) run.Request {
	return run.Request{
		Tool: e.tool(), Command: append([]string{"pawl"}, e.args...), Started: e.started, Patterns: patterns, Seed: seed, Follow: live.follow,
	}
}

// given returns the seed of a flag whose 0 means none.
func given(seed uint64) *uint64 {
	if seed == 0 {
		return nil
	}
	return &seed
}

// outputOptions say where the report goes besides the run folder.
type outputOptions struct {
	json  bool
	files []string
}

func (o *outputOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.StringArrayVarP(&o.files, "output", "o", nil, "also write the report to this file: "+strings.Join(report.Endings, " ")+" (may be repeated)")
}

// named returns the files that were asked for: -o "$REPORT" asks for none where the variable is not
// set.
func (o *outputOptions) named() []string {
	return slices.DeleteFunc(slices.Clone(o.files), func(file string) bool { return file == "" })
}

func (o *outputOptions) check() error {
	for _, file := range o.named() {
		if ending := report.Ending(file); !slices.Contains(report.Endings, ending) {
			return usage("-o %s: %q is no form of a report (%s)", file, ending, diag.Meant(ending, report.Endings))
		}
		if err := writable(filepath.Dir(file), file); err != nil {
			return err
		}
	}
	return nil
}

// writable refuses a file in a missing folder, before anything is measured for it.
func writable(folder, file string) error {
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return &diag.Problem{Message: fmt.Sprintf("-o %s: there is no folder %s", file, folder), Hint: "mkdir -p " + folder + " makes it"}
	case err != nil:
		return usage("-o %s: %w", file, err)
	case !info.IsDir():
		return usage("-o %s: %s is no folder", file, folder)
	}
	return nil
}

// deliver saves the report, shows it and turns it into the command's outcome.
// A report that cannot be saved is still shown.
func (o *outputOptions) deliver(e *env, r *run.Run, made *result.Report, strict bool) error {
	path, saveErr := r.Save(made)
	if (made.Kind == result.KindCheck || made.Kind == result.KindFuzz) && saveErr == nil {
		path, saveErr = savePages(path, made)
	}
	if err := o.print(e, made, relative(path)); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if saveErr != nil {
		e.warn("%v", saveErr)
	}
	return gravest(e, outcomeOf(made, strict), o.write(made)...)
}

// print shows the report on stdout, for people or for programs. path is the saved report's, if it
// was saved.
func (o *outputOptions) print(e *env, made *result.Report, path string) error {
	if !o.json {
		return report.Text(e.stdout, made, report.TextOptions{Style: e.style(), Path: path})
	}
	raw, err := made.Encode()
	if err == nil {
		_, err = e.stdout.Write(raw)
	}
	return err
}

// write writes the report to all requested files, even if one of them fails.
func (o *outputOptions) write(made *result.Report) []error {
	var problems []error
	for _, file := range o.named() {
		if err := report.WriteFile(file, made); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// savePages writes a report for people beside the one for programs, and returns the page's path.
func savePages(path string, made *result.Report) (string, error) {
	folder := filepath.Dir(path)
	for _, name := range []string{"report.md", "report.html"} {
		if err := report.WriteFile(filepath.Join(folder, name), made); err != nil {
			return path, err
		}
	}
	return filepath.Join(folder, "report.html"), nil
}
