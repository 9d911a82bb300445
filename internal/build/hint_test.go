package build

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// No hint tells anybody to open what nobody should, and each says what is the matter.
func TestHintsMakeSense(t *testing.T) {
	needsFence(t)
	t.Setenv("LC_ALL", "C")
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, file := range []string{"a.h", ".ssh/key", "mine/inc/a.h"} {
		writeFile(t, filepath.Join(home, file), "#define A\n")
	}
	for name, test := range map[string]struct {
		source, flags string
		want          string // begin and end of the hint, or nothing
	}{
		"/etc":             {"#include \"/etc/passwd\"\n", "", "/etc/passwd is outside the folders that a compiler may read: do not allow /etc, which holds more than sources…put a copy of the file into the project"},
		"a home folder":    {"#include \"" + home + "/a.h\"\n", "", home + "/a.h is outside…put a copy of the file into the project"},
		"a hidden folder":  {"#include \"" + home + "/.ssh/key\"\n", "", home + "/.ssh/key is outside…put a copy of the file into the project"},
		"another folder":   {"#include \"" + home + "/mine/inc/a.h\"\n", "", home + "/mine/inc/a.h is outside…PAWL_BUILD_READ=" + home + "/mine/inc"},
		".git":             {"#include \".git/config\"\n", "", ".git/config is in .git or .pawl: …elsewhere in the project"},
		"nothing":          {"#include \"nowhere.h\"\n", "-I., -L.", ""},
		"a library":        {"", "-L., -lnowhere", ""},
		"a missing folder": {"#include \"nowhere.h\"\n", "-Inowhere", ""},
	} {
		p := newProject(t, map[string]string{"k.c": test.source + runs, ".git/config": "x"})
		p.flags(test.flags)
		o := p.one(newBuilder(t))
		begin, end, _ := strings.Cut(test.want, "…")
		if o.Fault == nil || !strings.HasPrefix(o.Fault.Hint, begin) || !strings.HasSuffix(o.Fault.Hint, end) || test.want == "" && o.Fault.Hint != "" {
			t.Errorf("%s: %+v\nhint %q, want %q", name, o.Fault, o.Fault.Hint, test.want)
		}
	}
	// A project that is a home folder.
	p := newProject(t, map[string]string{"k.c": "#include \"sub/a.h\"\n" + runs, "sub/a.h": ""})
	t.Setenv("HOME", p.dir)
	if o := p.one(newBuilder(t)); o.Fault == nil || !strings.HasPrefix(o.Fault.Hint, "sub/a.h is directly in a home folder: for a pawl.yaml in a home folder, only the files beside it are read") {
		t.Errorf("%+v", o.Fault)
	}
	p.write("pawl.yaml", yaml("sub/k.c", "entry: run"))
	p.write("sub/k.c", runs)
	if o := p.one(newBuilder(t)); o.Fault == nil || o.Fault.Message != "sub/k.c is directly in a home folder, and is not read" {
		t.Errorf("%+v", o.Fault)
	}
}

// What whoever runs pawl has set, and what does nothing, is said once.
func TestIdleSettings(t *testing.T) {
	needsFence(t)
	p := newProject(t, map[string]string{"pawl.yaml": yaml("k.c", "entry: run", "params: {P: [1, 2]}"), "k.c": plainSource, ".git/config": ""})
	t.Setenv(readVariable, "/nowhere:include:"+p.dir+"/.git:"+p.dir+":")
	t.Setenv(envVariable, "PATH,PAWL_TEST_UNSET,PAWL_TEST_NO*,*")
	b := newBuilder(t)
	outcomes := b.Build(t.Context(), p.requests())
	want := []string{
		"PAWL_BUILD_READ names /nowhere, which does not exist: it is ignored",
		"PAWL_BUILD_READ names include, which is not an absolute path: it is ignored",
		"PAWL_BUILD_READ names " + p.dir + "/.git, but .git and .pawl cannot be allowed: it is ignored",
		"PAWL_BUILD_ENV names PAWL_TEST_UNSET, but that variable is not set: it is ignored",
		"PAWL_BUILD_ENV names PAWL_TEST_NO*, but that variable is not set: it is ignored",
		"PAWL_BUILD_ENV names *, but that variable is not set: it is ignored",
	}
	if got := slices.Concat(outcomes[0].Notes, outcomes[1].Notes); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	p.write("k.c", "#include \".git/config\"\n"+plainSource)
	if o := b.Build(t.Context(), p.requests())[0]; o.Fault == nil {
		t.Error("git's folder was read")
	}
}
