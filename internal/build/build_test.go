package build

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/result"
)

func TestColdThenWarm(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	cold, warm := p.artifact(b), p.artifact(b)
	if cold.Cached || !warm.Cached {
		t.Errorf("cached: cold %v, warm %v", cold.Cached, warm.Cached)
	}
	if !bytes.Equal(content(t, cold), content(t, warm)) || cold.Key != warm.Key || cold.Code != warm.Code ||
		cold.SHA256 != warm.SHA256 || cold.Compiler != warm.Compiler || cold.Seconds != warm.Seconds {
		t.Error("the cached artifact is not the one that was built")
	}
	if cold.Seconds <= 0 || !strings.Contains(cold.Compiler, ".") {
		t.Errorf("seconds %v, compiler %q", cold.Seconds, cold.Compiler)
	}
}

// A warm build compiles nothing. What a script would start is asked for anew, as it may
// depend on anything; a compiler is asked nothing.
func TestWarmBuildStartsNothing(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("CC", script(t, "mycc", "echo \"$@\" >>"+log+"\nexec cc \"$@\"\n"))
	cacheDir := t.TempDir()
	for i := range 2 {
		b, err := New(Options{CacheDir: cacheDir, NoCcache: true, Sandbox: "off"}) // it writes a log
		if err != nil {
			t.Fatal(err)
		}
		a := p.artifact(b)
		text, err := os.ReadFile(log)
		if i == 0 {
			if err != nil || !strings.Contains(string(text), "-c k.c") {
				t.Fatalf("the compiler was not the one in CC: %s, %v", text, err)
			}
			if err := os.Remove(log); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !a.Cached || err != nil || strings.TrimSpace(string(text)) != "-### -S -x c /dev/null -o -" {
			t.Errorf("a new builder on a warm cache ran: %s", text)
		}
	}
}

func TestWhatChangesTheKey(t *testing.T) {
	t.Parallel()
	const source = `#include "a.h"
void run(float *x, long n) { for (long i = 0; i < n; i++) x[i] *= FACTOR; }
`
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("src/k.c", "entry: run", "flags: [-Iinc]"),
		"src/k.c":   source,
		"src/a.h":   "#include <b.h>\n",
		"inc/b.h":   "#define FACTOR 2\n",
	})
	b := newBuilder(t)
	seen := map[string]string{}
	step := func(what string) {
		t.Helper()
		a := p.artifact(b)
		if a.Cached {
			t.Errorf("%s: found in the cache", what)
		}
		if before, ok := seen[a.Key]; ok {
			t.Errorf("%s: same key as %s", what, before)
		}
		seen[a.Key] = what
		if !p.artifact(b).Cached {
			t.Errorf("%s: not found in the cache afterwards", what)
		}
	}
	step("at first")
	p.write("inc/b.h", "#define FACTOR 3\n")
	step("another nested header")
	p.write("src/a.h", "#include <b.h>\n#include <c.h>\n")
	p.write("inc/c.h", "")
	step("one header more")
	p.write("src/k.c", "// comment\n"+source)
	step("another source")
	p.write("pawl.yaml", yaml("src/k.c", "entry: run", "flags: [-Iinc, -O1]"))
	step("another flag")
	p.write("pawl.yaml", yaml("src/k.c", "entry: run", "flags: [-Iinc]", "params: {P: [1]}"))
	step("a param")
	p.write("pawl.yaml", yaml("src/k.c", "entry: run", "flags: [-Iinc]", "params: {P: [2]}"))
	step("another param")

	p.write("pawl.yaml", yaml("src/k.c", "entry: run", "flags: [-Iinc]"))
	p.write("src/k.c", source)
	p.write("src/a.h", "#include <b.h>\n")
	p.write("inc/b.h", "#define FACTOR 2\n")
	if a := p.artifact(b); !a.Cached || seen[a.Key] != "at first" {
		t.Error("going back to the first state did not find its artifact")
	}
}

func TestStaticLibraryIsPartOfTheKey(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "flags: [-L, lib, -lhelp]"),
		"k.c":       "float help(float); void run(float *x, long n) { for (long i = 0; i < n; i++) x[i] = help(x[i]); }\n",
	})
	b := newBuilder(t)
	if c, fault := b.cc.find(context.Background()); fault != nil || !c.tracksLinkInputs() {
		t.Skipf("the linker cannot list what it read")
	}
	for i, text := range []string{"float help(float x) { return x + 1; }\n", "float help(float x) { return x + 2; }\n"} {
		p.write("help.c", text)
		mustRun(t, p.dir, "cc", "-O2", "-fPIC", "-c", "help.c", "-o", "help.o")
		p.write("lib/libhelp.a", "!<arch>\n") // an empty one
		mustRun(t, p.dir, "ar", "rcs", "lib/libhelp.a", "help.o")
		if p.artifact(b).Cached {
			t.Errorf("library %d: found in the cache", i)
		}
		if !p.artifact(b).Cached {
			t.Errorf("library %d: not found in the cache afterwards", i)
		}
	}
}

