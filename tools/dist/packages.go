package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

const description = `judges changes to CUDA and CPU kernels by their performance
pawl builds a kernel with a change and without it, proves that the answers are
right, measures both in turns on the same device, and says: slower, faster, or
neither.`

// packages writes the .deb and the .rpm.
func (r *release) packages() error {
	// pawl loads drivers by dlopen, so it is linked with glibc.
	for _, kind := range []struct {
		packager nfpm.Packager
		zsh      string
		depends  []string
	}{
		{deb.Default, "/usr/share/zsh/vendor-completions", []string{"libc6"}},
		{rpm.DefaultRPM, "/usr/share/zsh/site-functions", []string{"glibc"}},
	} {
		if err := r.pack(kind.packager, kind.zsh, kind.depends); err != nil {
			return fmt.Errorf("%T: %w", kind.packager, err)
		}
	}
	return nil
}

func (r *release) pack(packager nfpm.Packager, zsh string, depends []string) error {
	stage, err := os.MkdirTemp("", "pawl-package-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	info := &nfpm.Info{
		Name: "pawl", Arch: r.arch, Platform: "linux", Version: r.version, MTime: r.when,
		Section: "devel", Priority: "optional", Maintainer: "The pawl authors", Description: description, License: "Apache-2.0",
		DisableGlobbing: true,
	}
	info.Depends = depends
	info.Recommends = []string{"git"}
	info.RPM.BuildHost = "localhost"
	for i, f := range r.files {
		f = installed(f, zsh)
		at := filepath.Join(stage, strconv.Itoa(i))
		if err := os.WriteFile(at, f.data, 0o600); err != nil {
			return err
		}
		info.Contents = append(info.Contents, &files.Content{
			Source: at, Destination: f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode},
		})
	}
	info = nfpm.WithDefaults(info)
	out, err := os.Create(filepath.Join(r.folder, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer out.Close()
	return packager.Package(info, out)
}
