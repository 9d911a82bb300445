package build

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A header that appears, or goes, where the compiler looks for one is noticed.
func TestNewHeader(t *testing.T) {
	if testing.Short() {
		t.Skip("long: run by make long; test/script/testdata/check_header.txt has new headers")
	}
	const asks = "#if __has_include(NAME)\n#include NAME\n#else\n#define R 1\n#endif\nvoid run(float *x, long n) { *x = R; }\n"
	const uses = "#include NAME\nvoid run(float *x, long n) { *x = R; }\n"
	source := func(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }
	outside := t.TempDir()
	for _, test := range []struct {
		name  string
		flags string
		files map[string]string // beside pawl.yaml
		added string
	}{
		{"asked for", "", map[string]string{"k.c": source(asks, `"new.h"`)}, "new.h"},
		{"asked for with a path", "", map[string]string{"k.c": source(asks, `"./deep/../new.h"`), "deep/x": ""}, "new.h"},
		{"asked for by its whole path", "", map[string]string{"k.c": source(asks, `"`+outside+`/new.h"`)}, filepath.Join(outside, "new.h")},
		{"asked for and not read", "", map[string]string{
			"k.c": "#if __has_include(\"new.h\")\n#define R 2\n#else\n#define R 1\n#endif\nvoid run(float *x, long n) { *x = R; }\n",
		}, "new.h"},
		{"asked for by a header", "-Iinc", map[string]string{
			"k.c": source(uses, `"a.h"`), "inc/a.h": "#if __has_include(\"sub/new.h\")\n#include \"sub/new.h\"\n#else\n#define R 1\n#endif\n",
		}, "inc/sub/new.h"},
		{"asked for by a flag's header", "", map[string]string{
			"k.c": "void run(float *x, long n) { *x = R; }\n", "pre.h": "#if __has_include(<inc/new.h>)\n#include <inc/new.h>\n#else\n#define R 1\n#endif\n",
			"pawl.yaml": yaml("k.c", "entry: run", "flags: [-include, pre.h, -I.]"),
		}, "inc/new.h"},
		{"shadows by -I", "-I, early, -Ilate", map[string]string{"k.c": source(uses, "<new.h>"), "late/new.h": "#define R 1\n"}, "early/new.h"},
		{"shadows by -iquote", "-Ilate, -iquote, early", map[string]string{"k.c": source(uses, `"new.h"`), "late/new.h": "#define R 1\n"}, "early/new.h"},
		{"shadows by -I what -isystem has", "-isystem, late, -Iearly", map[string]string{"k.c": source(uses, "<new.h>"), "late/new.h": "#define R 1\n"}, "early/new.h"},
		{"-isystem too comes late", "-Iearly, -isystem, middle, -isystem, early", map[string]string{
			"k.c": source(uses, "<new.h>"), "early/new.h": "#define R 1\n",
		}, "middle/new.h"},
		{"shadows by standing beside the source", "-Iinc", map[string]string{"k.c": source(uses, `"new.h"`), "inc/new.h": "#define R 1\n"}, "new.h"},
		{"shadows by standing beside a header", "-Iinc, -Iother", map[string]string{
			"k.c": source(uses, "<sub/a.h>"), "inc/sub/a.h": "#include \"new.h\"\n", "other/new.h": "#define R 1\n",
		}, "inc/sub/new.h"},
		{"shadows the system's", "-Iinc", map[string]string{
			"k.c": "#include <float.h>\n#ifndef R\n#define R 1\n#endif\nvoid run(float *x, long n) { *x = R; }\n",
		}, "inc/float.h"},
		{"shadows the next", "-Ione, -Itwo, -Ithree", map[string]string{
			"k.c": source(uses, "<new.h>"), "one/new.h": "#include_next <new.h>\n", "three/new.h": "#define R 1\n",
		}, "two/new.h"},
		{"shadows a flag's header", "-include, new.h, -Iinc", map[string]string{
			"k.c": "void run(float *x, long n) { *x = R; }\n", "inc/new.h": "#define R 1\n",
		}, "new.h"},
		{"a folder that is not there yet", "'-Wp,-Iinc'", map[string]string{"k.c": source(asks, "<a/new.h>")}, "inc/a/new.h"},
		{"behind a link", "-Ilink/..", map[string]string{"k.c": source(asks, "<new.h>"), "far/away/x": ""}, "far/new.h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.files["pawl.yaml"] == "" {
				test.files["pawl.yaml"] = yaml("k.c", "entry: run", "flags: ["+test.flags+"]")
			}
			p := newProject(t, test.files)
			if err := os.Symlink("far/away", filepath.Join(p.dir, "link")); err != nil {
				t.Fatal(err)
			}
			b := newBuilder(t)
			if filepath.IsAbs(test.added) {
				b = unheld(t)
			}
			first := p.artifact(b)
			if !p.artifact(b).Cached {
				t.Fatal("not cached")
			}
			added := within(p.dir, test.added)
			writeFile(t, added, "#define R 2\n")
			second := p.artifact(b)
			if second.Cached || second.Key == first.Key || second.Code == first.Code {
				t.Errorf("the new header went unseen: cached %v, key %s, code %s", second.Cached, second.Key, second.Code)
			}
			if !p.artifact(b).Cached {
				t.Error("not cached with the header")
			}
			if err := os.Remove(added); err != nil {
				t.Fatal(err)
			}
			if third := p.artifact(b); !third.Cached || third.Key != first.Key {
				t.Errorf("without the header again: cached %v, key %s, expected %s", third.Cached, third.Key, first.Key)
			}
		})
	}
}

