package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	case r.compiler.Name == "nvcc" && !r.namesHostCompiler():
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
	rules, err := os.ReadFile(depfile)
	if err != nil {
		return nil, err
	}
	paths, err := parseDepfile(string(rules))
	return slices.DeleteFunc(paths, func(path string) bool {
		return strings.HasPrefix(path, own) || !isFile(verbatim(dir, path))
	}), err
}

// namesHostCompiler reports whether flags tell nvcc to use another compiler than gcc.
func (r *recipe) namesHostCompiler() bool {
	return os.Getenv("NVCC_CCBIN") != "" || slices.ContainsFunc(r.flags(), func(word string) bool {
		return strings.HasPrefix(word, "-ccbin") || strings.HasPrefix(word, "--compiler-bindir")
	})
}

// parseDepfile returns the prerequisites of a make rule as compilers write it,
// sorted, each once. Backslash-newline continues a line, `\ ` and `\#` stand for
// the character, `$$` for a dollar.
func parseDepfile(text string) ([]string, error) {
	var deps []string
	var word strings.Builder
	inTargets, sawTargets := true, false
	flush := func() {
		if word.Len() > 0 && !inTargets {
			deps = append(deps, word.String())
		}
		word.Reset()
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte('\n')
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case c == '\\' && next == '\n':
			flush()
			i++
		case c == '\\' && next == '\r' && strings.HasPrefix(text[i+1:], "\r\n"):
			flush()
			i += 2
		case c == '\\' && (next == ' ' || next == '#' || next == '\t' || next == ':'):
			word.WriteByte(next)
			i++
		case c == '$' && next == '$':
			word.WriteByte('$')
			i++
		case c == ':' && inTargets && (next == ' ' || next == '\t' || next == '\r' || next == '\n' || next == '\\'):
			word.Reset()
			inTargets, sawTargets = false, true
		case c == ' ' || c == '\t' || c == '\r':
			flush()
		case c == '\n':
			flush()
			inTargets = true
		default:
			word.WriteByte(c)
		}
	}
	flush()
	if !sawTargets {
		return nil, fmt.Errorf("the compiler's dependency file holds no rule")
	}
	slices.Sort(deps)
	return slices.Compact(deps), nil
}
