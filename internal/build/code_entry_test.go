package build

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
)

// manyData and manyKernels are one file: kernels with a neighbour of each kind.
const manyData = `
__constant__ float coefficients[8] = {1, 2, 3};
__device__ int first[4] = {1, 2, 3, 4};
__device__ int second[4] = {5, 6, 7, 8};
__device__ int *pointer = first;
__device__ float zeros[10];
__device__ __noinline__ float slow(float x) { return sqrtf(x) * x / 3.0f; }
__device__ __noinline__ float deep(float x) { return slow(x) + 1; }
__device__ __noinline__ int fib(int n) { int kept[16]; kept[n % 16] = n; return n < 2 ? kept[n % 16] : fib(n - 1) + fib(n - 2) + kept[n & 1]; }
__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return x + x; }
typedef float (*function)(float);
__device__ function table[2] = {square, twice};
`

var manyKernels = []string{
	`extern "C" __global__ void plain(float *x, long n) { x[threadIdx.x] = n; }`,
	`extern "C" __global__ void calls(float *x, long n) { x[threadIdx.x] = slow(x[n]); }`,
	`extern "C" __global__ void calls_deep(float *x, long n) { x[threadIdx.x] = deep(x[n]) * 2; }`,
	`extern "C" __global__ void recursive(float *x, long n) { x[threadIdx.x] = fib(n); }`,
	`extern "C" __global__ void tiled(float *x, long n) { __shared__ float tile[64]; tile[threadIdx.x % 64] = x[n]; __syncthreads(); x[threadIdx.x] = tile[n % 64]; }`,
	`extern "C" __global__ void __launch_bounds__(128, 2) bounded(float *x, long n) { x[threadIdx.x] = x[n] + 1; }`,
	`extern "C" __global__ void indirect(float *x, long n) { x[threadIdx.x] = table[n % 2](x[n]); }`,
	`extern "C" __global__ void constants(float *x, long n) { x[threadIdx.x] = coefficients[n % 8] + *pointer + second[n % 4]; zeros[n % 10] = x[1]; }`,
	`extern "C" __global__ void says(float *x, long n) { if (n == 77) printf("%d\n", (int)n); x[n] = 0; }`,
	`extern "C" __global__ void switches(float *x, long n) { switch (n) { case 1: x[1] = 2; break; case 2: x[7] = 3; break; case 3: x[9] = x[2] / 3; break; case 4: x[3] = 1; break; case 5: x[5] = x[6] * 7; break; } }`,
	`template <int N> __global__ void instance(float *x, long n) { x[n] = N; }
template __global__ void instance<3>(float *x, long n);`,
}

var manySource = manyData + strings.Join(manyKernels, "\n")

const manyInstance = "_Z8instanceILi3EEvPfl"

var manyEntries = []string{"plain", "calls", "calls_deep", "recursive", "tiled", "bounded", "indirect", "constants", "says", "switches", manyInstance}

func allEntries() string { return strings.Join(slices.Sorted(slices.Values(manyEntries)), " ") }

// manyChanges are changes of the file, with the kernels that they change; * stands for all.
var manyChanges = []struct {
	name, old, new string
	changed        string
}{
	{"nothing", "", "", ""},
	{"comments and lines", "__global__", "/* a kernel */\n\n__global__", ""},
	{"white space", "x[threadIdx.x]", "x[ threadIdx . x ]", ""},
	{"the name of a function", "slow", "snow", ""},
	{"the name of a variable", "zeros", "a_variable_with_a_much_longer_name", ""},
	{"code", "x[threadIdx.x] = n;", "x[threadIdx.x] = n + 1;", "plain"},
	{"a parameter", "plain(float *x, long n)", "plain(float *x, int n)", "plain"},
	{"another parameter", "plain(float *x, long n)", "plain(float *x, long n, int unused)", "plain"},
	{"a kernel more", "extern \"C\" __global__ void tiled", "extern \"C\" __global__ void more(double *x) { __shared__ double tile[99]; tile[threadIdx.x] = *x; __syncthreads(); *x = sqrt(tile[7]); }\nextern \"C\" __global__ void tiled", ""},
	{"a function that is called", "sqrtf(x) * x", "sqrtf(x) + x", "calls calls_deep"},
	{"a function that calls", "slow(x) + 1", "slow(x) + 2", "calls_deep"},
	{"the stack of a recursion", "kept[16]", "kept[32]", "recursive"},
	{"the size of shared memory", "tile[64]", "tile[65]", "tiled"},
	{"launch bounds", "(128, 2)", "(256, 2)", "bounded"},
	{"the number of registers", "(128, 2)", "(128, 16)", "bounded"},
	{"a function of a table", "x + x", "x + x + 1", "indirect"},
	{"a case", "x[6] * 7", "x[6] * 8", "switches"},
	{"a template", "x[n] = N", "x[n] = N + 1", manyInstance},
	{"a constant", "{1, 2, 3}", "{1, 2, 4}", "*"},
	{"an initial value", "5, 6, 7, 8", "5, 6, 7, 9", "*"},
	{"an initial pointer", "pointer = first", "pointer = second", "*"},
	{"an initial pointer into an array", "pointer = first", "pointer = first + 1", "*"},
	{"the size of what starts as zero", "zeros[10]", "zeros[11]", "*"},
	{"functions in a table", "{square, twice}", "{twice, square}", "indirect"},
	{"text that is printed", "%d\\n", "%i\\n", "*"},
	{"a managed variable", "__device__ int second", "__managed__ int second", "*"},
}

