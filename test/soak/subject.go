// Package soak runs cells for a long time and checks that pawl's own resources (memory, file
// descriptors and threads of cell, worker and parent) do not grow.
package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/build"
	"pawl/internal/dtype"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// Kinds are the cells that take samples, with their frameworks.
var Kinds = []string{"host", "numpy", "torch", "cupy", "jax", "cuda", "launcher", Fake}

// Fake is a cuda cell on the fake driver.
const Fake = "fake"

// kernels are what cells of each kind run: the file, its description in pawl.yaml, and the
// source. Kernels write one element of each output: what takes time in a soak is pawl.
var kernels = map[string]struct{ file, described, source string }{
	"host":     {"f.c", "source: f.c\n    entry: f", "void f(const ELEMENT *a, ELEMENT *b, ELEMENT *c, SCALAR s) { b[0] = a[1]; c[0] = a[s == 1]; }\n"},
	"numpy":    {"f.py", "python: f:f\n    framework: numpy", inPlace},
	"torch":    {"f.py", "python: f:f\n    framework: torch", inPlace},
	"cupy":     {"f.py", "python: f:f\n    framework: cupy", inPlace},
	"jax":      {"f.py", "python: f:f\n    framework: jax", "def f(a, b, s):\n    return b.at[0].set(a[1]), a[:16] + 0\n"},
	"cuda":     {"f.cu", "source: f.cu\n    entry: f\n    launch: {grid: [1], block: [1]}", "extern \"C\" __global__ void f(const ELEMENT *a, ELEMENT *b, ELEMENT *c, SCALAR s) { b[0] = a[1]; c[0] = a[s == 1]; }\n"},
	Fake:       {"f.cu", "source: f.cu\n    entry: f\n    launch: {grid: [1], block: [1]}", "#include \"kernel.h\"\nKERNEL(f, 8, 8, 8, sizeof(SCALAR)) { ARG(ELEMENT *, 1)[0] = ARG(ELEMENT *, 0)[1]; ARG(ELEMENT *, 2)[0] = ARG(ELEMENT *, 0)[ARG(SCALAR, 3) == 1]; l->took = 5000; return 0; }\n"},
	"launcher": {"f.cu", "source: f.cu\n    entry: f\n    launcher: true", "__global__ void one(const ELEMENT *a, ELEMENT *b, ELEMENT *c, SCALAR s) { b[0] = a[1]; c[0] = a[s == 1]; }\nextern \"C\" void f(cudaStream_t stream, const ELEMENT *a, ELEMENT *b, ELEMENT *c, SCALAR s) { one<<<1, 1, 0, stream>>>(a, b, c, s); }\n"},
}

const inPlace = "def f(a, b, c, s):\n    b[0] = a[1]\n    c[0] = a[0]\n"

// ctypes are of the same size; the kernels only copy them.
var ctypes = map[dtype.Type]string{
	dtype.F64: "double", dtype.F32: "float", dtype.F16: "unsigned short", dtype.BF16: "unsigned short", dtype.E4M3: "unsigned char", dtype.E5M2: "unsigned char",
	dtype.I8: "signed char", dtype.I16: "short", dtype.I32: "int", dtype.I64: "long",
	dtype.U8: "unsigned char", dtype.U16: "unsigned short", dtype.U32: "unsigned", dtype.U64: "unsigned long",
}

// Subject is a kernel of one kind with an input, an inout, an output and a scalar of
// one type.
type Subject struct {
	Kind     string
	DType    dtype.Type
	Elements int // of the input
}

// files returns the texts of the subject's files, by their names.
func (s Subject) files() map[string]string {
	scalar := s.DType
	if scalar.Float() && scalar != dtype.F32 && scalar != dtype.F64 {
		scalar = dtype.I32 // no cell passes small floats by value
	}
	kernel := kernels[s.Kind]
	yaml := fmt.Sprintf(`version: 1
kernels:
  f:
    %s
    args:
      - {name: a, dtype: %[2]s, shape: [N]}
      - {name: b, dtype: %[2]s, shape: [16], role: inout}
      - {name: c, dtype: %[2]s, shape: [16], role: out}
      - {name: s, dtype: %[3]s, value: 1}
configs: {c: {N: %[4]d}}
`, kernel.described, s.DType, scalar, s.Elements)
	source := strings.NewReplacer("ELEMENT", ctypes[s.DType], "SCALAR", ctypes[scalar]).Replace(kernel.source)
	return map[string]string{"pawl.yaml": yaml, kernel.file: source}
}

// Open builds the subject in dir, and gives it to a cell of its own. A fault whose
// cause is unsupported says what this machine lacks.
func (s Subject) Open(ctx context.Context, client *worker.Client, dir string) (*worker.Cell, error) {
	for file, text := range s.files() {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	described, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		return nil, err
	}
	kernel := described.Kernels[0]
	options := build.Options{CacheDir: filepath.Join(dir, "cache"), NoCcache: true, Sandbox: "off"}
	if devices := client.Hello().Devices; len(devices) > 0 {
		options.Arch = devices[0].Arch
	} else if kernel.Cell == spec.CellCUDA {
		return nil, &result.Fault{Cause: result.CauseUnsupported, Message: client.Hello().NoDevices}
	}
	builder, err := build.New(options)
	if err != nil {
		return nil, err
	}
	built := builder.Build(ctx, []build.Request{{Dir: described.Dir, Variant: kernel.Default()}})[0]
	if built.Fault != nil {
		return nil, fmt.Errorf("%w\n%s", built.Fault, built.Output)
	}
	if err := client.Provide(ctx, built.Artifact.SHA256, built.Artifact.Read); err != nil {
		return nil, err
	}
	cell, err := client.Open(ctx, wire.Open{Cell: kernel.Cell, Sandbox: "auto", Framework: built.Artifact.Framework, Dirs: []string{dir}, Parallel: 1})
	if err != nil {
		return nil, err
	}
	load := wire.Load{SHA256: built.Artifact.SHA256, DeadlineS: 120}
	if kernel.Cell == spec.CellPython {
		load.Entry = built.Artifact.Symbols[0]
	}
	if _, err := cell.Load(ctx, load); err != nil {
		return nil, err
	}
	instance, err := kernel.Default().At(kernel.Configs[0])
	if err != nil {
		return nil, err
	}
	problem := worker.Problem(instance, built.Artifact.Symbols)
	problem.Seed, problem.DeadlineS = 7, 120
	_, err = cell.Prepare(ctx, problem)
	return cell, err
}
