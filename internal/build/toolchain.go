package build

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/sandbox"
)

// folderSet collects existing files and folders, links and dots resolved.
type folderSet []string

func (s *folderSet) add(paths ...string) {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !slices.Contains(*s, real) {
			*s = append(*s, real)
		}
	}
}

// has reports whether a file is in one of the folders.
func (s *folderSet) has(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && oneHolds(*s, real)
}

// installed are the subfolders of an installation, beside its bin. The rest of that folder may be
// private: ~/.local has share.
var installed = []string{"bin", "lib", "lib32", "lib64", "libexec", "include", "nvvm", "targets"}

// addProgram adds a program and what is installed with it, also where links lead.
func (s *folderSet) addProgram(path, target string) {
	if !filepath.IsAbs(path) {
		found, err := exec.LookPath(path)
		if err != nil {
			return
		}
		path = found
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	s.addLibraries(real)
	for _, path := range []string{path, real} {
		folder := filepath.Dir(path)
		s.add(path)
		if sandbox.Broad(folder) {
			continue
		}
		s.add(folder)
		if filepath.Base(folder) != "bin" {
			continue
		}
		for _, name := range append(slices.Clip(installed), target) {
			if name != "" {
				s.add(filepath.Join(filepath.Dir(folder), name))
			}
		}
	}
}

// addLibraries adds the folders that a program names for its libraries, and that these name for
// theirs: each package may have its own folder, as Spack's do.
func (s *folderSet) addLibraries(file string) {
	binary, err := elf.Open(file)
	if err != nil {
		return // a script
	}
	defer binary.Close()
	needed, _ := binary.ImportedLibraries()
	for _, folder := range libraryFolders(binary, file) {
		before := len(*s)
		if s.add(folder); len(*s) == before {
			continue // not there, or seen: then what is needed of it is, too
		}
		for _, name := range needed {
			if real, err := filepath.EvalSymlinks(filepath.Join(folder, name)); err == nil {
				s.add(filepath.Dir(real))
				s.addLibraries(real)
			}
		}
	}
}

// libraryFolders returns the folders that a program or library names for its libraries.
func libraryFolders(binary *elf.File, path string) []string {
	origin := strings.NewReplacer("$ORIGIN", filepath.Dir(path), "${ORIGIN}", filepath.Dir(path))
	var folders []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, _ := binary.DynString(tag) // a static program has none
		for _, list := range lists {
			folders = append(folders, filepath.SplitList(origin.Replace(list))...)
		}
	}
	return folders
}

// answerOf runs a compiler for an answer, in the language that answers are parsed in. Its output on
// stdout and stderr counts, and no answer is an answer, too.
func answerOf(ctx context.Context, command []string, args ...string) string {
	cmd := exec.CommandContext(ctx, command[0], slices.Concat(command[1:], args)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.WaitDelay = time.Second // what a script has started may hold its output open
	output, _ := cmd.CombinedOutput()
	return string(output)
}

// hostFolders returns what a C or C++ compiler reports to read: itself, the programs that it
// starts, its headers and libraries, its sysroot.
func hostFolders(program, target string, ask func(args ...string) string) []string {
	var s folderSet
	s.addProgram(program, target)
	for line := range strings.Lines(ask("-print-search-dirs")) {
		_, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		s.add(filepath.SplitList(strings.TrimPrefix(strings.TrimSpace(list), "="))...)
	}
	s.add(strings.TrimSpace(ask("-print-sysroot")))
	for _, name := range []string{"cc1", "cc1plus", "collect2", "as", "ld", "lto-wrapper"} {
		s.addProgram(strings.TrimSpace(ask("-print-prog-name="+name)), target)
	}
	for _, language := range []string{"c", "c++"} {
		inside := false
		for line := range strings.Lines(ask("-v", "-E", "-x", language, "/dev/null")) {
			switch {
			case strings.Contains(line, "search starts here:"):
				inside = true
			case strings.HasPrefix(line, "End of search list"):
				inside = false
			case inside:
				s.add(strings.TrimSpace(line))
			}
		}
	}
	return slices.DeleteFunc(s, sandbox.Broad)
}

// cudaFolders returns what nvcc reports to read: its toolkit, and the folders of the host compiler
// that it starts. Environment and profile may name further folders.
func cudaFolders(ctx context.Context, command []string) []string {
	var s folderSet
	s.addToolkit(command[0])
	var hosts []string
	for line := range strings.Lines(dryRun(ctx, command, "empty.so", "-shared", "-Xcompiler", "-fPIC")) {
		line, said := strings.CutPrefix(strings.TrimSpace(line), "#$ ")
		if !said {
			continue
		}
		name, value, assigned := strings.Cut(line, "=")
		if assigned && !strings.ContainsAny(name, " \"") {
			switch name {
			case "TOP", "CUDA_ROOT":
				s.add(value)
			case "CICC_PATH", "NVVMIR_LIBRARY_DIR", "LD_LIBRARY_PATH":
				s.add(filepath.SplitList(value)...)
			case "INCLUDES", "SYSTEM_INCLUDES", "LIBRARIES":
				s.addFlags(shellFields(value))
			}
			continue
		}
		words := shellFields(line)
		if len(words) == 0 || strings.Contains(words[0], "$") || words[0] == "rm" {
			continue
		}
		s.addFlags(words)
		path, err := exec.LookPath(words[0])
		if err != nil || slices.Contains(hosts, path) || s.has(path) {
			continue // one of the toolkit's own
		}
		hosts = append(hosts, path)
	}
	for _, host := range hosts {
		s.add(hostFolders(host, "", func(args ...string) string { return answerOf(ctx, []string{host}, args...) })...)
	}
	return slices.DeleteFunc(s, sandbox.Broad)
}

// addToolkit adds the whole installation of nvcc: the folder above its bin and, for Python
// packages, those beside it.
func (s *folderSet) addToolkit(program string) {
	s.addProgram(program, "")
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return
	}
	for _, path := range []string{program, real} {
		if folder := filepath.Dir(path); filepath.Base(folder) == "bin" && filepath.Base(filepath.Dir(folder)) != ".local" {
			root := filepath.Dir(folder)
			s.add(root)
			if beside := filepath.Dir(root); filepath.Base(beside) == "nvidia" {
				s.add(beside)
			}
		}
	}
}

// addFlags adds the folders of -I, -isystem and -L.
func (s *folderSet) addFlags(words []string) {
	s.add(flagValues(words, map[string]string{"-I": "folder", "-L": "folder", "-isystem": "folder"})["folder"]...)
}

var shellWord = pattern.New(`(?:"[^"]*"?|[^ "])+`)

// shellFields splits a line into words, with quotes that may be in the middle of one
// taken away, as nvcc prints them.
func shellFields(line string) []string {
	words := shellWord.FindAllString(line, -1)
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, `"`, "")
	}
	return words
}
