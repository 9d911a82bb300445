package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

const unfitYAML = `version: 1
kernels:
  k:
    source: k.cu
    entry: k
    params: {BLOCK: [64, 256], STAGES: [1, 2, 4]}
    launch: {grid: "ceildiv(N, BLOCK)", block: [BLOCK, 2], shared: STAGES * WIDE * 1024}
    args: [{name: y, dtype: f32, shape: [N, 4], role: out}, {name: n, dtype: i64, value: N}]
  clustered:
    source: k.cu
    entry: k
    launch: {grid: 8, block: 32, cluster: [2]}
    args: [{name: y, dtype: f32, shape: [N, 4], role: out}]
    configs: [small]
  launcher:
    source: k.cu
    entry: k
    launcher: true
    args: [{name: y, dtype: f32, shape: [N, 4], role: out}]
    configs: [huge]
  host:
    source: k.c
    entry: k
    args: [{name: y, dtype: f32, shape: [N, 4], role: out}]
    configs: [huge]
configs:
  small: {N: 1024, WIDE: 1}
  wide: {N: 1024, WIDE: 60}
  huge: {N: 1_000_000_000, WIDE: 1}
`

// setting gives a param another value.
type setting struct{ name, value string }

// unfitJobs resolves everything in the spec, with settings for a param.
func unfitJobs(t *testing.T, set ...setting) []*Job {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(unfitYAML))
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*Job
	for _, k := range s.Kernels {
		variant := k.Default()
		for _, v := range set {
			if with, err := variant.With(v.name, v.value); err == nil {
				variant = with
			}
		}
		for _, c := range k.Configs {
			jobs = append(jobs, NewJob(s.Dir, variant, c))
		}
	}
	return jobs
}

