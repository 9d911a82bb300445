package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/git"
	"pawl/internal/pattern"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// Scope says whether a change can affect what pawl measures.
type Scope struct {
	Measure bool     `json:"measure"`
	Reason  string   `json:"reason"`
	Files   []string `json:"files"` // those of the change that count
	Base    string   `json:"base"`
	Head    string   `json:"head"`
}

// FindScope reads the change from base to head against the inputs of a pawl.yaml: the file itself,
// the sources, whatever these mention by name, and so on. It runs no compiler, so it errs towards
// measuring.
func FindScope(ctx context.Context, file, base, head string) (*Scope, error) {
	root, err := git.Root(ctx, filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	scope := &Scope{Files: []string{}}
	if scope.Base, err = git.Resolve(ctx, root, base); err != nil {
		return nil, err
	}
	if scope.Head, err = git.Resolve(ctx, root, head); err != nil {
		return nil, err
	}
	changed, err := git.Changed(ctx, root, scope.Base, scope.Head)
	if err != nil {
		return nil, err
	}
	counts, why, err := inputs(ctx, root, file)
	if err != nil {
		return nil, err
	}
	for _, name := range changed {
		if counts(name) {
			scope.Files = append(scope.Files, name)
		}
	}
	scope.Measure = len(scope.Files) > 0
	switch {
	case !scope.Measure:
		scope.Reason = fmt.Sprintf("none of %s is an input of a kernel", unit.Plural(len(changed), "changed file", "changed files"))
	default:
		scope.Reason = unit.Few(scope.Files, 3) + ": " + why
	}
	return scope, nil
}

var codeEndings = []string{
	".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".ipp", ".tpp", ".tcc", ".def", ".py",
	".s", ".S", ".ptx", ".o", ".a", ".so", ".cubin", ".fatbin", ".pyc", ".pth",
}

var (
	fileName      = pattern.New(`[A-Za-z0-9_+-][A-Za-z0-9_.+-]*`)
	wholeFileName = pattern.New(`^[A-Za-z0-9_+-][A-Za-z0-9_.+-]*$`)
	macroIncluded = pattern.New(`(?m)^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]`)
	dynamicImport = pattern.New(`\b(importlib|__import__|runpy|exec|eval|spec_from_file_location)\b`)
)

// maxInput is the largest file that is searched for names; sources are smaller.
const maxInput = 4 << 20

// inputs returns a function that reports whether a file, by its path from the top folder, can
// affect a measurement.
func inputs(ctx context.Context, root, file string) (counts func(string) bool, why string, err error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, "", err
	}
	if real, err := filepath.EvalSymlinks(absolute); err == nil {
		absolute = real
	}
	described, err := filepath.Rel(root, absolute)
	if err != nil {
		return nil, "", err
	}
	anyCode := func(name string) bool {
		return name == described || slices.Contains(codeEndings, path.Ext(name)) || always(name)
	}
	described = filepath.ToSlash(described)
	loaded, err := spec.Load(file)
	if err != nil {
		return anyCode, described + " cannot be read, so every source counts", nil // the check will say what is wrong with it
	}
	tracked, err := git.Files(ctx, root)
	if err != nil {
		return nil, "", err
	}
	named := map[string][]string{} // paths, by how other files mention them
	var odd []string               // paths whose names are no words
	for _, name := range tracked {
		if !wholeFileName.MatchString(path.Base(name)) {
			odd = append(odd, name)
		}
		for _, mention := range mentions(name) {
			named[mention] = append(named[mention], name)
		}
	}
	found := map[string]bool{described: true}
	queue := []string{described}
	add := func(names ...string) {
		for _, name := range names {
			if !found[name] {
				found[name], queue = true, append(queue, name)
			}
		}
	}
	for _, kernel := range loaded.Kernels {
		add(path.Join(path.Dir(described), filepath.ToSlash(kernel.Source)))
	}
	words := map[string]bool{} // that inputs have
	for ; len(queue) > 0; queue = queue[1:] {
		text, err := readInput(filepath.Join(root, filepath.FromSlash(queue[0])))
		if err != nil {
			return nil, "", err
		}
		if macroIncluded.Match(text) {
			return anyCode, queue[0] + " includes a file that a macro names, so every source counts", nil
		}
		if path.Ext(queue[0]) == ".py" && dynamicImport.Match(text) {
			return anyCode, queue[0] + " may import a module by a name that it computes, so every source counts", nil
		}
		for _, word := range fileName.Regexp().FindAll(text, -1) {
			for _, name := range wordsIn(string(word)) {
				words[name] = true
				add(named[name]...)
			}
		}
		for _, name := range odd {
			if bytes.Contains(text, []byte(path.Base(name))) {
				add(name)
			}
		}
	}
	return func(name string) bool {
		if found[name] || always(name) {
			return true
		}
		// A file that the working tree lacks (it is new or gone) may be one that a source mentions, or
		// stand in the way of one that is not in the repository: a header of the system, a package.
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		return errors.Is(err, fs.ErrNotExist) && (slices.Contains(codeEndings, path.Ext(name)) || !wholeFileName.MatchString(path.Base(name)) ||
			slices.ContainsFunc(mentions(name), func(mention string) bool { return words[mention] }))
	}, "inputs of a kernel", nil
}

// mentions returns how other files may mention a file: by its name, or as a module.
func mentions(name string) []string {
	base := path.Base(name)
	out := []string{base}
	module, _, dotted := strings.Cut(base, ".")
	if ending := path.Ext(base); dotted && (ending == ".py" || ending == ".so" || ending == ".pyc") {
		if out = append(out, module); module == "__init__" {
			out = append(out, path.Base(path.Dir(name)))
		}
	}
	return out
}

// wordsIn returns the names that a word may stand for: itself, the modules between its dots
// (package.module), and whatever an option ends with (-includefile.h).
func wordsIn(word string) []string {
	out := []string{word}
	if strings.Contains(word, ".") {
		out = append(out, strings.Split(word, ".")...)
	}
	const longest = 300 // an option with a file; a name has at most 255 bytes
	if word[0] == '-' && len(word) <= longest {
		for i := 1; i < len(word); i++ {
			out = append(out, word[i:])
		}
	}
	return out
}

// always reports whether a file counts whatever mentions it: pawl's own files, files that decide
// what a checkout holds, and those that decide what a forge runs.
func always(name string) bool {
	base := path.Base(name)
	return strings.Contains("/"+name, "/.pawl/") || base == ".gitattributes" || base == ".gitmodules" || isWorkflow(name)
}

// readInput reads a file that may mention others; large and absent ones mention none. A link mentions
// the file that it leads to.
func readInput(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		return []byte(target), err
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() > maxInput) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}
