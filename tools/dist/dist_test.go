package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var when = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func sample(t *testing.T, arch string) *release {
	t.Helper()
	return &release{
		folder: t.TempDir(), version: "1.2.3-rc.1", arch: arch, when: when,
		modules: []module{{"stdlib", "1.26.0", "BSD-3-Clause", []byte("text")}, {"github.com/Masterminds/x", "v1.0.0", "MIT", []byte("text")}},
		files: []file{
			{"LICENSE", 0o644, []byte("free\n")},
			{"completions/_pawl", 0o644, []byte("#compdef pawl\n")},
			{"man/man1/pawl.1", 0o644, []byte(".TH PAWL 1\n")},
			{"pawl", 0o755, []byte("#!/bin/sh\necho pawl\n")},
		},
	}
}

func written(t *testing.T, r *release) map[string][]byte {
	t.Helper()
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if err := sums(r.folder); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(r.folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestSameBytes: folder, clock and time zone leave no trace in a release.
func TestSameBytes(t *testing.T) {
	first := written(t, sample(t, "arm64"))
	t.Setenv("TZ", "Asia/Tokyo")
	t.Setenv("TMPDIR", t.TempDir())
	time.Sleep(1100 * time.Millisecond) // times in archives are whole seconds
	second := written(t, sample(t, "arm64"))
	for _, name := range []string{
		"pawl-1.2.3-rc.1-linux-arm64.tar.gz", "pawl_1.2.3~rc.1_arm64.deb", "pawl-1.2.3~rc.1-1.aarch64.rpm", "pawl-1.2.3-rc.1-linux-arm64.spdx.json", "SHA256SUMS",
	} {
		if len(first[name]) == 0 || !bytes.Equal(first[name], second[name]) {
			t.Errorf("%s: %d and %d bytes, which differ", name, len(first[name]), len(second[name]))
		}
	}
	if len(first) != 5 {
		t.Errorf("%d files, want 5", len(first))
	}
	cmd := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	r := sample(t, "arm64")
	written(t, r)
	cmd.Dir = r.folder
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != 4 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestArchive(t *testing.T) {
	packed, err := sample(t, "amd64").archive()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !plain.ModTime.IsZero() || plain.Name != "" {
		t.Errorf("the packer left %v %q", plain.ModTime, plain.Name)
	}
	var names []string
	archive := tar.NewReader(plain)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(h.Name, "pawl-1.2.3-rc.1-linux-amd64/"))
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(when) {
			t.Errorf("%s: owner %d:%d %q, time %v", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
		if want := (h.Name[strings.LastIndex(h.Name, "/")+1:] == "pawl" || strings.HasSuffix(h.Name, "/")); (h.Mode == 0o755) != want {
			t.Errorf("%s: mode %o", h.Name, h.Mode)
		}
	}
	if want := []string{"LICENSE", "completions/", "completions/_pawl", "man/", "man/man1/", "man/man1/pawl.1", "pawl"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// TestDeb: dpkg reads the package, and what it unpacks runs.
func TestDeb(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb")
	}
	r := sample(t, "amd64")
	written(t, r)
	name := filepath.Join(r.folder, "pawl_1.2.3~rc.1_amd64.deb")
	fields, err := exec.Command("dpkg-deb", "--field", name, "Package", "Version", "Architecture", "Depends").CombinedOutput()
	if want := "Package: pawl\nVersion: 1.2.3~rc.1\nArchitecture: amd64\nDepends: libc6\n"; err != nil || string(fields) != want {
		t.Errorf("%v: got %s, want %s", err, fields, want)
	}
	root := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--extract", name, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(filepath.Join(root, "usr/bin/pawl")).Output(); err != nil || string(out) != "pawl\n" {
		t.Errorf("%v: %s", err, out)
	}
	for _, want := range []string{"usr/share/man/man1/pawl.1.gz", "usr/share/zsh/vendor-completions/_pawl", "usr/share/doc/pawl/copyright"} {
		if _, err := os.Stat(filepath.Join(root, want)); err != nil {
			t.Error(err)
		}
	}
}

// TestModules reads this test's own binary: it is built of nfpm and others, and of nothing unknown.
func TestModules(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	modules, err := modulesOf(binary, ".")
	if err != nil {
		t.Fatal(err)
	}
	licences := map[string]string{}
	for _, m := range modules {
		licences[m.path] = m.licence
		if m.licence == "NOASSERTION" || m.version == "" {
			t.Errorf("%s %q: licence not known: %.200s", m.path, m.version, m.text)
		}
	}
	for path, want := range map[string]string{"stdlib": "BSD-3-Clause", "github.com/goreleaser/nfpm/v2": "MIT", "github.com/google/rpmpack": "Apache-2.0"} {
		if licences[path] != want {
			t.Errorf("%s: got %q, want %q", path, licences[path], want)
		}
	}
}

func TestSBOM(t *testing.T) {
	raw, err := sample(t, "amd64").sbom()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Packages      []spdxPackage  `json:"packages"`
		Relationships []spdxRelation `json:"relationships"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Packages) != 3 || len(document.Relationships) != 3 {
		t.Fatalf("%s", raw)
	}
	m := document.Packages[2]
	if m.ID != "SPDXRef-go-github.com-Masterminds-x" || m.Location != "https://proxy.golang.org/github.com/!masterminds/x/@v/v1.0.0.zip" || m.Declared != "MIT" {
		t.Errorf("%+v", m)
	}
	if sum := document.Packages[0].Checksums[0].Value; len(sum) != 64 || !strings.Contains(string(raw), "spdxdocs/pawl-1.2.3-rc.1-linux-amd64-"+sum) {
		t.Errorf("%+v", document.Packages[0])
	}
}

func TestVersionOf(t *testing.T) {
	for text, want := range map[string]string{"pawl version 1.2.3": "1.2.3", "pawl version 1.2.3-rc.1": "1.2.3-rc.1", "pawl version v1.2.3": "", "pawl version dev": ""} {
		pawl := filepath.Join(t.TempDir(), "pawl")
		if err := os.WriteFile(pawl, []byte("#!/bin/sh\necho "+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := versionOf(pawl); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
