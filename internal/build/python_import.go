package build

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/sandbox"
)

// imports finds the files of a project that a Python module consists of: for every imported name,
// all files that Python's import system could take it from, whichever it would prefer.
type imports struct {
	dir     string   // the spec's folder
	project string   // the project that dir belongs to
	roots   []string // folders that names are looked up in
	files   []string // relative to dir
	tooMany bool

	names      map[string]bool // top-level names that are certainly imported
	wanted     [][]string      // absolute names so far
	seen       map[string]bool // paths
	listed     map[string][]fs.DirEntry
	walked     bool // roots are all folders of the project
	everything bool // every module of the project counts
}

// mostImports bounds the search. No kernel has more files.
const mostImports = 20000

func newImports(dir, source string, fence *fence) *imports {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as the folders below are
	}
	s := &imports{dir: dir, project: dir, roots: []string{dir}, names: map[string]bool{}, seen: map[string]bool{}, listed: map[string][]fs.DirEntry{}}
	if !sandbox.Broad(fence.project) {
		s.project = fence.project
	}
	for _, folder := range fence.importPath() {
		if !slices.Contains(s.roots, folder) {
			s.roots = append(s.roots, folder)
		}
	}
	s.seen[filepath.Join(dir, source)] = true
	return s
}

// module adds the imports of a function's module, and the packages that it is in.
func (s *imports) module(function string, text []byte) {
	name, _, _ := strings.Cut(function, ":")
	parts := strings.Split(name, ".")
	s.want(parts[:len(parts)-1])
	s.follow(text, filepath.Join(append([]string{s.dir}, parts[:len(parts)-1]...)...))
}

// searchChange matches code that changes where modules are looked for.
var searchChange = pattern.New(`\bsys\s*\.\s*path\b|\bsys\s+import\b[^;\n]*\bpath\b|\baddsitedir\b|\b__path__\b|\bextend_path\b`)

// follow adds the imports of a module's text in a folder, and their imports.
func (s *imports) follow(text []byte, folder string) {
	found, opaque := scanImports(text)
	addNames(s.names, found)
	if searchChange.Match(text) {
		s.searchEverywhere()
	}
	if opaque && !s.everything {
		s.everything = true
		s.searchEverywhere()
		for _, root := range s.roots {
			s.addAll(root)
		}
	}
	for _, i := range found {
		name := strings.TrimLeft(i.name, ".")
		dots := len(i.name) - len(name)
		var parts []string
		if name != "" {
			parts = strings.Split(name, ".")
		}
		if dots == 0 {
			s.want(parts)
			continue
		}
		base := folder
		for range dots - 1 {
			base = filepath.Dir(base)
		}
		if oneHolds(s.roots, base) {
			s.addModule(base, "__init__")
			s.lookIn(base, parts)
		}
	}
}

// want looks up an absolute name.
func (s *imports) want(parts []string) {
	s.wanted = append(s.wanted, parts)
	for i := 0; i < len(s.roots); i++ {
		s.lookIn(s.roots[i], parts)
	}
}

// lookIn adds the files of a dotted name and of the packages before its last part.
func (s *imports) lookIn(folder string, parts []string) {
	for _, part := range parts {
		if part == "*" { // the names in a package's __all__
			s.addAll(folder)
			return
		}
		s.addModule(folder, part)
		folder = filepath.Join(folder, part)
		s.addModule(folder, "__init__")
	}
}

// list returns the content of a folder; none where there is no such folder.
func (s *imports) list(folder string) []fs.DirEntry {
	entries, known := s.listed[folder]
	if !known {
		entries, _ = os.ReadDir(folder)
		s.listed[folder] = entries
	}
	return entries
}

// moduleName returns the name that a file is imported by; "" if it is not a module: modules are
// sources, extensions (name.so, name.abi3.so, name.cpython-….so) and bytecode alone.
func moduleName(file string) string {
	name, rest, _ := strings.Cut(file, ".")
	if rest == "py" || rest == "pyc" || rest == "so" || strings.HasSuffix(rest, ".so") {
		return name
	}
	return ""
}

func (s *imports) addModule(folder, name string) {
	for _, entry := range s.list(folder) {
		if moduleName(entry.Name()) == name && !entry.IsDir() {
			s.add(filepath.Join(folder, entry.Name()))
		}
	}
}

