package main

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

var forbiddenAnalyzer = &analysis.Analyzer{
	Name: "forbidden",
	Doc:  "reports what only the faces may do",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			if match(faces, location(pass, filename(pass, file))) != "" {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				used := pass.TypesInfo.Uses[name]
				if used == nil || used.Pkg() == nil || used.Parent() != used.Pkg().Scope() {
					return true
				}
				full := used.Pkg().Path() + "." + used.Name()
				if why := match(forbidden, full); why != "" {
					pass.Reportf(name.Pos(), "%s is for the faces: %s", full, why)
				}
				return true
			})
		}
		return nil, nil
	},
}

var errcheckAnalyzer = &analysis.Analyzer{
	Name:     "errcheck",
	Doc:      "reports calls whose error nobody looks at",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		statements := []ast.Node{(*ast.ExprStmt)(nil), (*ast.GoStmt)(nil), (*ast.DeferStmt)(nil)}
		pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Preorder(statements, func(n ast.Node) {
			var call *ast.CallExpr
			switch s := n.(type) {
			case *ast.ExprStmt:
				call, _ = ast.Unparen(s.X).(*ast.CallExpr)
			case *ast.GoStmt:
				call = s.Call
			case *ast.DeferStmt:
				call = s.Call
			}
			if call == nil || !fails(pass.TypesInfo.TypeOf(call)) {
				return
			}
			// The name as it is written, that of the function, and those of the method in the
			// variable's type and in the types that this one embeds.
			names := []string{types.ExprString(call.Fun)}
			if f, ok := typeutil.Callee(pass.TypesInfo, call).(*types.Func); ok {
				names = append(names, f.FullName())
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && pass.TypesInfo.Selections[s] != nil {
				for _, of := range owners(pass.TypesInfo.Selections[s]) {
					names = append(names, fmt.Sprintf("(%s).%s", of, s.Sel.Name))
				}
			}
			if match(unneeded, names...) == "" {
				pass.Reportf(call.Pos(), "nobody looks at the error of %s", names[0])
			}
		})
		return nil, nil
	},
}

// fails reports whether there is an error in the results of a call.
func fails(results types.Type) bool {
	if tuple, ok := results.(*types.Tuple); ok {
		for v := range tuple.Variables() {
			if fails(v.Type()) {
				return true
			}
		}
		return false
	}
	return results != nil && types.Implements(results, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// owners returns the type whose method is called, and the embedded types that it has it from.
func owners(method *types.Selection) []types.Type {
	all := []types.Type{method.Recv()}
	for _, field := range method.Index()[:len(method.Index())-1] {
		outer := all[len(all)-1]
		if p, ok := outer.Underlying().(*types.Pointer); ok {
			outer = p.Elem()
		}
		all = append(all, outer.Underlying().(*types.Struct).Field(field).Type())
	}
	return all
}
