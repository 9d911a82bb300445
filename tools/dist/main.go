// Command dist makes a release of the binaries in a folder, pawl-linux-ARCH: an archive, a .deb, an
// .rpm and an SPDX document for each, and SHA256SUMS of all. `make dist` calls it. It takes
// times, owners and orders from nothing but the commit, so that anybody can build the same bytes.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

var architectures = []string{"amd64", "arm64"}

func main() {
	folder := flag.String("folder", "dist", "where the binaries are, and where the release is written")
	source := flag.String("source", ".", "the repository")
	epoch := flag.Int64("epoch", 0, "time of every file, in seconds since 1970: the commit's")
	flag.Parse()
	if err := run(*folder, *source, time.Unix(*epoch, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(folder, source string, when time.Time) error {
	host := filepath.Join(folder, "pawl-linux-"+runtime.GOARCH)
	version, err := versionOf(host)
	if err != nil {
		return err
	}
	shared, err := common(host, source, when)
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		r, err := newRelease(folder, source, version, arch, when, shared)
		if err != nil {
			return err
		}
		if err := r.write(); err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
	}
	return sums(folder)
}

var versionForm = regexp.MustCompile(`^pawl version (\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)\n$`)

// versionOf asks the binary, so that the packages cannot have another version.
func versionOf(pawl string) (string, error) {
	out, err := exec.Command(pawl, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", pawl, err)
	}
	found := versionForm.FindStringSubmatch(string(out))
	if found == nil {
		return "", fmt.Errorf("%q: expected a version such as 1.2.3 or 1.2.3-rc.1: make dist VERSION=1.2.3", strings.TrimSpace(string(out)))
	}
	return found[1], nil
}

// file is one file of a release.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// common returns the files that all architectures share: what pawl writes about itself, and its papers.
func common(pawl, source string, when time.Time) ([]file, error) {
	var files []file
	for shell, name := range map[string]string{"bash": "pawl.bash", "zsh": "_pawl", "fish": "pawl.fish"} {
		script, err := exec.Command(pawl, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completions for %s: %w", shell, err)
		}
		files = append(files, file{"completions/" + name, 0o644, script})
	}
	manual, err := os.MkdirTemp("", "pawl-manual-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(manual)
	if out, err := exec.Command(pawl, "manual", "--date", when.Format(time.DateOnly), manual).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("manual pages: %w\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(manual, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("pawl manual wrote no pages: %w", err)
	}
	for _, page := range pages {
		if files, err = appendFile(files, "man/man1/"+filepath.Base(page), page); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if files, err = appendFile(files, name, filepath.Join(source, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func appendFile(files []file, name, path string) ([]file, error) {
	data, err := os.ReadFile(path)
	return append(files, file{name, 0o644, data}), err
}

// sums writes SHA256SUMS of everything in a folder.
func sums(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var lines []string
	for _, entry := range entries {
		if entry.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), entry.Name()))
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
