package build

import (
	"bytes"
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/native/cuda/cubin/cubintest"
)

// everything has a section of each kind that a kernel can have.
const everything = `__device__ int first[4] = {1, 2, 3, 4};
__device__ int second[4] = {5, 6, 7, 8};
__device__ int *pointer = first;
__device__ float zeros[10];
__device__ int written = 5;
__constant__ float coefficients[8] = {1, 2, 3};
__constant__ int *constant_pointer = first;
__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return x + x; }
typedef float (*function)(float);
__device__ function table[2] = {square, twice};
__global__ void other(double *x) { *x = sqrt(*x); }
extern "C" __global__ void __launch_bounds__(128, 2) kernel(float *x, long n) {
  __shared__ float tile[64];
  tile[threadIdx.x % 64] = x[threadIdx.x] + *pointer;
  __syncthreads();
  zeros[threadIdx.x % 10] = tile[3] + second[n % 4];
  x[threadIdx.x] = table[n % 2](tile[threadIdx.x * 3 % 64]) + coefficients[n % 8] + constant_pointer[n % 4] + written;
  if (n == 77) printf("%d\n", (int)n);
  switch (n) {
  case 1: x[1] = 2; break;
  case 2: x[7] = 3; break;
  case 3: x[9] = x[2] / 3; break;
  case 4: x[3] = 1; break;
  case 5: x[5] = x[6] * 7; break;
  }
}
`

func TestToolkitsCode(t *testing.T) {
	t.Parallel()
	toolkits := cubintest.Toolkits(t)
	if testing.Short() { // TestToolkitsEntries has them all
		toolkits = toolkits[len(toolkits)-1:]
	}
	for _, toolkit := range toolkits {
		architectures := toolkit.Architectures(t)
		arch := architectures[len(architectures)-1]
		t.Run(toolkit.Name+" "+arch, func(t *testing.T) {
			code := func(source, entry string, options ...string) string {
				t.Helper()
				hash, err := cubinHash(toolkit.Compile(t, arch, source, options...), []string{entry}, false)
				if err != nil {
					t.Fatal(err)
				}
				return hash
			}
			base := code(everything, "kernel")
			for _, test := range []struct {
				name, old, new string
				same           bool
			}{
				{"nothing", "", "", true},
				{"a comment", "typedef", "// the functions\n\n\n/* of the table */ typedef", true},
				{"white space", "tile[3] + second", "tile[ 3 ]\n  +  second", true},
				{"the name of a function", "square", "squaring", true},
				{"the name of a variable", "first", "frist", true},
				{"code", "x + x", "x + x + 1", false},
				{"an initial value", "5, 6, 7, 8", "5, 6, 7, 9", false},
				{"an initial pointer", "pointer = first", "pointer = second", false},
				{"an initial pointer into an array", "pointer = first", "pointer = first + 1", false},
				{"a pointer in constant memory", "constant_pointer = first", "constant_pointer = second", false},
				{"functions in a table", "{square, twice}", "{twice, square}", false},
				{"a constant", "{1, 2, 3}", "{1, 2, 4}", false},
				{"the size of what starts as zero", "zeros[10]", "zeros[11]", false},
				{"the size of shared memory", "tile[64]", "tile[65]", false},
				{"launch bounds", "(128, 2)", "(256, 2)", false},
				{"a managed variable", "__device__ int written", "__managed__ int written", false},
				{"text", "%d\\n", "%i\\n", false},
				{"another parameter", "long n)", "long n, int unused)", false},
				{"the size of a parameter", "long n)", "int n)", false},
				{"what is not launched", "sqrt(*x)", "rsqrt(*x)", false},
			} {
				if got := code(strings.ReplaceAll(everything, test.old, test.new), "kernel"); (got == base) != test.same {
					t.Errorf("%s: same code is %v, expected %v", test.name, !test.same, test.same)
				}
			}
			if code(everything, "kernel", "--maxrregcount=16") == base {
				t.Error("fewer registers: same code")
			}
			if code(strings.Replace(everything, " kernel(", " renamed(", 1), "renamed") != base {
				t.Error("the name of the kernel counts")
			}
		})
	}
}

// Two kernels that change their names do not change the cubin but for them, and
// what is launched is the other one.
func TestToolkitsCodeOfLaunched(t *testing.T) {
	t.Parallel()
	const source = `extern "C" __global__ void one(int *x) { *x = 1; }
extern "C" __global__ void two(int *x) { *x = 2; }
`
	swapped := strings.NewReplacer("one", "two", "two", "one").Replace(source)
	for _, toolkit := range cubintest.Toolkits(t) {
		image, other := toolkit.Compile(t, "sm_80", source), toolkit.Compile(t, "sm_80", swapped)
		before, err := cubinHash(image, []string{"one"}, false)
		after, again := cubinHash(other, []string{"one"}, false)
		if err != nil || again != nil || before == after {
			t.Errorf("%s: the other kernel has the same code: %v, %v", toolkit.Name, err, again)
		}
		if both, err := cubinHash(image, []string{"two"}, false); err != nil || both == before {
			t.Errorf("%s: whichever is launched, the code is the same: %v", toolkit.Name, err)
		}
		if _, err := cubinHash(image, []string{"three"}, false); err == nil || !strings.Contains(err.Error(), "no kernel three") {
			t.Errorf("%s: %v", toolkit.Name, err)
		}
	}
}

