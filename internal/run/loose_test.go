package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A commit that lacks a file of what was measured is not what was measured; files that the project does
// not use make no difference.
func TestCommitThatLacksFiles(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	write("README", "sums\n")
	write(".gitignore", "build.h\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "first")
	write("scratch.c", "int nobody_asks;\n")
	write("notes.txt", "faster?\n")
	write("sum.h", "#define N 4\n")
	write("sum.c", "#include \"sum.h\"\nvoid total(float *y, int n) { for (int i = 0; i < n; i++) y[i] = N; }\n")
	write("pawl.yaml", `version: 1
kernels:
  total: {source: sum.c, entry: total, args: [{name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i32, value: N}]}
configs:
  small: {N: 64}
`)
	for _, step := range []struct {
		add   string
		loose []string
	}{
		{"README", []string{"pawl.yaml", "sum.c", "sum.h"}},
		{"pawl.yaml", []string{"sum.c", "sum.h"}},
		{"sum.c", []string{"sum.h"}},
		{"sum.h", nil},
	} {
		git("add", step.add)
		git("commit", "--quiet", "--allow-empty", "-m", step.add)
		s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		r := Quiet(time.Now(), nil)
		r.Spec = s
		commit := r.NewReport(t.Context(), result.Method{}).Commit
		if commit == nil || commit.Dirty != (step.loose != nil) {
			t.Errorf("after git add %s: %+v", step.add, commit)
		}
		if loose, err := r.Loose(t.Context()); err != nil || !slices.Equal(loose, step.loose) {
			t.Errorf("after git add %s: %q, %v; want %q", step.add, loose, err, step.loose)
		}
	}
}
