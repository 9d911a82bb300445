// Package calibrate measures the peaks of this machine: the best rates it can reach. The kernels
// that reach them are described in a spec of their own, embedded here, and are measured like any
// other kernel; this package has no timing code of its own.
package calibrate

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/bench"
	"pawl/internal/formula"
	"pawl/internal/lab"
	"pawl/internal/machine"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker"
)

//go:embed kernels
var kernels embed.FS

// FirstDevice is the first GPU, or the CPU where there is none.
const FirstDevice = -1

// Options say what to measure.
type Options struct {
	Tool    result.Tool
	Command []string
	Device  int           // which GPU; FirstDevice
	Host    bool          // measure the CPU, even where there is a GPU
	Budget  time.Duration // for each kernel
	Sandbox string        // auto, require, off
	Started time.Time
	Follow  func(run.Event) // receives every event; may be nil
}

// place is the device that is measured.
type place struct {
	machine result.Fingerprint
	class   string
	gpu     *result.GPU // nil: one core of the CPU
	device  int
}

// Roofline measures the peaks of a device class. An error means that there are none; the failure of
// a single kernel is in its Try.
func Roofline(ctx context.Context, opts Options) (*roof.Peaks, error) {
	here, err := findPlace(ctx, opts)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "pawl-peaks-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the kernels: %w", err)
	}
	defer os.RemoveAll(folder)
	s, err := here.spec(folder)
	if err != nil {
		return nil, err
	}
	targets := here.targets()
	r, err := run.Prepare(result.KindBench, run.Request{
		Tool: opts.Tool, Command: opts.Command, Started: opts.Started, Follow: opts.Follow, Spec: s, Patterns: names(targets),
	})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	settings := measure.Default()
	settings.Cache, settings.Budget, settings.MinSamples = "hot", opts.Budget, fewest
	report, err := bench.Run(ctx, r, bench.Options{
		Measure: settings, Lab: lab.Options{Sandbox: opts.Sandbox}, Devices: []int{here.device},
	})
	if err != nil {
		return nil, err
	}
	if report.Interrupted {
		return nil, context.Canceled
	}
	return collect(here, targets, report)
}

// fewest is the smallest number of samples of a kernel, as many as an interval needs: a copy that
// exceeds a large cache takes long on one core.
const fewest = stat.MinInterval

// findPlace asks a worker which devices exist.
func findPlace(ctx context.Context, opts Options) (*place, error) {
	client, err := worker.Start(ctx, worker.Options{})
	if err != nil {
		return nil, err
	}
	hello := client.Hello()
	client.Close()
	p := &place{machine: hello.Machine, class: hello.DeviceClass}
	count := len(hello.Devices)
	switch {
	case opts.Host, opts.Device == FirstDevice && count == 0:
		return p, nil
	case opts.Device >= count || opts.Device < FirstDevice:
		return nil, result.Faultf(result.CauseUnsupported, "there is no GPU %d; this machine has %d", opts.Device, count).
			WithHint("pawl doctor shows what is missing; --host measures the CPU")
	}
	p.device = max(0, opts.Device)
	p.gpu = &hello.Devices[p.device]
	p.class = machine.Slug(p.gpu.Name)
	return p, nil
}

func (p *place) cell() string {
	if p.gpu != nil {
		return spec.CellCUDA
	}
	return spec.CellHost
}

// targets returns the peaks that this place can have.
func (p *place) targets() []target {
	if p.gpu != nil {
		return suited(cudaTargets, p.gpu.Arch)
	}
	all := suited(hostTargets, "")
	caches := roof.Caches(spec.CellHost, p.machine)
	return slices.DeleteFunc(all, func(t target) bool {
		isCache := t.name == roof.L2 || t.name == roof.LLC
		return isCache && !slices.ContainsFunc(caches, func(c roof.Cache) bool { return c.Name == t.name })
	})
}

func names(targets []target) []string {
	var out []string
	for _, t := range targets {
		for _, c := range t.kernels {
			out = append(out, c.kernel)
		}
	}
	return out
}

// spec returns the kernels that reach the peaks of this place.
func (p *place) spec(folder string) (*spec.Spec, error) { return p.load(p.cell(), folder) }

// load writes embedded kernels into a folder and reads them from there, with the place's own
// sizes.
func (p *place) load(from, folder string) (*spec.Spec, error) {
	if err := writeKernels(from, folder); err != nil {
		return nil, err
	}
	s, err := spec.Load(filepath.Join(folder, spec.FileName))
	if err != nil {
		return nil, fmt.Errorf("read pawl's own kernels: %w", err)
	}
	for _, k := range s.Kernels {
		for _, c := range k.Configs {
			for name, n := range p.sizes() {
				set(c, name, n)
			}
		}
	}
	return s, nil
}

// set changes a variable of a config.
func set(c *spec.Config, name string, value int64) {
	for i := range c.Vars {
		if c.Vars[i].Name == name {
			c.Vars[i].Value = formula.Int(value)
		}
	}
}

// writeKernels puts embedded kernels into a folder.
func writeKernels(from, folder string) error {
	files, err := fs.Sub(kernels, "kernels/"+from)
	if err == nil {
		err = os.CopyFS(folder, files)
	}
	if err != nil {
		return fmt.Errorf("write the kernels: %w", err)
	}
	return nil
}

const (
	mib = 1 << 20
	gib = 1 << 30
)

// sizes returns the values that the kernels need to know of the place.
func (p *place) sizes() map[string]int64 {
	if p.gpu != nil {
		return map[string]int64{
			"SMS": int64(p.gpu.SMs), "L2": p.gpu.L2Bytes,
			"BYTES": whole(max(64*mib, min(gib, p.gpu.MemoryBytes/8))),
		}
	}
	sizes := map[string]int64{}
	last := int64(0)
	for _, c := range roof.Caches(spec.CellHost, p.machine) {
		if c.Name != roof.L1 {
			sizes[strings.ToUpper(string(c.Name))] = whole(c.Bytes)
			last = c.Bytes
		}
	}
	// Two buffers of this size exceed the caches twice, like the rows that are compared with this
	// peak.
	sizes["BYTES"] = whole(min(max(64*mib, last+last/8), max(64*mib, p.machine.MemoryBytes/16)))
	return sizes
}

// whole rounds down to a multiple of all the kernels' vector sizes.
func whole(n int64) int64 { return max(n, 4096) / 4096 * 4096 }