// What is found at once, and folders of a header's name, are no reason to build.
func TestUnrelatedNewFiles(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "flags: [-Iinc, -Ilate]"),
		"k.c":       "#include \"a.h\"\n#include <b.h>\n" + plainSource, "a.h": "", "inc/b.h": "",
	})
	b := newBuilder(t)
	p.artifact(b)
	for _, name := range []string{"inc/a.h", "late/b.h", "b.h", "c.h", "inc/stdint.h/x"} {
		p.write(name, "#define R 2\n")
		if !p.artifact(b).Cached {
			t.Errorf("%s made it compile anew", name)
		}
	}
}

// A checkout elsewhere shares the cache, and is not told what this one has.
func TestNewHeaderElsewhere(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"pawl.yaml": yaml("src/k.c", "entry: run"),
		"src/k.c":   "#if __has_include(\"../new.h\")\n#include \"../new.h\"\n#else\n#define R 1\n#endif\nvoid run(float *x, long n) { *x = R; }\n",
	}
	here, there := newProject(t, files), newProject(t, files)
	b := newBuilder(t)
	without := here.artifact(b)
	if got := there.artifact(b); !got.Cached || got.Key != without.Key {
		t.Errorf("the other checkout was compiled anew: %v", got.Cached)
	}
	here.write("new.h", "#define R 2\n")
	if got := there.artifact(b); !got.Cached || got.Key != without.Key {
		t.Errorf("a header of this checkout counted there: %v", got.Cached)
	}
	if got := here.artifact(b); got.Cached || got.Code == without.Code {
		t.Errorf("the new header went unseen: %v", got.Cached)
	}
}

// A header that appears while the compiler runs may have come too late for it.
func TestNewHeaderMeanwhile(t *testing.T) {
	p := newProject(t, map[string]string{
		"k.c": "#if __has_include(\"new.h\")\n#include \"new.h\"\n#else\n#define R 1\n#endif\nvoid run(float *x, long n) { *x = R; }\n",
	})
	header := filepath.Join(p.dir, "new.h")
	t.Setenv("CC", script(t, "slowcc", `cc "$@" || exit; case "$*" in *"-c k.c"*) [ -e `+header+` ] || { sleep 0.1; echo "#define R 2" >`+header+`; } ;; esac`))
	b := unheld(t)
	first := p.artifact(b)
	if err := os.Remove(header); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", "")
	if p.artifact(newBuilder(t)).Code == first.Code {
		t.Error("the artifact is of the source without the header")
	}
}

func TestNewHeaderWithCcache(t *testing.T) {
	if _, err := exec.LookPath("ccache"); err != nil {
		t.Skip("ccache is not installed")
	}
	t.Setenv("CCACHE_DIR", t.TempDir())
	t.Setenv("CCACHE_DIRECT", "1")
	t.Setenv("CCACHE_SLOPPINESS", "include_file_mtime,include_file_ctime") // it remembers files that are younger than it
	p := newProject(t, map[string]string{
		"k.c": "#include \"a.h\"\nvoid run(float *x, long n) { *x = R; }\n", "inc/a.h": "#define R 1\n",
		"pawl.yaml": yaml("k.c", "entry: run", "flags: [-Iinc]"),
	})
	b, err := New(Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	first := p.artifact(b)
	p.write("a.h", "#define R 2\n")
	if second := p.artifact(b); second.Code == first.Code {
		t.Error("ccache did not see the new header")
	}
}

func TestNewCUDAHeader(t *testing.T) {
	b := newCUDABuilder(t)
	const asks = "#if __has_include(\"new.h\")\n#include \"new.h\"\n#else\n#define R 1\n#endif\n"
	const body = "__global__ void scale(float *x, long n) { *x = R; }\n"
	for _, test := range []struct{ name, entry, flags, source, added string }{
		{"asked for", "scale", "-lineinfo", asks + body, "new.h"},
		{"by a template's source", `"scale<M>"`, "-lineinfo", asks + "template <int> " + body, "new.h"},
		{"shadows by -I", "scale", "'-I=early,late'", "#include <a.h>\n" + body, "early/a.h"},
		{"shadows by the host compiler's flag", "scale", "--include-path, late, -Xcompiler, '-iquote,early'", "#include \"a.h\"\n" + body, "early/a.h"},
		{"shadows by standing beside the source", "scale", "-isystem=late", "#include \"a.h\"\n" + body, "a.h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := cudaProject(t, test.entry, test.source)
			p.write("pawl.yaml", strings.Replace(strings.Replace(cudaYAML, "ENTRY", test.entry+"\n    flags: ["+test.flags+"]", 1), "[64, 32]", "[64]", 1))
			p.write("late/a.h", "#define R 1\n")
			first := p.artifact(b)
			if !p.artifact(b).Cached {
				t.Fatal("not cached")
			}
			p.write(test.added, "#define R 2\n")
			if second := p.artifact(b); second.Cached || second.Code == first.Code {
				t.Errorf("the new header went unseen: cached %v", second.Cached)
			}
		})
	}
}

