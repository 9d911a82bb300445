package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/bench"
	"pawl/internal/diag"
	"pawl/internal/explain"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const profileHelp = `profile says why kernels take the time they take: how busy each part of the GPU was,
what warps waited for, how memory was accessed, what limits occupancy, and what to do
about it, the most promising first.

It builds and times the selected kernels, and runs Nsight Compute (ncu) on a launch of
each. Where there is no ncu, or no permission to read the counters, findings rest on
the compiled code, the time and the declared work; for kernels on the CPU, on the
processor's counters. The report says what could not be seen. The profile is kept with
the run: its .ncu-rep opens in Nsight Compute.

FILE is what ncu wrote elsewhere: CSV (--csv with --page raw or details, of any version)
or its .ncu-rep, where ncu (PAWL_NCU) or the Python package ncu-report is there to read
it. Launches of one kernel at one size are repeats; medians are shown.

A finding names its evidence and an upper bound on what removing the cause can gain.
Bounds are never summed. Counters that are not there are named: a missing reading is
not taken for zero.

--diff compares two files: the counters that moved further than repeats of one version
differ, the most telling first, and the cause in one sentence. Profile each version
three times or more. --sass and --sass-after add the instructions, as cuobjdump -sass
or nvdisasm list them.

The findings of your own pawl.yaml, here or in a folder above, are judged by too; -v says
so. Nothing else of that file matters to the explanation of a FILE.

Profiles explain; they never decide a verdict. Profiling slows kernels down, flushes
caches and may hold the clock.`

// profileOptions say what is wanted of profiles.
type profileOptions struct {
	runOptions
	files    explain.Options
	bench    bench.Options
	settings explain.Settings
	diff     bool
	dark     bool
}

func (o *profileOptions) AddFlags(f *pflag.FlagSet) {
	o.bench, o.output.pictures = bench.Default(), true
	o.bench.Measure.Budget = time.Second // it explains, and need not be exact

	o.runOptions.AddFlags(f)
	f.BoolVar(&o.settings.Full, "full", false, "read all counters of ncu, and its own rules; takes many times as long")
	f.BoolVar(&o.settings.Static, "static", false, "run no ncu: findings rest on the compiled code, time and work")
	f.IntVar(&o.settings.Repeats, "repeats", 1, "launches to profile")
	f.StringVar(&o.settings.Clock, "clock", "none", "what ncu does to the GPU's clock: none, base or boost")
	f.StringVar(&o.settings.Replay, "replay", "kernel", "what ncu repeats for its passes: kernel, or application for kernels that spin or cooperate")
	f.StringVar(&o.bench.Measure.Cache, "cache", o.bench.Measure.Cache, "state of the caches before a launch: cold or hot")
	f.IntVar(&o.bench.Lab.Device, "device", 0, "which GPU")
	f.StringVar(&o.pool, "pool", "", "profile on a worker of this pool instead of this machine")
	f.BoolVar(&o.diff, "diff", false, "compare two files: the version before, the version after")
	f.StringVar(&o.files.Kernel, "kernel", "", "of a file: only kernels with this name, without arguments; globs allowed")
	f.StringVar(&o.files.SASS, "sass", "", "of a file: machine code of the kernels, as cuobjdump -sass or nvdisasm list it")
	f.StringVar(&o.files.After, "sass-after", "", "with --diff: the machine code of the version after")
	f.BoolVar(&o.dark, "dark", false, "draw pictures on dark ground")
}

func newProfile(e *env) *cobra.Command {
	opts := &profileOptions{}
	return withFlags(&cobra.Command{
		Use: "profile [kernel[/config]… | FILE | --diff BEFORE AFTER]", Short: "say why a kernel takes its time", GroupID: groupDaily, Long: profileHelp,
		Example: "  pawl profile attention/training_512\n  pawl profile gemm --full -o why.png\n  pawl profile k.csv --kernel 'attention*'\n  pawl profile --diff old.csv new.csv --sass old.sass --sass-after new.sass",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case opts.diff && len(args) != 2:
				return usage("profile --diff takes two files, before and after; got %d", len(args))
			case !opts.diff && opts.files.After != "":
				return usage("--sass-after goes with --diff")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.diff || slices.ContainsFunc(args, isProfile) {
				return runProfileFiles(cmd.Context(), e, opts, args)
			}
			return runProfile(cmd.Context(), e, opts, args)
		},
	}, opts)
}

