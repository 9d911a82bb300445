package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/compare"
	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

const compareHelp = `compare judges two result files: how a change affected the time of every benchmark
that both contain. They may be pawl's own (a report.json or a run's folder), nvbench
JSON (--jsonbin for the samples), Google Benchmark JSON, go test -bench output
(plain or -json), pytest-benchmark JSON, hyperfine JSON, or plain lists of times: a
JSON list, an object of name to list, CSV of values or of name and value. The
format is detected, and the two files may have different ones. One hyperfine file with two
commands can be given alone: the second is compared with the first.

Plain lists are in seconds, unless --unit or a CSV's heading says otherwise (time_ms,
"median [us]", ns/op). A heading with a unit that pawl does not understand is
refused.

The verdicts:
  regression    more than 3% slower (--gate), and the medians' 95% intervals are apart;
                not for equal code, nor by an interval that reaches into the gate
                and is wider than four gates
  improvement   more than 10% faster (--improvement), the intervals are apart, |δ| ≥ 0.3
  maintained    shown to be within the gate, or a difference smaller than that
  inconclusive  no significant difference, or none after adjusting p for the number of
                benchmarks: in files without a change, chance shows a regression in at
                most 2.8% of cases (an improvement in 2.2%); equal code whose times
                differ; an interval that is too wide
  incomparable  measured on different devices, or without samples on one side

Files that were measured at different times also differ by what the machine did in
between: on a GPU, medians of the same code differ by 10% and more. pawl check
measures both versions in turns instead. If your own benchmark did that, sample
by sample, --paired judges the ratios inside pairs, as pawl check would.

Exit code 1: a regression; 2: none, but something is undecided; 0: neither;
3: the files have no benchmark in common, or cannot be read.`

// compareOptions say how two files are judged.
type compareOptions struct {
	compare.Options
	output                  outputOptions
	gate, improvement, unit string
}

func (o *compareOptions) AddFlags(f *pflag.FlagSet) {
	o.output.AddFlags(f)
	f.StringVar(&o.gate, "gate", unit.PercentPlain(spec.DefaultGate.Regression), "slower by more than this is a regression")
	f.StringVar(&o.improvement, "improvement", "", "faster by more than this is an improvement (default 10%, with --paired 5%)")
	f.BoolVar(&o.Paired, "paired", false, "the lists have equal length and were measured in turns: judge pairs")
	f.BoolVar(&o.Force, "force", false, "judge results of different devices too")
	f.StringVar(&o.unit, "unit", "", "unit of the times in plain lists without a unit in the heading: s, ms, us or ns (default s)")
}

// check refuses flags that make no sense, and turns the others into the service's options.
func (o *compareOptions) check() error {
	if err := o.output.check(); err != nil {
		return err
	}
	o.Gate = spec.DefaultGate
	var err error
	if o.Gate.Regression, err = unit.ParsePercent(o.gate); err != nil {
		return usage("--gate: %w", err)
	}
	if o.improvement != "" {
		faster, err := unit.ParsePercent(o.improvement)
		if err != nil || faster >= 1 {
			return usage("--improvement %s: expected a percentage below 100%%", o.improvement)
		}
		o.Gate.Improvement, o.Gate.Claim = faster, faster
	}
	if o.Unit = compare.Unit(o.unit); o.Unit == 0 && o.unit != "" {
		return usage("--unit %s: expected s, ms, us or ns", o.unit)
	}
	return nil
}

func newCompare(e *env) *cobra.Command {
	opts := &compareOptions{}
	return withFlags(&cobra.Command{
		Use: "compare BEFORE AFTER | HYPERFINE-FILE", Short: "judge two result files, pawl's or another tool's", GroupID: groupDaily, Long: compareHelp,
		Example: "  pawl compare old.json new.json\n  pawl compare old.txt new.txt -o change.md\n  pawl compare a.csv b.csv --unit ms --paired\n  pawl compare two-commands.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage("compare takes two files, before and after, or one hyperfine file with two commands; got %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runCompare(cmd.Context(), e, opts, args) },
	}, opts)
}

func runCompare(ctx context.Context, e *env, opts *compareOptions, files []string) error {
	if err := opts.check(); err != nil {
		return err
	}
	opts.Tool, opts.Command, opts.Started = e.tool(), e.command(), e.started
	for _, file := range files {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return &diag.Problem{Message: fmt.Sprintf("compare %s: no such file", file), Hint: "name two result files, before and after: a run's folder in .pawl/runs, its report.json, or another tool's file"}
		}
	}
	var made *result.Report
	var err error
	if len(files) == 1 {
		made, err = compare.File(ctx, files[0], opts.Options)
	} else {
		made, err = compare.Files(ctx, files[0], files[1], opts.Options)
	}
	if err != nil {
		return err
	}
	printed := opts.output.print(e, made, "")
	if printed != nil {
		printed = fmt.Errorf("print the comparison: %w", printed)
	}
	return gravest(e, outcomeOf(made), append(opts.output.write(made, ""), printed)...)
}