// Templates are compiled through a file that names the source by its whole path,
// which is nobody else's.
func TestCUDATemplatesElsewhere(t *testing.T) {
	b := newCUDABuilder(t)
	const body = "template <int Size> __global__ void scale(float *x, long n) { *x = Size + R; }\n"
	spec := strings.Replace(strings.Replace(cudaYAML, "[64, 32]", "[64]", 1), "ENTRY", `"scale<M>"`, 1)
	for _, source := range []string{"k.cu", "../k.cu", "./src/../../k.cu"} {
		t.Run(source, func(t *testing.T) {
			yaml := strings.Replace(spec, "k.cu", source, 1)
			beside := func(name string) string { return filepath.Join(filepath.Dir(source), name) }
			expectNothingOfElsewhere(t, b, yaml, beside("a.h"), map[string]string{beside("k.cu"): "#include \"a.h\"\n" + body, "src/x": ""})
		})
	}
}

// expectNothingOfElsewhere compiles two projects of one repository's layout, in places
// of their own, that differ in a header alone.
func expectNothingOfElsewhere(t *testing.T, b *Builder, yaml, header string, files map[string]string) {
	t.Helper()
	place := func() *project {
		p := &project{t: t, dir: filepath.Join(t.TempDir(), "a/b/c/proj")}
		p.write("../../../../.git/HEAD", "")
		p.write("pawl.yaml", yaml)
		p.write(header, "#define R 1\n")
		for name, text := range files {
			p.write(name, text)
		}
		return p
	}
	here, there := place(), place()
	there.write(header, "#define R 2\n")
	first := here.artifact(b)
	if got := there.artifact(b); got.Cached || got.Code == first.Code {
		t.Errorf("what was compiled here was found for another source there: %v", got.Cached)
	}
	there.write(header, "#define R 1\n")
	if got := there.artifact(b); !got.Cached || got.Key != first.Key {
		t.Errorf("equal sources were compiled twice: %v", got.Cached)
	}
}

// What lies outside the spec's folder belongs to the checkout all the same.
func TestSourcesOutsideElsewhere(t *testing.T) {
	const source = "#include INCLUDED\nvoid run(float *x, long n) { *x = R; }\n"
	for _, test := range []struct{ name, flags, included, header string }{
		{"beside the source", "-O1", `"a.h"`, "../a.h"},
		{"by -I", "-I../../inc", "<a.h>", "../../inc/a.h"},
		{"by -isystem", "-isystem, ../../inc", "<a.h>", "../../inc/a.h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			expectNothingOfElsewhere(t, newBuilder(t), yaml("../k.c", "entry: run", "flags: ["+test.flags+"]"), test.header,
				map[string]string{"../k.c": strings.Replace(source, "INCLUDED", test.included, 1)})
		})
	}
}

// gcc shortens the path of a system's header where its place has a shorter name.
func TestSystemHeadersElsewhere(t *testing.T) {
	const far = "./././././././././././././././././././././././././././././././././././././././././././././././././../../../inc"
	const source = "#include <a.h>\n"
	t.Run("host", func(t *testing.T) {
		expectNothingOfElsewhere(t, newBuilder(t), yaml("k.c", "entry: run", "flags: [-isystem, "+far+"]"), "../../../inc/b.h",
			map[string]string{"../../../inc/a.h": "#include \"b.h\"\n", "k.c": source + "void run(float *x, long n) { *x = R; }\n"})
	})
	cuda := strings.Replace(strings.Replace(cudaYAML, "[64, 32]", "[64]", 1), "ENTRY", "run\n    flags: [-isystem, "+far+"]", 1)
	t.Run("CUDA", func(t *testing.T) {
		expectNothingOfElsewhere(t, newCUDABuilder(t), cuda, "../../../inc/b.h",
			map[string]string{"../../../inc/a.h": "#include \"b.h\"\n", "k.cu": source + "__global__ void run(float *x, long n) { *x = R; }\n"})
	})
}