// addAll adds every module and package of a folder.
func (s *imports) addAll(folder string) {
	for _, entry := range s.list(folder) {
		if name := moduleName(entry.Name()); name != "" && !entry.IsDir() {
			s.add(filepath.Join(folder, entry.Name()))
		}
		s.addModule(filepath.Join(folder, entry.Name()), "__init__")
	}
}

func (s *imports) add(path string) {
	if s.seen[path] {
		return
	}
	s.seen[path] = true
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	file, err := filepath.Rel(s.dir, path)
	if err != nil {
		return
	}
	if len(s.files) >= mostImports {
		s.tooMany = true
		return
	}
	s.files = append(s.files, file)
	switch filepath.Ext(path) {
	case ".py":
		if text, err := os.ReadFile(path); err == nil {
			s.follow(text, filepath.Dir(path))
		}
	case ".so":
		s.addNeeded(path)
	}
}

// addNeeded adds the project's libraries that an extension loads, from the folders that it names
// for them.
func (s *imports) addNeeded(path string) {
	library, err := elf.Open(path)
	if err != nil {
		return
	}
	defer library.Close()
	needed, _ := library.ImportedLibraries() // one without any loads none
	for _, folder := range append([]string{filepath.Dir(path)}, libraryFolders(library, path)...) {
		folder = filepath.Clean(folder)
		if !holds(s.project, folder) && !holds(s.dir, folder) {
			continue
		}
		for _, name := range needed {
			if file := filepath.Join(folder, filepath.Base(name)); !s.seen[file] && isFile(file) {
				s.seen[file] = true
				if rel, err := filepath.Rel(s.dir, file); err == nil {
					s.files = append(s.files, rel)
					s.addNeeded(file)
				}
			}
		}
	}
}

// archives are files that Python can import from when its search path leads there.
var archives = []string{".zip", ".egg", ".whl", ".pyz", ".pth"}

// searchEverywhere looks up all names in every folder of the project, including earlier names: some
// module changes where Python looks for them.
func (s *imports) searchEverywhere() {
	if s.walked {
		return
	}
	s.walked = true
	before := len(s.roots)
	_ = filepath.WalkDir(s.project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be listed is not imported from
		}
		name := entry.Name()
		if !entry.IsDir() {
			if slices.Contains(archives, strings.ToLower(filepath.Ext(name))) {
				s.add(path)
			}
			return nil
		}
		if path != s.project && (strings.HasPrefix(name, ".") || name == "__pycache__" || name == "node_modules" || isFile(filepath.Join(path, "pyvenv.cfg"))) {
			return filepath.SkipDir
		}
		if !slices.Contains(s.roots, path) {
			s.roots = append(s.roots, path)
		}
		if len(s.roots) > mostImports {
			s.tooMany = true
			return filepath.SkipAll
		}
		return nil
	})
	for i := 0; i < len(s.wanted); i++ {
		for _, root := range s.roots[before:] {
			s.lookIn(root, s.wanted[i])
		}
	}
}

// shadows adds the files that have the name of an installed module: other packages import them from
// the project, whose folders are searched first. For a package, only modules that the installed
// package also has count.
func (s *imports) shadows(there packages) {
	for i := 0; i < len(s.roots); i++ {
		s.shadowIn(s.roots[i], there)
	}
}

// shadowIn adds the modules of a folder that are installed, too.
func (s *imports) shadowIn(folder string, there packages) {
	for _, entry := range s.list(folder) {
		name, path := entry.Name(), filepath.Join(folder, entry.Name())
		if module := moduleName(name); module != "" && there.has(module) {
			s.add(path)
		}
		if there.has(name) { // a package, if it is a folder
			s.shadowPackage(path, there[name])
		}
	}
}

// shadowPackage adds the modules of a folder that installed packages of the same name also have.
func (s *imports) shadowPackage(folder string, installed []string) {
	if !slices.ContainsFunc(s.list(folder), func(entry fs.DirEntry) bool { return moduleName(entry.Name()) == "__init__" }) {
		return // a namespace, which an installed package precedes
	}
	s.addModule(folder, "__init__")
	theirs := packages{}
	for _, other := range installed {
		for _, entry := range s.list(other) {
			name, _, _ := strings.Cut(entry.Name(), ".")
			theirs[name] = append(theirs[name], filepath.Join(other, name))
		}
	}
	delete(theirs, "__pycache__")
	s.shadowIn(folder, theirs)
}