// codesOf returns the code of each entry, and fails where one counts as the whole file.
func codesOf(t *testing.T, image []byte, entries []string) map[string]string {
	t.Helper()
	codes := map[string]string{}
	for _, entry := range entries {
		a := NewArtifact(image, entry)
		if err := a.hashDevice(image); err != nil || a.WholeFile != "" || a.Code == a.Former {
			t.Fatalf("%s: %q, %v", entry, a.WholeFile, err)
		}
		codes[entry] = a.Code
	}
	return codes
}

func changedCodes(before, after map[string]string) string {
	var changed []string
	for _, entry := range slices.Sorted(maps.Keys(before)) {
		if before[entry] != after[entry] {
			changed = append(changed, entry)
		}
	}
	return strings.Join(changed, " ")
}

// compilers returns a function for each compiler and architecture that makes a cubin.
func compilers(t *testing.T) map[string]func(t *testing.T, source string) []byte {
	found := map[string]func(t *testing.T, source string) []byte{}
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			if testing.Short() && len(found) > 0 && toolkit.Name == cubintest.Toolkits(t)[0].Name { // one of the oldest, all of the newest
				continue
			}
			found[toolkit.Name+" "+arch] = func(t *testing.T, source string) []byte { return toolkit.Compile(t, arch, source) }
		}
	}
	if nvcc, err := exec.LookPath("nvcc"); err == nil {
		found["nvcc"] = func(t *testing.T, source string) []byte {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "k.cu"), "#include <cstdio>\n"+source)
			mustRun(t, dir, nvcc, "-cubin", "-arch=sm_90a", "-lineinfo", "-o", "k.cubin", "k.cu")
			image, err := os.ReadFile(filepath.Join(dir, "k.cubin"))
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
	}
	return found
}

// A change is seen in the kernels that run it, and in no other.
func TestToolkitsEntries(t *testing.T) {
	t.Parallel()
	for name, compile := range compilers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := codesOf(t, compile(t, manySource), manyEntries)
			if distinct := slices.Compact(slices.Sorted(maps.Values(before))); len(distinct) != len(manyEntries) {
				t.Errorf("%d kernels have %d codes", len(manyEntries), len(distinct))
			}
			for _, test := range manyChanges {
				changed := manySource
				if test.old != "" {
					if changed = strings.ReplaceAll(manySource, test.old, test.new); changed == manySource {
						t.Fatalf("%s: nothing changed", test.name)
					}
				}
				want := strings.Join(slices.Sorted(strings.FieldsSeq(test.changed)), " ")
				if test.changed == "*" {
					want = allEntries()
				}
				if got := changedCodes(before, codesOf(t, compile(t, changed), manyEntries)); got != want {
					t.Errorf("%s changed %q, expected %q", test.name, got, want)
				}
			}
			kernels := slices.Clone(manyKernels)
			slices.Reverse(kernels)
			if got := changedCodes(before, codesOf(t, compile(t, manyData+strings.Join(kernels, "\n")), manyEntries)); got != "" {
				t.Errorf("another order of the kernels changed %q", got)
			}
		})
	}
}

// A byte that changes in a section changes the code of the kernels that run it, and no other.
func TestToolkitsEntrySections(t *testing.T) {
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		architectures := toolkit.Architectures(t)
		for _, arch := range slices.Compact([]string{architectures[0], architectures[len(architectures)-1]}) {
			t.Run(toolkit.Name+" "+arch, func(t *testing.T) {
				t.Parallel()
				flipNeighbours(t, toolkit.CompileOnce(t, arch, manySource))
			})
		}
	}
}

