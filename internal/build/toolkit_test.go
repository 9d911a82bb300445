package build

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// newToolkitBuilder compiles with one toolkit's NVRTC.
func newToolkitBuilder(t *testing.T, toolkit cubintest.Toolkit, arch string) *Builder {
	t.Helper()
	for _, name := range []string{"NVCC", "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("PAWL_NVRTC", toolkit.Folder)
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Arch: arch})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := b.runtime(); err != nil || !strings.HasPrefix(c.file, toolkit.Folder) {
		t.Fatalf("%s: %+v, %v", toolkit.Name, c, err)
	}
	return b
}

// The examples compile with every CUDA, and what pawl reads in their cubins is there.
func TestToolkitsExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestToolkitsEntries compiles by the same toolkits")
	}
	s, err := spec.Load("../../examples/cuda/pawl.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var requests []Request
	for _, k := range s.Kernels {
		if !k.Launcher { // its host code needs nvcc
			requests = append(requests, Request{Dir: s.Dir, Variant: k.Default()})
		}
	}
	all := requests
	for i, toolkit := range cubintest.Toolkits(t) {
		t.Run(toolkit.Name, func(t *testing.T) {
			requests := all
			if testing.Short() { // each kernel by one of two toolkits
				requests = nil
				for k := i % 2; k < len(all); k += 2 {
					requests = append(requests, all[k])
				}
			}
			codes := map[string]string{}
			outcomes := newToolkitBuilder(t, toolkit, "sm_90a").Build(t.Context(), requests)
			for i, o := range outcomes {
				k := requests[i].Variant.Kernel
				if o.Fault != nil || o.Output != "" {
					t.Errorf("%s: %+v\n%s", k.Name, o.Fault, o.Output)
					continue
				}
				checkExample(t, k, o.Artifact)
				codes[o.Artifact.Code] += " " + k.Name
			}
			if len(codes) != len(requests) {
				t.Errorf("%d kernels have %d different codes: %v", len(requests), len(codes), codes)
			}
		})
	}
}

func TestToolkitsRefuseDeviceSideLaunches(t *testing.T) {
	for _, toolkit := range cubintest.Toolkits(t) {
		o := newToolkitBuilder(t, toolkit, "sm_90a").Build(t.Context(), cudaProject(t, "scale", launching).requests()[:1])[0]
		if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Message, "device-side launches are refused") {
			t.Errorf("%s: %+v\n%s", toolkit.Name, o.Fault, o.Output)
		}
	}
}

