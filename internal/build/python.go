package build

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// pythonRecipe plans a Python kernel. Nothing is compiled: the artifact is the
// module's text, and what it imports from the spec's folder is read by the cell.
func (b *Builder) pythonRecipe(request Request) (*recipe, *result.Fault) {
	dir, err := filepath.Abs(request.Dir)
	if err != nil {
		return nil, internal("find the spec's folder", err)
	}
	k := request.Variant.Kernel
	sum := newDigest(format + " python")
	sum.fields([]string{k.Python, k.Framework})
	sum.fields(request.Variant.Defines())
	sum.bytes(request.Module)
	return &recipe{dir: dir, variant: request.Variant, python: true, module: request.Module, hash: sum.hex()}, nil
}

// readModule makes the artifact of a Python kernel. Its code is the module, the
// function, the framework, the params (keyword arguments, so that no text shows
// them) and every file of the spec's folder that the module imports.
func (run *batch) readModule(r *recipe) (*Artifact, *result.Fault) {
	k := r.variant.Kernel
	text := r.module
	var local []dependency
	framework := cmp.Or(k.Framework, guessFramework(text))
	if text == nil {
		fault := run.fenceOf(r).checkSource(r.dir, k.Source)
		if fault != nil {
			return nil, fault
		}
		if text, fault = readSource(r.dir, k.Source); fault != nil {
			return nil, fault
		}
		imports := newImports(r.dir, k.Source)
		imports.paths = run.fenceOf(r).importPath()
		imports.follow(text)
		if path := run.fenceOf(r).stray(r.dir, filesRead(append(imports.files, k.Source))); path != "" {
			return nil, run.fenceOf(r).strayFault(k.Source, path)
		}
		var ok bool
		if local, ok = run.files.dependencies(r.dir, filesRead(imports.files)); !ok {
			return nil, internal("read what "+k.Source+" imports", os.ErrNotExist)
		}
		framework = cmp.Or(k.Framework, guessFramework(text), guessFramework(imports.text), "numpy")
	}
	a := &Artifact{SHA256: sha256Hex(text), Bytes: text, Framework: cmp.Or(framework, "numpy"), Symbols: []string{k.Python}}
	deps := append([]dependency{{Path: k.Source, SHA256: a.SHA256}}, local...)
	a.Key = keyOf(r.hash, deps)
	sum := newDigest("pawl code python 1")
	sum.fields([]string{k.Python, a.Framework})
	sum.fields(r.variant.Defines())
	for _, dep := range deps {
		sum.field(dep.Path)
		sum.field(dep.SHA256)
	}
	a.Code = sum.hex()
	return a, nil
}

// importLine is an import statement up to the end of its line or parenthesis.
var importLine = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+(.*))$`)

// imported lists what a module imports, as dotted names; those of from … import
// with and without the last part, which may be a module or a name in one.
func imported(text []byte) []string {
	var names []string
	for _, m := range importLine.FindAllSubmatch(text, -1) {
		if from := string(m[1]); from != "" {
			names = append(names, from)
			for _, name := range importList(string(m[2])) {
				names = append(names, strings.TrimSuffix(from, ".")+"."+name)
			}
			continue
		}
		names = append(names, importList(string(m[3]))...)
	}
	return names
}

// importList splits "a.b as c, d  # why" into its names.
func importList(list string) []string {
	var names []string
	list, _, _ = strings.Cut(list, ";")
	for line := range strings.Lines(strings.Trim(list, "()")) {
		line, _, _ = strings.Cut(line, "#")
		for item := range strings.SplitSeq(line, ",") {
			if words := strings.Fields(strings.Trim(item, " \t\r\n()\\")); len(words) > 0 {
				names = append(names, words[0])
			}
		}
	}
	return names
}

// guessFramework tells whose tensors a module works on by what it imports; ""
// when it imports none of them.
func guessFramework(text []byte) string {
	seen := map[string]bool{}
	for _, name := range imported(text) {
		top, _, _ := strings.Cut(name, ".")
		seen[top] = true
	}
	if seen["triton"] {
		return "torch"
	}
	for _, name := range spec.Frameworks {
		if seen[name] {
			return name
		}
	}
	return ""
}

// imports finds the files of a folder that a module is made of.
type imports struct {
	dir   string
	paths []string // further folders that modules come from
	files []string // relative to dir, sorted
	text  []byte   // of all of them
	seen  map[string]bool
	at    string // folder of the module that is read, for relative names
}

// mostImports bounds the search: a folder with more modules is a package that
// somebody installed there.
const mostImports = 500

func newImports(dir, source string) *imports {
	return &imports{dir: dir, seen: map[string]bool{filepath.Clean(source): true}, at: filepath.Dir(source)}
}

// follow adds what text imports, and what that imports.
func (s *imports) follow(text []byte) {
	for _, name := range imported(text) {
		base := "."
		if dots := len(name) - len(strings.TrimLeft(name, ".")); dots > 0 {
			base = s.at
			for range dots - 1 {
				base = filepath.Dir(base)
			}
			name = name[dots:]
		}
		place := base
		for part := range strings.SplitSeq(name, ".") {
			place = filepath.Join(place, part)
			s.add(place + ".py")
			s.add(filepath.Join(place, "__init__.py"))
		}
		for _, folder := range s.paths {
			for part := range strings.SplitSeq(name, ".") {
				folder = filepath.Join(folder, part)
				s.addOutside(folder + ".py")
				s.addOutside(filepath.Join(folder, "__init__.py"))
			}
		}
	}
	slices.Sort(s.files)
}

// addOutside is add for a file in one of the further folders.
func (s *imports) addOutside(path string) {
	file, err := filepath.Rel(s.dir, path)
	if err != nil || s.seen[file] || len(s.files) >= mostImports {
		return
	}
	s.seen[file] = true
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	s.files, s.text = append(s.files, file), append(append(s.text, '\n'), text...)
	s.follow(text)
}

func (s *imports) add(file string) {
	if s.seen[file] || len(s.files) >= mostImports || !filepath.IsLocal(file) {
		return
	}
	s.seen[file] = true
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return // not of this folder
	}
	s.files, s.text = append(s.files, file), append(append(s.text, '\n'), text...)
	outer := s.at
	s.at = filepath.Dir(file)
	s.follow(text)
	s.at = outer
}
