package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// token is what no stranger may see.
const token = "hunter2_of_the_runner"

// secrets are files outside of the project, each such that whoever reads it with a
// compiler can tell its content.
func secrets(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret.h": token + " is the password\n", "script.ld": "INPUT(" + token + ")\n", "words": token + "\n",
		"lib.c": "const char *library(void) { return \"" + token + "\"; }\n", "k.c": "#warning " + token + "\n" + plainSource,
	} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	mustRun(t, dir, "cc", "-fPIC", "-c", "lib.c", "-o", "lib.o")
	mustRun(t, dir, "ar", "rc", "liblib.a", "lib.o")
	return dir
}

const (
	runs    = "void run(float *x, long n) { *x = n; }\n"
	incbin  = "__asm__(\".data\\n.incbin \\\"SECRET/secret.h\\\"\\n.text\");\n" + runs
	library = "const char *library(void);\nvoid run(float *x, long n) { *x = library()[n]; }\n"
	// A plugin is loaded before it is found out that it is none.
	plugin = `#include <stdio.h>
__attribute__((constructor)) static void look(void) {
  char text[100] = "";
  FILE *f = fopen("SECRET/secret.h", "r");
  if (f && fgets(text, sizeof text, f)) fprintf(stderr, "%s", text);
}
`
)

// An attack is a way of a stranger to a file on the machine.
type attack struct {
	name   string
	plus   bool // in C++
	source string
	files  map[string]string // besides
	flags  string            // in pawl.yaml
	forced []string          // flags that pawl.yaml may not have, for the compiler
	linked []string          // and for the linker
	setUp  func(t *testing.T, p *project)
}

