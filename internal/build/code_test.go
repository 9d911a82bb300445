package build

import (
	"bytes"
	"debug/elf"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCodeTellsBehaviourOnly(t *testing.T) {
	t.Parallel()
	const source = `#include <math.h>
static const float table[4] = {1, 2, 3, 4};
static float twice(float x) { return 2 * x; }
static float thrice(float x) { return 3 * x; }
static float (*const steps[])(float) = {twice, thrice};
static const float other[4] = {1, 2, 3, 4};
static const float *volatile chosen = table;
static __thread volatile float kept = 3;
void run(float *x, long n) {
  for (long i = 0; i < n; i++) x[i] = sinf(steps[i % 2](x[i])) * table[i % 4] + chosen[i % 4] + other[i % 3] + kept;
}
`
	b := newBuilder(t)
	build := func(text string, flags string) *Artifact {
		t.Helper()
		return newProject(t, map[string]string{
			"pawl.yaml": yaml("k.c", "entry: run", "flags: ["+flags+"]"), "k.c": text,
		}).artifact(b)
	}
	base := build(source, "")
	for _, test := range []struct {
		name, old, new, flags string
		same                  bool
	}{
		{"comment", "sinf(", "/* sine */ sinf(", "", true},
		{"white space", "(long i", "(  long   i", "", true},
		{"names", "thrice", "three_times_as_much_as", "", true},
		{"no debug information", "", "", "-g0", true},
		{"more debug information", "", "", "-g3", true},
		{"a build id", "", "", "'-Wl,--build-id=sha1'", true},
		{"constant", "2 * x", "5 * x", "", false},
		{"data", "2, 3, 4", "2, 3, 5", "", false},
		{"imported function", "sinf", "cosf", "", false},
		{"pointers to functions", "{twice, thrice}", "{thrice, twice}", "", false},
		{"a pointer to data", "chosen = table", "chosen = other", "", false},
		{"a pointer into an array", "chosen = table", "chosen = table + 1", "", false},
		{"a thread's own data", "kept = 3", "kept = 4", "", false},
		{"what is done when loaded", "void run", "__attribute__((constructor)) static void start(void) { kept = 7; } void run", "", false},
		{"where libraries are looked for", "", "", "'-Wl,-rpath,/opt/lib'", false},
		{"an executable stack", "", "", "'-Wl,-z,execstack'", false},
		{"a section that nobody knows", "void run", "__asm__(\".pushsection .mystery\\n .byte 1\\n .popsection\"); void run", "", false},
		{"a note", "void run", "__asm__(\".pushsection .note.mine,\\\"\\\",@note\\n .byte 1\\n .popsection\"); void run", "", true},
		{"a note that is loaded", "void run", "__asm__(\".pushsection .note.mine,\\\"a\\\",@note\\n .byte 1\\n .popsection\"); void run", "", false},
		{"names that are loaded", "void run", "__asm__(\".pushsection .mine,\\\"a\\\",@3\\n .byte 1\\n .popsection\"); void run", "", false},
		{"a build id of its own, which the linker drops", "void run", "__asm__(\".pushsection .note.gnu.build-id,\\\"a\\\",@note\\n .byte 1\\n .popsection\"); void run", "", true},
		{"the command line", "", "", "-frecord-gcc-switches", true},
		{"optimisation", "", "", "-O0", false},
		{"size of bss", "void run", "long counter[100]; void run", "", false},
		{"needed library", "", "", "-fopenmp, '-Wl,--no-as-needed'", false},
	} {
		text := strings.ReplaceAll(source, test.old, test.new)
		if test.old == "" {
			text = source
		}
		other := build(text, test.flags)
		if (other.Code == base.Code) != test.same {
			t.Errorf("%s: same code is %v, expected %v", test.name, !test.same, test.same)
		}
		if test.same && !bytes.Equal(other.Bytes, base.Bytes) {
			t.Errorf("%s: same code in another file, which it can read", test.name)
		}
		if other.Key == base.Key {
			t.Errorf("%s: same key", test.name)
		}
	}
}

// A byte that changes in any section changes the code, but for those that describe.
func TestCodeOfEverySection(t *testing.T) {
	t.Parallel()
	const source = `#include <math.h>
#include <stdexcept>
#include <vector>
static const float table[4] = {1, 2, 3, 4};
static const float *volatile chosen = table;
static __thread volatile float kept = 3;
static long counter[7];
extern "C" void run(float *x, long n) {
  std::vector<float> copy(x, x + n);
  try {
    if (n == 77) throw std::runtime_error("no");
    for (long i = 0; i < n; i++) x[i] = sinf(copy[n - 1 - i]) * table[i % 4] + chosen[i % 4] + kept + counter[i % 7]++;
  } catch (const std::exception &) { x[0] = 0; }
}
`
	p := newProject(t, map[string]string{"k.cpp": source})
	mustRun(t, p.dir, "c++", "-O3", "-g", "-fPIC", "-shared", "-o", "k.so", "k.cpp")
	so, err := os.ReadFile(p.dir + "/k.so")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(so))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".text", ".rela.dyn", ".dynamic", ".dynsym", ".gnu.version_r", ".data", ".rodata", ".eh_frame", ".gcc_except_table", ".tdata", ".init_array"} {
		if file.Section(name) == nil {
			t.Errorf("no section %s", name)
		}
	}
	flipSections(t, file, so, codeHash, func(s *elf.Section) flips {
		switch {
		case slices.Contains([]string{".comment", ".symtab", ".strtab", ".gnu.hash", ".hash"}, s.Name),
			strings.HasPrefix(s.Name, ".debug_"):
			return flipsIgnored
		case s.Name == ".dynstr" || s.Name == ".shstrtab": // names, some of which count
			return flipsUntested
		}
		return flipsSeen
	})
}

func FuzzCodeHash(f *testing.F) {
	so := newProject(f, map[string]string{"k.c": plainSource}).artifact(newBuilder(f)).Bytes
	f.Add([]byte{})
	f.Add(so[:64])
	f.Add(so)
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := codeHash(data)
		two, again := codeHash(data)
		if one != two || (err == nil) != (again == nil) || err == nil && len(one) != 64 {
			t.Errorf("%q, %v, then %q, %v", one, err, two, again)
		}
		_, _ = readFunctions(data)
	})
}
