// Package script drives the shipped binary through testdata/*.txt, one behaviour
// each. PAWL_BIN names the binary; `make script` builds it.
package script

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output inside the scripts")

func TestScripts(t *testing.T) {
	pawl := os.Getenv("PAWL_BIN")
	if pawl == "" {
		t.Fatal("scripts drive the shipped binary: run `make script`, or set PAWL_BIN")
	}
	cache := t.TempDir() // shared, so that equal kernels compile once
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	python := cmp.Or(os.Getenv("PAWL_PYTHON"), "python3")
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "zipped": zipped},
		Condition: func(name string) (bool, error) {
			switch name {
			case "numpy", "torch":
				return exec.Command(python, "-c", "import "+name).Run() == nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "slow":
				return os.Getenv("PAWL_SLOW") == "1", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(pawl)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("XDG_CACHE_HOME", cache)
			env.Setenv("PAWL_LOCK_DIR", env.WorkDir)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("PAWL_PYTHON", python)
			return nil
		},
	})
}

// exits CODE COMMAND… runs a command and checks its exit code.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = strconv.Itoa(exit.ExitCode())
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// zipped ZIP NAME=FILE… writes a zip whose entries have these names, however harmful: \e stands for
// the escape character.
func zipped(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: zipped ZIP NAME=FILE…")
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, arg := range args[1:] {
		name, file, _ := strings.Cut(arg, "=")
		entry, err := archive.Create(strings.ReplaceAll(name, `\e`, "\x1b"))
		ts.Check(err)
		_, err = entry.Write([]byte(ts.ReadFile(file)))
		ts.Check(err)
	}
	ts.Check(archive.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o644))
}
