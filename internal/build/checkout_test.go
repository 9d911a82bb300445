package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// versions makes the user's checkout, with a change in a header, and one of the
// version before.
func versions(t *testing.T) (own, base *project) {
	t.Helper()
	files := map[string]string{
		"k.c":       "#include <h.h>\nvoid run(float *x, long n) { for (long r = 0; r < ROUNDS; r++) for (long i = 0; i < n; i++) x[i] = x[i] * 0.5f + 1; }\n",
		".git/HEAD": "", "headers/h.h": "#define ROUNDS 1\n",
	}
	base = newProject(t, files)
	files["headers/h.h"] = "#define ROUNDS 4\n"
	own = newProject(t, files)
	return own, base
}

func (p *project) flags(flags string) {
	p.t.Helper()
	p.write("pawl.yaml", yaml("k.c", "entry: run", "flags: ["+flags+"]"))
}

func (p *project) link(name, target string) {
	p.t.Helper()
	_ = os.RemoveAll(filepath.Join(p.dir, name))
	if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// A way is one out of a version's checkout into the user's folder of headers.
type way func(t *testing.T, p *project, include string)

var waysOut = map[string]way{
	"-I":              func(_ *testing.T, p *project, include string) { p.flags("-I" + include) },
	"-isystem":        func(_ *testing.T, p *project, include string) { p.flags("-isystem, " + include) },
	"-include":        func(_ *testing.T, p *project, include string) { p.flags("-Iheaders, -include, " + include + "/h.h") },
	"CPATH":           func(t *testing.T, _ *project, include string) { t.Setenv("CPATH", include) },
	"CC":              func(t *testing.T, _ *project, include string) { t.Setenv("CC", "cc -I"+include) },
	"C_INCLUDE_PATH":  func(t *testing.T, _ *project, include string) { t.Setenv("C_INCLUDE_PATH", include) },
	"a linked folder": func(_ *testing.T, p *project, include string) { p.flags("-Ilink"); p.link("link", include) },
	"a linked file":   func(_ *testing.T, p *project, include string) { p.flags("-I."); p.link("h.h", include+"/h.h") },
	"PAWL_BUILD_READ": func(t *testing.T, p *project, include string) {
		p.flags("-I" + include)
		t.Setenv(readVariable, include)
	},
	"a folder above": func(t *testing.T, p *project, include string) {
		p.flags("-I" + include)
		t.Setenv(readVariable, filepath.Join(include, "../.."))
	},
	"in the source": func(_ *testing.T, p *project, include string) {
		p.write("k.c", "#include \""+include+"/h.h\"\n"+plainSource)
	},
	"the source": func(_ *testing.T, p *project, include string) {
		p.flags("-Iheaders, -I" + include)
		if filepath.Join(p.dir, "headers") != include {
			p.link("k.c", filepath.Join(include, "../k.c"))
		}
	},
	"by the assembler": func(_ *testing.T, p *project, include string) {
		p.write("k.c", "__asm__(\".data\\n.incbin \\\""+include+"/h.h\\\"\\n.text\");\n"+runs)
	},
}

// Whichever way leads out of a version's checkout into the user's, no version is built
// from the files of another.
func TestVersionsKeepApart(t *testing.T) {
	needsFence(t)
	t.Setenv("LC_ALL", "C")
	for name, lead := range waysOut {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "-isystem" || name == "C_INCLUDE_PATH" || name == "CC") {
				t.Skip("long: run by make long")
			}
			own, base := versions(t)
			for _, p := range []*project{own, base} {
				p.flags("")
				lead(t, p, filepath.Join(own.dir, "headers"))
			}
			if name == "a linked file" {
				own.link("h.h", "headers/h.h")
			}
			for _, mode := range []sandbox.Mode{sandbox.Require, sandbox.Off} {
				b := newBuilder(t)
				b.sandbox, b.checkout = mode, own.dir
				candidate := own.artifact(b) // which the cache then has
				o := base.one(b)
				if o.Fault == nil {
					t.Errorf("%v: it was built, cached: %v, unchanged: %v", mode, o.Artifact.Cached, o.Artifact.Code == candidate.Code)
					continue
				}
				if o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Message+o.Fault.Hint, "the working tree") || !strings.Contains(o.Fault.Hint, "relative to pawl.yaml") {
					t.Errorf("%v: %+v\n%s", mode, o.Fault, o.Output)
				}
			}
		})
	}
}