var attacks = []attack{
	{name: "include", source: "#include \"SECRET/secret.h\"\n" + runs},
	{name: "include by a macro", source: "#define WHERE \"SECRET/secret.h\"\n#include WHERE\n" + runs},
	{name: "include through folders", source: "#include \"UP/SECRET/secret.h\"\n" + runs},
	{name: "include of a link", source: "#include \"link.h\"\n" + runs, setUp: linkTo("link.h", "secret.h")},
	{name: "include of a link in a repository", source: "#include \"link.h\"\n" + runs, files: map[string]string{".git/HEAD": ""}, setUp: linkTo("link.h", "secret.h")},
	{name: "include through a linked folder", source: "#include \"link/secret.h\"\n" + runs, setUp: linkTo("link", "")},
	{name: "include in a folder of -I", source: "#include <secret.h>\n" + runs, flags: "-ISECRET"},
	{name: "include in a folder of -isystem", source: "#include <secret.h>\n" + runs, flags: "-isystem, SECRET"},
	{name: "-include", source: runs, flags: "-include, SECRET/secret.h"},
	{name: "incbin", source: incbin},
	{name: "incbin of a link", source: strings.Replace(incbin, "SECRET/secret.h", "link", 1), setUp: linkTo("link", "secret.h")},
	{name: "incbin in a folder of -I", source: strings.Replace(incbin, "SECRET/secret.h", "secret.h", 1), flags: "'-Wa,-ISECRET'"},
	{name: "embed", source: "const unsigned char text[] = {\n#embed \"SECRET/secret.h\"\n};\n" + runs},
	{name: "asked for and read", source: "#if __has_include(\"SECRET/secret.h\")\n#include \"SECRET/secret.h\"\n#endif\n" + runs},
	{name: "a library by -L", source: library, flags: "-LSECRET, -llib"},
	{name: "a library by its path", source: library, flags: "SECRET/liblib.a"},
	{name: "a linker script", source: runs, flags: "'-Wl,-T,SECRET/script.ld'"},
	{name: "a linker script as an input", source: runs, flags: "'-Wl,SECRET/script.ld'"},
	{name: "a response file", source: runs, forced: []string{"@SECRET/words"}},
	{name: "a linker's response file", source: runs, linked: []string{"-Wl,@SECRET/words"}},
	{name: "a plugin", source: runs, files: map[string]string{"plugin.c": plugin}, forced: []string{"-fplugin=./plugin.so"}},
	{name: "a wrapper", source: runs, forced: []string{"-wrapper", "sh,-c,cat SECRET/secret.h"}},
	{name: "the environment", source: runs, forced: []string{"-wrapper", "sh,-c,env"}},
	{name: "the environment as a file", source: runs, forced: []string{"-wrapper", "sh,-c,cat /proc/self/environ"}},
	{name: "others' environments", source: runs, forced: []string{"-wrapper", "sh,-c,cat /proc/SLEEPER/environ"}},
	{name: "other command lines", source: runs, forced: []string{"-wrapper", "sh,-c,cat /proc/SLEEPER/cmdline"}},
	{name: "git's folder", source: "#include \".git/config\"\n" + runs, files: map[string]string{".git/config": token + " in it\n"}},
	{name: "git's folder by a link", source: "#include \"link\"\n" + runs, files: map[string]string{".git/config": token + " in it\n"}, setUp: func(t *testing.T, p *project) {
		if err := os.Symlink(".git/config", filepath.Join(p.dir, "link")); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "git's folder below", source: "#include \"lib/a/.git/config\"\n" + runs, files: map[string]string{"lib/a/.git/config": token + " in it\n", "lib/a/a.h": ""}},
	{name: "git's folder by a hard link", source: "#include \"h.h\"\n" + runs, files: map[string]string{".git/config": token + " in it\n", ".git/objects/x": "", "a.h": ""}, setUp: func(t *testing.T, p *project) {
		if err := os.Link(filepath.Join(p.dir, ".git/config"), filepath.Join(p.dir, "h.h")); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "pawl's folder by a hard link below", source: "#include \"inc/h.h\"\n" + runs, files: map[string]string{".pawl/runs/x": token + " in it\n", "inc/a.h": ""}, setUp: func(t *testing.T, p *project) {
		if err := os.Link(filepath.Join(p.dir, ".pawl/runs/x"), filepath.Join(p.dir, "inc/h.h")); err != nil {
			t.Fatal(err)
		}
	}},
	{name: "git's folder of another checkout", source: "#include \"UP/SECRET/lib/.git/config\"\n" + runs, setUp: func(t *testing.T, _ *project) {
		t.Setenv("CPATH", os.Getenv("PAWL_TEST_SECRETS")+"/lib")
	}},
	{name: "pawl's folder", source: "#include \".pawl/runs/x\"\n" + runs, files: map[string]string{".pawl/runs/x": token + " in it\n"}},
	{name: "the source", setUp: func(t *testing.T, p *project) {
		p.write("pawl.yaml", yaml("UP/SECRET/k.c", "entry: run"))
	}},
	{name: "the source by a link", setUp: linkTo("k.c", "k.c")},
}

// inPlusPlus returns those of the attacks that the front end and the assembler decide, on the
// other compiler.
func inPlusPlus() []attack {
	var out []attack
	for _, a := range attacks {
		if a.linked == nil && !strings.HasPrefix(a.name, "the source") && !strings.Contains(a.name, "a library") && !strings.Contains(a.name, "folder by") && !strings.Contains(a.name, "script") {
			a.name, a.plus = a.name+", C++", true
			out = append(out, a)
		}
	}
	if testing.Short() { // the compilers share most of their code
		out = slices.DeleteFunc(out, func(a attack) bool {
			return !slices.Contains([]string{"include, C++", "incbin, C++", "a plugin, C++", "the environment, C++"}, a.name)
		})
	}
	return out
}

// linkTo makes a link in the project to a secret.
func linkTo(name, target string) func(*testing.T, *project) {
	return func(t *testing.T, p *project) {
		path := filepath.Join(p.dir, name)
		_ = os.Remove(path)
		if err := os.Symlink(filepath.Join("SECRET", target), path); err != nil {
			t.Fatal(err)
		}
	}
}

// try builds what the attack wants built and returns everything that a stranger gets
// to see of it.
func (a attack) try(t *testing.T, mode sandbox.Mode, secret string) (seen []byte, o Outcome) {
	t.Helper()
	sleeper := exec.Command("sh", "-c", "read x", token)
	hold, err := sleeper.StdinPipe()
	if err == nil {
		err = sleeper.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { hold.Close(); _ = sleeper.Wait() }()
	up := strings.Repeat("../", 20) + "."
	replace := strings.NewReplacer("UP/SECRET", up+secret, "SECRET", secret, "SLEEPER", fmt.Sprint(sleeper.Process.Pid)).Replace

	p := newProject(t, a.files)
	name, source := "k.c", a.source
	if a.plus {
		name, source = "k.cpp", strings.Replace(source, "void run(", "extern \"C\" void run(", 1)
	}
	p.write("pawl.yaml", yaml(name, "entry: run", "flags: ["+a.flags+"]"))
	p.write(name, source)
	if a.setUp != nil {
		a.setUp(t, p)
	}
	err = filepath.WalkDir(p.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			_ = os.Remove(path)
			return os.Symlink(replace(target), path)
		}
		if entry.IsDir() || filepath.Ext(path) == ".so" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(replace(string(text))), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "plugin.c")); err == nil {
		mustRun(t, p.dir, "cc", "-shared", "-fPIC", "-o", "plugin.so", "plugin.c")
	}

	b := newBuilder(t)
	b.sandbox = mode
	r, fault := b.recipe(context.Background(), p.requests()[0])
	if fault != nil {
		t.Fatal(fault)
	}
	for _, flag := range a.forced {
		r.compile = append(r.compile, replace(flag))
	}
	for _, flag := range a.linked {
		r.link = append(r.link, replace(flag))
	}
	run := b.newBatch(t.Context())
	defer run.cleanUp()
	o = run.build(context.Background(), r)
	seen = []byte(o.Output + strings.Join(o.Notes, "\n"))
	if o.Fault != nil {
		seen = append(seen, o.Fault.Message+o.Fault.Hint...)
	}
	if o.Artifact != nil {
		seen = append(append(seen, content(t, o.Artifact)...), o.Artifact.Output...)
	}
	return seen, o
}

// needsFence skips a test where this kernel lacks a part of the sandbox.
func needsFence(t testing.TB) {
	t.Helper()
	if missing := sandbox.Probe().Missing; len(missing) > 0 {
		t.Skipf("this kernel cannot give the whole sandbox: %s", strings.Join(missing, ", "))
	}
}

// needsGCC skips where the attacks' flags are not known.
func needsGCC(t *testing.T) {
	t.Helper()
	if !strings.Contains(mustRun(t, ".", "cc", "--version"), "Free Software Foundation") {
		t.Skip("cc is not gcc")
	}
}

// Whatever a stranger's source and flags are, they show nothing of a file outside.
func TestCompilersReadNoSecrets(t *testing.T) {
	needsGCC(t)
	t.Setenv("PAWL_TEST_TOKEN", token)
	t.Setenv("LC_ALL", "C")
	secret := secrets(t)
	t.Setenv("PAWL_TEST_SECRETS", secret)
	writeFile(t, filepath.Join(secret, "lib/.git/config"), token+" in it\n")
	for _, a := range slices.Concat(attacks, inPlusPlus()) {
		t.Run(a.name, func(t *testing.T) {
			if testing.Short() && !strings.HasPrefix(a.name, "embed") {
				t.Log("long: make long makes sure that it shows the secret without a sandbox")
			} else if seen, o := a.try(t, sandbox.Off, secret); !bytes.Contains(seen, []byte(token)) {
				if strings.HasPrefix(a.name, "embed") && strings.Contains(o.Output, "invalid preprocessing directive #embed") {
					t.Skip("this compiler has no #embed")
				}
				t.Fatalf("it shows no secret without a sandbox either: %+v\n%s", o.Fault, o.Output)
			}
			seen, o := a.try(t, sandbox.Require, secret)
			if bytes.Contains(seen, []byte(token)) {
				t.Errorf("the secret was seen: %+v\n%s", o.Fault, o.Output)
			}
			if o.Sandbox != nil && o.Sandbox.Level != "full" {
				t.Errorf("sandbox %+v", o.Sandbox)
			}
			t.Logf("%+v\n%s", o.Fault, o.Output)
		})
	}
}

// Nor does a compiler write anywhere but into its temporary folder.
func TestCompilersWriteNowhere(t *testing.T) {
	needsGCC(t)
	for name, a := range map[string]attack{
		"a list":      {source: runs, forced: []string{"-aux-info", "SECRET/written"}},
		"a map":       {source: runs, linked: []string{"-Wl,-Map=SECRET/written"}},
		"the project": {source: runs, linked: []string{"-Wl,-Map=written"}},
		"a program":   {source: runs, forced: []string{"-wrapper", "sh,-c,touch SECRET/written"}},
	} {
		for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Require} {
			secret := t.TempDir()
			var dir string
			a.setUp = func(_ *testing.T, p *project) { dir = p.dir }
			_, o := a.try(t, mode, secret)
			written := exists(filepath.Join(secret, "written")) || exists(filepath.Join(dir, "written"))
			if written != (mode == sandbox.Off) {
				t.Errorf("%s, %v: written %v: %+v %s", name, mode, written, o.Fault, o.Output)
			}
		}
	}
}