// isProfile reports whether a word names a profiler's file and no kernel.
func isProfile(word string) bool {
	for _, ending := range []string{".csv", ".ncu-rep", ".ncu-repz", ".txt"} {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// check refuses settings that make no sense, before anything is built.
func (o *profileOptions) check() error {
	for _, one := range []struct {
		flag, value string
		known       []string
	}{{"clock", o.settings.Clock, []string{"none", "base", "boost"}}, {"replay", o.settings.Replay, []string{"kernel", "application"}}} {
		if !slices.Contains(one.known, one.value) {
			return usage("--%s %s: %s", one.flag, one.value, diag.Meant(one.value, one.known))
		}
	}
	if o.settings.Repeats < 1 {
		return usage("--repeats %d: expected at least 1", o.settings.Repeats)
	}
	if err := o.bench.Check(); err != nil {
		return err
	}
	return o.output.check()
}

// runProfile profiles kernels of the project.
func runProfile(ctx context.Context, e *env, opts *profileOptions, patterns []string) error {
	for flag, value := range map[string]string{"kernel": opts.files.Kernel, "sass": opts.files.SASS} {
		if value != "" {
			return usage("--%s goes with a file that ncu wrote", flag)
		}
	}
	if err := opts.check(); err != nil {
		return err
	}
	r, live, err := opts.prepare(e, result.KindProfile, patterns, nil, &opts.bench.Lab)
	if err != nil {
		return err
	}
	defer r.Close()
	opts.bench.Explain, opts.output.dark = &opts.settings, opts.dark
	made, err := bench.Run(ctx, r, opts.bench)
	live.done()
	if err != nil {
		return err
	}
	return opts.output.deliver(e, r, made)
}

// runProfileFiles explains what a profiler wrote elsewhere.
func runProfileFiles(ctx context.Context, e *env, opts *profileOptions, files []string) error {
	if len(files) != 1 && !opts.diff {
		return usage("profile takes one file of ncu; got %d (two are compared with --diff)", len(files))
	}
	for _, name := range []string{"full", "static", "repeats", "clock", "replay", "cache", "device", "pool"} {
		if f := opts.flags.Lookup(name); f != nil && f.Changed {
			return usage("--%s goes with kernels of pawl.yaml, and not with a file that ncu wrote", name)
		}
	}
	if err := opts.output.check(); err != nil {
		return err
	}
	opts.files.Tool, opts.files.Command = e.tool(), e.command()
	var made *result.Report
	var err error
	if opts.files.Spec, err = ownFindings(opts.project.file); err != nil {
		return err
	}
	if opts.diff {
		made, err = explain.Compare(ctx, files[0], files[1], opts.files)
	} else {
		made, err = explain.File(ctx, files[0], opts.files)
	}
	if err != nil {
		return err
	}
	opts.output.dark = opts.dark
	if problems := opts.output.write(made, ""); len(problems) > 0 {
		return problems[0]
	}
	return opts.output.print(e, made, "")
}

// ownFindings reads the findings of a pawl.yaml: of the one that is named, or of the one that other commands
// find. Without one, or with none in it, there are none.
func ownFindings(file string) (*spec.Spec, error) {
	if file == "" {
		found, err := spec.Find(".")
		if err != nil {
			return nil, nil // a profile is explained without a project, too
		}
		return spec.LoadFindings(relative(found))
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: no such file", file), Hint: "without -f it is pawl.yaml, here or in a folder above, if there is one"}
	}
	return spec.LoadFindings(file)
}
