package stand

import (
	"io"
	"maps"
	"os"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

// beWorkerWithGPU is a worker that says what its machine has, and nothing else.
func beWorkerWithGPU() {
	hello := wire.Hello{
		Protocol: "1.0", DeviceClass: "some-processor", Machine: result.Fingerprint{CPU: result.CPU{Model: "Some Processor"}},
		Devices: []result.GPU{{Name: "Some GPU", UUID: "GPU-1", Arch: "sm_90a"}}, NoState: "there is no NVML",
	}
	_ = wire.NewWriter(os.Stdout).Send(0, wire.OpHello, hello, nil)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// What a run has found out about its machine stays, whatever else is built in it:
// the oracles of kernels that run on a GPU often need no GPU, and nothing built.
func TestBuildKeepsTheMachine(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
		b := New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, Options{Worker: []string{self, "gpu-worker"}, Class: class})
		t.Cleanup(b.Close)
		job := NewJob(".", s.Kernels[0].Default(), s.Kernels[0].Configs[0])
		job.Fail("build", io.ErrUnexpectedEOF) // so that nothing is compiled
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
