package build

import (
	"bytes"
	"debug/elf"
	"fmt"
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
		{"a section that nobody knows, and nobody loads", "void run", "__asm__(\".pushsection .mystery\\n .byte 1\\n .popsection\"); void run", "", true},
		{"a section that nobody knows", "void run", "__asm__(\".pushsection .mystery,\\\"a\\\"\\n .byte 1\\n .popsection\"); void run", "", false},
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
		if test.same && !bytes.Equal(content(t, other), content(t, base)) {
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
		case slices.Contains([]string{".comment", ".symtab", ".strtab"}, s.Name), strings.HasPrefix(s.Name, ".debug_"):
			return flipsIgnored
		case s.Name == ".shstrtab": // names, some of which count
			return flipsUntested
		}
		return flipsSeen
	})
}

// Data in sections that look like tables of the loader counts byte by byte, in kernels and
// in launchers: of these the hash knows another order, or other numbers, for the same.
func TestCodeOfTablesThatAreNone(t *testing.T) {
	t.Parallel()
	for section, data := range map[string][2]string{
		`.hash,\"a\",@5`:                 {".quad 3", ".quad 900"},
		`.gnu.hash,\"a\",@0x6ffffff6`:    {".quad 3", ".quad 900"},
		`.dynstr,\"a\",@3`:               {".quad 3", ".quad 900"},
		`.gnu.version,\"a\",@0x6fffffff`: {".quad 3", ".quad 900"},
		`.mine,\"a\",@11`:                {".quad 3", ".quad 900"}, // SHT_DYNSYM
		`.mine,\"a\",@0x6ffffffe`:        {".quad 3, 0", ".quad 900, 0"},
		`.mine,\"aw\",@6`:                {".quad 3, 0", ".quad 900, 0"}, // SHT_DYNAMIC
	} {
		var codes, hosts []string
		for _, numbers := range data {
			source := fmt.Sprintf("__asm__(\".pushsection %s\\n.globl loops\\n.hidden loops\\nloops: %s\\n.popsection\");\n", section, numbers) +
				"extern const volatile long loops __attribute__((visibility(\"hidden\")));\nlong run(void) { long n = 0; for (long i = 0; i < loops; i++) n += i; return n; }\n"
			p := newProject(t, map[string]string{"k.c": source})
			mustRun(t, p.dir, "cc", "-O2", "-fPIC", "-shared", "-Wl,--build-id=none", "-Wl,--hash-style=both", "-o", "k.so", "k.c")
			so, err := os.ReadFile(p.dir + "/k.so")
			if err != nil {
				t.Fatal(err)
			}
			code, err := codeHash(so)
			if err != nil {
				t.Logf("%s: %v", section, err) // refused: nothing is taken for anything
				code = numbers
			}
			loaded, err := loadedPart(so)
			if err != nil {
				t.Fatal(err)
			}
			codes, hosts = append(codes, code), append(hosts, hostCode(loaded))
		}
		if codes[0] == codes[1] || hosts[0] == hosts[1] {
			t.Errorf("%s: %s and %s are the same: of a launcher %v, of a kernel %v", section, data[0], data[1], codes[0] == codes[1], hosts[0] == hosts[1])
		}
	}
}

func FuzzCodeHash(f *testing.F) {
	so := content(f, newProject(f, map[string]string{"k.c": plainSource}).artifact(newBuilder(f)))
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
