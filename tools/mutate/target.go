package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	"strings"
)

// target is the package that is mutated, with what `go list` says of it.
type target struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	Module                struct{ Dir string }

	fset     *token.FileSet
	importer types.Importer
	files    []*source // the Go files and, last, the switchboard
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
	described, err := goList(ctx, pkg, "-json=ImportPath,Name,Dir,GoFiles,Module")
	if err != nil {
		return nil, err
	}
	t := &target{
		fset: token.NewFileSet(),
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}},
	}
	if err := json.Unmarshal(described, t); err != nil {
		return nil, err
	}
	// The switchboard's imports come along, should the package have others.
	compiled, err := goList(ctx, pkg, "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "os", "strconv", "strings", "syscall")
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(compiled)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	t.importer = importer.ForCompiler(t.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, name := range append(slices.Clone(t.GoFiles), switchboardFile) {
		path, text := filepath.Join(t.Dir, name), []byte(switchboard(t.Name))
		if name != switchboardFile {
			if text, err = os.ReadFile(path); err != nil {
				return nil, err
			}
		}
		s, err := t.parse(path, text)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, s)
	}
	return t, t.check(t.files, t.info)
}

func goList(ctx context.Context, pkg string, args ...string) ([]byte, error) {
	list := exec.CommandContext(ctx, "go", slices.Concat([]string{"list"}, args, []string{pkg})...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	return out, nil
}

func (t *target) parse(path string, text []byte) (*source, error) {
	tree, err := parser.ParseFile(t.fset, path, text, parser.SkipObjectResolution)
	return &source{path: path, rel: strings.TrimPrefix(path, t.Module.Dir+"/"), text: text, tree: tree}, err
}

func (t *target) check(files []*source, info *types.Info) error {
	var trees []*ast.File
	for _, s := range files {
		trees = append(trees, s.tree)
	}
	config := types.Config{Importer: t.importer, Sizes: types.SizesFor("gc", "amd64")}
	_, err := config.Check(t.ImportPath, t.fset, trees, info)
	return err
}

// compiles reports whether the package compiles with one mutant.
func (t *target) compiles(m *mutant) bool {
	mutated, err := t.parse(m.source.path, weave(m.source.text, []*mutant{m}))
	if err != nil {
		return false
	}
	files := slices.Clone(t.files)
	files[slices.Index(files, m.source)] = mutated
	return t.check(files, nil) == nil
}

// sample draws mutants that compile. The draw goes by each mutant's own text, so that
// a change elsewhere in the package leaves most of the sample as it was.
func (t *target) sample(seed string, count int) ([]*mutant, error) {
	var all []*mutant
	for _, s := range t.files[:len(t.GoFiles)] {
		all = append(all, find(t, s)...)
	}
	rank := func(m *mutant) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\n%s\n%s", seed, m.source.rel, m.key)
		sum := h.Sum64() // its high bits hardly depend on the last letters
		sum ^= sum >> 33
		sum *= 0xff51afd7ed558ccd
		return sum ^ sum>>33
	}
	slices.SortStableFunc(all, func(a, b *mutant) int { return cmp.Compare(rank(a), rank(b)) })
	var out []*mutant
	for _, m := range all {
		if len(out) < count && t.compiles(m) {
			out = append(out, m)
			m.number = len(out)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has nothing to mutate", t.ImportPath)
	}
	return out, nil
}