// A key is public, so a file that a source may only ask for is not hashed into it.
func TestKeyTellsNoSecret(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.h")
	p := newProject(t, map[string]string{"k.c": "#ifdef NEVER\n#include \"" + secret + "\"\n#endif\n" + plainSource})
	b := newBuilder(t)
	var keys []string
	for _, text := range []string{"1234", "4321"} {
		writeFile(t, secret, text)
		keys = append(keys, p.artifact(b).Key)
	}
	if keys[0] != keys[1] {
		t.Error("the key depends on the secret")
	}
	if !p.artifact(b).Cached {
		t.Error("it is not cached")
	}
}

// What was compiled without a sandbox, or with more to read, is not found with less.
func TestNoArtifactsOfOtherFences(t *testing.T) {
	needsFence(t)
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret"), token)
	p := newProject(t, map[string]string{"k.c": "__asm__(\".data\\n.incbin \\\"" + outside + "/secret\\\"\\n.text\");\n" + runs})
	b := newBuilder(t)
	b.sandbox = sandbox.Off
	p.artifact(b)
	if !p.artifact(b).Cached {
		t.Error("not cached without a sandbox")
	}
	b.sandbox = sandbox.Auto
	t.Setenv(readVariable, outside)
	if p.artifact(b).Cached || !p.artifact(b).Cached {
		t.Error("not compiled once with the folder allowed")
	}
	t.Setenv(readVariable, "")
	if o := p.one(b); o.Fault == nil {
		t.Error("an artifact was found that could not have been made")
	}
}