// The same sources elsewhere are the same build: a base branch checked out
// beside the candidate finds its artifacts.
func TestKeyDoesNotDependOnFolder(t *testing.T) {
	t.Parallel()
	files := map[string]string{"k.c": "#include \"a.h\"\n" + plainSource, "a.h": ""}
	b := newBuilder(t)
	here, there := newProject(t, files).artifact(b), newProject(t, files).artifact(b)
	if !there.Cached || here.Key != there.Key {
		t.Error("a copy of the project was built anew")
	}
}

// Who waits in done does not keep a compiler from running: here for everything else to be built.
func TestDoneHoldsNoCompilerBack(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"int x;\n", "#error no\n"} {
		p := newProject(t, map[string]string{
			"pawl.yaml": yaml("k.c", "entry: run", "params: {P: [1, 2, 3]}"), "k.c": "#if P == 3\n" + first + "#endif\nint p = P;\n" + plainSource,
		})
		built := make(chan bool)
		b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, Jobs: 1, OnProgress: func(p Progress) {
			if p.Done == p.Total {
				close(built)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		requests := p.requests()
		bad := requests[0] // it is refused before anything is compiled
		bad.Dir = filepath.Join(p.dir, "none")
		calls := 0
		b.Each(t.Context(), append([]Request{bad}, requests...), func(int, Outcome) {
			calls++
			select {
			case <-built:
			case <-time.After(10 * time.Second):
				t.Error("nothing is built while done is called")
			}
		})
		if calls != 4 {
			t.Errorf("%d calls", calls)
		}
	}
}

func TestOrderDuplicatesAndFailures(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "params: {P: [1, 2, 3, 4]}"),
		"k.c":       "#if P == 3\n#error no three\n#endif\n#define Q (2 * P)\n" + strings.ReplaceAll(plainSource, "2;", "Q;"),
	})
	var mu sync.Mutex
	var progress []Progress
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true, OnProgress: func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		progress = append(progress, p)
	}})
	if err != nil {
		t.Fatal(err)
	}
	one := p.requests()
	requests := append(append([]Request{}, one...), one...)
	outcomes := b.Build(context.Background(), requests)
	codes := map[string]bool{}
	for i, o := range outcomes {
		if o.Request.Variant.Name() != requests[i].Variant.Name() {
			t.Errorf("outcome %d is of %s", i, o.Request.Variant.Name())
		}
		if got := strings.Join(o.Flags, " "); got != "-O3 -march=native -g -fPIC" { // without -DP
			t.Errorf("%s: flags %q", o.Request.Variant.Name(), got)
		}
		if i%4 == 2 {
			if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Output, "#error no three") {
				t.Errorf("variant P=3: %v, %s", o.Fault, o.Output)
			}
			continue
		}
		if o.Fault != nil {
			t.Fatalf("%s: %v\n%s", o.Request.Variant.Name(), o.Fault, o.Output)
		}
		if o.Artifact != outcomes[i%4].Artifact {
			t.Errorf("%s was built twice", o.Request.Variant.Name())
		}
		codes[o.Artifact.Code] = true
	}
	if len(codes) != 3 {
		t.Errorf("%d different codes of 3 variants", len(codes))
	}
	want := Progress{Done: 8, Total: 8, Failed: 2}
	last := progress[len(progress)-1]
	if !strings.HasPrefix(last.Current, "k P=") {
		t.Errorf("current is %q", last.Current)
	}
	if last.Current = ""; last != want {
		t.Errorf("last progress %+v, expected %+v", last, want)
	}
	for i := 1; i < len(progress); i++ {
		if progress[i].Done < progress[i-1].Done {
			t.Error("progress went back")
		}
	}
	progress = nil
	b.Build(context.Background(), one)
	last = progress[len(progress)-1]
	if last.Current = ""; last != (Progress{Done: 4, Total: 4, Cached: 3, Failed: 1}) {
		t.Errorf("last progress of the warm build %+v", last)
	}
}

func TestCompilerOutputIsKept(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"k.c": "#warning look here\nvoid run(float *x, long n) {}\n"})
	b := newBuilder(t)
	cold, warm := p.one(b), p.one(b)
	if !strings.HasPrefix(cold.Output, "k.c:1:2: warning: #warning look here") || cold.Artifact.Output != cold.Output {
		t.Errorf("output %q", cold.Output)
	}
	if warm.Output != cold.Output || !warm.Artifact.Cached {
		t.Error("the warning is not shown again from the cache")
	}

	p.write("k.c", "void run(float *x, long n) { x = ; }\n")
	broken := p.one(b)
	if broken.Fault == nil || broken.Fault.Message != "cc exited with status 1 compiling k.c" || broken.Fault.Stage != "build" {
		t.Fatalf("fault %+v", broken.Fault)
	}
	// Byte for byte what cc prints when a person runs it.
	plain := outputOf(t, p.dir, "cc", "-O3", "-march=native", "-g", "-fPIC", "-c", "k.c", "-o", "/dev/null")
	if broken.Output != plain {
		t.Errorf("output\n%s\nexpected\n%s", broken.Output, plain)
	}
}