// describing are the sections of a cubin that do not count. Symbol tables do in
// part, and have a test of their own.
var describing = []string{
	".debug_frame", ".debug_line", ".nv_debug_line_sass", ".nv_debug_ptx_txt", ".rela.debug_line", ".rela.nv_debug_line_sass",
	".rela.debug_frame", ".rel.debug_line", ".rel.nv_debug_line_sass", ".rel.debug_frame",
	".nv.merc.debug_frame", ".nv.merc.debug_line", ".nv.merc.nv_debug_line_sass", ".nv.merc.nv_debug_ptx_txt",
	".nv.merc.rela.debug_line", ".nv.merc.rela.nv_debug_line_sass", ".nv.merc.rela.debug_frame",
}

// A byte that changes in any section changes the code, but for those that describe.
func TestToolkitsCodeOfEverySection(t *testing.T) {
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		architectures := toolkit.Architectures(t)
		for _, arch := range slices.Compact([]string{architectures[0], architectures[len(architectures)-1]}) {
			t.Run(toolkit.Name+" "+arch, func(t *testing.T) {
				t.Parallel()
				image := toolkit.CompileOnce(t, arch, everything)
				file, err := cubin.Open(image)
				if err != nil {
					t.Fatal(err)
				}
				flipSections(t, file, image, func(image []byte) (string, error) { return cubinHash(image, []string{"kernel"}, false) },
					func(s *elf.Section) flips {
						switch {
						case slices.Contains(describing, s.Name) || strings.HasPrefix(s.Name, ".note."):
							return flipsIgnored
						case strings.HasSuffix(s.Name, "symtab") || strings.HasSuffix(s.Name, "strtab"): // names, some of which count
							return flipsUntested
						}
						return flipsSeen
					})
			})
		}
	}
}

// flips says what a flipped bit in a section does to the code.
type flips int

const (
	flipsSeen flips = iota
	flipsIgnored
	flipsUntested
)

// flipSections changes one bit of bytes all over each section, one at a time.
func flipSections(t *testing.T, file *elf.File, image []byte, hash func([]byte) (string, error), expect func(*elf.Section) flips) {
	t.Helper()
	base, err := hash(image)
	if err != nil {
		t.Fatal(err)
	}
	image = bytes.Clone(image)
	each := uint64(40) // of a section
	if testing.Short() {
		each = 8
	}
	for _, s := range file.Sections {
		want := expect(s)
		if s.Type == elf.SHT_NULL || s.Type == elf.SHT_NOBITS || s.Size == 0 || want == flipsUntested {
			continue
		}
		for at, bit := s.Offset, 0; at < s.Offset+s.Size; at, bit = at+1+s.Size/each, bit+3 {
			image[at] ^= 1 << (bit % 8)
			code, err := hash(image)
			if seen := err != nil || code != base; seen != (want == flipsSeen) {
				t.Errorf("%s: bit %d of byte %d of %d: seen is %v", s.Name, bit%8, at-s.Offset, s.Size, seen)
			}
			image[at] ^= 1 << (bit % 8)
		}
	}
}

// What a symbol is counts; its name and its number do not.
func TestToolkitsCodeOfSymbols(t *testing.T) {
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		image := toolkit.CompileOnce(t, toolkit.Architectures(t)[0], everything)
		file, err := cubin.Open(image)
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := file.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		base, err := cubinHash(image, []string{"kernel"}, false)
		if err != nil {
			t.Fatal(err)
		}
		table := file.SectionByType(elf.SHT_SYMTAB)
		number := 1 + slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "written" })
		for field, at := range map[string]uint64{"info": 4, "other": 5, "section": 6, "value": 8, "size": 16} {
			changed := bytes.Clone(image)
			changed[table.Offset+uint64(number)*24+at] ^= 4
			if code, err := cubinHash(changed, []string{"kernel"}, false); err == nil && code == base {
				t.Errorf("%s: the symbol's %s does not count", toolkit.Name, field)
			}
		}
		if number == 0 {
			t.Fatalf("%s: no variable written", toolkit.Name)
		}
	}
}