func flipNeighbours(t *testing.T, image []byte) {
	t.Helper()
	file, err := cubin.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"calls_deep", "indirect"} {
		own := 0
		flipSections(t, file, image, func(image []byte) (string, error) { return entryHash(image, []string{entry}) }, func(s *elf.Section) flips {
			switch {
			case strings.HasSuffix(s.Name, "."+entry):
				own++
			case slices.Contains(describing, s.Name) || strings.HasPrefix(s.Name, ".note."),
				slices.ContainsFunc(manyEntries, func(other string) bool { return strings.HasSuffix(s.Name, "."+other) }):
				return flipsIgnored
			case strings.HasSuffix(s.Name, "symtab") || strings.HasSuffix(s.Name, "strtab"), // names, some of which count
				strings.HasSuffix(s.Name, ".nv.info"), strings.HasSuffix(s.Name, ".nv.callgraph"): // have tests of their own
				return flipsUntested
			}
			return flipsSeen
		})
		if own < 3 {
			t.Errorf("%s has %d sections", entry, own)
		}
	}
}

// What .nv.info says about a function counts for the kernels that run it.
func TestToolkitsEntryRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestToolkitsEntrySections reads such records")
	}
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		for _, arch := range toolkit.Architectures(t) {
			image := toolkit.CompileOnce(t, arch, manySource)
			before := codesOf(t, image, manyEntries)
			file, err := cubin.Open(image)
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := file.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			info := file.Section(".nv.info")
			data, err := info.Data()
			if err != nil {
				t.Fatal(err)
			}
			attributes, _ := cubin.Attributes(data)
			at := int(info.Offset)
			for _, a := range attributes {
				if !a.Sized() {
					at += 4
					continue
				}
				about := symbols[binary.LittleEndian.Uint32(a.Value)-1]
				owner := strings.TrimPrefix(file.Sections[about.Section].Name, ".text.")
				changed := bytes.Clone(image)
				changed[at+8] ^= 4 // the value's second word
				if got := changedCodes(before, codesOf(t, changed, manyEntries)); got != owner {
					t.Errorf("%s %s: attribute %#x of %s changed %q, expected %q", toolkit.Name, arch, a.Code, about.Name, got, owner)
				}
				at += 4 + len(a.Value)
			}
		}
	}
}

// A symbol of a function counts for the kernels that run it, that of a variable for all.
func TestToolkitsEntrySymbols(t *testing.T) {
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		image := toolkit.CompileOnce(t, toolkit.Architectures(t)[0], manySource)
		before := codesOf(t, image, manyEntries)
		file, err := cubin.Open(image)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := file.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		table := file.SectionByType(elf.SHT_SYMTAB)
		for name, want := range map[string]string{"tiled": "tiled", "zeros": allEntries()} {
			number := 1 + slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
			if number == 0 {
				t.Fatalf("%s: no symbol %s", toolkit.Name, name)
			}
			for field, at := range map[string]uint64{"other": 5, "value": 8, "size": 16} {
				changed := bytes.Clone(image)
				changed[table.Offset+uint64(number)*24+at] ^= 4
				if got := changedCodes(before, codesOf(t, changed, manyEntries)); got != want {
					t.Errorf("%s: the %s of symbol %s changed %q, expected %q", toolkit.Name, field, name, got, want)
				}
			}
		}
	}
}

