package build

import (
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
void run(float *x, long n) {
  for (long i = 0; i < n; i++) x[i] = sinf(steps[i % 2](x[i])) * table[i % 4];
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
		if other.Key == base.Key {
			t.Errorf("%s: same key", test.name)
		}
	}
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