// A launcher brings its device code along, packed.
func TestToolkitsCodeOfLaunchers(t *testing.T) {
	t.Parallel()
	for _, toolkit := range cubintest.Toolkits(t) {
		code := func(source string) string {
			t.Helper()
			hash, err := codeHash(packed(t, toolkit.Compile(t, "sm_80", source)))
			if err != nil {
				t.Fatal(err)
			}
			return hash
		}
		base := code(everything)
		if code(strings.Replace(everything, "typedef", "/**/ typedef", 1)) != base {
			t.Errorf("%s: a comment counts", toolkit.Name)
		}
		for _, other := range []string{
			strings.Replace(everything, "pointer = first", "pointer = second", 1),
			strings.Replace(everything, "x + x", "x + x + 1", 1),
			strings.Replace(everything, " kernel(", " renamed(", 1), // host code finds it by its name
			strings.Replace(everything, "{1, 2, 3}", "{1, 2, 4}", 1),
		} {
			if code(other) == base {
				t.Errorf("%s: a change does not count:\n%s", toolkit.Name, other)
			}
		}
	}
}

// What nvcc makes of a launcher tells the same.
func TestCUDALauncherCode(t *testing.T) {
	b := newNVCCBuilder(t)
	const source = `__device__ int first[4] = {1, 2, 3, 4};
__device__ int second[4] = {5, 6, 7, 8};
__device__ int *pointer = first;
static int from = 3;
static __global__ void add(float *x) { x[threadIdx.x] += pointer[threadIdx.x % 4] + second[0]; }
extern "C" void scale(void *stream, float *x, long n) { add<<<1, n + from, 0, (cudaStream_t)stream>>>(x); }
`
	code := func(source string) string {
		t.Helper()
		p := cudaProject(t, "scale", source)
		text := strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params:", "launcher: true\n    params:", 1)
		p.write("pawl.yaml", strings.Replace(text, "    launch: {grid: 1, block: M}\n", "", 1))
		o := b.Build(t.Context(), p.requests()[:1])[0]
		if o.Fault != nil {
			t.Fatalf("%+v\n%s", o.Fault, o.Output)
		}
		return o.Artifact.Code
	}
	base := code(source)
	for _, test := range []struct {
		name, old, new string
		same           bool
	}{
		{"nothing", "", "", true},
		{"a comment", "x[thread", "/**/ x[thread", true},
		{"another line", "static int", "\nstatic int", true},
		{"a pointer in device memory", "pointer = first", "pointer = second", false},
		{"data in device memory", "5, 6, 7", "5, 6, 8", false},
		{"device code", "+= pointer", "-= pointer", false},
		{"host code", "n + from", "n - from", false},
		{"data of the host", "from = 3", "from = 4", false},
	} {
		if got := code(strings.Replace(source, test.old, test.new, 1)); (got == base) != test.same {
			t.Errorf("%s: same code is %v, expected %v", test.name, !test.same, test.same)
		}
	}
}

// Baselines and caches keep codes. One of another form must not equal any of today's:
// who changes what is hashed raises the numbers in "pawl cubin", "pawl code" and format.
func TestCodeForm(t *testing.T) {
	const form2 = "bd310d1e34d474b71c111a4e094003fadf386d505a1c7e76919115428825d984"
	image, err := os.ReadFile("../native/cuda/testdata/globals.cubin")
	if err != nil {
		t.Fatal(err)
	}
	if code, err := cubinHash(image, []string{"remember"}, false); err != nil || code != form2 {
		t.Errorf("code %s, %v: its form has changed", code, err)
	}
}

func TestPlainPTX(t *testing.T) {
	const text = "// made by a compiler\n.version 8.0\n.target sm_90a\n.file 1 \"/tmp/k.cu\"\n.entry k(\n)\n{\n.local .align 8 .b8 depot[8];\n" +
		".loc 1 3 4\n\tmov.u32 %r1, 7; // seven\n\tret;\n}\n.section .debug_str\n{\n$L_info:\n.b8 95\n}\n.global .u32 after;\n"
	const want = ".version 8.0\n.target sm_90a\n.entry k(\n)\n{\n.local .align 8 .b8 depot[8];\n\tmov.u32 %r1, 7; // seven\n\tret;\n}\n.global .u32 after;\n"
	if got := string(plainPTX([]byte(text))); got != want {
		t.Errorf("%q", got)
	}
}

func FuzzCubinHash(f *testing.F) {
	for _, name := range []string{"globals", "managed"} {
		image, err := os.ReadFile("../native/cuda/testdata/" + name + ".cubin")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(image)
		f.Add(cubintest.Fatbin(cubin.KindCubin, cubintest.Plain, image, len(image)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := cubinHash(data, nil, true)
		two, again := cubinHash(data, nil, true)
		if one != two || (err == nil) != (again == nil) || err == nil && len(one) != 64 {
			t.Errorf("%q, %v, then %q, %v", one, err, two, again)
		}
		hashFatbins(newDigest("test"), data)
	})
}