// A path of its own leads a version to its own files, also where its checkout lies in
// the user's.
func TestVersionsFindTheirOwn(t *testing.T) {
	needsFence(t)
	own, base := versions(t)
	inside := &project{t: t, dir: filepath.Join(own.dir, ".cache", "tree")}
	for _, file := range []string{"k.c", "headers/h.h", ".git/HEAD"} {
		text, err := os.ReadFile(filepath.Join(base.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		inside.write(file, string(text))
	}
	var codes []string
	for _, p := range []*project{own, base, inside} {
		p.flags("-Iheaders")
		for _, mode := range []sandbox.Mode{sandbox.Require, sandbox.Off} {
			b := newBuilder(t)
			b.sandbox, b.checkout = mode, own.dir
			codes = append(codes, p.artifact(b).Code)
		}
	}
	if codes[0] != codes[1] || codes[0] == codes[2] || len(slices.Compact(codes[2:])) != 1 {
		t.Errorf("codes %v", codes)
	}
}

// A compiler may be installed in the user's checkout, and so may what git does not
// have: these are the same for every version.
func TestVersionsShareTools(t *testing.T) {
	needsFence(t)
	own, base := versions(t)
	_ = os.RemoveAll(filepath.Join(own.dir, ".git"))
	mustRun(t, own.dir, "git", "init", "--quiet")
	mustRun(t, own.dir, "git", "add", "headers")
	own.write("vendor/v.h", "#define FACTOR 2\n")
	own.write("include/w.h", "#define FACTOR 3\n")
	own.write("bin/cc", "#!/bin/sh\nexec cc \"$@\"\n")
	if err := os.Chmod(filepath.Join(own.dir, "bin/cc"), 0o755); err != nil {
		t.Fatal(err)
	}
	base.write("k.c", "#include <v.h>\n#include <h.h>\n"+plainSource)
	t.Setenv(readVariable, filepath.Join(own.dir, "vendor"))
	for _, mode := range []sandbox.Mode{sandbox.Require, sandbox.Off} {
		b := newBuilder(t)
		b.sandbox, b.checkout = mode, own.dir
		b.cc.words = []string{filepath.Join(own.dir, "bin/cc")}
		base.flags("-Iheaders, -I" + own.dir + "/vendor")
		base.artifact(b)
		// What lies beside a script is not the compiler's.
		base.flags("-I" + own.dir + "/headers, -I" + own.dir + "/vendor")
		if o := base.one(b); o.Fault == nil {
			t.Errorf("%v: built with the user's header", mode)
		}
		base.write("k.c", "#include <w.h>\n"+plainSource)
		base.flags("-I" + own.dir + "/include")
		if o := base.one(b); o.Fault == nil {
			t.Errorf("%v: built with a header beside the compiler", mode)
		}
		base.write("k.c", "#include <v.h>\n#include <h.h>\n"+plainSource)
	}
}

// Modules in folders of PYTHONPATH are a Python kernel's code, and no version's but
// their own.
func TestPythonVersionsKeepApart(t *testing.T) {
	files := map[string]string{
		"pawl.yaml": strings.Replace(yaml("k.py", "python: k:run"), "    source: k.py\n", "", 1), "k.py": "import lib.deep as deep\ndef run(x, n): pass\n",
		".git/HEAD": "", "src/lib/__init__.py": "", "src/lib/deep.py": "from lib.more import ROUNDS\n", "src/lib/more.py": "ROUNDS = 1\n",
	}
	own, base := newProject(t, files), newProject(t, files)
	t.Setenv("PYTHONPATH", "/nowhere:"+filepath.Join(own.dir, "src"))
	for _, mode := range []sandbox.Mode{sandbox.Require, sandbox.Off} {
		b := newBuilder(t)
		b.sandbox, b.checkout = mode, own.dir
		own.write("src/lib/more.py", "ROUNDS = 1\n")
		before := own.artifact(b)
		own.write("src/lib/more.py", "ROUNDS = 4\n")
		if after := own.artifact(b); after.Code == before.Code {
			t.Errorf("%v: a module does not count", mode)
		}
		if o := base.one(b); o.Fault == nil || !strings.Contains(o.Fault.Message, "a file of the working tree") {
			t.Errorf("%v: %+v", mode, o.Fault)
		}
	}
	t.Setenv("PYTHONPATH", "")
	b := newBuilder(t)
	b.checkout = own.dir
	base.artifact(b)
}
