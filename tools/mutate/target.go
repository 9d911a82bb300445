package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// target is the package that is mutated.
type target struct {
	root, folder string
	path, name   string

	fset     *token.FileSet
	importer types.Importer
	files    []*source
	info     *types.Info
}

type source struct {
	path string // absolute
	rel  string // to the folder of the module
	text []byte
	tree *ast.File
}

// load reads and type-checks a package.
func load(ctx context.Context, pkg string) (*target, error) {
	// The switchboard's imports come along, should the package have others.
	list := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly,Module",
		pkg, "os", "strconv", "strings", "syscall")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	t := &target{fset: token.NewFileSet()}
	exports := map[string]string{}
	var names []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Dir, Export string
			GoFiles                       []string
			DepOnly                       bool
			Module                        *struct{ Dir string }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly && p.Module != nil {
			t.path, t.name, t.folder, t.root, names = p.ImportPath, p.Name, p.Dir, p.Module.Dir, p.GoFiles
		}
	}
	t.importer = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range names {
		s := &source{path: filepath.Join(t.folder, name)}
		if s.text, err = os.ReadFile(s.path); err != nil {
			return nil, err
		}
		if s.rel, err = filepath.Rel(t.root, s.path); err != nil {
			return nil, err
		}
		if s.tree, err = parser.ParseFile(t.fset, s.path, s.text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		t.files = append(t.files, s)
	}
	t.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	return t, t.check(nil, nil, t.info)
}

// check type-checks the package with one file replaced.
func (t *target) check(replaced *source, text []byte, info *types.Info) error {
	var trees []*ast.File
	for _, s := range t.files {
		tree := s.tree
		if s == replaced {
			var err error
			if tree, err = parser.ParseFile(t.fset, s.path+" mutated", text, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		trees = append(trees, tree)
	}
	runtime, err := parser.ParseFile(t.fset, "runtime", switchboard(t.name), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	config := types.Config{Importer: t.importer, Sizes: types.SizesFor("gc", "amd64")}
	_, err = config.Check(t.path, t.fset, append(trees, runtime), info)
	return err
}

// sample draws mutants that compile. The draw goes by each mutant's own text, so that
// a change elsewhere in the package leaves most of the sample as it was.
func (t *target) sample(seed string, count int) ([]*mutant, error) {
	var all []*mutant
	for _, s := range t.files {
		all = append(all, find(t, s)...)
	}
	rank := func(m *mutant) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\n%s\n%s", seed, m.File, m.Key)
		sum := h.Sum64() // its high bits hardly depend on the last letters
		sum ^= sum >> 33
		sum *= 0xff51afd7ed558ccd
		return sum ^ sum>>33
	}
	slices.SortStableFunc(all, func(a, b *mutant) int { return cmp.Compare(rank(a), rank(b)) })
	var out []*mutant
	for _, m := range all {
		if len(out) == count {
			break
		}
		if t.check(m.source, weave(m.source.text, []*mutant{m}), nil) == nil {
			out = append(out, m)
			m.number = len(out)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has nothing to mutate", t.path)
	}
	return out, nil
}
