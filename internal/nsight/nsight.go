// Package nsight finds NVIDIA Nsight Compute, the profiler that reads a GPU's hardware counters.
package nsight

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Variable names the ncu to use, in place of the one that would be found.
const Variable = "PAWL_NCU"

// Hint says what to do where there is none.
const Hint = "it comes with the CUDA toolkit, or from https://developer.nvidia.com/nsight-compute; set " + Variable + " if it is elsewhere"

// ErrNone means that this machine has no ncu.
var ErrNone = errors.New("ncu was not found on this machine")

// Find returns ncu: the one that PAWL_NCU names, the one on PATH, or that of the newest toolkit.
func Find() (string, error) {
	if named := os.Getenv(Variable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", errors.New(Variable + ": " + err.Error())
		}
		return filepath.Abs(path)
	}
	if path, err := exec.LookPath("ncu"); err == nil {
		return filepath.Abs(path)
	}
	for _, folder := range Places("/") {
		if path, err := exec.LookPath(filepath.Join(folder, "ncu")); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// Places returns the folders besides those on PATH where ncu may be, best first. The last of them are
// below root.
func Places(root string) []string {
	var folders []string
	for _, variable := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(variable); filepath.IsAbs(home) {
			folders = append(folders, filepath.Join(home, "bin"))
		}
	}
	folders = append(folders, filepath.Join(root, "usr/local/cuda/bin"), filepath.Join(root, "opt/cuda/bin"))
	for _, pattern := range []string{"opt/nvidia/nsight-compute/*", "usr/local/cuda/nsight-compute*"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern)) // fails for a bad pattern only
		slices.SortFunc(found, func(a, b string) int { return compareVersions(filepath.Base(b), filepath.Base(a)) })
		folders = append(folders, found...)
	}
	return folders
}

// compareVersions orders names by the numbers in them: 2025.10 comes after 2025.9.
func compareVersions(a, b string) int {
	x, y := numbers(a), numbers(b)
	if order := slices.Compare(x, y); order != 0 {
		return order
	}
	return strings.Compare(a, b)
}

func numbers(name string) []int {
	var all []int
	inside := false
	for _, r := range name {
		digit := r >= '0' && r <= '9'
		switch {
		case digit && !inside:
			all = append(all, int(r-'0'))
		case digit && all[len(all)-1] < 1e8:
			all[len(all)-1] = 10*all[len(all)-1] + int(r-'0')
		}
		inside = digit
	}
	return all
}

// Installation returns the folders that an ncu reads: its own, and where it is a script of a
// toolkit, those beside it that such scripts start the real one from.
func Installation(path string) []string {
	var folders []string
	add := func(folder string) {
		if info, err := os.Stat(folder); err == nil && info.IsDir() && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	for _, at := range []string{path, resolved(path)} {
		folder := filepath.Dir(at)
		add(folder)
		if above := filepath.Dir(folder); filepath.Base(above) == "target" { // the program itself, without its script
			add(filepath.Dir(above))
		}
		for _, pattern := range []string{"../nsight*compute*", "../pkg/nsight*compute*"} {
			beside, _ := filepath.Glob(filepath.Join(folder, pattern)) // fails for a bad pattern only
			for _, one := range beside {
				add(one)
			}
		}
	}
	add("/opt/nvidia/nsight-compute") // where the scripts of distributions lead
	return folders
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Version returns the line of ncu --version that has the version; "" where there is none.
func Version(said string) string {
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Version ") {
			return line
		}
	}
	return ""
}