// A header that nothing reads, and that nobody may read, keeps nothing from being built.
func TestUnreadableHeader(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	p := newProject(t, map[string]string{"k.c": "#if 0\n#include \"secret.h\"\n#endif\n" + plainSource, "secret.h": ""})
	secret := filepath.Join(p.dir, "secret.h")
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	b := newBuilder(t)
	p.artifact(b)
	if !p.artifact(b).Cached {
		t.Error("not cached")
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if p.artifact(b).Cached {
		t.Error("a header that can be read now went unseen")
	}
}

// asNobody runs a test again as a user whom file modes bind.
func asNobody(t *testing.T) {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "") // those of testing are closed to others
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	binary := filepath.Join(dir, "test")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.Errorf("%v\n%s", err, output)
	case err != nil:
		t.Skipf("cannot become another user: %v", err)
	}
}

func TestSystemFolders(t *testing.T) {
	system := (&compiler{Command: []string{"/opt/cuda/bin/nvcc"}}).systemFolders()
	for path, want := range map[string]bool{
		"/usr/include/stdio.h": true, "/usr/lib/gcc/x/12/include/float.h": true, "/opt/cuda/bin/..//include/cuda.h": true,
		"/opt/cutlass/include/a.h": false, "/usr/include/../src/a.h": false, "usr/include/a.h": false, "../include/a.h": false,
	} {
		if got := system.have(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestSearchFlags(t *testing.T) {
	for _, test := range []struct {
		flags string
		nvcc  bool
		want  map[string][]string
	}{
		{"-O3 -g -DI=x -Wall", false, map[string][]string{}},
		{"-Ia -I b --include-directory=c --include-directory d", false, map[string][]string{"-I": {"a", "b", "c", "d"}}},
		{"-isystem a -isystemb -iquote c -iquoted -idirafter e", false, map[string][]string{"-isystem": {"a", "b"}, "-iquote": {"c", "d"}, "-idirafter": {"e"}}},
		{"-include a.h --include=b.h -imacros c.h -Ia,b", false, map[string][]string{"-include": {"a.h", "b.h", "c.h"}, "-I": {"a,b"}}},
		{"-I a,b -I=c --include-path=d --system-include e --pre-include f.h", true, map[string][]string{"-I": {"a", "b", "c", "d"}, "-isystem": {"e"}, "-include": {"f.h"}}},
		{"-Xcompiler -Ia,-iquote,b -Xcompiler=-Ic --compiler-options -Id", true, map[string][]string{"-I": {"a", "c", "d"}, "-iquote": {"b"}}},
		{"-Xpreprocessor -I -Xpreprocessor a -Wp,-Ib,-DX", false, map[string][]string{"-I": {"a", "b"}}},
		{"-I", false, map[string][]string{}},
	} {
		if diff := cmp.Diff(test.want, parseSearchFlags(strings.Fields(test.flags), test.nvcc)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.flags, diff)
		}
	}
}

// The order is the compiler's own.
func TestSearchOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"q", "a", "both", "cpath", "s", "cpp", "after"} {
		writeFile(t, filepath.Join(dir, name, "x"), "")
	}
	t.Setenv("CPATH", "cpath")
	t.Setenv("C_INCLUDE_PATH", "cpp")
	flags := strings.Fields("-idirafter after -isystem s -Iboth -Ia -isystem both -iquote q")
	cc := exec.Command("cc", append(flags, "-E", "-v", "-x", "c", "/dev/null")...)
	cc.Dir = dir
	output, err := cc.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var want []string
	for line := range strings.Lines(string(output)) {
		if folder := strings.TrimSpace(line); strings.HasPrefix(line, " ") && isDir(filepath.Join(dir, folder)) && !filepath.IsAbs(folder) {
			want = append(want, folder)
		}
	}
	search := (&recipe{compiler: &compiler{Name: "cc", Command: []string{"cc"}}, compile: flags}).searchPath()
	if diff := cmp.Diff(want, append(search.quote, search.folders...)); diff != "" {
		t.Errorf("(-cc +pawl):\n%s\n%s", diff, output)
	}
}

func TestReadsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) lookup {
			return lookup{rapid.StringMatching(`[-+ a-z/.]+`).Draw(t, "path"), rapid.Bool().Draw(t, "absent")}
		})
		lists := rapid.SliceOf(rapid.SliceOfN(one, 1, 5)).Draw(t, "lists")
		got := parseReads(formatReads(lists))
		if len(got) != len(lists) || len(lists) > 0 && !cmp.Equal(got, lists, cmp.AllowUnexported(lookup{})) {
			t.Fatalf("%+v became %+v", lists, got)
		}
	})
}
