package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
)

// tinyDisk mounts a file system of the given size, which only root may.
func tinyDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small disk: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

func fill(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := file.Write(chunk); err != nil {
			return
		}
	}
}

func TestFullDiskLosesNoResult(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	disk := tinyDisk(t, "64k")
	source := p.dir
	for _, name := range []string{"good.c", "pawl.yaml"} {
		raw, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(disk, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, disk)
	p.dir = disk
	spare := t.TempDir()
	p.env = append(p.env, "TMPDIR="+spare)
	report, got := p.bench()
	mustMeasure(t, rowOf(t, report, "good"))
	if !strings.Contains(got.stderr, "no space left on device") || !strings.Contains(got.stderr, "instead") {
		t.Errorf("stderr: %s", got.stderr)
	}
	saved, _ := filepath.Glob(filepath.Join(spare, "pawl-*.json"))
	if len(saved) != 1 {
		t.Fatalf("spare reports: %v", saved)
	}
	raw, err := os.ReadFile(saved[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := result.Decode(raw); err != nil {
		t.Errorf("the spare report: %v", err)
	}
	if leftovers, _ := filepath.Glob(filepath.Join(disk, ".pawl", "runs", "*", "*report.json*")); len(leftovers) > 0 {
		t.Errorf("half a report was left: %v", leftovers)
	}
}

func TestFullDiskFailsAnOutputThatWasAskedFor(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	disk := tinyDisk(t, "16k")
	fill(t, disk)
	target := filepath.Join(disk, "out.md")
	got := p.run("bench", "--budget", "20ms", "-o", target)
	if got.code != 3 || !strings.Contains(got.stderr, "no space left on device") || !strings.Contains(got.stderr, target) {
		t.Errorf("exit code %d, stderr: %s", got.code, got.stderr)
	}
	if !strings.Contains(got.stdout, "good/small") {
		t.Errorf("the result was not shown: %s", got.stdout)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("a partial file was left")
	}
}

func TestFullCacheStillBuilds(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	disk := tinyDisk(t, "16k")
	fill(t, disk)
	p.env = append(p.env, "XDG_CACHE_HOME="+disk)
	report, got := p.bench()
	row := rowOf(t, report, "good")
	mustMeasure(t, row)
	warned := false
	for _, w := range row.Warnings {
		warned = warned || w.Code == "cache" && strings.Contains(w.Message, "no space left")
	}
	if !warned || got.code != 0 {
		t.Errorf("exit code %d, warnings %v", got.code, row.Warnings)
	}
}
