package profile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin/cubintest"
)

// NVIDIA's own calculator says the same for every architecture that it knows.
func TestOccupancyAgainstNVIDIA(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	toolkits := cubintest.Toolkits(t)
	newest := toolkits[len(toolkits)-1]
	headers, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(newest.Folder))), "nvidia", "*", "include", "cuda_occupancy.h"))
	if err != nil || len(headers) == 0 {
		t.Skipf("%s has no cuda_occupancy.h", newest.Name)
	}
	source := `#include <stdio.h>
#include <string.h>
#include "cuda_occupancy.h"
int main(void) {
	int cc, regs, shared, threads, smem, warps, reserved;
	while (scanf("%d %d %d %d %d %d %d", &cc, &regs, &shared, &threads, &smem, &warps, &reserved) == 7) {
		cudaOccDeviceProp p; cudaOccFuncAttributes a; cudaOccDeviceState s; cudaOccResult r;
		memset(&p, 0, sizeof p); memset(&a, 0, sizeof a); memset(&s, 0, sizeof s);
		p.computeMajor = cc / 10; p.computeMinor = cc % 10; p.maxThreadsPerBlock = 1024; p.maxThreadsPerMultiprocessor = warps * 32;
		p.regsPerBlock = 65536; p.regsPerMultiprocessor = 65536; p.warpSize = 32; p.sharedMemPerBlock = 49152;
		p.sharedMemPerMultiprocessor = smem; p.numSms = 1; p.sharedMemPerBlockOptin = smem - reserved; p.reservedSharedMemPerBlock = reserved;
		a.maxThreadsPerBlock = 1024; a.numRegs = regs; a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; a.maxDynamicSharedSizeBytes = smem;
		s.carveoutConfig = 100;
		int status = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, shared);
		printf("%d %d\n", status, r.activeBlocksPerMultiprocessor);
	}
	return 0;
}
`
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "o.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "o")
	if out, err := exec.Command(compiler, "-I", filepath.Dir(headers[0]), "-o", program, filepath.Join(folder, "o.c")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type launch struct{ cc, registers, shared, threads int }
	var launches []launch
	var input strings.Builder
	for cc, sm := range limitsByCC {
		for _, registers := range []int{16, 31, 32, 40, 64, 72, 80, 128, 168, 255} {
			for _, shared := range []int{0, 1, 1000, 8 << 10, 33 << 10, 48 << 10} {
				for _, threads := range []int{1, 32, 33, 96, 128, 256, 384, 512, 768, 1024} {
					if (threads+31)/32*registers > 2048 { // the driver would refuse the launch
						continue
					}
					launches = append(launches, launch{cc, registers, shared, threads})
					fmt.Fprintln(&input, cc, registers, shared, threads, sm.shared, sm.warps, sm.reserved)
				}
			}
		}
	}
	command := exec.Command(program)
	command.Stdin = strings.NewReader(input.String())
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(launches) {
		t.Fatalf("%d answers to %d questions", len(lines), len(launches))
	}
	for i, l := range launches {
		var status, blocks int
		if _, err := fmt.Sscan(lines[i], &status, &blocks); err != nil || status != 0 {
			t.Fatalf("%+v: %q, %v", l, lines[i], err)
		}
		got, err := ComputeOccupancy(l.cc, l.registers, l.shared, l.threads)
		if err != nil {
			t.Fatal(err)
		}
		if got.Blocks != blocks {
			if wrong++; wrong < 10 {
				t.Errorf("%+v: %d blocks, NVIDIA says %d (%v)", l, got.Blocks, blocks, got.Limits)
			}
		}
	}
	t.Logf("%d launches, %d wrong", len(launches), wrong)
}

// What ncu said of launches on an H200.
func TestOccupancyAgainstProfiles(t *testing.T) {
	for _, p := range planted(t, "h200_planted_curated.csv.gz") {
		get := func(m Metric) int {
			v, ok := p.Get(m)
			if !ok {
				t.Fatalf("%s has no %s", p.Name(), m)
			}
			return int(v)
		}
		r, err := ComputeOccupancy(p.CC, get(Registers), get(SharedStatic)+get(SharedDynamic), get(Block))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := p.Get(Theoretical); r.Percent != got || r.Limits["registers"] != get(LimitRegisters) && r.Limits["registers"] != 32 {
			t.Errorf("%s: %v%% by %v, ncu says %v%%", p.Name(), r.Percent, r.Limits, got)
		}
	}
}

// What limits is named, all of it where several limits are equal.
func TestOccupancyLimiter(t *testing.T) {
	for _, test := range []struct {
		registers, shared, threads int
		want                       string
		percent                    float64
	}{
		{16, 0, 256, "warps", 100}, {32, 0, 256, "registers warps", 100}, {128, 0, 256, "registers", 25}, {16, 100 << 10, 256, "shared", 25}, {16, 0, 32, "blocks", 50}, {64, 0, 1024, "registers", 50}, {16, 227 << 10, 1024, "shared", 50}, {16, 0, 1024, "warps", 100},
	} {
		r, err := ComputeOccupancy(90, test.registers, test.shared, test.threads)
		if err != nil || strings.Join(r.Limiter, " ") != test.want || r.Percent != test.percent || r.Warps != r.Blocks*test.threads/32 {
			t.Errorf("%+v: %+v, %v", test, r, err)
		}
	}
}

func TestOccupancyRefuses(t *testing.T) {
	for _, test := range [][4]int{{61, 32, 0, 256}, {90, 32, 0, 0}, {90, 32, 0, 1025}, {90, 300, 0, 32}, {90, 32, -1, 32}} {
		if r, err := ComputeOccupancy(test[0], test[1], test[2], test[3]); err == nil {
			t.Errorf("%v: %+v", test, r)
		}
	}
}

const resourcesSource = `
extern "C" __global__ void plain(float *x) { x[threadIdx.x] += 1; }
extern "C" __global__ void shares(float *x) { __shared__ float t[300]; t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = t[299 - threadIdx.x]; }
extern "C" __global__ void stacks(float *x, int n) { float t[100]; for (int i = 0; i < 100; i++) t[i] = x[i]; for (int i = 0; i < n; i++) t[(i * n) % 100] += t[(i + n) % 100]; x[threadIdx.x] = t[n % 100]; }
`

func TestReadCubin(t *testing.T) {
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			found, err := ReadCubin(toolkit.CompileOnce(t, arch, resourcesSource))
			if err != nil {
				t.Errorf("%s, %s: %v", toolkit.Name, arch, err)
				continue
			}
			if len(found) != 3 || found[0].Kernel != "plain" || found[1].Kernel != "shares" || found[2].Kernel != "stacks" {
				t.Errorf("%s, %s: %+v", toolkit.Name, arch, found)
				continue
			}
			want := map[string]int{"sm_80": 80, "sm_90a": 90, "sm_100": 100}[arch]
			for _, r := range found {
				if r.CC != want || r.Registers < 4 || r.Registers > 64 || r.Code < 128 {
					t.Errorf("%s, %s: %+v", toolkit.Name, arch, r)
				}
			}
			if found[0].Shared != 0 || found[1].Shared != 1200 || found[0].Stack != 0 || found[2].Stack < 400 {
				t.Errorf("%s, %s: %+v", toolkit.Name, arch, found)
			}
		}
	}
}

func TestReadCubinRefuses(t *testing.T) {
	if _, err := ReadCubin([]byte("hello")); err == nil || !strings.HasPrefix(err.Error(), "read cubin: no cubin") {
		t.Error(err)
	}
}