// What a compiler was refused is named, with what allows it.
func TestRefusalSaysHowToAllow(t *testing.T) {
	needsFence(t)
	t.Setenv("LC_ALL", "C")
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "inc", "a.h"), "#define A 1\n")
	header := filepath.Join(outside, "inc", "a.h")
	remedy := "allow another folder with PAWL_BUILD_READ=" + filepath.Join(outside, "inc")
	asm := "__asm__(\".data\\n.incbin \\\"" + header + "\\\"\\n.text\");\n" + runs
	for _, test := range []struct{ name, flags, source, named string }{
		{"by its path", "", "#include \"" + header + "\"\n" + runs, header + " is outside"},
		{"by -I", "-I" + filepath.Dir(header), "#include <a.h>\n" + runs, header + " is outside"},
		{"by a link", "", "#include \"link.h\"\n" + runs, "link.h leads to " + header + ", which is outside"},
		{"by the assembler", "", asm, header + " is outside"},
		{"by the linker", "'-Wl,-T," + header + "'", runs, header + " is outside"},
		{"as a library", "-L" + filepath.Dir(header) + ", -lnowhere", runs, filepath.Dir(header) + " is outside"},
	} {
		t.Setenv(readVariable, "")
		p := newProject(t, map[string]string{"pawl.yaml": yaml("k.c", "entry: run", "flags: ["+test.flags+"]"), "k.c": test.source})
		if err := os.Symlink(header, filepath.Join(p.dir, "link.h")); err != nil {
			t.Fatal(err)
		}
		o := p.one(newBuilder(t))
		if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Hint, test.named) || !strings.HasSuffix(o.Fault.Hint, remedy) {
			t.Errorf("%s: %+v\n%s", test.name, o.Fault, o.Output)
		}
		t.Setenv(readVariable, "/nowhere:"+filepath.Dir(header))
		if o := p.one(newBuilder(t)); o.Fault != nil && (test.source != runs || o.Fault.Hint != "") {
			t.Errorf("%s: allowed, and yet %+v\n%s", test.name, o.Fault, o.Output)
		}
	}
	p := newProject(t, map[string]string{"pawl.yaml": yaml(header, "entry: run")})
	p.write("pawl.yaml", yaml("../k.c", "entry: run"))
	writeFile(t, filepath.Join(p.dir, "..", "k.c"), runs)
	t.Setenv(readVariable, "")
	if o := p.one(newBuilder(t)); o.Fault == nil || !strings.Contains(o.Fault.Message, "../k.c is outside the folders that a compiler may read, and is not read") || !strings.Contains(o.Fault.Hint, readVariable) {
		t.Errorf("%+v", o.Fault)
	}
	p = newProject(t, map[string]string{"k.c": "#include \"a.h\"\n" + runs, ".git/config": ""})
	if err := os.Link(filepath.Join(p.dir, ".git/config"), filepath.Join(p.dir, "a.h")); err != nil {
		t.Fatal(err)
	}
	if o := p.one(newBuilder(t)); o.Fault == nil || !strings.HasPrefix(o.Fault.Hint, "a.h is a hard link to a file in .git or .pawl") {
		t.Errorf("%+v", o.Fault)
	}
	p.write("pawl.yaml", yaml("a.c", "entry: run"))
	if err := os.Link(filepath.Join(p.dir, ".git/config"), filepath.Join(p.dir, "a.c")); err != nil {
		t.Fatal(err)
	}
	if o := p.one(newBuilder(t)); o.Fault == nil || !strings.HasPrefix(o.Fault.Message, "a.c is a hard link to a file in .git or .pawl") {
		t.Errorf("%+v", o.Fault)
	}
	if os.Geteuid() == 0 {
		p = newProject(t, map[string]string{"k.c": "#include \"a.h\"\n" + runs, "a.h": ""})
		if err := errors.Join(os.Chmod(filepath.Join(p.dir, "a.h"), 0o600), os.Chown(filepath.Join(p.dir, "a.h"), 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if o := p.one(newBuilder(t)); o.Fault == nil || !strings.HasPrefix(o.Fault.Hint, "a.h belongs to another user") {
			t.Errorf("%+v", o.Fault)
		}
	}
	// Words that a source makes up tell nothing of where links outside of it lead.
	if err := os.Symlink(header, filepath.Join(outside, "elsewhere.h")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ path, hint string }{
		{outside + "/elsewhere.h", outside + "/elsewhere.h is outside the folders that a compiler may read: " + allow(outside)}, {"/proc/self/exe", ""}, {"/dev/null", ""},
	} {
		p = newProject(t, map[string]string{"k.c": "#error No such file " + test.path + "\n" + runs})
		if o := p.one(newBuilder(t)); o.Fault == nil || o.Fault.Hint != test.hint {
			t.Errorf("%s: %+v", test.path, o.Fault)
		}
	}
	// A mistake that has nothing to do with the sandbox has no such hint.
	p = newProject(t, map[string]string{"k.c": "#include \"nowhere.h\"\n" + runs})
	if o := p.one(newBuilder(t)); o.Fault == nil || o.Fault.Hint != "" {
		t.Errorf("%+v", o.Fault)
	}
}

// A compiler sees only the variables that it needs, and those that PAWL_BUILD_ENV names.
func TestCompilerEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"CPATH": "/a", "PAWL_TEST_ONE": "1", "PAWL_TEST_TWO": "2", "OTHER_ONE": "1", "OTHER_TWO": "2", envVariable: "PAWL_TEST_ONE,OTHER_*,*",
	} {
		t.Setenv(name, value)
	}
	env := compilerEnvironment()
	for _, set := range []string{"CPATH=/a", "PAWL_TEST_ONE=1", "OTHER_ONE=1", "OTHER_TWO=2", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, set) {
			t.Errorf("no %s in %v", set, env)
		}
	}
	if slices.ContainsFunc(env, func(set string) bool {
		return strings.HasPrefix(set, "PAWL_TEST_TWO") || strings.HasPrefix(set, "HOME=")
	}) {
		t.Errorf("more than asked for: %v", env)
	}
}

