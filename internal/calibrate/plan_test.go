package calibrate

import (
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
)

func peakNames(targets []target) []roof.Name {
	var out []roof.Name
	for _, t := range targets {
		out = append(out, t.name)
	}
	return out
}

func TestTargetsOfArchitectures(t *testing.T) {
	everywhere := []roof.Name{roof.DRAM, roof.L2, roof.F32, roof.F64}
	for arch, c := range map[string]struct {
		more          []roof.Name
		has, lacks    []string
		tensorKernels int
	}{
		"sm_75":   {nil, nil, []string{"f16_mma", "f64_mma"}, 0},
		"sm_80":   {[]roof.Name{roof.F16, roof.BF16, roof.TF32, roof.F64Tensor}, []string{"f16_mma", "f16_narrow"}, []string{"f16_wgmma", "e4m3_mma", "f64_wide"}, 5},
		"sm_89":   {[]roof.Name{roof.F16, roof.BF16, roof.TF32, roof.E4M3, roof.F64Tensor}, []string{"e4m3_mma"}, []string{"e4m3_wgmma"}, 6},
		"sm_90a":  {[]roof.Name{roof.F16, roof.BF16, roof.TF32, roof.E4M3, roof.F64Tensor}, []string{"f16_mma", "f16_wgmma", "f16_random", "e4m3_wgmma", "f64_wide"}, []string{"e4m3_mma"}, 11},
		"sm_100a": {[]roof.Name{roof.F64Tensor}, nil, []string{"f16_mma", "f16_wgmma", "e4m3_mma"}, 2},
		"sm_103f": {[]roof.Name{roof.F64Tensor}, nil, []string{"f16_mma"}, 2},
		"sm_120a": {[]roof.Name{roof.F16, roof.BF16, roof.TF32, roof.E4M3, roof.F64Tensor}, []string{"f16_mma"}, []string{"f16_wgmma"}, 6},
	} {
		t.Run(arch, func(t *testing.T) {
			targets := suited(cudaTargets, arch)
			if got, want := peakNames(targets), slices.Concat(everywhere, c.more); !slices.Equal(got, want) {
				t.Errorf("peaks %v, want %v", got, want)
			}
			kernels := names(targets)
			for _, name := range c.has {
				if !slices.Contains(kernels, name) {
					t.Errorf("without %s", name)
				}
			}
			for _, name := range c.lacks {
				if slices.Contains(kernels, name) {
					t.Errorf("with %s", name)
				}
			}
			if got := len(kernels) - 7; got != c.tensorKernels {
				t.Errorf("%d kernels for tensor cores, want %d: %v", got, c.tensorKernels, kernels)
			}
			if sorted := slices.Sorted(slices.Values(kernels)); len(slices.Compact(sorted)) != len(kernels) {
				t.Errorf("a kernel twice: %v", kernels)
			}
		})
	}
}

func TestTargetsOfHosts(t *testing.T) {
	caches := []result.Cache{{Level: 2, Type: "unified", Bytes: 1 << 20}, {Level: 3, Type: "unified", Bytes: 32 << 20}}
	for name, c := range map[string]struct {
		caches []result.Cache
		want   []roof.Name
	}{
		"three levels": {caches, []roof.Name{roof.DRAM, roof.LLC, roof.L2, roof.F32, roof.F64}},
		"two levels":   {caches[:1], []roof.Name{roof.DRAM, roof.L2, roof.F32, roof.F64}},
		"unknown":      {nil, []roof.Name{roof.DRAM, roof.F32, roof.F64}},
	} {
		p := &place{machine: result.Fingerprint{CPU: result.CPU{Caches: c.caches}}}
		if got := peakNames(p.targets()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

var gpus = map[string]*result.GPU{
	"H200":    {Name: "NVIDIA H200", Arch: "sm_90a", SMs: 132, L2Bytes: 60 << 20, MemoryBytes: 139 << 30},
	"A100":    {Name: "NVIDIA A100", Arch: "sm_80", SMs: 108, L2Bytes: 40 << 20, MemoryBytes: 40 << 30},
	"laptop":  {Name: "NVIDIA GeForce RTX 3050", Arch: "sm_86", SMs: 16, L2Bytes: 2 << 20, MemoryBytes: 4 << 30},
	"MIG":     {Name: "NVIDIA H100 MIG 1g.10gb", Arch: "sm_90a", SMs: 16, L2Bytes: 0, MemoryBytes: 10 << 30},
	"no size": {Name: "NVIDIA X", Arch: "sm_120a", SMs: 1},
}

// Every kernel of the specs belongs to a peak, every peak's kernels exist, and their formulas have
// values on all kinds of machines.
func TestSpecs(t *testing.T) {
	places := map[string]*place{
		"host":       {machine: result.Fingerprint{MemoryBytes: 16 << 30, CPU: result.CPU{Caches: []result.Cache{{Level: 2, Bytes: 1 << 20}, {Level: 3, Bytes: 300 << 20}}}}},
		"small host": {machine: result.Fingerprint{MemoryBytes: 512 << 20}},
	}
	for name, g := range gpus {
		places[name] = &place{gpu: g}
	}
	for name, p := range places {
		t.Run(name, func(t *testing.T) {
			s, err := p.spec(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			all := hostTargets
			if p.gpu != nil {
				all = cudaTargets
			}
			wanted := names(all)
			for _, k := range s.Kernels {
				if !slices.Contains(wanted, k.Name) {
					t.Errorf("%s is for no peak", k.Name)
				}
			}
			selections, err := s.Select(names(p.targets()))
			if err != nil {
				t.Fatal(err)
			}
			for _, sel := range selections {
				for _, config := range sel.Configs {
					in, err := sel.Kernel.Default().At(config)
					if err != nil {
						t.Fatal(err)
					}
					if (in.Bytes > 0) == (in.Flops > 0) {
						t.Errorf("%s/%s: %v bytes and %v flops", sel.Kernel.Name, config.Name, in.Bytes, in.Flops)
					}
					if p.gpu != nil && p.gpu.MemoryBytes > 0 && in.Footprint > p.gpu.MemoryBytes/3 {
						t.Errorf("%s/%s needs %d bytes", sel.Kernel.Name, config.Name, in.Footprint)
					}
				}
			}
		})
	}
}

func TestSizes(t *testing.T) {
	sizes := (&place{gpu: gpus["H200"]}).sizes()
	if sizes["SMS"] != 132 || sizes["L2"] != 60<<20 || sizes["BYTES"] != 1<<30 {
		t.Errorf("H200: %v", sizes)
	}
	// The arguments of a copy exceed the last cache twice, where there is memory for it.
	host := &place{machine: result.Fingerprint{MemoryBytes: 64 << 30, CPU: result.CPU{Caches: []result.Cache{{Level: 2, Bytes: 1 << 20}, {Level: 3, Bytes: 300 << 20}}}}}
	sizes = host.sizes()
	if sizes["LLC"] != 300<<20 || sizes["L2"] != 1<<20 || sizes["BYTES"] <= 300<<20 {
		t.Errorf("host: %v", sizes)
	}
	host.machine.MemoryBytes = 2 << 30
	if sizes = host.sizes(); sizes["BYTES"] != 128<<20 {
		t.Errorf("host with little memory: %v", sizes)
	}
}

func TestCellNames(t *testing.T) {
	if got := (&place{}).cell(); got != spec.CellHost {
		t.Error(got)
	}
	if got := (&place{gpu: gpus["H200"]}).cell(); got != spec.CellCUDA {
		t.Error(got)
	}
}
