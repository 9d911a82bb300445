package bench

import (
	"strings"
	"testing"

	"pawl/internal/build"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

const unfitYAML = `version: 1
kernels:
  k:
    source: k.cu
    entry: k
    params: {BLOCK: [64, 256], STAGES: [1, 4]}
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

// unfitBench plans everything in the spec, with rivals, and settings for a param.
func unfitBench(t *testing.T, set ...Setting) (*bench, []*plan) {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(unfitYAML))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Spec: s, Set: set}
	for _, k := range s.Kernels {
		opts.Selections = append(opts.Selections, spec.Selection{Kernel: k, Configs: k.Configs})
	}
	b := &bench{Options: opts, report: &result.Report{}}
	plans, err := b.plan()
	if err != nil {
		t.Fatal(err)
	}
	return b, plans
}

func planNamed(t *testing.T, plans []*plan, name string) *plan {
	t.Helper()
	for _, p := range plans {
		if p.row.Name() == name {
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
		set   []Setting
		row   string
		cause result.Cause // "": not refused
		says  string
	}{
		{"fits", hopper, nil, "k/small", "", ""},
		{"shared", hopper, []Setting{{"STAGES", "4"}}, "k/wide", result.CauseLaunch,
			"k wants 245760 bytes of dynamic shared memory (shared: STAGES * WIDE * 1024 with STAGES=4, WIDE=60); a block has at most 232448 on NVIDIA H200"},
		{"shared of another config", hopper, []Setting{{"STAGES", "4"}}, "k/small", "", ""},
		{"shared that fits", hopper, nil, "k/wide", "", ""},
		{"shared of a smaller one", small, nil, "k/wide", result.CauseLaunch, "61440 bytes"},
		{"threads", small, []Setting{{"BLOCK", "256"}}, "k/small", result.CauseLaunch,
			"k wants blocks of 512 threads (block: BLOCK, 2 with BLOCK=256); at most 256 are possible on Small"},
		{"memory", small, nil, "k/huge", result.CauseMemory,
			"the arguments take 14.9 GiB (16000000000 bytes), 14.9 GiB of it y (shape: N, 4 with N=1000000000); Small has 8.00 GiB (8589934592 bytes)"},
		{"memory that is enough", hopper, nil, "k/huge", "", ""},
		{"memory of a launcher", small, nil, "launcher/huge", result.CauseMemory, "of it y"},
		{"the host's memory", small, nil, "host/huge", "", ""},
		{"clusters", small, nil, "clustered/small", result.CauseLaunch, "they need sm_90, and Small is sm_86"},
		{"clusters that are", hopper, nil, "clustered/small", "", ""},
		{"nothing known", &result.GPU{Name: "?"}, []Setting{{"STAGES", "4"}}, "k/wide", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, plans := unfitBench(t, tc.set...)
			refuseUnfit(plans, tc.gpu)
			row := planNamed(t, plans, tc.row).row
			if tc.cause == "" {
				if row.Fault != nil {
					t.Errorf("refused: %+v", row.Fault)
				}
				return
			}
			if row.Fault == nil || row.Fault.Cause != tc.cause || row.Fault.Stage != "plan" || !strings.Contains(row.Fault.Message, tc.says) {
				t.Errorf("%+v", row.Fault)
			}
			if row.Verdict != result.Broken {
				t.Errorf("verdict %q", row.Verdict)
			}
		})
	}
}

// Nothing is compiled for a variant none of whose rows can run; an nvcc that is
// asked for leaves a fault on its row, since there is none here.
func TestUnfitIsNotCompiled(t *testing.T) {
	t.Setenv("NVCC", "/nowhere/nvcc")
	b, plans := unfitBench(t, Setting{"STAGES", "4"})
	var asked []string
	b.run = nil
	b.Options.Build = build.Options{CacheDir: t.TempDir(), Arch: "sm_86"}
	plans = plans[:3] // those of k
	refuseUnfit(plans, &result.GPU{Name: "Small", Arch: "sm_86", MaxShared: 1024, MemoryBytes: 1 << 30})
	for _, p := range plans {
		if p.row.Fault == nil || p.row.Fault.Stage != "plan" {
			t.Fatalf("%s: %+v", p.row.Name(), p.row.Fault)
		}
	}
	_ = asked
	_ = run.Event{}
	b.build(t.Context(), plans)
	for _, p := range plans {
		if p.row.Fault.Stage != "plan" || p.row.Build != nil {
			t.Errorf("%s went to the compiler: %+v", p.row.Name(), p.row.Fault)
		}
	}
}
