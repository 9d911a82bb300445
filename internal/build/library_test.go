package build

import (
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// A shared library that no cell could load is refused when it is linked, wherever it
// lies; the static one beside it is not.
func TestSharedLibraries(t *testing.T) {
	const rounds = "void rounds(float *x, long n) { for (long i = 0; i < n; i++) x[i] *= 2; }\n"
	source := "void rounds(float *, long);\nvoid run(float *x, long n) { rounds(x, n); }\n"
	make := func(folder string) {
		writeFile(t, filepath.Join(folder, "r.c"), rounds)
		mustRun(t, folder, "cc", "-O2", "-shared", "-fPIC", "-o", "librounds.so.1", "-Wl,-soname,librounds.so.1", "r.c")
		mustRun(t, folder, "ln", "-sf", "librounds.so.1", "librounds.so")
		mustRun(t, folder, "cc", "-O2", "-fPIC", "-c", "r.c")
		mustRun(t, folder, "ar", "rc", "librounds.a", "r.o")
	}
	p := newProject(t, map[string]string{"k.c": source})
	outside := t.TempDir()
	make(outside)
	make(filepath.Join(p.dir, "lib"))
	t.Setenv(readVariable, outside)
	for _, folder := range []string{"lib", outside} {
		p.flags("-L" + folder + ", -lrounds, '-Wl,-rpath," + filepath.Join(p.dir, "lib") + "'")
		o := p.one(newBuilder(t))
		if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Message, "k.c is linked with "+folder+"/librounds.so, which its cell may not load") ||
			!strings.Contains(o.Fault.Hint, folder+"/librounds.a") {
			t.Errorf("%s: %+v", folder, o.Fault)
		}
		p.flags(folder + "/librounds.a")
		p.artifact(newBuilder(t))
		p.flags("-L" + folder + ", '-Wl,--as-needed', -lm, -lpthread") // the system's
		p.write("k.c", "float sqrtf(float);\nvoid run(float *x, long n) { x[0] = sqrtf(n); }\n")
		p.artifact(newBuilder(t))
		p.write("k.c", source)
	}

	// Without a sandbox it is loaded, and counts.
	b := newBuilder(t)
	b.sandbox = sandbox.Off
	p.flags("-Llib, -lrounds, '-Wl,-rpath," + filepath.Join(p.dir, "lib") + "'")
	before := p.artifact(b)
	if !p.artifact(b).Cached {
		t.Error("not cached")
	}
	p.write("lib/r.c", strings.Replace(rounds, "*= 2", "*= 3", 1))
	mustRun(t, filepath.Join(p.dir, "lib"), "cc", "-O2", "-shared", "-fPIC", "-o", "librounds.so.1", "-Wl,-soname,librounds.so.1", "r.c")
	if after := p.artifact(b); after.Cached || after.Code == before.Code {
		t.Errorf("another library: cached %v, same code %v", after.Cached, after.Code == before.Code)
	}
}
