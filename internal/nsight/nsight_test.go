package nsight

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{Variable, "CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", filepath.Join(dir, "none"))
	home := write(t, filepath.Join(dir, "cuda", "bin", "ncu"))
	t.Setenv("CUDA_PATH", filepath.Join(dir, "cuda"))
	if got, err := Find(); got != home || err != nil {
		t.Errorf("in CUDA_PATH: %s, %v", got, err)
	}
	onPath := write(t, filepath.Join(dir, "bin", "ncu"))
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	if got, err := Find(); got != onPath || err != nil {
		t.Errorf("on PATH: %s, %v", got, err)
	}
	named := write(t, filepath.Join(dir, "own", "ncu-2025"))
	t.Setenv(Variable, named)
	if got, err := Find(); got != named || err != nil {
		t.Errorf("in %s: %s, %v", Variable, got, err)
	}
	t.Setenv(Variable, filepath.Join(dir, "nothing"))
	if got, err := Find(); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("what %s names is not there: %s, %v", Variable, got, err)
	}
}

func TestPlacesNewestFirst(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"2025.3.1", "2025.10.0", "2024.3.2"} {
		write(t, filepath.Join(root, "opt/nvidia/nsight-compute", version, "ncu"))
	}
	var found []string
	for _, place := range Places(root) {
		if filepath.Base(filepath.Dir(place)) == "nsight-compute" {
			found = append(found, filepath.Base(place))
		}
	}
	if want := []string{"2025.10.0", "2025.3.1", "2024.3.2"}; !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}

func TestInstallation(t *testing.T) {
	dir := resolved(t.TempDir())
	script := write(t, filepath.Join(dir, "cuda", "bin", "ncu"))
	write(t, filepath.Join(dir, "cuda", "nsight-compute-2025.3.1", "ncu"))
	link := filepath.Join(dir, "ncu")
	if err := os.Symlink(script, link); err != nil {
		t.Fatal(err)
	}
	got := Installation(link)
	for _, want := range []string{dir, filepath.Join(dir, "cuda", "bin"), filepath.Join(dir, "cuda", "nsight-compute-2025.3.1")} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
}

func TestVersion(t *testing.T) {
	const said = "NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 36398880) (public-release)\n"
	if got, want := Version(said), "Version 2025.3.1.0 (build 36398880) (public-release)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Version("Segmentation fault"); got != "" {
		t.Errorf("%q", got)
	}
}