// Every toolkit lays variables out so that they are found. The test is here since
// NVRTC does not work in a process that has loaded the fake driver.
func TestToolkitsSegments(t *testing.T) {
	source, err := os.ReadFile("../native/cuda/testdata/globals.cu")
	if err != nil {
		t.Fatal(err)
	}
	managed, err := os.ReadFile("../native/cuda/testdata/managed.cu")
	if err != nil {
		t.Fatal(err)
	}
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			t.Run(toolkit.Name+" "+arch, func(t *testing.T) {
				image := toolkit.Compile(t, arch, string(source))
				got, err := cuda.Segments(image)
				if err != nil || len(got) != 2 {
					t.Fatalf("%+v, %v", got, err)
				}
				for _, want := range []string{"zero", "hidden", "local", "counter", "pointer", "unnamed", "table", "odd"} {
					if !slices.ContainsFunc(slices.Concat(got[0].Variables, got[1].Variables), func(v cuda.Variable) bool { return strings.Contains(v.Name, want) }) {
						t.Errorf("no %s in %+v", want, got)
					}
				}
				if bytes := declaredConstants(image); bytes != 16 {
					t.Errorf("%d bytes of constants", bytes)
				}
				got, err = cuda.Segments(toolkit.Compile(t, arch, string(managed)))
				if err != nil || len(got) == 0 || !slices.Contains(slices.Concat(got[0].Managed, got[len(got)-1].Managed), "shared_with_host") {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
	}
}

func checkExample(t *testing.T, k *spec.Kernel, a *Artifact) {
	t.Helper()
	if len(a.Symbols) != len(k.Launches) || len(a.Resources) != len(k.Launches) {
		t.Fatalf("%s: symbols %v, resources %+v", k.Name, a.Symbols, a.Resources)
	}
	kernels, err := cuda.KernelNames(packed(t, content(t, a)))
	if err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	if _, err := cuda.Segments(content(t, a)); err != nil {
		t.Errorf("%s: %v", k.Name, err)
	}
	for i, launch := range k.Launches {
		symbol, r := a.Symbols[i], a.Resources[i]
		if !strings.Contains(" "+strings.Join(kernels, " ")+" ", " "+symbol+" ") {
			t.Errorf("%s: no %s among the kernels %v", k.Name, symbol, kernels)
		}
		if registers := registersOf(t, content(t, a), symbol); r.Registers < 8 || r.Registers > 255 || r.Registers != registers {
			t.Errorf("%s: %+v, the cubin says %d registers", k.Name, r, registers)
		}
		indexes, err := argIndexes(k, launch)
		if err != nil {
			t.Fatal(err)
		}
		var want []int
		for _, j := range indexes {
			size := 8
			if k.Args[j].Value != nil {
				size = k.Args[j].DType.Size()
			}
			want = append(want, size)
		}
		if diff := cmp.Diff(want, parametersOf(t, content(t, a), symbol)); diff != "" {
			t.Errorf("%s: parameters of %s (-want +got):\n%s", k.Name, symbol, diff)
		}
	}
}

// attributesOf returns a cubin's words about all of its kernels, or about one.
func attributesOf(t *testing.T, image []byte, section string) []cubin.Attribute {
	t.Helper()
	file, err := cubin.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	s := file.Section(section)
	if s == nil {
		t.Fatalf("no section %s", section)
	}
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	attributes, whole := cubin.Attributes(data)
	if !whole {
		t.Fatalf("%s is cut short", section)
	}
	return attributes
}

func registersOf(t *testing.T, image []byte, symbol string) int {
	t.Helper()
	file, err := cubin.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range attributesOf(t, image, ".nv.info") {
		if a.Code != cubin.AttributeRegisters {
			continue
		}
		// Symbols leaves out number 0.
		if number := binary.LittleEndian.Uint32(a.Value); symbols[number-1].Name == symbol {
			return int(binary.LittleEndian.Uint32(a.Value[4:]))
		}
	}
	return 0
}

// parametersOf returns the sizes of a kernel's parameters, in order.
func parametersOf(t *testing.T, image []byte, symbol string) []int {
	t.Helper()
	found := map[int]int{}
	for _, a := range attributesOf(t, image, ".nv.info."+symbol) {
		if a.Code == cubin.AttributeParam {
			found[int(binary.LittleEndian.Uint16(a.Value[4:]))] = int(binary.LittleEndian.Uint32(a.Value[8:]) >> 18)
		}
	}
	var sizes []int
	for i := range len(found) {
		sizes = append(sizes, found[i])
	}
	return sizes
}

// packed returns a shared object that brings a cubin along in a fat binary, as a
// launcher does.
func packed(t *testing.T, image []byte, kind ...cubin.Kind) []byte {
	t.Helper()
	p := newProject(t, map[string]string{"fatbin": string(cubintest.Fatbin(append(kind, cubin.KindCubin)[0], cubintest.Plain, image, len(image)))})
	p.write("k.s", ".section .nv_fatbin, \"a\"\n.balign 8\n.globl fatbinData\nfatbinData: .incbin \""+p.dir+"/fatbin\"\n")
	mustRun(t, p.dir, "cc", "-shared", "-nostdlib", "-Wl,--build-id=none", "-o", "k.so", "k.s")
	so, err := os.ReadFile(p.dir + "/k.so")
	if err != nil {
		t.Fatal(err)
	}
	return so
}
