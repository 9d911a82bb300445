package ci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pawl/internal/git"
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

var codeEndings = []string{".c", ".cc", ".cpp", ".cxx", ".cu", ".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".py"}

var (
	fileName      = regexp.MustCompile(`[A-Za-z0-9_+-][A-Za-z0-9_.+-]*`)
	macroIncluded = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]+[A-Za-z_]`)
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
		return name == described || slices.Contains(codeEndings, path.Ext(name)) || inBaseline(name)
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
	for _, name := range tracked {
		named[path.Base(name)] = append(named[path.Base(name)], name)
		if module, ok := strings.CutSuffix(path.Base(name), ".py"); ok {
			named[module] = append(named[module], name)
			if module == "__init__" {
				named[path.Base(path.Dir(name))] = append(named[path.Base(path.Dir(name))], name)
			}
		}
	}
	mentioned := map[string]bool{} // words of the inputs
	found := map[string]bool{described: true}
	queue := []string{described}
	for _, kernel := range loaded.Kernels {
		source := path.Join(path.Dir(described), filepath.ToSlash(kernel.Source))
		if !found[source] {
			found[source], queue = true, append(queue, source)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		text, err := readInput(filepath.Join(root, filepath.FromSlash(queue[0])))
		if err != nil {
			return nil, "", err
		}
		if macroIncluded.Match(text) {
			return anyCode, queue[0] + " includes a file that a macro names, so every source counts", nil
		}
		for _, word := range fileName.FindAll(text, -1) {
			mentioned[string(word)] = true
			for _, name := range named[string(word)] {
				if !found[name] {
					found[name], queue = true, append(queue, name)
				}
			}
		}
	}
	return func(name string) bool {
		if found[name] || inBaseline(name) {
			return true
		}
		// A file that the working tree lacks (it is new or gone) may be one that a source mentions: a
		// compiler takes the first of that name on its way.
		_, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		return errors.Is(err, fs.ErrNotExist) && (slices.Contains(codeEndings, path.Ext(name)) || mentioned[path.Base(name)])
	}, "inputs of a kernel", nil
}

func inBaseline(name string) bool { return strings.Contains("/"+name, "/.pawl/baseline/") }

// readInput reads a file that may mention others; large and absent ones mention none.
func readInput(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || info.Size() > maxInput) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(name)
}
