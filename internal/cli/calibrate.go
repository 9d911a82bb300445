package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/calibrate"
	"pawl/internal/roof"
	"pawl/internal/term"
	"pawl/internal/unit"
)

type calibrateOptions struct {
	roofline bool
	host     bool
	device   int
	budget   time.Duration
	json     bool
	sandbox  sandboxOptions
}

func (o *calibrateOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.roofline, "roofline", false, "measure the machine's peaks: memory, caches, multiply-adds, tensor cores")
	f.BoolVar(&o.host, "host", false, "measure the processor, also where there is a GPU")
	f.IntVar(&o.device, "device", calibrate.FirstDevice, "which GPU to measure (default: the first, or the processor where there is none)")
	f.Lookup("device").DefValue = "0" // which the help leaves out; the number that stands for "first" says nothing
	f.DurationVar(&o.budget, "budget", 300*time.Millisecond, "time to sample each kernel for")
	f.BoolVar(&o.json, "json", false, "print the peaks as JSON")
	o.sandbox.AddFlags(f)
}

func newCalibrate(e *env) *cobra.Command {
	opts := &calibrateOptions{}
	cmd := &cobra.Command{
		Use: "calibrate --roofline", Short: "measure what this machine can do at best", GroupID: groupMachine, Args: cobra.NoArgs,
		Long: `calibrate --roofline measures the peaks of this machine's first GPU, or of one core
of its processor where there is none, and keeps them in the user's cache folder
under the device class. From then on bench and check say what percent of the roof
a kernel reaches, and reject a GPU kernel that claims more than 105% of it.`,
		RunE: func(*cobra.Command, []string) error { return runCalibrate(e, opts) },
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runCalibrate(e *env, opts *calibrateOptions) error {
	switch {
	case !opts.roofline:
		return usage("calibrate: the machine's peaks are all there is to calibrate today: pawl calibrate --roofline")
	case opts.budget <= 0 || opts.budget > time.Hour:
		return usage("--budget %v: expected more than 0 and at most 1h", opts.budget)
	case opts.host && opts.device != calibrate.FirstDevice:
		return usage("--host and --device exclude each other")
	case opts.device < calibrate.FirstDevice:
		return usage("--device %d: expected the number of a GPU", opts.device)
	}
	mode, err := opts.sandbox.mode()
	if err != nil {
		return err
	}
	live := newFollower(e)
	peaks, err := calibrate.Roofline(e.ctx, calibrate.Options{
		Tool: e.tool(), Command: append([]string{"pawl"}, e.args...), Device: opts.device, Host: opts.host,
		Budget: opts.budget, Sandbox: mode, Started: e.started, Follow: live.follow,
	})
	live.done()
	if err != nil {
		return err
	}
	path, saveErr := roof.Save(roof.Folder(), peaks)
	if err := showPeaks(e, opts, peaks, path); err != nil {
		return fmt.Errorf("print the peaks: %w", err)
	}
	if failed := len(peaks.Failed); saveErr == nil && failed > 0 {
		return &outcomeError{exitUnjudged, plural(failed, "peak", "peaks") + " could not be measured; the others are kept"}
	}
	return saveErr
}

func showPeaks(e *env, opts *calibrateOptions, peaks *roof.Peaks, path string) error {
	if opts.json {
		raw, err := peaks.Encode()
		if err != nil {
			return err
		}
		_, err = e.stdout.Write(raw)
		return err
	}
	style := e.style()
	fmt.Fprintf(e.stdout, "pawl %s · %s · peaks of %s\n\n", version, peaks.Device, peaks.DeviceClass)
	table := &term.Table{Indent: 2, HeaderStyle: style.Dim, Columns: []term.Column{
		{Header: "peak"}, {Header: "rate", Align: term.Right}, {Header: "clock", Align: term.Right}, {Header: "of what"},
	}}
	for _, p := range peaks.Peaks {
		clock := ""
		if p.GHz > 0 {
			clock = unit.GHz(p.GHz)
		}
		table.AddCells(term.Cell{Text: string(p.Name), Style: style.Bold}, term.Cell{Text: rate(p, p.Rate)}, term.Cell{Text: clock}, term.Cell{Text: reached(peaks, p)})
	}
	for _, p := range peaks.Failed {
		table.AddCells(term.Cell{Text: string(p.Name), Style: style.Bold}, term.Cell{}, term.Cell{}, term.Cell{Text: "failed: " + firstFault(p), Style: style.Red})
	}
	_, err := fmt.Fprint(e.stdout, table)
	if path != "" {
		fmt.Fprintf(e.stdout, "\n  peaks: %s\n", relative(path))
	}
	return err
}

func rate(p roof.Peak, value float64) string {
	if p.Unit == roof.GFLOPS {
		return unit.GFLOPS(value)
	}
	return unit.Bandwidth(value)
}

// about is what the peaks are of.
var about = map[roof.Name]string{
	roof.DRAM: "memory", roof.LLC: "last-level cache", roof.L2: "L2", roof.F32: "f32", roof.F64: "f64",
	roof.F16: "tensor cores, f16", roof.BF16: "tensor cores, bf16", roof.TF32: "tensor cores, tf32",
	roof.E4M3: "tensor cores, e4m3", roof.F64Tensor: "tensor cores, f64",
}

// reached says which kernel reached the peak and how far the others came.
func reached(all *roof.Peaks, p roof.Peak) string {
	text := about[p.Name] + ": " + p.Of
	if all.Cell == "host" {
		text += ", one core"
	}
	best := map[string]float64{}
	var order []string
	for _, try := range p.Tried {
		if try.Of == p.Of {
			continue
		}
		if _, seen := best[try.Of]; !seen {
			order = append(order, try.Of)
		}
		best[try.Of] = max(best[try.Of], try.Rate)
	}
	var others []string
	for _, of := range order {
		others = append(others, of+" "+rate(p, best[of]))
	}
	if others != nil {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return text
}

func firstFault(p roof.Peak) string {
	for _, try := range p.Tried {
		if try.Fault != "" {
			return try.Kernel + ": " + try.Fault
		}
	}
	return "no rate"
}
