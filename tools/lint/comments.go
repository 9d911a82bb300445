package main

import (
	"go/ast"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/tools/go/analysis"
)

var commentsAnalyzer = &analysis.Analyzer{
	Name: "comments",
	Doc:  "reports packages and exported names without a comment, or with one that begins otherwise",
	Run: func(pass *analysis.Pass) (any, error) {
		files := slices.DeleteFunc(slices.Clone(pass.Files), func(f *ast.File) bool {
			return strings.HasSuffix(filename(pass, f), "_test.go")
		})
		if len(files) == 0 {
			return nil, nil
		}
		checkPackageComment(pass, files)
		if pass.Pkg.Name() == "main" { // nobody can import its names
			return nil, nil
		}
		for _, file := range files {
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil {
						checkComment(pass, "function", d.Name, d.Doc)
						checkRepetition(pass, d.Name)
					} else if ast.IsExported(receiver(d)) && !usual[d.Name.Name] {
						checkComment(pass, "method", d.Name, d.Doc)
					}
				case *ast.GenDecl:
					checkDeclaration(pass, d)
				}
			}
		}
		return nil, nil
	},
}

// usual methods need no comment: every reader knows them.
var usual = map[string]bool{
	"Error": true, "Len": true, "Less": true, "Read": true, "ServeHTTP": true, "String": true, "Swap": true, "Unwrap": true, "Write": true,
}

func checkPackageComment(pass *analysis.Pass, files []*ast.File) {
	begins, found := "Package "+pass.Pkg.Name()+" ", false
	for _, f := range files {
		if f.Doc.Text() == "" {
			continue
		}
		found = true
		if pass.Pkg.Name() != "main" && !strings.HasPrefix(f.Doc.Text(), begins) {
			pass.Reportf(f.Doc.Pos(), "the comment on a package begins with %q", begins)
		}
	}
	if !found {
		pass.Reportf(files[0].Package, "package %s has no comment", pass.Pkg.Name())
	}
}

func checkDeclaration(pass *analysis.Pass, d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			checkComment(pass, "type", s.Name, either(s.Doc, d.Doc))
			checkRepetition(pass, s.Name)
		case *ast.ValueSpec:
			for _, name := range s.Names[1:] {
				if name.IsExported() {
					pass.Reportf(name.Pos(), "%s %s has no declaration of its own, and so no comment", d.Tok, name.Name)
				}
			}
			if d.Lparen.IsValid() && d.Doc.Text() != "" {
				continue // one comment for all
			}
			checkComment(pass, d.Tok.String(), s.Names[0], either(s.Doc, d.Doc))
			if s.Names[0].IsExported() && either(s.Doc, d.Doc).Text() == "" {
				return // one missing comment is said once
			}
		}
	}
}

// checkComment reports an exported name whose comment is missing or does not begin with it.
func checkComment(pass *analysis.Pass, kind string, name *ast.Ident, doc *ast.CommentGroup) {
	text := doc.Text()
	if kind == "type" {
		for _, article := range []string{"A ", "An ", "The ", "This "} {
			text = strings.TrimPrefix(text, article)
		}
	}
	switch {
	case !name.IsExported():
	case text == "" || strings.HasPrefix(text, "Deprecated:"):
		pass.Reportf(name.Pos(), "exported %s %s has no comment", kind, name.Name)
	case !strings.HasPrefix(text, name.Name+" ") && !strings.HasPrefix(text, name.Name+"\n"):
		pass.Reportf(doc.Pos(), "the comment on %s %s begins with %q", kind, name.Name, name.Name+" ")
	}
}

// checkRepetition reports an exported name that begins with the name of its package.
func checkRepetition(pass *analysis.Pass, name *ast.Ident) {
	own := pass.Pkg.Name()
	if !name.IsExported() || len(name.Name) <= len(own) || !strings.EqualFold(own, name.Name[:len(own)]) {
		return
	}
	if rest := name.Name[len(own):]; unicode.IsUpper(rune(rest[0])) {
		pass.Reportf(name.Pos(), "others write %s.%s: call it %s", own, name.Name, rest)
	}
}

func either(a, b *ast.CommentGroup) *ast.CommentGroup {
	if a.Text() != "" {
		return a
	}
	return b
}

// receiver returns the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) string {
	t := method.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.ParenExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}