func jobNamed(t *testing.T, jobs []*Job, name string) *Job {
	t.Helper()
	for _, p := range jobs {
		if p.Name() == name {
			return p
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

func TestRefuseUnfit(t *testing.T) {
	hopper := &result.GPU{Name: "NVIDIA H200", Arch: "sm_90a", MaxShared: 232448, MaxThreads: 1024, MemoryBytes: 140 << 30}
	small := &result.GPU{Name: "Small", Arch: "sm_86", MaxShared: 49152, MaxThreads: 256, MemoryBytes: 8 << 30}
	for _, tc := range []struct {
		name  string
		gpu   *result.GPU
		set   []setting
		row   string
		cause result.Cause // "": not refused
		says  string
	}{
		{"fits", hopper, nil, "k/small", "", ""},
		{
			"shared", hopper,
			[]setting{{"STAGES", "4"}},
			"k/wide", result.CauseLaunch,
			"k wants 245760 bytes of dynamic shared memory (shared: STAGES * WIDE * 1024 with STAGES=4, WIDE=60); a block has at most 232448 on NVIDIA H200",
		},
		{"shared of another config", hopper, []setting{{"STAGES", "4"}}, "k/small", "", ""},
		{"shared that fits", hopper, nil, "k/wide", "", ""},
		{"shared of a smaller one", small, nil, "k/wide", result.CauseLaunch, "61440 bytes"},
		{
			"threads", small,
			[]setting{{"BLOCK", "256"}},
			"k/small", result.CauseLaunch,
			"k wants blocks of 512 threads (block: BLOCK, 2 with BLOCK=256); at most 256 are possible on Small",
		},
		{
			"memory", small, nil, "k/huge", result.CauseMemory,
			"the arguments take 14.9 GiB (16000000000 bytes), 14.9 GiB of it y (shape: N, 4 with N=1000000000); Small has 8 GiB (8589934592 bytes)",
		},
		{"memory that is enough", hopper, nil, "k/huge", "", ""},
		{"memory of a launcher", small, nil, "launcher/huge", result.CauseMemory, "of it y"},
		{"the host's memory", small, nil, "host/huge", "", ""},
		{"clusters", small, nil, "clustered/small", result.CauseLaunch, "they need sm_90, and Small has none"},
		{"clusters that are", hopper, nil, "clustered/small", "", ""},
		{"nothing known", &result.GPU{Name: "?"}, []setting{{"STAGES", "4"}}, "k/wide", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			jobs := unfitJobs(t, tc.set...)
			RefuseUnfit(jobs, tc.gpu)
			row := jobNamed(t, jobs, tc.row).Row()
			if tc.cause == "" {
				if row.Fault != nil {
					t.Errorf("refused: %+v", row.Fault)
				}
				return
			}
			if row.Fault == nil || row.Fault.Cause != tc.cause || row.Fault.Stage != "plan" || !strings.Contains(row.Fault.Message, tc.says) {
				t.Errorf("%+v", row.Fault)
			}
			if verdict := judge.OfFault(row.Fault); verdict != result.Broken {
				t.Errorf("verdict %q", verdict)
			}
		})
	}
}

// A variant is compiled for all configs at once: one that fits with any is not refused.
func TestUnfitForAnArchitecture(t *testing.T) {
	const narrow, wide = "STAGES * 1024 * 32", "STAGES * WIDE * 1024"
	for _, tc := range []struct {
		name, arch, shared, stages, block string
		says                              string // "": not refused
	}{
		{"fits", "sm_86", narrow, "1", "64", ""},
		{"too much", "sm_86", narrow, "4", "64", "k wants 131072 bytes of dynamic shared memory (shared: STAGES * 1024 * 32 with STAGES=4); a block has at most 101376 on sm_86"},
		{"as much on a larger one", "sm_80", narrow, "4", "64", ""},
		{"on the oldest", "sm_75", narrow, "4", "64", "at most 65536 on sm_75"},
		{"with a suffix", "sm_90a", "STAGES * 1024 * 57", "4", "64", "at most 232448 on sm_90a"},
		{"with another suffix", "sm_120f", narrow, "4", "64", "at most 101376 on sm_120f"},
		{"all that there is", "sm_90", "STAGES * 58112", "4", "64", ""},
		{"too much for one config", "sm_86", wide, "4", "64", ""},
		{"too many threads", "sm_90a", narrow, "1", "1024", "has 2048 threads in all; at most 1024 are possible"},
		{"an unknown one", "sm_999", narrow, "4", "1024", ""},
		{"none", "", narrow, "4", "64", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := strings.NewReplacer("[64, 256]", "[64, 256, 1024]", wide, tc.shared).Replace(unfitYAML)
			s, err := spec.Parse("pawl.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			v := s.Kernels[0].Default()
			for _, set := range []setting{{"STAGES", tc.stages}, {"BLOCK", tc.block}} {
				if v, err = v.With(set.name, set.value); err != nil {
					t.Fatal(err)
				}
			}
			fault := Unfit(v, tc.arch)
			if (fault != nil) != (tc.says != "") || fault != nil && !strings.Contains(fault.Message, tc.says) {
				t.Errorf("%+v, want %q", fault, tc.says)
			}
		})
	}
}

// Where no GPU says what it has, the architecture that is compiled for does.
func TestUnfitWithoutAGPU(t *testing.T) {
	for arch, refused := range map[string]bool{"sm_86": true, "sm_90a": false, "": false} {
		b := New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, Options{Build: build.Options{Arch: arch}})
		jobs := unfitJobs(t, setting{"STAGES", "2"})
		b.refuseCUDA(jobs)
		if f := jobNamed(t, jobs, "k/wide").Record.Fault; (f != nil) != refused {
			t.Errorf("%q: %+v", arch, f)
		}
		if f := jobNamed(t, jobs, "k/small").Record.Fault; f != nil {
			t.Errorf("%q: %+v", arch, f)
		}
	}
}

// No compiler runs for a variant none of whose rows can run.
func TestUnfitIsNotCompiled(t *testing.T) {
	dir := t.TempDir()
	nvcc, asked := filepath.Join(dir, "nvcc"), filepath.Join(dir, "asked")
	if err := os.WriteFile(nvcc, []byte("#!/bin/sh\necho \"$*\" >>"+asked+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NVCC", nvcc)
	for _, tc := range []struct {
		shared   int64
		compiled bool
	}{{1024, false}, {4096, true}} {
		b := labWithGPU(t, "")
		b.Options.Build = build.Options{CacheDir: t.TempDir(), Arch: "sm_86"}
		jobs := unfitJobs(t, setting{"STAGES", "4"})[:2] // k/small wants 4096 bytes, k/wide more
		RefuseUnfit(jobs, &result.GPU{Name: "Small", Arch: "sm_86", MaxShared: tc.shared})
		if err := b.Build(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(asked); (err == nil) != tc.compiled {
			t.Errorf("shared memory of %d bytes: the compiler was asked: %v", tc.shared, err == nil)
		}
		if f := jobs[1].Record.Fault; f == nil || f.Stage != "plan" {
			t.Errorf("k/wide: %+v", f)
		}
	}
}
