package build

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// startup are the names of the files that a compiler links into everything. They belong to the
// compiler's version, and take longer to hash than a small kernel.
var startup = pattern.New(`^(crt.*\.o|libgcc.*\.a|libc_nonshared\.a)$`)

// splitLibraries separates the shared libraries from the other linked files. Those of the system
// and of the compiler, such as libgomp, stay outside of every key; others are the kernel's code, as
// far as the artifact loads them.
func (r *recipe) splitLibraries(linked []string, so []byte) (files, libraries, ignored []string) {
	var needed []string
	if artifact, err := elf.NewFile(bytes.NewReader(so)); err == nil {
		needed, _ = artifact.ImportedLibraries() // what has none loads nothing
	}
	own := folderSet(slices.Clone(r.compiler.Folders))
	own.add(sandbox.System()...)
	for _, path := range linked {
		file := verbatim(r.dir, path)
		switch {
		case !isFile(file): // a script that the linker found in a folder, and does not say where
			ignored = append(ignored, path)
		case !r.libraries && startup.MatchString(filepath.Base(path)) && own.has(file):
			ignored = append(ignored, path)
		case !strings.HasSuffix(path, ".so") && !strings.Contains(path, ".so."):
			files = append(files, path)
		case own.has(file):
			ignored = append(ignored, path)
		case slices.Contains(needed, soname(file)):
			libraries = append(libraries, path)
		default: // a linker script, or one that gave nothing
			files = append(files, path)
		}
	}
	return files, libraries, ignored
}

// soname returns the name that a shared library is loaded by: its DT_SONAME, else the file name.
func soname(path string) string {
	file, err := elf.Open(path)
	if err != nil {
		return "" // a linker script
	}
	defer file.Close()
	if names, _ := file.DynString(elf.DT_SONAME); len(names) > 0 {
		return names[0]
	}
	return filepath.Base(path)
}

// unloadable refuses a kernel that no cell could load, while the reason is known.
func unloadable(source, library string) *result.Fault {
	static := strings.TrimSuffix(library[:strings.LastIndex(library, ".so")], "/") + ".a"
	hint := fmt.Sprintf("link the static library instead (%s), add its sources with #include, or install it below /usr and run ldconfig", static)
	return newFault(result.CauseCompile, hint, "%s is linked with %s, which its cell may not load: cells only read the system's shared libraries", source, library)
}

// withLibraries returns the hash of an artifact's code and of the libraries that it loads: a change
// of a library changes what runs.
func withLibraries(code string, made *product) string {
	if len(made.libraries) == 0 {
		return code
	}
	d := newDigest("pawl code with libraries 1")
	d.add(code)
	for _, dep := range made.deps {
		if slices.Contains(made.libraries, dep.Path) {
			d.add(filepath.Base(dep.Path), dep.SHA256)
		}
	}
	return d.hex()
}