// A compiler that takes too much is ended, with all that it has started.
func TestCompilerLimits(t *testing.T) {
	p := newProject(t, map[string]string{"k.c": plainSource})
	for _, test := range []struct {
		name, script string
		limits       limits
		cause        result.Cause
		message      string
	}{
		{"memory", "head -c 500000000 /dev/zero | tail -c 400000000 | sleep 20", limits{64 << 20, 100}, result.CauseMemory, "MiB of memory; its limit is 64 MiB"},
		{"processes", "for i in 1 2 3 4 5 6 7 8 9; do sleep 20 & done; wait", limits{1 << 30, 5}, result.CauseThreads, "processes; its limit is 5"},
		{"a file", "truncate -s 9G $TMPDIR/x", limits{1 << 30, 100}, result.CauseCompile, "cc exited with status"},
	} {
		b := newBuilder(t)
		b.limits = func() limits { return test.limits }
		b.cc.words = []string{script(t, "cc", `case "$*" in *-c\ *) ;; *) exec cc "$@" ;; esac`+"\n"+test.script+"\nexit 1\n")}
		o := p.one(b)
		if o.Fault == nil || o.Fault.Cause != test.cause || !strings.Contains(o.Fault.Message, test.message) || test.name == "a file" && !strings.Contains(o.Output, "File") {
			t.Errorf("%s: %+v\n%s", test.name, o.Fault, o.Output)
		}
	}
}

