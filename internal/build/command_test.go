package build

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

func mustRun(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// outputOf returns what a command prints, whatever its exit status.
func outputOf(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	output, _ := cmd.CombinedOutput()
	return string(output)
}

// slowCompiler answers questions as cc does, and then takes for ever to
// compile, in a child as the real one. It leaves the child's number in a file.
func slowCompiler(t *testing.T) (path, pidFile string) {
	pidFile = filepath.Join(t.TempDir(), "pid")
	return script(t, "cc", `case "$*" in *-c\ *) ;; *) exec cc "$@" ;; esac
echo begun
sleep 1000 &
echo $! >`+pidFile+`.new
mv `+pidFile+`.new `+pidFile+`
wait
`), pidFile
}

func TestCancelEndsCompilers(t *testing.T) {
	p := newProject(t, map[string]string{
		"pawl.yaml": yaml("k.c", "entry: run", "params: {P: [1, 2, 3]}"), "k.c": plainSource,
	})
	b := unheld(t)
	b.jobs = 1
	path, pidFile := slowCompiler(t)
	b.cc.words = []string{path}
	ctx, cancel := context.WithCancel(context.Background())
	var pid int
	go func() {
		defer cancel()
		for range 1000 {
			if text, err := os.ReadFile(pidFile); err == nil {
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	for _, o := range b.Build(ctx, p.requests()) {
		if o.Fault == nil || o.Fault.Cause != result.CauseInterrupted {
			t.Errorf("%s: %+v", o.Request.Variant.Name(), o.Fault)
		}
	}
	expectGone(t, pid)
}

// expectGone waits until a killed process is reaped by whoever inherited it.
func expectGone(t *testing.T, pid int) {
	t.Helper()
	if pid == 0 {
		t.Fatal("the compiler never started")
	}
	for range 6000 {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(status), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the compiler's child is still running")
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestCompilerDeadline(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := unheld(t)
	path, pidFile := slowCompiler(t)
	b.cc.words = []string{path}
	b.deadline = 300 * time.Millisecond
	o := p.one(b)
	for b.deadline < time.Minute {
		if _, err := os.Stat(pidFile); err == nil {
			break
		}
		b.deadline *= 2 // a busy machine had not even started it
		o = p.one(b)
	}
	if o.Fault == nil || o.Fault.Cause != result.CauseTimeout || o.Fault.Message != fmt.Sprintf("cc did not finish compiling k.c in %v", b.deadline) {
		t.Errorf("fault %+v", o.Fault)
	}
	if o.Output != "begun\n" {
		t.Errorf("output %q", o.Output)
	}
	text, _ := os.ReadFile(pidFile)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	expectGone(t, pid)
}

// A compiler that is killed says nothing of the source; one that crashes does.
func TestKilledCompiler(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	for _, test := range []struct {
		name, script string
		cause        result.Cause
	}{
		{"itself", "kill -KILL $$", result.CauseInternal},
		{"asked to end", "kill -TERM $$", result.CauseInternal},
		{"gcc's", "echo 'cc: fatal error: Killed signal terminated program cc1'; echo compilation terminated.; exit 1", result.CauseInternal},
		{"gcc's linker", "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]'; exit 1", result.CauseInternal},
		{"clang's", "echo 'clang: error: unable to execute command: Killed'; exit 254", result.CauseInternal},
		{"nvcc's", `echo "nvcc error   : 'cicc' died due to signal 9 (Kill signal)"; exit 9`, result.CauseInternal},
		{"crashed", "kill -SEGV $$", result.CauseCompile},
		{"gave up", "kill -ABRT $$", result.CauseCompile},
		{"crashed in a child", "echo 'k.c:1:1: internal compiler error: Segmentation fault'; exit 4", result.CauseCompile},
		{"gcc's crashed", "echo 'cc: fatal error: Segmentation fault signal terminated program cc1'; exit 1", result.CauseCompile},
		{"nvcc's crashed", `echo "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)"; exit 11`, result.CauseCompile},
		{"words of the source", `echo 'k.c:1:2: error: #error cc: fatal error: Killed signal terminated program cc1'; exit 1`, result.CauseCompile},
	} {
		b := newBuilder(t)
		b.cc.words = []string{script(t, "cc", `case "$*" in *-c\ *) ;; *) exec cc "$@" ;; esac`+"\n"+test.script+"\n")}
		o := p.one(b)
		if o.Fault == nil || o.Fault.Cause != test.cause || (o.Fault.Hint != "") != (test.cause == result.CauseInternal) {
			t.Errorf("%s: %+v", test.name, o.Fault)
		}
	}
}

// The words are those of the compiler that is here.
func TestKilledCompilersChild(t *testing.T) {
	needsFence(t)
	if !strings.Contains(mustRun(t, ".", "cc", "--version"), "Free Software Foundation") {
		t.Skip("cc is not gcc")
	}
	t.Setenv("COMPILER_PATH", filepath.Dir(script(t, "as", "kill -KILL $$\n")))
	t.Setenv("LC_ALL", "C")
	p := newProject(t, map[string]string{"k.c": plainSource})
	if o := p.one(newBuilder(t)); o.Fault == nil || o.Fault.Cause != result.CauseInternal {
		t.Errorf("%+v\n%s", o.Fault, o.Output)
	}
}

func TestOutputIsBounded(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	b.cc.words = []string{script(t, "cc", `case "$*" in *-c\ *) ;; *) exec cc "$@" ;; esac
head -c 300000 /dev/zero | tr '\0' x
exit 3
`)}
	o := p.one(b)
	if o.Fault == nil || o.Fault.Message != "cc exited with status 3 compiling k.c" {
		t.Errorf("fault %+v", o.Fault)
	}
	if want := strings.Repeat("x", outputLimit) + "\n[37856 more bytes of output left out]\n"; o.Output != want {
		t.Errorf("%d bytes of output, ending in %q", len(o.Output), o.Output[max(0, len(o.Output)-60):])
	}
}

func TestMissingCompiler(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("CC", "")
	t.Setenv("CXX", "")
	for source, want := range map[string]result.Fault{
		"k.c": {
			Stage: "build", Cause: result.CauseUnsupported,
			Message: `no C compiler: "cc" is not on PATH`, Hint: "apt-get install gcc, or set CC",
		},
		"k.cpp": {
			Stage: "build", Cause: result.CauseUnsupported,
			Message: `no C++ compiler: "c++" is not on PATH`, Hint: "apt-get install g++, or set CXX",
		},
	} {
		p := newProject(t, map[string]string{"pawl.yaml": yaml(source, "entry: run"), source: plainSource})
		if o := p.one(newBuilder(t)); o.Fault == nil || *o.Fault != want {
			t.Errorf("%s: %+v", source, o.Fault)
		}
	}
}

func TestCompilersAreFound(t *testing.T) {
	t.Setenv("PAWL_CACHE", t.TempDir())
	found, fault := newBuilder(t).cc.find(t.Context())
	if fault != nil || found.Name != "cc" || !filepath.IsAbs(found.Command[0]) ||
		found.versionLine() != strings.SplitN(mustRun(t, ".", "cc", "--version"), "\n", 2)[0] {
		t.Errorf("found %+v, %v", found, fault)
	}
}

// Upgrading a compiler in place is noticed, and its artifacts are others.
func TestCompilerUpgrade(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	b := newBuilder(t)
	text := `[ "$1" = --version ] && echo version %s && exit` + "\nexec cc \"$@\"\n"
	path := script(t, "cc", strings.ReplaceAll(text, "%s", "1.0"))
	b.cc.words = []string{path}
	old := p.artifact(b)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+strings.ReplaceAll(text, "%s", "2.0.0")), 0o755); err != nil {
		t.Fatal(err)
	}
	upgraded := p.artifact(b)
	if old.Compiler != "version 1.0" || upgraded.Compiler != "version 2.0.0" || upgraded.Cached {
		t.Errorf("%q, then %q, cached %v", old.Compiler, upgraded.Compiler, upgraded.Cached)
	}
}

func TestCcachePrefix(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	fake := script(t, "ccache", "echo \"$@\" >>"+log+"\nexec \"$@\"\n")
	t.Setenv("PATH", filepath.Dir(fake)+":"+os.Getenv("PATH"))
	t.Setenv("CC", "ccache cc")
	p := newProject(t, map[string]string{"k.c": plainSource})
	for _, no := range []bool{false, true} {
		b, err := New(Options{CacheDir: t.TempDir(), NoCcache: no, Sandbox: "off"})
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(log)
		p.artifact(b)
		text, _ := os.ReadFile(log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		switch {
		case no && len(text) > 0:
			t.Errorf("ccache was used all the same: %s", text)
		case !no && (len(lines) != 2 || !strings.Contains(lines[0], " -c k.c ") || strings.Contains(string(text), "-shared")):
			t.Errorf("ccache was asked:\n%s", text)
		}
	}
}

// ccache posing as cc is passed over: its file does not change when the
// compiler behind it does.
func TestCcachePosingAsCompiler(t *testing.T) {
	fake := script(t, "ccache", "exit 1\n")
	posing := filepath.Join(t.TempDir(), "cc")
	if err := os.Symlink(fake, posing); err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(posing)+":"+os.Getenv("PATH"))
	for _, cc := range []string{"cc", posing} {
		t.Setenv("CC", cc)
		c, fault := newBuilder(t).cc.find(context.Background())
		if fault != nil || c.Command[0] != real {
			t.Errorf("CC=%s: %+v, %v", cc, c, fault)
		}
	}
}

func TestRealCcache(t *testing.T) {
	if _, err := exec.LookPath("ccache"); err != nil {
		t.Skip("ccache is not installed")
	}
	t.Setenv("CCACHE_DIR", t.TempDir())
	p := newProject(t, map[string]string{"k.c": plainSource})
	var codes []string
	for range 2 {
		b, err := New(Options{CacheDir: t.TempDir(), Sandbox: "off"})
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, p.artifact(b).Code)
	}
	if codes[0] != codes[1] {
		t.Error("an object from ccache gave other code")
	}
}
