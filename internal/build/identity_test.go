package build

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pawl/internal/sandbox"
)

// Whatever goes into an artifact, another one of it makes another key.
func TestUnlistedInputsCount(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; TestNamedFilesThatNothingLists shows it too")
	}
	needsFence(t)
	const rounds = "void run(float *x, long n) { for (long r = 0; r < ROUNDS; r++) for (long i = 0; i < n; i++) x[i] = x[i] * 0.5f + 1; }\n"
	wrapper := func(t *testing.T, text string) (path string) {
		path = script(t, "cc", text)
		t.Setenv("CC", path)
		return path
	}
	for name, setUp := range map[string]func(t *testing.T, p *project) (change func()){
		"text of a script": func(t *testing.T, p *project) func() {
			p.write("k.c", rounds)
			path := wrapper(t, "exec cc -DROUNDS=1 \"$@\"\n")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				writeFile(t, path, "#!/bin/sh\nexec cc -DROUNDS=4 \"$@\"\n")
				if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		},
		"flags that a script reads": func(t *testing.T, p *project) func() {
			p.write("k.c", rounds)
			p.write("flags", "-DROUNDS=1")
			wrapper(t, "exec cc $(cat "+p.dir+"/flags) \"$@\"\n")
			return func() { p.write("flags", "-DROUNDS=4") }
		},
		"a variable that a script reads": func(t *testing.T, p *project) func() {
			p.write("k.c", rounds)
			t.Setenv(envVariable, "PAWL_TEST_*")
			t.Setenv("PAWL_TEST_ROUNDS", "1")
			wrapper(t, "case \"$*\" in *-c\\ *) exec cc -DROUNDS=$PAWL_TEST_ROUNDS \"$@\" ;; esac\nexec cc \"$@\"\n")
			return func() { t.Setenv("PAWL_TEST_ROUNDS", "4") }
		},
		"incbin": func(_ *testing.T, p *project) func() {
			p.write("table", "1111")
			p.write("k.c", "__asm__(\".data\\n.incbin \\\"table\\\"\\n.text\");\n"+runs)
			return func() { p.write("table", "2222") }
		},
		"a header that was precompiled": func(t *testing.T, p *project) func() {
			p.write("h.h", "#define ROUNDS 1\n")
			p.write("k.c", "#include \"h.h\"\n"+rounds)
			mustRun(t, p.dir, "cc", "-O3", "-march=native", "-g", "-fPIC", "h.h")
			return func() { p.write("h.h", "#define ROUNDS 4\n") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, nil)
			change := setUp(t, p)
			cache := t.TempDir()
			build := func() *Artifact {
				b, err := New(Options{CacheDir: cache, NoCcache: true, Sandbox: sandbox.Require.String()})
				if err != nil {
					t.Fatal(err)
				}
				return p.artifact(b)
			}
			before := build()
			if again := build(); !again.Cached || again.Key != before.Key {
				t.Error("it is not found in the cache")
			}
			change()
			if after := build(); after.Cached || after.Key == before.Key || after.Code == before.Code {
				t.Errorf("cached %v, same key %v, same code %v", after.Cached, after.Key == before.Key, after.Code == before.Code)
			}
		})
	}
}

// An assembler that does not say what it read leaves nothing in the cache.
func TestUntrackedAssembly(t *testing.T) {
	p := newProject(t, map[string]string{"table": "1111", "k.c": "__asm__(\".data\\n.incbin \\\"table\\\"\\n.text\");\n" + runs})
	b := newBuilder(t)
	if _, fault := b.cc.find(t.Context()); fault != nil {
		t.Fatal(fault)
	}
	b.cc.found.Assembler = "another"
	for range 2 {
		o := p.one(b)
		if o.Fault != nil || o.Artifact.Cached || len(o.Notes) != 1 {
			t.Errorf("%+v, cached %v, notes %q", o.Fault, o.Artifact.Cached, o.Notes)
		}
	}
}

// Keys of CUDA kernels count the host's compiler, whoever names it.
func TestHostCompilerCounts(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"gcc", "g++"} {
		writeFile(t, filepath.Join(folder, name), "#!/bin/sh\n")
		if err := os.Chmod(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	one := filepath.Join(folder, "gcc")
	for name, test := range map[string]struct {
		variable string
		words    []string
	}{
		"NVCC_CCBIN": {one, nil}, "a folder": {folder, nil}, "-ccbin": {"", []string{"-ccbin", one}}, "-ccbin=": {"", []string{"-ccbin=" + one}},
		"--compiler-bindir": {"/nowhere", []string{"--compiler-bindir=" + folder}}, "PATH": {"", nil}, "by name": {"gcc", nil},
	} {
		t.Setenv("NVCC_CCBIN", test.variable)
		t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
		r := &recipe{dir: t.TempDir(), compiler: &compiler{Name: "nvcc", Command: append([]string{"nvcc"}, test.words...)}}
		writeFile(t, one, "#!/bin/sh\n")
		before := r.hostCompiler()
		writeFile(t, one, "#!/bin/sh\nexec clang\n")
		if after := r.hostCompiler(); len(before) < 2 || before[1] == "" || slices.Equal(before, after) {
			t.Errorf("%s: %q, then %q", name, before, after)
		}
	}
}
