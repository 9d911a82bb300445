package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// beWorkerWithGPU acts as a worker whose machine has GPUs: PAWL_TEST_HELLO is a part of its hello.
// It opens cells that load anything but refusedCode, report something about each side, and do
// nothing else.
func beWorkerWithGPU() {
	hello := wire.Hello{
		Protocol: "1.1", DeviceClass: "some-processor", Machine: result.Fingerprint{CPU: result.CPU{Model: "Some Processor"}},
		Devices: []result.GPU{{Name: "Some GPU", UUID: "GPU-1", Arch: "sm_90a"}, {Name: "Some GPU", UUID: "GPU-2", Arch: "sm_90a"}}, NoState: "there is no NVML",
	}
	hello.Machine.CPU.Cores, hello.Machine.MemoryBytes = 12, 1<<40
	_ = json.Unmarshal([]byte(os.Getenv("PAWL_TEST_HELLO")), &hello)
	out, in := wire.NewWriter(os.Stdout), wire.NewReader(os.Stdin)
	_ = out.Send(0, wire.OpHello, hello, nil)
	opened := uint64(0)
	for {
		frame, err := in.Next()
		if err != nil {
			return
		}
		var body any
		op := wire.OpOK
		switch frame.Op {
		case wire.OpHave:
			body = wire.HaveReply{Have: true}
		case wire.OpOpen:
			opened++
			body = wire.OpenReply{Cell: opened, Trust: "harness"}
		case wire.OpLoad:
			var m wire.Load
			_ = frame.Decode(&m)
			if m.SHA256 == build.NewArtifact([]byte(refusedCode), "").SHA256 {
				op, body = wire.OpError, wire.Failure{Fault: result.Fault{Cause: result.CauseCrash, Message: "refused"}}
				break
			}
			body = wire.LoadReply{Flush: fmt.Sprintf("way %d", m.Side), Limits: []string{fmt.Sprintf("limit of side %d", m.Side)}}
		case wire.OpClose:
			body = wire.CloseReply{PeakMemory: 1}
		}
		_ = out.Send(frame.ID, op, body, nil)
	}
}

const refusedCode = "refused"

// labWithGPU returns a lab at the worker above.
func labWithGPU(t *testing.T, class string) *Lab {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, Options{Worker: []string{self, "gpu-worker"}, Class: class})
	t.Cleanup(b.Close)
	return b
}

// What a run has found out about its machine stays, whatever else it builds: the oracles of GPU
// kernels often need no GPU and no build.
func TestBuildKeepsTheMachine(t *testing.T) {
	t.Parallel()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  k:
    source: k.cu
    entry: k
    launch: {grid: 1, block: 1}
    args: [{name: y, dtype: f32, shape: [1], role: out}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"", "my-cards"} {
		b := labWithGPU(t, class)
		job := NewJob(".", s.Kernels[0].Default(), s.Kernels[0].Configs[0])
		job.fail("build", io.ErrUnexpectedEOF) // so that nothing is compiled
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if b.Report.Machine.GPU != nil || b.Report.Machine.CPU.Model != "Some Processor" {
			t.Errorf("before there is a job: %+v", b.Report.Machine)
		}
		want := "some-gpu"
		if class != "" {
			want = class
		}
		for _, jobs := range [][]*Job{{job}, nil, {job}} {
			if err := b.Build(t.Context(), jobs); err != nil {
				t.Fatal(err)
			}
			b.compiler("cuda", "nvcc 13")
			m := b.Report.Machine
			if m.GPU == nil || m.GPU.Name != "Some GPU" || b.UUID() != "GPU-1" || b.Report.DeviceClass != want {
				t.Errorf("%+v, class %q, device %q", m, b.Report.DeviceClass, b.UUID())
			}
			if !maps.Equal(m.Compilers, map[string]string{"cuda": "nvcc 13"}) || len(b.Report.Warnings) != 1 {
				t.Errorf("compilers %v, warnings %v", m.Compilers, b.Report.Warnings)
			}
		}
	}
}

const pythonYAML = `version: 1
kernels:
  compiled: {source: k.c, entry: k, args: &args [{name: y, dtype: f32, shape: [1], role: out}]}
  numbers: {python: "numbers_only:run", args: *args}
  torch: {python: "with_torch:run", args: *args}
  helper: {python: "with_helper:run", args: *args}
  named: {python: "numbers_only:run", framework: cupy, args: *args}
`

// pythonSpec returns the spec above beside its modules.
func pythonSpec(t *testing.T) *spec.Spec {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"numbers_only.py": "import numpy\n", "with_torch.py": "import torch\n", "with_helper.py": "import helper\n", "helper.py": "import jax\n",
		"k.c": "", "pawl.yaml": pythonYAML,
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

// Which device a Python kernel runs on is known before it is built: its baseline is
// that device's.
func TestClassOf(t *testing.T) {
	t.Parallel()
	s, b := pythonSpec(t), labWithGPU(t, "")
	b.Options.Build.CacheDir = t.TempDir()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"compiled": "some-processor", "numbers": "some-processor", "torch": "some-gpu", "helper": "some-gpu", "named": "some-gpu",
	}
	for _, k := range s.Kernels {
		if got := b.ClassOf(t.Context(), s.Dir, k); got != want[k.Name] {
			t.Errorf("%s: %s, want %s", k.Name, got, want[k.Name])
		}
	}
	b.Class = "my-cards"
	if got := b.ClassOf(t.Context(), s.Dir, s.Kernels[0]); got != "my-cards" {
		t.Errorf("named by the user: %s", got)
	}
}