// Other kinds of kernels are told apart too. NVRTC 12.0 crashes on some of these.
func TestToolkitsEntryKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestToolkitsEntrySections reads such entries")
	}
	t.Parallel()
	const source = `struct base { __device__ virtual float f(float x) { return x; } };
struct derived : base { __device__ float f(float x) override { return x * 3; } };
extern "C" __global__ void plain(float *x) { x[0] = 1; }
extern "C" __global__ void virtuals(float *x, long n) { base b; derived d; base *p = n ? &b : &d; x[0] = p->f(x[n]); }
extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *x, long n) { x[n] = tex1Dfetch<float>(t, n); surf1Dwrite(2.0f, s, n * 4); }
extern "C" __global__ void heap(int **p, long n) { p[0] = (int *)malloc(n * 4); p[0][n] = 3; free(p[1]); }
extern "C" __global__ void asserts(float *x, long n) { if (n == 3) __trap(); extern __shared__ float dynamic[]; dynamic[n] = x[n]; __syncthreads(); x[0] = dynamic[3]; }
extern "C" __global__ void local(float *x, long n) { float own[100]; for (int i = 0; i < n; i++) own[i * 7 % 100] += x[i]; x[0] = own[n]; }
extern "C" __global__ void barrier(float *x) {
  __shared__ unsigned long long b;
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&b)));
  __syncthreads(); x[threadIdx.x] = b;
}
extern "C" __global__ void systems(int *x) { atomicAdd_system(x, 1); __nanosleep(10); x[1] = __reduce_add_sync(~0u, x[threadIdx.x]); }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusters(float *x) { asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;"); x[0] = 5; }
#endif
`
	for _, toolkit := range cubintest.Toolkits(t) {
		if toolkit.Name == "cuda-12.0.140" {
			continue
		}
		for _, arch := range toolkit.Architectures(t) {
			entries := []string{"plain", "virtuals", "textures", "heap", "asserts", "local", "barrier", "systems", "clusters"}
			if arch == "sm_80" {
				entries = entries[:len(entries)-1]
			}
			before := codesOf(t, toolkit.Compile(t, arch, source), entries)
			for _, test := range []struct{ old, new, changed string }{
				{"x * 3", "x * 4", "virtuals"},
				{"2.0f, s", "3.0f, s", "textures"},
				{"n * 4);", "n * 8);", "heap textures"},
				{"__trap()", "__nanosleep(7)", "asserts"},
				{"own[100]", "own[120]", "local"},
				{"unsigned long long b;", "unsigned long long b, c[9]; c[threadIdx.x] = b; __syncthreads(); x[1] = c[2];", "barrier"},
				{"__nanosleep(10)", "__nanosleep(20)", "systems"},
				{"x[0] = 1;", "x[0] = 2;", "plain"},
			} {
				if got := changedCodes(before, codesOf(t, toolkit.Compile(t, arch, strings.Replace(source, test.old, test.new, -1)), entries)); got != test.changed {
					t.Errorf("%s %s: %q instead of %q changed %q, expected %q", toolkit.Name, arch, test.new, test.old, got, test.changed)
				}
			}
		}
	}
}

