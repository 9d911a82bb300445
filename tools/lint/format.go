package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/analysis"
	"mvdan.cc/gofumpt/format"
)

func formatted(source []byte) ([]byte, error) {
	return format.Source(source, format.Options{LangVersion: "go1.26", ModulePath: "pawl"})
}

var formatAnalyzer = &analysis.Analyzer{
	Name: "gofumpt",
	Doc:  "reports files that gofumpt would change",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			is, err := pass.ReadFile(filename(pass, file))
			if err != nil {
				return nil, err
			}
			want, err := formatted(is)
			if err != nil {
				return nil, err
			}
			if bytes.Equal(is, want) {
				continue
			}
			same := 0
			for same < min(len(is), len(want)) && is[same] == want[same] {
				same++
			}
			of := pass.Fset.File(file.FileStart)
			pass.Reportf(of.Pos(min(same, of.Size())), "not formatted: run make fmt")
		}
		return nil, nil
	},
}

// formatAll formats the sources below a folder, as gofumpt does: without testdata.
func formatAll(top string) error {
	return filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != top && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		is, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		want, err := formatted(is)
		if err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
		if bytes.Equal(is, want) {
			return nil
		}
		return os.WriteFile(name, want, 0o644)
	})
}

func filename(pass *analysis.Pass, file *ast.File) string {
	return pass.Fset.File(file.FileStart).Name()
}

// position finds the place in the sources that an analyzer knows by file and line only.
func position(pass *analysis.Pass, at token.Position) token.Pos {
	for _, file := range pass.Files {
		if f := pass.Fset.File(file.FileStart); f.Name() == at.Filename {
			return f.Pos(at.Offset)
		}
	}
	return token.NoPos
}