// The class of a report is that of its rows: an oracle or a rival on the GPU does not change it.
func TestWhatIsBesideRowsHasNoClass(t *testing.T) {
	t.Parallel()
	s, b := pythonSpec(t), labWithGPU(t, "")
	b.Options.Build.CacheDir = t.TempDir()
	row := NewJob(s.Dir, s.Kernels[1].Default(), s.Kernels[1].Configs[0])
	rival, err := FindRival(s, s.Kernels[1], "with_torch:run")
	if err != nil {
		t.Fatal(err)
	}
	build := func(jobs ...*Job) {
		t.Helper()
		if err := b.Build(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
	}
	build(row)
	if b.Report.DeviceClass != "some-processor" || b.Report.Machine.GPU != nil {
		t.Fatalf("class %q, GPU %+v", b.Report.DeviceClass, b.Report.Machine.GPU)
	}
	oracle := rival.Job(s.Dir, row.Instance.Config)
	build(oracle)
	if b.Report.DeviceClass != "some-processor" || b.Report.Machine.GPU == nil || !oracle.GPU() {
		t.Errorf("beside a torch oracle: class %q, GPU %+v", b.Report.DeviceClass, b.Report.Machine.GPU)
	}
	build(NewJob(s.Dir, s.Kernels[2].Default(), s.Kernels[2].Configs[0]))
	if b.Report.DeviceClass != "some-gpu" || len(b.Report.Warnings) != 1 {
		t.Errorf("with a row on the GPU: class %q, warnings %v", b.Report.DeviceClass, b.Report.Warnings)
	}
}

// twoVersions are jobs of a CUDA kernel, built.
func twoVersions(t *testing.T) []*Job {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(`version: 1
kernels:
  k: {source: k.cu, entry: k, launch: {grid: 1, block: 1}, args: [{name: y, dtype: f32, shape: [1], role: out}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var sides []*Job
	for range 2 {
		job := NewJob(".", s.Kernels[0].Default(), s.Kernels[0].Configs[0])
		job.Artifact, job.Record.Build = build.NewArtifact([]byte("code"), "k"), &result.Build{}
		sides = append(sides, job)
	}
	return sides
}

// Versions that share a cell are each told their own limits.
func TestSidesHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	b, sides := labWithGPU(t, ""), twoVersions(t)
	host, m := hosted(b, sides...)
	if _, err := host.Open(t.Context(), m, []int{1, 0}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} { // they are numbered as they are loaded
		row := sides[i].Record
		if limit := (result.Warning{Code: "limit", Message: fmt.Sprintf("limit of side %d", want)}); !slices.Equal(row.Warnings, []result.Warning{limit}) {
			t.Errorf("side %d: %+v", i, row.Warnings)
		}
		if row.Flush != fmt.Sprintf("way %d", want) {
			t.Errorf("side %d: flush %q", i, row.Flush)
		}
	}
	host.Close(t.Context(), make([]error, 2))
}

// A worker that replaces one that has ended must have the device that the run began on.
func TestReplacedWorkerHasTheSameDevice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hello, uuid, wrong string
		onCPU              bool
	}{
		"same machine":         {`{}`, "GPU-1", "", false},
		"another of its kind":  {`{"devices": [{"name": "Some GPU", "uuid": "GPU-9"}]}`, "GPU-9", "", false},
		"another GPU":          {`{"devices": [{"name": "Other GPU", "uuid": "GPU-9"}]}`, "", "a worker has Other GPU, but the run began on Some GPU", false},
		"another driver":       {`{"devices": [{"name": "Some GPU", "uuid": "GPU-9", "driver": "570.1"}]}`, "", "a worker has Some GPU with driver 570.1, but the run began on Some GPU", false},
		"no GPU":               {`{"devices": null}`, "", "a worker has no GPU 0, but the run began on Some GPU", false},
		"another GPU, unused":  {`{"devices": [{"name": "Other GPU", "uuid": "GPU-9"}]}`, "", "", true},
		"another CPU":          {`{"device_class": "other"}`, "", "a worker has other, but the run began on some-processor", false},
		"another CPU, no GPUs": {`{"device_class": "other", "devices": null}`, "", "a worker has other, but the run began on some-processor", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := labWithGPU(t, "")
			script := `mkdir "$0" 2>/dev/null || export PAWL_TEST_HELLO='` + test.hello + `'; exec "$@"`
			b.Worker = append([]string{"sh", "-c", script, filepath.Join(t.TempDir(), "started")}, b.Worker...)
			first, err := b.Client(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !test.onCPU {
				b.adopt(twoVersions(t))
			}
			first.Close()
			_, err = b.Client(t.Context())
			if test.wrong == "" {
				if err != nil || b.UUID() != test.uuid {
					t.Errorf("%v, GPU %q, want %q", err, b.UUID(), test.uuid)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("got %v, want %s", err, test.wrong)
			}
			if b.worker != first {
				t.Error("the worker is used")
			}
			if err := b.another(b.Device).replace(t.Context()); err == nil {
				t.Error("a lane uses such a worker")
			}
		})
	}
}

// Several rows may fail for one reason, each at its own stage.
func TestFaultsAreCopied(t *testing.T) {
	t.Parallel()
	shared := fmt.Errorf("no worker: %w", result.Faultf(result.CauseKilled, "the worker ended"))
	var rows sync.WaitGroup
	for _, stage := range []string{"load", "measure"} {
		rows.Go(func() {
			if fault := (&Job{}).FaultOf(stage, shared); fault.Stage != stage {
				t.Errorf("stage %q, want %q", fault.Stage, stage)
			}
		})
	}
	rows.Wait()
	if fault := (*result.Fault)(nil); !errors.As(shared, &fault) || fault.Stage != "" {
		t.Errorf("%+v", fault)
	}
}