// linked has functions in sections of their own, which kernels call.
func linked(t testing.TB, name string) []byte {
	t.Helper()
	image, err := os.ReadFile("testdata/" + name + ".cubin")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// Functions in sections of their own count for the kernels that call them.
func TestEntryCallees(t *testing.T) {
	image := linked(t, "linked")
	entries := []string{"direct", "other", "plain"}
	before := codesOf(t, image, entries)
	file, err := cubin.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	for section, want := range map[string]string{
		".text._Z5innerf": "direct", ".text._Z5outerf": "direct", ".text._Z6lonelyf": "other", ".text.plain": "plain", ".nv.global.init": "direct other plain",
		".rela.text._Z5outerf": "direct", ".rela.text._Z6lonelyf": "other", ".nv.constant0.other": "other",
	} {
		changed := bytes.Clone(image)
		changed[file.Section(section).Offset+2] ^= 1
		if got := changedCodes(before, codesOf(t, changed, entries)); got != want {
			t.Errorf("%s changed %q, expected %q", section, got, want)
		}
	}
}

// What is not understood counts as the whole file, for every kernel, and says why.
func TestWholeFile(t *testing.T) {
	image, pointers := linked(t, "linked"), linked(t, "pointers")
	file, err := cubin.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) int {
		return slices.IndexFunc(file.Sections, func(s *elf.Section) bool { return s.Name == name })
	}
	headers := int(binary.LittleEndian.Uint64(image[40:])) // of the sections
	const typeAt, infoAt = 4, 44
	at := func(section string, offset int) int { return int(file.Section(section).Offset) + offset }
	named := func(name string) int { // the place of a section's name
		return int(file.Section(".shstrtab").Offset) + bytes.Index(image[file.Section(".shstrtab").Offset:], []byte(name+"\x00"))
	}
	const symbolSize = 24
	for _, test := range []struct {
		name  string
		image []byte
		why   string
	}{
		{"as it is", image, ""},
		{"pointers", pointers, "data of the cubin points to .text._Z5outerf"},
		{"not linked", patched(image, 16, byte(elf.ET_REL)), "the cubin is not linked"},
		{"an unknown section", patched(image, named(".nv.compat"), []byte(".nv.secret")...), "section .nv.secret of the cubin is unknown"},
		{"an unknown attribute", patched(image, at(".nv.info.direct", 1), 0x7f), "attribute 0x7f in section .nv.info.direct of the cubin is unknown"},
		{"an unknown attribute of a module", patched(image, at(".nv.info", 1), 0x7f), "attribute 0x7f in section .nv.info of the cubin is unknown"},
		{"another function's bank", patched(image, headers+64*number(".nv.constant0.direct")+infoAt, byte(number(".text.other"))), "section .nv.constant0.direct of the cubin belongs to another function"},
		{"another function's code", patched(image, headers+64*number(".text.direct")+infoAt, 1), "section .text.direct of the cubin belongs to another function"},
		{"relocations of relocations", patched(image, headers+64*number(".rela.text.direct")+infoAt, byte(number(".rela.text.other"))), "section .rela.text.direct of the cubin changes an unknown section"},
		{"an unknown symbol of a prototype", patched(image, at(".nv.prototype", 0), 0xff), "section .nv.prototype of the cubin has unknown symbols"},
		{"a call without a relocation", patched(image, at(".nv.callgraph", 36), 0x13), "the cubin calls _Z6lonelyf without a relocation"},
		{"no call graph", patched(image, headers+64*number(".nv.callgraph")+typeAt, byte(elf.SHT_NOTE), 0, 0, 0), "the cubin has device functions but no call graph"},
		{"an unknown symbol in a relocation", patched(image, at(".rela.text.direct", 12), 0xff), "section .rela.text.direct of the cubin has unknown symbols"},
		{"an unknown symbol in the call graph", patched(image, at(".nv.callgraph", 8), 0xff), "section .nv.callgraph of the cubin has unknown symbols"},
		{"an unknown kind of call", patched(image, at(".nv.callgraph", 4), 0xfb), "the cubin calls functions through pointers"},
		{"two functions of a name", patched(image, headers+64*number(".text.other"), image[headers+64*number(".text.direct"):headers+64*number(".text.direct")+4]...), "the cubin has two functions direct"},
		{"two symbol tables", patched(patched(image, headers+64*number(".rela.text.direct")+typeAt, 0x85, 0, 0, 0x70), headers+64*number(".rela.text.other")+typeAt, 0x85, 0, 0, 0x70), "the cubin has two symbol tables"},
		{"a symbol of no section", patched(image, at(".symtab", symbolSize*2+6), 0xff), "symbol \".note.nv.cuinfo\" of the cubin has no section"},
	} {
		a := NewArtifact(test.image, "direct")
		if err := a.hashDevice(test.image); err != nil || a.WholeFile != test.why || (a.Code == a.Former) != (test.why != "") {
			t.Errorf("%s: %q, %v; the whole file counts: %v", test.name, a.WholeFile, err, a.Code == a.Former)
		}
	}
	// Where nothing but the launched kernels is in the file, there is nothing to say.
	a := NewArtifact(pointers, "direct", "other", "plain", "indirect")
	if err := a.hashDevice(pointers); err != nil || a.WholeFile != "" || a.Code != a.Former {
		t.Errorf("%q, %v", a.WholeFile, err)
	}
	if err := NewArtifact(image, "missing").hashDevice(image); err == nil || !strings.Contains(err.Error(), "no kernel missing") {
		t.Error(err)
	}
}

// patched returns a copy of an image with other bytes in a place.
func patched(image []byte, at int, other ...byte) []byte {
	image = bytes.Clone(image)
	copy(image[at:], other)
	return image
}

// Baselines keep identities: who changes what is hashed raises the number in "pawl entry", and
// keeps the former hash for those that were stored.
func TestEntryForm(t *testing.T) {
	const form1 = "0a3597c32838d4fd47e454124c3ca110f49f424f726ef16215f353e95bb935e8"
	a := NewArtifact(linked(t, "linked"), "direct")
	if err := a.hashDevice(linked(t, "linked")); err != nil || a.Code != form1 {
		t.Errorf("code %s, %v: its form has changed", a.Code, err)
	}
}

func FuzzEntryHash(f *testing.F) {
	for _, name := range []string{"linked", "pointers"} {
		f.Add(linked(f, name))
	}
	for _, name := range []string{"globals", "managed"} {
		image, err := os.ReadFile("../native/cuda/testdata/" + name + ".cubin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		one, err := entryHash(image, []string{"direct"})
		two, again := entryHash(image, []string{"direct"})
		if one != two || (err == nil) != (again == nil) || err == nil && len(one) != 64 {
			t.Errorf("%q, %v, then %q, %v", one, err, two, again)
		}
		if _, whole := cubinHash(image, []string{"direct"}, false); whole != nil && err == nil {
			t.Errorf("the whole file cannot be read, and a part can: %v", whole)
		}
	})
}
