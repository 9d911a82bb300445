package lab

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/spec"
)

// Each needs no Build before it: every job is built for the worker's GPU.
func TestEachStandsAlone(t *testing.T) {
	t.Setenv("NVCC", cudafake.Compiler(t))
	t.Setenv("PAWL_CUDA_ARCH", "")
	dir := t.TempDir()
	source, err := os.ReadFile("../../test/system/testdata/fake.cu")
	if err != nil {
		t.Fatal(err)
	}
	yaml := "version: 1\nkernels:\n"
	for _, name := range []string{"a", "b", "c"} {
		yaml += "  " + name + `:
    source: fake.cu
    entry: scale
    launch: {grid: 1, block: 256}
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}]
`
	}
	for name, text := range map[string]string{"fake.cu": string(source), "pawl.yaml": yaml + "configs: {c: {N: 64}}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]func(*Lab) error{
		"started":     func(b *Lab) error { return b.Start(t.Context()) },
		"not started": func(*Lab) error { return nil },
	} {
		b := labWithGPU(t, "")
		b.Sandbox, b.Options.Build = "off", build.Options{CacheDir: t.TempDir(), NoCcache: true, Sandbox: "off"}
		if err := begin(b); err != nil {
			t.Fatal(err)
		}
		var jobs []*Job
		for _, k := range s.Kernels {
			jobs = append(jobs, NewJob(s.Dir, k.Default(), k.Configs[0]))
		}
		jobs[0].fail("plan", context.Canceled) // done hears of it, too
		built := 0
		if err := b.Each(t.Context(), jobs, func(p *Job) {
			if built++; (p.Artifact == nil) != (p == jobs[0]) {
				t.Errorf("%s: %s: %v", name, p.Name(), p.Record.Fault)
			}
			if b.UUID() != "GPU-1" || b.Report.Machine.GPU == nil || p.Artifact != nil && b.Report.Machine.Compilers["cuda"] == "" {
				t.Errorf("%s: %s came before the machine was known: %+v", name, p.Name(), b.Report.Machine)
			}
		}); err != nil {
			t.Fatal(err)
		}
		lanes, err := b.gpus(CrewOptions{Most: len(jobs)})
		if err != nil || built != len(jobs) || len(lanes) != 2 || b.Largest == 0 {
			t.Errorf("%s: %d jobs of %d, %d lanes, %d bytes, %v", name, built, len(jobs), len(lanes), b.Largest, err)
		}
	}
}

func TestEachWithoutWorker(t *testing.T) {
	b := labWithGPU(t, "")
	b.Worker = []string{"/bin/false"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := b.Each(ctx, nil, func(*Job) {}); err == nil {
		t.Error("no error")
	}
}
