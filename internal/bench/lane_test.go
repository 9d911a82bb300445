package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/lab"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl's worker and cells.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "gpu-worker" {
		beWorkerWithGPUs(os.Args[2:])
		return
	}
	if !puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		os.Exit(puppet.Run(m))
	}
}

// beWorkerWithGPUs wraps another worker, but says that its machine has two GPUs. It refuses work
// for them.
func beWorkerWithGPUs(command []string) {
	inner := exec.Command(command[0], command[1:]...)
	stdin, _ := inner.StdinPipe()
	stdout, _ := inner.StdoutPipe()
	if err := inner.Start(); err != nil {
		panic(err)
	}
	out := wire.NewWriter(os.Stdout)
	go func() {
		defer stdin.Close()
		forward(wire.NewReader(os.Stdin), wire.NewWriter(stdin), func(frame *wire.Frame) bool {
			var open wire.Open
			if frame.Op != wire.OpOpen || frame.Decode(&open) != nil || open.Cell != spec.CellPython {
				return true
			}
			refused := fmt.Sprintf("refused on GPU %d", open.Device)
			if open.Processor {
				refused += " and the processor"
			}
			_ = out.Send(frame.ID, wire.OpError, wire.Failure{Fault: result.Fault{Cause: result.CauseUnsupported, Message: refused}}, nil)
			return false
		})
	}()
	forward(wire.NewReader(stdout), out, func(frame *wire.Frame) bool {
		if frame.Op == wire.OpHello {
			var hello wire.Hello
			_ = frame.Decode(&hello)
			hello.Devices = []result.GPU{{Name: "Some GPU", UUID: "GPU-0"}, {Name: "Some GPU", UUID: "GPU-1"}}
			frame.Body, _ = json.Marshal(hello)
		}
		return true
	})
	_ = inner.Wait()
}

// forward passes on the frames for which pass returns true.
func forward(from *wire.Reader, to *wire.Writer, pass func(*wire.Frame) bool) {
	for {
		frame, err := from.Next()
		if err != nil {
			return
		}
		if pass(frame) {
			_ = to.Send(frame.ID, frame.Op, frame.Body, frame.Data)
		}
	}
}

const mixedYAML = `version: 1
kernels:
  host: {source: k.c, entry: k, args: &args [{name: y, dtype: f32, shape: [N], role: out}]}
  torch: {python: "k:run", args: *args}
configs: {a: {N: 64}, b: {N: 128}, c: {N: 256}}
`

// mixed returns a project with rows on the processor and on GPUs.
func mixed(t *testing.T) *spec.Spec {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pawl.yaml": mixedYAML, "k.py": "import torch\n",
		"k.c": fmt.Sprintf("const char script[] = %q;\nvoid k(float *y) { y[0] = script[0]; }\n", puppet.Script{Micros: 200}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bothGPUs benches what the patterns select on both GPUs.
func bothGPUs(t *testing.T, s *spec.Spec, change func(*Options), patterns ...string) *result.Report {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command, err := puppet.Worker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Prepare(result.KindBench, run.Request{Spec: s, Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{
		Measure: measure.Default(), Devices: []int{0, 1},
		Lab: lab.Options{Build: build.Options{NoCcache: true, CacheDir: t.TempDir()}, Sandbox: "off", Worker: append([]string{self, "gpu-worker"}, command...)},
	}
	opts.Measure.Budget = 20 * time.Millisecond
	if change != nil {
		change(&opts)
	}
	// Lanes that wait for each other would wait for ever.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := Run(ctx, r, opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Rows on the CPU stay with one worker: it keeps the CPU until it ends, and takes it before its
// GPU.
func TestLanesShareOnlyTheGPUs(t *testing.T) {
	t.Parallel()
	refused := map[string]string{"GPU-0": "refused on GPU 0 and the processor", "GPU-1": "refused on GPU 1"}
	for _, row := range bothGPUs(t, mixed(t), nil).Rows {
		switch {
		case row.Cell == spec.CellHost:
			if row.Fault != nil || row.Timing == nil || row.Device != "" {
				t.Errorf("%s: fault %v, device %q", row.Name(), row.Fault, row.Device)
			}
		case row.Fault == nil || row.Fault.Message != refused[row.Device]:
			t.Errorf("%s: fault %v, device %q", row.Name(), row.Fault, row.Device)
		}
	}
}

// A rival on the CPU also binds its row to the first worker.
func TestLanesWithRivalsOnTheProcessor(t *testing.T) {
	t.Parallel()
	report := bothGPUs(t, mixed(t), func(o *Options) { o.Against = []string{"host"} }, "torch")
	for _, row := range report.Rows {
		if row.Fault == nil || row.Fault.Message != "refused on GPU 0 and the processor" {
			t.Errorf("%s: %v", row.Name(), row.Fault)
		}
		if rival := row.Rivals[0].Row; rival.Fault != nil || rival.Timing == nil {
			t.Errorf("%s: its rival has %v", row.Name(), rival.Fault)
		}
	}
	if report.DeviceClass != "some-gpu" {
		t.Errorf("class %s", report.DeviceClass)
	}
}

// The workers of a pool share all rows, those on the CPU too.
func TestPoolSharesTheRows(t *testing.T) {
	t.Parallel()
	report := bothGPUs(t, mixed(t), func(o *Options) { o.Devices, o.Lab.Workers = []int{0}, 3 })
	for _, row := range report.Rows {
		if measured := row.Cell == spec.CellHost; (row.Timing != nil) != measured {
			t.Errorf("%s: fault %v, device %q", row.Name(), row.Fault, row.Device)
		}
	}
}
