package doctor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pawl/internal/sandbox"
)

func TestDescribeSandbox(t *testing.T) {
	for name, c := range map[string]struct {
		level sandbox.Level
		want  Check
	}{
		"full": {
			sandbox.Level{Landlock: 7, Seccomp: sandbox.SeccompNotify, NoNewPrivs: true},
			Check{Status: OK, Value: "landlock 7, seccomp notify"},
		},
		"partial": {
			sandbox.Level{Seccomp: sandbox.SeccompErrno, NoNewPrivs: true, Missing: []string{"a", "b"}},
			Check{Status: Limited, Value: "seccomp errno", Note: "a; b"},
		},
		"none": {
			sandbox.Level{Seccomp: sandbox.SeccompNone, Missing: []string{"all of it"}},
			Check{Status: Missing, Value: "none", Note: "all of it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got Check
			describeSandbox(&got, c.level)
			if (got.Fix == "") != (c.want.Status == OK) {
				t.Errorf("fix = %q", got.Fix)
			}
			got.Fix = ""
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestCacheFolder(t *testing.T) {
	look := func(dir string) Check {
		var c Check
		lookCache(context.Background(), &c, dir)
		return c
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "artifacts/ab/one"), "1234567890")
	writeFile(t, filepath.Join(dir, "two"), "12")
	if c := look(dir); c.Status != OK || c.Value != "12 B used" || c.Path != dir {
		t.Errorf("in use: %+v", c)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}

	absent := filepath.Join(dir, "not", "yet")
	if c := look(absent); c.Status != OK || c.Value != "0 B used" {
		t.Errorf("not there yet: %+v", c)
	}
	if _, err := os.Stat(absent); err == nil {
		t.Error("the folder was made")
	}
	if c := look(filepath.Join(dir, "two")); c.Status != Limited || c.Note != "is not a folder" || c.Fix == "" {
		t.Errorf("a file: %+v", c)
	}
	if c := look(filepath.Join(dir, "two", "below")); c.Status != Limited || c.Note == "" {
		t.Errorf("below a file: %+v", c)
	}

	t.Setenv("PAWL_CACHE", dir)
	if c := look(""); c.Path != dir {
		t.Errorf("PAWL_CACHE: %+v", c)
	}
	t.Setenv("PAWL_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	if c := look(""); c.Path != filepath.Join(dir, "pawl") {
		t.Errorf("XDG_CACHE_HOME: %+v", c)
	}
}

func TestCacheFolderNotWritable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "below")} {
		var c Check
		lookCache(context.Background(), &c, path)
		if c.Status != Limited || c.Fix == "" {
			t.Errorf("%+v", c)
		}
	}
}
