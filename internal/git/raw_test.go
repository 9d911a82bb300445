package git

import (
	"os"
	"path/filepath"
	"testing"
)

// What a stranger's attributes choose among the filters of this machine is not run, also where the
// filter is required.
func TestRawRunsNoFilter(t *testing.T) {
	dir := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, at := range [][2]string{{"smudge", "tee " + ran}, {"clean", "cat"}, {"required", "true"}} {
		git(t, dir, "config", "filter.lfs."+at[0], at[1])
	}
	sha := commit(t, dir, "of a stranger", ".gitattributes", "* filter=lfs\n", "kernel.c", "int x;\n")
	made, err := NewBench(t.Context(), dir, sha)
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	if os.Remove(ran) != nil {
		t.Fatal("the filter of this test does nothing")
	}
	raw, err := NewRaw(t.Context(), dir, sha)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := os.Stat(ran); err == nil {
		t.Error("the filter was run")
	}
	if text, err := os.ReadFile(filepath.Join(raw.Root, "kernel.c")); err != nil || string(text) != "int x;\n" {
		t.Errorf("kernel.c: %q, %v", text, err)
	}
}
