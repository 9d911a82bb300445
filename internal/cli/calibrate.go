package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/calibrate"
	"pawl/internal/term"
	"pawl/internal/unit"
)

type calibrateOptions struct {
	calibrate.GateOptions
	roofline bool
	power    string
	effect   float64 // power, as a fraction
	from     string
	json     bool
	sandbox  sandboxOptions
}

func (o *calibrateOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.roofline, "roofline", false, "measure the machine's peaks instead: memory, caches, multiply-adds, tensor cores")
	f.StringVar(&o.power, "power", "", "show instead how many samples are needed to detect a change of this size: 3%")
	f.StringVar(&o.from, "from", "", "with --power: use the rows of this report instead of measuring")
	f.BoolVar(&o.Host, "host", false, "measure the CPU, even if there is a GPU")
	f.IntVar(&o.Device, "device", calibrate.FirstDevice, "which GPU to measure (default: the first; the CPU if there is no GPU)")
	f.Lookup("device").DefValue = "0" // hides the default in the help; the number that stands for "first" says nothing
	f.DurationVar(&o.For, "for", 10*time.Minute, "stop after about this long and keep the decisions; the next call continues from there")
	f.BoolVar(&o.Fresh, "fresh", false, "discard the existing calibration; with --roofline: the existing peaks (otherwise the higher of old and new is kept)")
	f.DurationVar(&o.Budget, "budget", 300*time.Millisecond, "with --roofline: how long to sample each kernel")
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	o.sandbox.AddFlags(f)
}

func newCalibrate(e *env) *cobra.Command {
	opts := &calibrateOptions{}
	cmd := withFlags(&cobra.Command{
		Use: "calibrate", Short: "measure this machine's error rates and its peak performance", GroupID: groupMachine, Args: cobra.NoArgs,
		Long: `calibrate tries the gate many times on kernels whose slowdown is known (0% to 5%, for a
gate of 3%) and records how often it fails: the operating curve of the gate on this
machine, including false alarms. Every check cites it. In a project the gate is the one
in pawl.yaml. It can be interrupted at any time; the next call continues with the set of
decisions, a few seconds long, that was interrupted.

--roofline measures the peaks of this machine's first GPU, or of one core of its
processor where there is none. From then on bench and check show what percent of
the roof a kernel reaches, and reject a GPU kernel that claims more than 105% of it.
When peaks are measured again, the higher rate of each is kept: a busy machine reaches less.

--power shows how many cells, or samples, are needed to detect a change of a given size:
on this machine, or for the rows of a report.`,
		Example: "  pawl calibrate --for 30m\n  pawl calibrate --roofline\n  pawl calibrate --power 3% --from .pawl/runs/…/report.json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCalibrate(cmd.Context(), e, opts) },
	}, opts)
	cmd.MarkFlagsMutuallyExclusive("roofline", "power")
	cmd.MarkFlagsMutuallyExclusive("roofline", "for")
	return cmd
}

func (o *calibrateOptions) check() error {
	switch {
	case o.Budget <= 0 || o.Budget > time.Hour:
		return usage("--budget %v: expected more than 0 and at most 1h", o.Budget)
	case o.For <= 0:
		return usage("--for %v: expected more than 0", o.For)
	case o.from != "" && o.power == "":
		return usage("--from %s: only used with --power", o.from)
	case o.Host && o.Device != calibrate.FirstDevice:
		return usage("--host and --device exclude each other")
	case o.Device < calibrate.FirstDevice:
		return usage("--device %d: expected the number of a GPU", o.Device)
	}
	return nil
}

func runCalibrate(ctx context.Context, e *env, opts *calibrateOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	var err error
	if opts.Sandbox, err = opts.sandbox.mode(); err != nil {
		return err
	}
	if opts.power != "" {
		if opts.effect, err = percentage(opts.power); err != nil {
			return err
		}
	}
	if opts.from != "" {
		rows, err := calibrate.PowerFrom(opts.from, opts.effect)
		if err != nil {
			return err
		}
		return showPower(e, opts, opts.effect, rows)
	}
	live := newFollower(e)
	opts.Tool, opts.Command, opts.Started, opts.Follow = e.tool(), e.command(), e.started, live.follow
	if !opts.roofline {
		return runGate(ctx, e, opts, live)
	}
	peaks, err := calibrate.Roofline(ctx, opts.Options)
	live.done()
	if err != nil {
		return err
	}
	kept, path, unread, saveErr := calibrate.KeepPeaks(peaks, opts.Fresh)
	if unread != nil {
		e.warn("%v; it is rewritten", unread)
	}
	if err := showPeaks(e, opts, peaks, kept, path); err != nil {
		return fmt.Errorf("print the peaks: %w", err)
	}
	if failed := len(peaks.Failed); saveErr == nil && failed > 0 {
		return &outcomeError{exitUnjudged, unit.Plural(failed, "peak", "peaks") + " could not be measured; the others are kept"}
	}
	return saveErr
}

// doubtPeaks warns of peaks that are not known exactly.
func doubtPeaks(e *env, peaks *calibrate.Peaks) {
	doubtful := false
	for _, p := range peaks.Peaks {
		if calibrate.Doubtful(p) {
			e.warn("the peak %s, %s, is only known to ± %s", p.Name, calibrate.Rate(p, p.Rate), unit.PercentPlain(p.HalfWidth()))
			doubtful = true
		}
	}
	if doubtful {
		e.hint("measure on a quieter machine, or with a longer --budget; --fresh discards the peaks of earlier runs")
	}
}

func showPeaks(e *env, opts *calibrateOptions, peaks *calibrate.Peaks, kept []calibrate.Kept, path string) error {
	doubtPeaks(e, peaks)
	if opts.json {
		return printJSON(e, peaks)
	}
	style := e.style()
	fmt.Fprintf(e.stdout, "pawl %s · %s · peaks of %s\n\n", version, peaks.Device, peaks.DeviceClass)
	table := e.table(left("peak"), right("rate"), ranked(1, right("clock")), words("of what"))
	for _, p := range peaks.Peaks {
		table.AddCells(term.Cell{Text: string(p.Name), Style: style.Bold}, term.Cell{Text: calibrate.Rate(p, p.Rate)}, term.Cell{Text: known(p.GHz, unit.GHz)}, term.Cell{Text: calibrate.Reached(peaks, p)})
	}
	for _, p := range peaks.Failed {
		table.AddCells(term.Cell{Text: string(p.Name), Style: style.Bold}, term.Cell{}, term.Cell{}, term.Cell{Text: "failed: " + firstFault(p), Style: style.Red})
	}
	_, err := fmt.Fprintln(e.stdout, table)
	for _, k := range kept {
		now := "not measured"
		if k.Now > 0 {
			now = calibrate.Rate(k.Peak, k.Now)
		}
		e.print("  kept: %s %s of %s; this time %s (--fresh discards it)\n", k.Name, calibrate.Rate(k.Peak, k.Rate), k.Measured.Format(time.DateOnly), now)
	}
	if path != "" {
		e.print("  peaks: %s\n", relative(path)) // a path that does not fit begins a line, so that it can be copied
	}
	return err
}

func firstFault(p calibrate.Peak) string {
	for _, try := range p.Tried {
		if try.Fault != "" {
			return try.Kernel + ": " + try.Fault
		}
	}
	return "no rate"
}
