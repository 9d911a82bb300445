package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
)

// tiles is a pawl.yaml whose kernels trap when their tensor map is not what the
// file says. S is no multiple of BLOCK: the last tiles are partly outside.
const tiles = `version: 1
kernels:
  as_shaped:
    source: tma.cu
    entry: tile_3d
    params: {BLOCK: [64, 32]}
    launch: {grid: ["D // 64", "ceildiv(S, BLOCK)", B], block: 128, shared: BLOCK * 128 + 1024}
    args:
      - {name: map, tensor_map: {of: q, box: [BLOCK, 64]}}
      - {name: q, dtype: f16, shape: [B, S, D]}
      - {name: out, dtype: f16, shape: [B, S, D], role: out}
      - {name: rows, dtype: i32, value: S}
      - {name: width, dtype: i32, value: D}
  swizzled:
    source: tma.cu
    entry: tile_3d
    params: {BLOCK: [64, 32]}
    flags: [-DSWIZZLED]
    launch: {grid: ["D // 64", "ceildiv(S, BLOCK)", B], block: 128, shared: BLOCK * 128 + 1024}
    args:
      - {name: map, tensor_map: {of: q, box: [BLOCK, 64], swizzle: 128B, l2: 256B}}
      - {name: q, dtype: bf16, shape: [B, S, D]}
      - {name: out, dtype: bf16, shape: [B, S, D], role: out}
      - {name: rows, dtype: i32, value: S}
      - {name: width, dtype: i32, value: D}
  joined:
    source: tma.cu
    entry: tile_2d
    params: {BLOCK: 64}
    launch: {grid: ["D // 64", "ceildiv(B * S, BLOCK)"], block: 128, shared: BLOCK * 128 + 1024}
    args:
      - {name: map, tensor_map: {of: q, box: [BLOCK, 64], dims: [B * S, D]}}
      - {name: q, dtype: i16, shape: [B, S, D]}
      - {name: out, dtype: i16, shape: [B, S, D], role: out}
      - {name: rows, dtype: i32, value: B * S}
      - {name: width, dtype: i32, value: D}
  strided:
    source: tma.cu
    entry: tile_3d
    params: {BLOCK: 64}
    flags: [-DSTEP=2]
    launch: {grid: ["D // 64", "ceildiv(S // 2, BLOCK)", B], block: 128, shared: BLOCK * 128 + 1024}
    args:
      - {name: map, tensor_map: {of: q, box: [BLOCK, 64], dims: [B, S // 2, D], strides: [S * D, 2 * D]}}
      - {name: q, dtype: u16, shape: [B, S, D]}
      - {name: out, dtype: u16, shape: [B, S, D], role: out}
      - {name: rows, dtype: i32, value: S // 2}
      - {name: width, dtype: i32, value: D}
  of_another:
    source: tma.cu
    launches:
      - {entry: tile_3d, args: [map, q, out, rows, width], grid: ["D // 64", "ceildiv(S, BLOCK)", B], block: 128, shared: BLOCK * 128 + 1024}
    params: {BLOCK: 64}
    args:
      - {name: map, tensor_map: {of: other, box: [BLOCK, 64]}}
      - {name: q, dtype: f16, shape: [B, S, D]}
      - {name: other, dtype: f16, shape: [B, S, D]}
      - {name: out, dtype: f16, shape: [B, S, D], role: out}
      - {name: rows, dtype: i32, value: S}
      - {name: width, dtype: i32, value: D}
configs: {c: {B: 3, S: 1000, D: 128}}
`

func writeTiles(t *testing.T, dir string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "tma.cu"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tma.cu": string(source), "pawl.yaml": tiles} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A kernel that measures has compared every tile with what plain loads give.
func TestTensorMaps(t *testing.T) {
	p := newProject(t, kernel("good"))
	writeTiles(t, p.dir)
	report := p.bench()
	if gpu := report.Machine.GPU; gpu != nil && gpu.Arch < "sm_90" && len(gpu.Arch) == len("sm_90") {
		t.Skip("no tensor maps before sm_90")
	}
	for _, r := range report.Rows {
		if r.Kernel != "of_another" {
			mustMeasure(t, r)
		}
	}
	if f := row(t, report, "of_another").Fault; f == nil || f.Cause != result.CauseCrash {
		t.Errorf("a map of another buffer: %+v", f)
	}
	for _, r := range p.bench("as_shaped", "swizzled", "--set", "BLOCK=32").Rows {
		mustMeasure(t, r)
	}
}

// The kernels compile where there is no GPU.
func TestTensorMapsCompile(t *testing.T) {
	if pawl == "" {
		missing(t, "PAWL_BIN names no binary")
	}
	dir := t.TempDir()
	writeTiles(t, dir)
	cmd := exec.Command(pawl, "build")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CACHE_HOME="+cache, "PAWL_CUDA_ARCH=sm_90a")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "no CUDA compiler") {
		missing(t, string(out))
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
