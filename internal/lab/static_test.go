package lab

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/advice"
	"pawl/internal/build"
	"pawl/internal/native/cuda/cubin/cubintest"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

const staticYAML = `version: 1
kernels:
  two:
    source: k.cu
    launches:
      - {entry: reverse, args: [x], grid: 4, block: 300, shared: 60000}
      - {entry: halve, args: [x, n], grid: [2, 3], block: [32, 4]}
    args: [{name: x, dtype: f32, shape: [1200], role: inout}, {name: n, dtype: i32, value: 1200}]
    configs: {c: {}}
`

const staticSource = `
extern "C" __global__ void reverse(float *x) { __shared__ float t[300]; t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = t[299 - threadIdx.x]; }
extern "C" __global__ void halve(float *x, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] * 0.1; }
extern "C" __global__ void unused(float *x) { x[0] = 1; }
`

// staticJob builds the kernels above by a toolkit's NVRTC, without a GPU.
func staticJob(t *testing.T, toolkit cubintest.Toolkit, arch string) (*Lab, *Job) {
	t.Helper()
	for _, name := range []string{"NVCC", "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("PAWL_NVRTC", toolkit.Folder)
	b := realLab(t, "cold")
	b.Options.Build.Arch = arch
	return b, built(t, b, staticYAML, map[string]string{"k.cu": staticSource})[0]
}

// Without a GPU a compiled kernel says what it needs, how much of an SM it fills, and what it is made
// of.
func TestStatic(t *testing.T) {
	for _, toolkit := range cubintest.Toolkits(t) {
		t.Run(toolkit.Name, func(t *testing.T) {
			tool := cubintest.Disassembler(t, "nvdisasm")
			b, job := staticJob(t, toolkit, "sm_80")
			t.Setenv("PAWL_DISASSEMBLER", tool)
			s, err := b.Static(t.Context(), job)
			if err != nil || len(s.Unseen) > 0 || s.Tool != tool || len(s.Kernels) != 2 {
				t.Fatalf("%+v, %v", s, err)
			}
			for i, want := range []struct {
				symbol                  string
				shared, blocks, threads int
				limiter                 string
				has, lacks              profile.Class
			}{{"reverse", 1200, 2, 300, "shared", profile.ClassShared, profile.ClassDouble}, {"halve", 0, 16, 128, "warps", profile.ClassDouble, profile.ClassShared}} {
				k := s.Kernels[i]
				if k.Symbol != want.symbol || k.Resources.Shared != want.shared || k.Resources.CC != 80 || k.Resources.Registers < 4 {
					t.Errorf("%s: %+v", k.Symbol, k.Resources)
				}
				if k.Residency.Blocks != want.blocks || !slices.Contains(k.Residency.Limiter, want.limiter) {
					t.Errorf("%s: %+v", k.Symbol, k.Residency)
				}
				if k.Mix.Total < 8 || k.Mix.Classes[want.has] == 0 || k.Mix.Classes[want.lacks] != 0 || k.Mix.Keys["LDG.32"] == 0 {
					t.Errorf("%s: %+v", k.Symbol, k.Mix)
				}
				e := b.StaticEvidence(job, nil, k)
				if e.Threads != want.threads || e.Grid != []int{4, 6}[i] || e.Double == nil || *e.Double || e.Resources != k.Resources || e.Mix != k.Mix || e.Residency != k.Residency {
					t.Errorf("%s: %+v", k.Symbol, e)
				}
			}
			said := advice.Builtin().Judge(advice.Gather(b.StaticEvidence(job, nil, s.Kernels[1])))
			if !said.Has("fp64-accident") || !slices.Equal(said.Findings[0].Rests, []advice.Source{advice.FromCode, advice.FromWork}) {
				t.Errorf("x * 0.1 is in double precision: %+v", said.Findings)
			}
			// On another GPU of the same generation other limits hold.
			b.Report.Machine.GPU = &result.GPU{Arch: "sm_86", SMs: 84}
			if s, err = b.Static(t.Context(), job); err != nil || s.Kernels[1].Residency.Blocks != 12 {
				t.Errorf("on sm_86: %+v, %v", s, err)
			}
			if e := b.StaticEvidence(job, nil, s.Kernels[1]); e.SMs != 84 {
				t.Errorf("%+v", e)
			}
			b.Report.Machine.GPU.Arch = "sm_90a"
			if s, err = b.Static(t.Context(), job); err != nil || len(s.Kernels) != 0 || len(s.Unseen) != 1 || s.Unseen[0].What != "resources" {
				t.Errorf("on sm_90a: %+v, %v", s, err)
			}
		})
	}
}

// What is not there is said, with the way to get it; the rest is there all the same.
func TestStaticWithoutTools(t *testing.T) {
	b, job := staticJob(t, cubintest.Toolkits(t)[0], "sm_80")
	t.Setenv("PAWL_DISASSEMBLER", filepath.Join(t.TempDir(), "nowhere"))
	s, err := b.Static(t.Context(), job)
	if err != nil || len(s.Kernels) != 2 || s.Kernels[0].Residency == nil || s.Kernels[0].Mix != nil || s.Tool != "" {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(s.Unseen) != 1 || s.Unseen[0].What != "instructions" || !strings.Contains(s.Unseen[0].Why, "instructions were not counted") || !strings.Contains(s.Unseen[0].Hint, "pip install nvidia-cuda-nvdisasm") {
		t.Errorf("%+v", s.Unseen)
	}
	image, err := job.Artifact.Read()
	if err != nil {
		t.Fatal(err)
	}
	old := job.Artifact
	job.Artifact = build.NewArtifact(image, "reverse", "gone")
	if s, err = b.Static(t.Context(), job); err != nil || len(s.Kernels) != 2 || s.Kernels[1].Resources != nil || s.Unseen[0].What != "resources of gone" {
		t.Errorf("%+v, %v", s, err)
	}
	// A launcher embeds several kernels, and nobody knows how it launches them.
	launcher := *job.Variant.Kernel
	launcher.Launcher = true
	job.Variant.Kernel, job.Artifact = &launcher, old
	if s, err = b.Static(t.Context(), job); err != nil || len(s.Kernels) != 3 || s.Kernels[0].Residency != nil || s.Kernels[0].Resources == nil || len(s.Unseen) != 4 || s.Unseen[0].What != "occupancy of halve" {
		t.Errorf("%+v, %v", s, err)
	}
	if e := b.StaticEvidence(job, nil, s.Kernels[0]); e.Threads != 0 || e.Grid != 0 {
		t.Errorf("%+v", e)
	}
	host := scripted(t, "small", puppet.Script{})
	if _, err := b.Static(t.Context(), host); !isUnsupported(err) {
		t.Errorf("of a host kernel: %v", err)
	}
}

// Of several cubins that of the GPU counts: of its generation, and not newer.
func TestStaticOfSeveralGPUs(t *testing.T) {
	toolkit := cubintest.Toolkits(t)[1]
	var images [][]byte
	for _, arch := range []string{"sm_80", "sm_89", "sm_90a"} {
		images = append(images, toolkit.CompileOnce(t, arch, `extern "C" __global__ void f(float *x) { x[0] = 1; }`))
	}
	for gpu, want := range map[int]int{0: 90, 80: 80, 86: 80, 89: 89, 90: 90, 100: 0} {
		s := &Static{}
		image, found := s.choose(images, gpu)
		if want == 0 {
			if image != nil || len(s.Unseen) != 1 {
				t.Errorf("for %d: %+v, %+v", gpu, found, s.Unseen)
			}
			continue
		}
		if image == nil || found[0].CC != want || len(s.Unseen) > 0 {
			t.Errorf("for %d: %+v, %+v", gpu, found, s.Unseen)
		}
	}
	s := &Static{}
	if image, _ := s.choose([][]byte{[]byte("no cubin")}, 0); image != nil || len(s.Unseen) != 1 || !strings.Contains(s.Unseen[0].Why, "no cubin") {
		t.Errorf("%+v", s.Unseen)
	}
}

// The roof that limits a kernel is the one that its time is held against.
func TestStaticEvidenceOfTime(t *testing.T) {
	folder := t.TempDir()
	peaksIn(t, folder)
	b := newRoofed(folder)
	job := jobOf(spec.CellCUDA, 1, 2000, 0)
	job.Instance.Flops, job.Instance.Bytes = 7, 9
	e := b.StaticEvidence(job.Job, job.timing, StaticKernel{})
	if e.Seconds != 1e-3 || e.Flops != 7 || e.Bytes != 9 || e.Bandwidth != 4000e9 || e.Peak != 0 {
		t.Errorf("%+v", e)
	}
	job = jobOf(spec.CellCUDA, 1, 10, 450e3)
	if e = b.StaticEvidence(job.Job, job.timing, StaticKernel{}); e.Peak != 900e12 || e.Bandwidth != 0 {
		t.Errorf("%+v", e)
	}
	job.Instance.Launches = append(job.Instance.Launches, job.Instance.Launches[0])
	if e = b.StaticEvidence(job.Job, job.timing, StaticKernel{}); e.Seconds != 0 || e.Flops != 0 {
		t.Errorf("two launches: %+v", e)
	}
}

func isUnsupported(err error) bool {
	fault, ok := errors.AsType[*result.Fault](err)
	return ok && fault.Cause == result.CauseUnsupported
}
