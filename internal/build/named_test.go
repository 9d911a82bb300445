package build

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever file a flag names is part of the key, and what came of it part of the code.
func TestNamedFilesArePartOfTheKey(t *testing.T) {
	t.Parallel()
	const source = `void good(float *x, long n) { for (long i = 0; i < n; i++) x[i] *= 2; }
void other(float *x, long n) { for (long i = 0; i < n; i++) x[i] *= 3; }
extern void picked(float *x, long n) __attribute__((visibility("hidden")));
void run(float *x, long n) { picked(x, n); }
`
	object := func(p *project, name, text string) {
		p.write("impl.c", text)
		mustRun(p.t.(*testing.T), p.dir, "cc", "-O2", "-fPIC", "-c", "impl.c", "-o", name)
	}
	script := func(name string) func(*project, string) {
		return func(p *project, function string) { p.write(name, "picked = "+function+";\n") }
	}
	for name, tc := range map[string]struct {
		flags string
		write func(p *project, function string)
	}{
		"object": {"impl.obj", func(p *project, f string) {
			object(p, "impl.obj", "void "+f+"(float *, long); void picked(float *x, long n) { "+f+"(x, n); }\n")
		}},
		"implicit script": {"pick.ld", script("pick.ld")},
		"no suffix":       {"pick", script("pick")},
		"in a folder":     {"-L, scripts, '-Wl,-T,pick.ld'", script("scripts/pick.ld")},
		"included": {"pick.ld", func(p *project, f string) {
			p.write("pick.ld", "INCLUDE \"inner.ld\"\n")
			p.write("inner.ld", "picked = "+f+";\n")
		}},
		"included, in a folder": {"-Lscripts, pick.ld", func(p *project, f string) {
			p.write("pick.ld", "INCLUDE \"inner.ld\"\n")
			p.write("scripts/inner.ld", "picked = "+f+";\n")
		}},
		"script as library": {"-Lscripts, -lpick", script("scripts/libpick.so")},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"k.c": source})
			p.flags(tc.flags)
			b := newBuilder(t)
			if c, fault := b.cc.find(context.Background()); fault != nil || !c.tracksLinkInputs() {
				t.Skip("the linker cannot list what it read")
			}
			tc.write(p, "good")
			before := p.artifact(b)
			if !p.artifact(b).Cached {
				t.Error("not cached")
			}
			tc.write(p, "other")
			if after := p.artifact(b); after.Cached || after.Key == before.Key || after.Code == before.Code {
				t.Errorf("cached %v, same key %v, same code %v", after.Cached, after.Key == before.Key, after.Code == before.Code)
			}
		})
	}
}

// What no dependency file lists is looked up by the flag that names it: a list
// of symbols, a profile, also one that is not there yet.
func TestNamedFilesThatNothingLists(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ flags, file, first, then string }{
		"symbol list": {"'-Wl,--dynamic-list=v.list'", "v.list", "{ one; };\n", "{ two; };\n"},
		"two words":   {"-Xlinker, --dynamic-list, -Xlinker, v.list", "v.list", "{ one; };\n", "{ two; };\n"},
		"new profile": {"-fprofile-use=train.gcda, -Wno-missing-profile, -Wno-coverage-mismatch", "train.gcda", "", "x"},
		"profile":     {"-fprofile-use=train.gcda, -Wno-missing-profile, -Wno-coverage-mismatch", "train.gcda", "x", "y"},
		"profiles":    {"-fprofile-use=train, -Wno-missing-profile", "train/deep/a.gcda", "x", "y"},
		"new library": {"-Llib, -lm", "lib/libm.a", "", "!<arch>\n"},
		"implied":     {"-Llib", "lib/libgcc.a", "", "!<arch>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"k.c": plainSource})
			p.flags(tc.flags)
			b := newBuilder(t)
			if tc.first != "" {
				p.write(tc.file, tc.first)
			}
			before := p.artifact(b)
			if !p.artifact(b).Cached {
				t.Error("not cached")
			}
			p.write(tc.file, tc.then)
			if after := p.artifact(b); after.Cached || after.Key == before.Key {
				t.Errorf("cached %v, same key %v", after.Cached, after.Key == before.Key)
			}
		})
	}
}

// A key is in the report: of a file that the compiler may not read it tells nothing.
func TestNamedFilesOutside(t *testing.T) {
	t.Parallel()
	secret := newProject(t, map[string]string{"key.txt": "one"})
	p := newProject(t, map[string]string{"k.c": plainSource})
	p.flags("-DNAME=" + secret.dir + "/key.txt")
	before := p.artifact(newBuilder(t))
	secret.write("key.txt", "two")
	if after := p.artifact(newBuilder(t)); after.Key != before.Key {
		t.Error("the key depends on a file that the compiler may not read")
	}
}

func TestNamePieces(t *testing.T) {
	for word, want := range map[string][]string{
		"-Tpick.ld":                  {"pick.ld"},
		"-Wl,-T,pick.ld":             {"l", "pick.ld"},
		"-Wl,--version-script=v.map": {"l", "v.map"},
		"-fprofile-use=a=b":          {"a", "a=b", "b", "profile-use"},
		"impl.obj":                   {"impl.obj"},
		"-O3":                        {"3"},
		"--library-path=lib":         {"lib"},
	} {
		slices.Sort(want)
		if diff := cmp.Diff(want, namePieces(word)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

func FuzzNamedFiles(f *testing.F) {
	for _, words := range []string{"-Wl,-T,a.ld", "-L lib -lm", "-Xlinker -L -Xlinker lib", "-fprofile-use=d", "-l:x.a --library=y ="} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		r := &recipe{dir: t.TempDir(), compiler: &compiler{Name: "cc", Command: []string{"cc"}}, link: strings.Fields(words)}
		for _, path := range slices.Concat(r.named(), r.shadowing([]string{"/usr/lib/libc.so"})) {
			if path == "" || strings.Contains(path, "\x00") {
				t.Errorf("%q names %q", words, path)
			}
		}
	})
}
