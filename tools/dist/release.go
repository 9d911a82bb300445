package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// release is what is made for one architecture.
type release struct {
	folder, version, arch string
	when                  time.Time
	modules               []module
	files                 []file // of the archive
}

func newRelease(folder, source, version, arch string, when time.Time, shared []file) (*release, error) {
	r := &release{folder: folder, version: version, arch: arch, when: when}
	binary := filepath.Join(folder, "pawl-linux-"+arch)
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	if r.modules, err = modulesOf(binary, source); err != nil {
		return nil, err
	}
	r.files = append(slices.Clone(shared), file{"pawl", 0o755, data}, file{"THIRD-PARTY", 0o644, notices(r.modules)})
	slices.SortFunc(r.files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return r, nil
}

func (r *release) name() string { return fmt.Sprintf("pawl-%s-linux-%s", r.version, r.arch) }

func (r *release) write() error {
	packed, err := r.archive()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.folder, r.name()+".tar.gz"), packed, 0o644); err != nil {
		return err
	}
	document, err := r.sbom()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.folder, r.name()+".spdx.json"), document, 0o644); err != nil {
		return err
	}
	return r.packages()
}

// archive returns the files as a tar.gz below one folder, which says what they are.
func (r *release) archive() ([]byte, error) {
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(packed)
	folders := map[string]bool{}
	for _, f := range r.files {
		for at, part := range f.name {
			if folder := f.name[:at]; part == '/' && !folders[folder] {
				folders[folder] = true
				if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: r.name() + "/" + folder + "/", Mode: 0o755, ModTime: r.when, Format: tar.FormatUSTAR}); err != nil {
					return nil, err
				}
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: r.name() + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: r.when, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(archive.Close(), packed.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped returns data as manual pages and changelogs are installed: compressed, without a time or name.
func zipped(data []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // fails only for an unknown level
	_, _ = w.Write(data)                                    // a buffer takes everything
	_ = w.Close()
	return out.Bytes()
}

// installed returns where a file of the archive is on a machine, and what it is there; zsh is where
// that system keeps completions for zsh.
func installed(f file, zsh string) file {
	switch {
	case f.name == "pawl":
		f.name = "/usr/bin/pawl"
	case strings.HasPrefix(f.name, "man/"):
		f.name, f.data = "/usr/share/"+f.name+".gz", zipped(f.data)
	case f.name == "completions/pawl.bash":
		f.name = "/usr/share/bash-completion/completions/pawl"
	case f.name == "completions/_pawl":
		f.name = zsh + "/_pawl"
	case f.name == "completions/pawl.fish":
		f.name = "/usr/share/fish/vendor_completions.d/pawl.fish"
	case f.name == "LICENSE":
		f.name = "/usr/share/doc/pawl/copyright"
	case f.name == "CHANGELOG.md":
		f.name, f.data = "/usr/share/doc/pawl/changelog.gz", zipped(f.data)
	default:
		f.name = "/usr/share/doc/pawl/" + f.name
	}
	return f
}
