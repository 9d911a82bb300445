package cuda

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Files lists every file that may be the libcuda that [Open] loads, in the order in which the
// dynamic linker looks for it. It loads none of them.
func Files() []string {
	return files(os.Getenv("LD_LIBRARY_PATH"), "/etc/ld.so.cache")
}

// triples are the names of Go's architectures in the folders of Debian-like systems.
var triples = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

func files(searched, linkerCache string) []string {
	name := libraries[0]
	var paths []string
	for _, folder := range filepath.SplitList(searched) {
		paths = append(paths, filepath.Join(folder, name)) // "" is the working folder, there too
	}
	cache, _ := os.ReadFile(linkerCache)
	for entry := range strings.SplitSeq(string(cache), "\x00") {
		if filepath.IsAbs(entry) && filepath.Base(entry) == name {
			paths = append(paths, entry)
		}
	}
	triple := triples[runtime.GOARCH]
	for _, folder := range []string{"/lib/" + triple, "/usr/lib/" + triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		paths = append(paths, filepath.Join(folder, name))
	}
	paths = append(paths, libraries[1:]...)
	return slices.DeleteFunc(paths, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}