// Programs of a compiler may have libraries in folders that only they name.
func TestToolchainFolders(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: root}
	p.write("gmp/lib/gmp.c", "int gmp(void) { return 1; }\n")
	p.write("mpfr/lib/mpfr.c", "int gmp(void);\nint mpfr(void) { return gmp(); }\n")
	p.write("gcc/bin/cc.c", "int mpfr(void);\nint main(void) { return mpfr(); }\n")
	p.write("gcc/lib/x", "")
	p.write("gcc/share/private", "")
	mustRun(t, root, "cc", "-shared", "-fPIC", "-o", "gmp/lib/libgmp.so", "gmp/lib/gmp.c")
	mustRun(t, root, "cc", "-shared", "-fPIC", "-o", "mpfr/lib/libmpfr.so", "mpfr/lib/mpfr.c", "-Lgmp/lib", "-lgmp", "-Wl,-rpath,"+root+"/gmp/lib")
	mustRun(t, root, "cc", "-o", "gcc/bin/cc", "gcc/bin/cc.c", "-Lmpfr/lib", "-Lgmp/lib", "-lmpfr", "-lgmp", "-Wl,-rpath,$ORIGIN/../../mpfr/lib")
	p.write("opt/sys/x", "")
	p.write("opt/inc/x", "")
	p.write("opt/as/bin/as", "")
	if err := os.Chmod(filepath.Join(root, "opt/as/bin/as"), 0o755); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"-print-search-dirs": "install: " + root + "/opt/none/\nlibraries: =" + root + "/gcc/lib/../lib/:" + root + "/gcc/none\n",
		"-print-sysroot":     root + "/opt/sys\n", "-print-prog-name=as": root + "/opt/as/bin/as\n",
		"-v -E -x c /dev/null": "#include <...> search starts here:\n " + root + "/opt/inc\nEnd of search list.\n " + root + "/gcc/share\n",
	}
	got := hostFolders(filepath.Join(root, "gcc/bin/cc"), "", func(args ...string) string { return answers[strings.Join(args, " ")] })
	var names []string
	for _, path := range got {
		names = append(names, nameIn(root, path))
	}
	slices.Sort(names)
	want := []string{"gcc/bin", "gcc/bin/cc", "gcc/lib", "gmp/lib", "mpfr/lib", "opt/as/bin", "opt/as/bin/as", "opt/inc", "opt/sys"}
	if !slices.Equal(names, want) {
		t.Errorf("folders %v, want %v", names, want)
	}
}

// One look serves all compilers, however many come and go between two looks.
func TestOneWatcher(t *testing.T) {
	w := &watcher{runs: map[int]*watched{}}
	before := runtime.NumGoroutine()
	for range 50 {
		w.add(1<<30, &watched{limits: limits{memory: 1, processes: 1}})
		w.remove(1 << 30)
	}
	if grown := runtime.NumGoroutine() - before; grown > 5 {
		t.Errorf("%d watchers", grown)
	}
}