func TestLinkErrors(t *testing.T) {
	t.Parallel()
	b := newBuilder(t)
	o := newProject(t, map[string]string{"k.c": "float elsewhere(void); void run(float *x, long n) { *x = elsewhere(); }\n"}).one(b)
	if o.Fault == nil || o.Fault.Message != "cc exited with status 1 linking k.c" || !strings.Contains(o.Output, "elsewhere") {
		t.Errorf("undefined function: %+v\n%s", o.Fault, o.Output)
	}
	o = newProject(t, map[string]string{"k.c": plainSource + "void pawl_threads(void) {}\n"}).one(b)
	if o.Fault == nil || !strings.Contains(o.Fault.Message, "k.c defines pawl_threads") {
		t.Errorf("clash: %+v\n%s", o.Fault, o.Output)
	}
}

func TestFlagsThatLink(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "flags: [-flto, -fopenmp, -pthread, '-Wl,-z,noexecstack', -lm]"),
		"k.c": "#include <math.h>\nvoid run(float *x, long n) {\n#pragma omp parallel for\n" +
			"for (long i = 0; i < n; i++) x[i] = sinf(x[i]); }\n",
	})
	if a := p.artifact(newBuilder(t)); a.Output != "" {
		t.Errorf("output: %s", a.Output)
	}
}

func TestBadSources(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, source  string
		files         map[string]string
		cause         result.Cause
		message, hint string
	}{
		{"missing", "src/gmm.c", map[string]string{"src/gemm.c": ""}, result.CauseCompile, "no file ", "did you mean src/gemm.c?"},
		{"folder", "src.c", map[string]string{"src.c/x": ""}, result.CauseCompile, "is a folder, not a source file", ""},
		{"cuda", "k.cu", map[string]string{"k.cu": ""}, result.CauseUnsupported, "k.cu is CUDA, but there is no GPU to tell the architecture", "run pawl on the machine with the GPU, or name the architecture: pawl build --arch sm_90a for Hopper, or set PAWL_CUDA_ARCH=sm_90a"},
	} {
		test.files["pawl.yaml"] = yaml(test.source, "entry: run", "launch: {grid: [1], block: [1]}")
		if test.name != "cuda" {
			test.files["pawl.yaml"] = yaml(test.source, "entry: run")
		}
		o := newProject(t, test.files).one(newBuilder(t))
		if o.Fault == nil || o.Artifact != nil {
			t.Errorf("%s: no fault", test.name)
			continue
		}
		if o.Fault.Cause != test.cause || !strings.Contains(o.Fault.Message, test.message) || o.Fault.Hint != test.hint {
			t.Errorf("%s: %+v", test.name, o.Fault)
		}
	}
}

// A header that is written while it is compiled must not be cached under a
// content that was not compiled.
func TestSourceChangesWhileCompiling(t *testing.T) {
	p := newProject(t, map[string]string{
		"k.c": "#include \"a.h\"\nvoid run(float *x, long n) { *x = A; }\n",
		"a.h": "#define A 1\n",
	})
	b := unheld(t)
	header := filepath.Join(p.dir, "a.h")
	once := filepath.Join(t.TempDir(), "once")
	b.cc.words = []string{script(t, "cc", "cc \"$@\" || exit\n[ -e "+once+" ] && exit\n"+
		"case \"$*\" in *k.c*) echo '#define A 2' >"+header+"; touch "+once+";; esac\n")}
	raced := p.artifact(b)
	again := p.artifact(b)
	if raced.Cached || !again.Cached || raced.Key != again.Key {
		t.Errorf("cached %v then %v, same key: %v", raced.Cached, again.Cached, raced.Key == again.Key)
	}
	plain := newBuilder(t)
	if want := p.artifact(plain); want.Code != again.Code {
		t.Error("the cache holds what was compiled from the old header")
	}

	p.write("a.h", "#define A 3\n")
	b.cc.words = []string{script(t, "cc", "cc \"$@\" || exit\ncase \"$*\" in *k.c*) date +'#define A 1%N' >"+header+";; esac\n")}
	o := p.one(b)
	if o.Fault == nil || !strings.Contains(o.Fault.Message, "a.h keeps changing") {
		t.Errorf("fault %+v", o.Fault)
	}
}
