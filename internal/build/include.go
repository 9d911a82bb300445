package build

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
)

// include is one #include of a source, or one file that it asks for with
// __has_include.
type include struct {
	name   string
	quoted bool // "name": the folder of the file that includes it is searched too
	next   bool // #include_next: the search goes on behind that folder
}

// included is what one file includes.
type included struct {
	list     []include
	computed string // a macro that names a file, if there is one
	incbin   bool   // it may have the assembler read a file
}

// includeScanner finds the files that compiling a source may read, for a compiler that does not
// list them. It finds more than the compiler reads, never less: both branches of every condition,
// and every file of a name on the search path, whichever the compiler would take.
type includeScanner struct{ *memory[*included] }

func newIncludeScanner() *includeScanner {
	return &includeScanner{newMemory(func(file *os.File) (*included, error) {
		text, err := io.ReadAll(file)
		return parseIncludes(string(text)), err
	})}
}

// scan returns the files that source may read, itself first, and the macro of an
// #include that only the preprocessor could resolve. Relative folders of path are
// below dir. Files below one of the folders in system are left out, and so is what
// only they include.
func (s *includeScanner) scan(dir, source string, path, system []string) (files []string, computed string) {
	visited := map[string]bool{}
	var search searchPath
	for _, folder := range path {
		search.folders = append(search.folders, within(dir, folder))
	}
	var visit func(file string)
	visit = func(file string) {
		if visited[file] {
			return
		}
		visited[file] = true
		found := s.file(file)
		if found == nil || slices.ContainsFunc(system, func(folder string) bool { return below(folder, file) }) {
			return
		}
		files = append(files, nameIn(dir, file))
		if computed == "" {
			computed = found.computed
		}
		for _, inc := range found.list {
			for _, path := range search.candidates(filepath.Dir(file)+"/", inc) {
				visit(filepath.Clean(path))
			}
		}
	}
	visit(filepath.Clean(within(dir, source)))
	return files, computed
}

// file returns what a file includes; nil when there is no such file.
func (s *includeScanner) file(path string) *included {
	if state := s.now(path); state.err == nil {
		return state.value
	}
	return nil
}

// below reports whether a file is in a folder, at any depth.
func below(folder, file string) bool {
	return strings.HasPrefix(file, strings.TrimSuffix(folder, "/")+"/")
}

// nameIn returns a file's path relative to dir where it is inside, so that a key does
// not depend on where a checkout lies.
func nameIn(dir, file string) string {
	return strings.TrimPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

var (
	includeLine = pattern.New(`^#\s*(?:include|include_next|import)\b\s*(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))`)
	hasInclude  = pattern.New(`\b__has_include(?:_next)?\s*\(\s*(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))`)
	nextOnly    = pattern.New(`^(?:#\s*|__has_)include_next\b`)
	splices     = strings.NewReplacer("\\\r\n", "", "\\\n", "")
)

// parseIncludes finds the includes of a C++ source. If it errs it finds too many: only a comment
// could hide one, and text that merely looks like a comment (in a literal) is not treated as one
// here either.
func parseIncludes(text string) *included {
	found := &included{incbin: strings.Contains(text, ".incbin")}
	for _, line := range csource.Directives(splices.Replace(text)) {
		for _, m := range slices.Concat(includeLine.Regexp().FindAllStringSubmatch(line, 1), hasInclude.Regexp().FindAllStringSubmatch(line, -1)) {
			inc := include{name: m[1] + m[2], quoted: m[1] != "", next: nextOnly.MatchString(m[0])}
			switch {
			case m[3] != "":
				found.computed = m[3]
			case !slices.Contains(found.list, inc):
				found.list = append(found.list, inc)
			}
		}
	}
	return found
}