func TestShellFields(t *testing.T) {
	got := shellFields(`"/usr/bin"/gcc -x  "c c" "" -DA="\`)
	if want := []string{"/usr/bin/gcc", "-x", "c c", "", `-DA=\`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// CUDA's compilers show nothing of a file outside either, NVRTC in its child included.
func TestCUDAReadsNoSecrets(t *testing.T) {
	needsFence(t)
	for name, builder := range map[string]func(*testing.T) *Builder{"nvcc": newCUDABuilder, "NVRTC": newRuntimeBuilder} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			writeFile(t, filepath.Join(outside, "secret.h"), token+" is the password\n")
			writeFile(t, filepath.Join(outside, "k.cu"), token+" is the password\n")
			b := builder(t)
			for _, source := range []string{outside + "/secret.h", "link.h", "", "<secret.h>", "a macro"} {
				p := cudaProject(t, "scale", "#include \""+source+"\"\n"+scale)
				if err := os.Symlink(filepath.Join(outside, "secret.h"), filepath.Join(p.dir, "link.h")); err != nil {
					t.Fatal(err)
				}
				if source == "" {
					_ = os.Remove(filepath.Join(p.dir, "k.cu"))
					if err := os.Symlink(filepath.Join(outside, "k.cu"), filepath.Join(p.dir, "k.cu")); err != nil {
						t.Fatal(err)
					}
				}
				if source == "a macro" {
					p.write("k.cu", "#define WHERE \""+outside+"/secret.h\"\n#include WHERE\n"+scale)
				}
				if source == "<secret.h>" {
					p.write("k.cu", "#include <secret.h>\n"+scale)
					p.write("pawl.yaml", strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params:", "flags: [-I, "+outside+"]\n    params:", 1))
				}
				for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Require} {
					b.sandbox = mode
					o := b.Build(t.Context(), p.requests()[:1])[0]
					if o.Fault == nil || strings.Contains(o.Output+o.Fault.Message+o.Fault.Hint, token) != (mode == sandbox.Off) {
						t.Errorf("%q, %v: %+v\n%s", source, mode, o.Fault, o.Output)
					}
					if mode == sandbox.Require && !strings.Contains(o.Fault.Hint, readVariable+"="+outside) {
						t.Errorf("%q: hint %q", source, o.Fault.Hint)
					}
				}
			}
		})
	}
}

// A child with NVRTC serves several programs, and ends with the build or at its limits.
func TestRuntimeChild(t *testing.T) {
	needsFence(t)
	b := newRuntimeBuilder(t)
	b.jobs = 1
	p := cudaProject(t, "scale", scale)
	run := b.newBatch(t.Context())
	var children []int
	for _, request := range p.requests() {
		r, fault := b.recipe(t.Context(), request)
		if fault != nil {
			t.Fatal(fault)
		}
		if o := run.build(t.Context(), r); o.Fault != nil || o.Sandbox == nil || o.Sandbox.Level != "full" {
			t.Fatalf("%+v, %+v\n%s", o.Fault, o.Sandbox, o.Output)
		}
		for _, idle := range run.children {
			for _, c := range idle {
				children = append(children, c.process.Pid())
			}
		}
	}
	if len(children) != 2 || children[0] != children[1] {
		t.Errorf("children %v, expected the same one twice", children)
	}
	run.cleanUp()
	expectGone(t, children[0])
	runtime.KeepAlive(run) // whose pipes the collector would close, too

	b.deadline = time.Millisecond
	b.cache = newBuilder(t).cache
	if got := b.Build(t.Context(), p.requests()[:1])[0]; got.Fault == nil || got.Fault.Cause != result.CauseTimeout {
		t.Errorf("%+v", got.Fault)
	}
	b.deadline = deadline
	b.limits = func() limits { return limits{memory: 1 << 20, processes: 10} }
	long := cudaProject(t, "scale", "#include <cuda/std/ranges>\n#include <cuda/std/chrono>\n"+scale)
	if got := b.Build(t.Context(), long.requests()[:1])[0]; got.Fault == nil || got.Fault.Cause != result.CauseMemory {
		t.Errorf("%+v\n%s", got.Fault, got.Output)
	}
}
