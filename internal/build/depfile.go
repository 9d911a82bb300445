package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// tracking returns the flags that make a compiler list the files it reads. gcc writes a system
// header by its whole path where that is shorter, as for -isystem ../../lib in a short folder, and
// another checkout would then find this one's.
func (r *recipe) tracking(depfile string) []string {
	flags := []string{"-MD", "-MF", depfile}
	if !slices.ContainsFunc(r.searchPath().folders, func(folder string) bool { return !filepath.IsAbs(folder) }) {
		return flags
	}
	const asNamed = "-fno-canonical-system-headers"
	switch {
	case r.compiler.isGCC():
		flags = append(flags, asNamed)
	case r.compiler.Name == "nvcc" && r.hostCompilerName() == "":
		flags = append(flags, "-Xcompiler", asNamed)
	}
	return flags
}

// A precompiled header takes the place of the one that it was made from, however old it is, and
// neither is listed. gcc does not look for one after something has been included.
var withoutPrecompiled = []string{"-include", os.DevNull}

// assembled returns the files that the assembler read besides its input, as it lists
// them; own is where temporary files are. It lists names of its input, too, some of
// them without their folder.
func assembled(dir, depfile, own string) ([]string, error) {
	paths, err := readDepfile(depfile, own)
	return slices.DeleteFunc(paths, func(path string) bool { return !isFile(verbatim(dir, path)) }), err
}

var (
	continued   = strings.NewReplacer("\\\r\n", " ", "\\\n", " ")
	depfileWord = pattern.New(`(?:\\[ #\t:]|[^ \t\r\n])+`)
	unescaped   = strings.NewReplacer(`\ `, " ", `\#`, "#", "\\\t", "\t", `\:`, ":", "$$", "$")
)

// parseDepfile returns the prerequisites of a make rule as compilers write it,
// sorted, each once. Backslash-newline continues a line, `\ ` and `\#` stand for
// the character, `$$` for a dollar.
func parseDepfile(text string) ([]string, error) {
	var deps []string
	sawTargets := false
	for line := range strings.Lines(continued.Replace(text)) {
		inTargets := true
		for _, word := range depfileWord.FindAllString(line, -1) {
			switch {
			case !inTargets:
				deps = append(deps, unescaped.Replace(word))
			case strings.HasSuffix(word, ":") && !strings.HasSuffix(word, `\:`):
				inTargets, sawTargets = false, true
			}
		}
	}
	if !sawTargets {
		return nil, fmt.Errorf("the compiler's dependency file holds no rule")
	}
	slices.Sort(deps)
	return slices.Compact(deps), nil
}

// readDepfile returns the prerequisites that a compiler, assembler or linker listed in a file,
// without those in pawl's own folder; "": in none.
func readDepfile(file, own string) ([]string, error) {
	rules, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	paths, err := parseDepfile(string(rules))
	return slices.DeleteFunc(paths, func(path string) bool { return own != "" && strings.HasPrefix(path, own) }), err
}
