package pattern

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// No other test need use a pattern, so that one that does not compile would panic at a user's.
func TestAllPatternsCompile(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(source, []byte("pattern.New(")) {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, source, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) != 1 || types.ExprString(call.Fun) != "pattern.New" {
				return true
			}
			value, err := types.Eval(files, nil, token.NoPos, types.ExprString(call.Args[0]))
			if err != nil || value.Value == nil {
				t.Errorf("%s: expected an expression made of literals alone, which this test can read", files.Position(call.Pos()))
				return true
			}
			found++
			if _, err := regexp.Compile(constant.StringVal(value.Value)); err != nil {
				t.Errorf("%s: %v", files.Position(call.Pos()), err)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("%d patterns were found, expected at least 100", found)
	}
}

func TestPattern(t *testing.T) {
	t.Parallel()
	p := New(`(\d+)-(\d+)`)
	if !p.MatchString("a 1-22") || p.Match([]byte("a")) || p.String() != `(\d+)-(\d+)` {
		t.Errorf("%s", p)
	}
	if got := p.ReplaceAllString("1-2, 3-4", "$2:$1"); got != "2:1, 4:3" {
		t.Errorf("replaced: %s", got)
	}
	if got := strings.Join(append(p.FindStringSubmatch("x 7-8"), p.FindAllString("1-2 3-4", -1)...), " "); got != "7-8 7 8 1-2 3-4" {
		t.Errorf("found %s", got)
	}
}
