package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// mutant is one small change. The text before and after the range from start to end
// makes it one that happens only when the mutant's number is switched on; NUMBER in
// them stands for that.
type mutant struct {
	Key  string // names it, whatever its line
	File string
	Line int

	source        *source
	number        int
	start, end    int
	before, after string
	statement     bool
}

// finder walks a file and collects its mutants.
type finder struct {
	t     *target
	s     *source
	found []*mutant
	seen  map[string]int

	function string
	results  *types.Tuple
}

func find(t *target, s *source) []*mutant {
	f := &finder{t: t, s: s, seen: map[string]int{}}
	for _, d := range s.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			f.function = d.Name.Name
			if d.Recv != nil {
				f.function = strings.TrimLeft(f.text(d.Recv.List[0].Type), "*") + "." + f.function
			}
			f.walk(d.Body, t.info.Defs[d.Name].Type().(*types.Signature).Results())
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				f.function = "var"
				f.walk(d, nil)
			}
		}
	}
	return f.found
}

func (f *finder) walk(n ast.Node, results *types.Tuple) {
	outer := f.results
	f.results = results
	defer func() { f.results = outer }()
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.walk(n.Body, f.t.info.Types[n].Type.(*types.Signature).Results())
			return false
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
			for _, e := range n.List {
				if t := f.t.info.Types[e]; t.Value == nil && isBool(t.Type) {
					f.condition(e)
				}
			}
		case *ast.CommClause:
			f.statements(n.Body)
		case *ast.IfStmt:
			f.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				f.wrap(n.Cond, "never", "(!mutantOn(NUMBER) && (", "))")
			}
		case *ast.ReturnStmt:
			// Beside an error nobody reads the other results.
			if last := len(n.Results) - 1; last > 0 && f.text(n.Results[last]) != "nil" && f.isError(n.Results[last]) {
				ast.Inspect(n.Results[last], visit)
				return false
			}
		case *ast.BinaryExpr:
			f.binary(n)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				f.wrap(n, "! dropped", "(", " != mutantOn(NUMBER))")
			}
		case *ast.BasicLit:
			f.constant(n)
		case *ast.Ident:
			f.constant(n)
		case *ast.SelectorExpr:
			if _, isConst := f.t.info.Uses[n.Sel].(*types.Const); isConst {
				f.constant(n)
				return false
			}
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
			return false
		}
		return true
	}
	ast.Inspect(n, visit)
}

func (f *finder) text(n ast.Node) string {
	return string(f.s.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.t.fset.Position(p).Offset }

func (f *finder) wrap(n ast.Node, what, before, after string) {
	text := strings.Join(strings.Fields(f.text(n)), " ")
	if len(text) > 90 {
		text = text[:90] + "…"
	}
	key := fmt.Sprintf("%s: %s: %s", f.function, what, text)
	f.seen[key]++
	if again := f.seen[key]; again > 1 {
		key += fmt.Sprintf(" #%d", again)
	}
	_, isStatement := n.(ast.Stmt)
	f.found = append(f.found, &mutant{
		Key: f.s.rel + ": " + key, File: f.s.rel, Line: f.t.fset.Position(n.Pos()).Line, source: f.s,
		start: f.offset(n.Pos()), end: f.offset(n.End()), before: before, after: after, statement: isStatement,
	})
}

func (f *finder) condition(e ast.Expr) {
	f.wrap(e, "always", "(mutantOn(NUMBER) || (", "))")
	f.wrap(e, "never", "(!mutantOn(NUMBER) && (", "))")
}

var (
	boundary = map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	opposite = map[token.Token]token.Token{
		token.LSS: token.GEQ, token.LEQ: token.GTR, token.GTR: token.LEQ, token.GEQ: token.LSS,
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
		token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL, token.XOR: token.AND, token.AND_NOT: token.AND,
	}
	assignment = map[token.Token]token.Token{
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
		token.QUO_ASSIGN: token.MUL_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	}
)

func (f *finder) binary(n *ast.BinaryExpr) {
	have := f.t.info.Types[n]
	if have.Value != nil {
		return
	}
	with := func(op token.Token) string { return f.text(n.X) + " " + op.String() + " " + f.text(n.Y) }
	for _, table := range []map[token.Token]token.Token{boundary, opposite} {
		if op, has := table[n.Op]; has {
			f.wrap(n, n.Op.String()+" → "+op.String(), "(mutantOn(NUMBER) && ("+with(op)+") || !mutantOn(NUMBER) && (", "))")
		}
	}
	if op, has := arithmetic[n.Op]; has && !isString(have.Type) {
		f.pick(n, have.Type, n.Op.String()+" → "+op.String(), with(op))
	}
}

func (f *finder) pick(n ast.Expr, t types.Type, what, instead string) {
	name := f.name(t)
	f.wrap(n, what, "mutantPick(NUMBER, func() "+name+" { return "+instead+" }, func() "+name+" { return ", " })")
}

// name writes a type as this file would.
func (f *finder) name(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p.Path() == f.t.path {
			return ""
		}
		for _, i := range f.s.tree.Imports {
			if i.Name != nil && strings.Trim(i.Path.Value, `"`) == p.Path() {
				return i.Name.Name
			}
		}
		return p.Name()
	})
}

// constant changes a number, or true and false. Numbers with names that list cases
// (a type of their own) are left alone.
func (f *finder) constant(e ast.Expr) {
	have := f.t.info.Types[e]
	if id, is := e.(*ast.Ident); is {
		if _, isConst := f.t.info.Uses[id].(*types.Const); !isConst {
			return
		}
	}
	if have.Value == nil || have.Type == nil {
		return
	}
	basic, is := have.Type.Underlying().(*types.Basic)
	if named, isNamed := have.Type.(*types.Named); !is || isNamed && named.Obj().Name() != "Duration" {
		return
	}
	text := f.text(e)
	switch {
	case basic.Info()&types.IsBoolean != 0:
		f.wrap(e, "other", "(", " != mutantOn(NUMBER))")
	case basic.Info()&types.IsInteger != 0:
		f.pick(e, have.Type, "+1", text+" + 1")
		if constant.Sign(have.Value) > 0 {
			f.pick(e, have.Type, "-1", text+" - 1")
		}
		if constant.Compare(have.Value, token.GTR, constant.MakeInt64(1)) {
			f.pick(e, have.Type, "0", "0")
		}
	case basic.Info()&types.IsFloat != 0:
		f.pick(e, have.Type, "+1", text+" + 1")
		if constant.Sign(have.Value) != 0 {
			f.pick(e, have.Type, "0", "0")
			f.pick(e, have.Type, "×2", text+" * 2")
		}
	}
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			f.drop(s)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.drop(s)
			}
			if op, has := assignment[s.Tok]; has && !isString(f.t.info.Types[s.Lhs[0]].Type) {
				f.instead(s, s.Tok.String()+" → "+op.String(), f.text(s.Lhs[0])+" "+op.String()+" "+f.text(s.Rhs[0]))
			}
			if last, is := s.Lhs[len(s.Lhs)-1].(*ast.Ident); is && f.isError(last) {
				f.wrap(s, "error ignored", "", "; if mutantOn(NUMBER) { "+last.Name+" = nil }")
			}
		case *ast.IncDecStmt:
			op := map[token.Token]string{token.INC: "--", token.DEC: "++"}[s.Tok]
			f.drop(s)
			f.instead(s, s.Tok.String()+" → "+op, f.text(s.X)+op)
		case *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
			f.drop(s)
		case *ast.ReturnStmt:
			f.drop(s)
			f.returned(s)
		}
	}
}

func (f *finder) drop(s ast.Stmt) { f.wrap(s, "dropped", "if !mutantOn(NUMBER) { ", " }") }

func (f *finder) instead(s ast.Stmt, what, text string) {
	f.wrap(s, what, "if mutantOn(NUMBER) { "+text+" } else { ", " }")
}

func (f *finder) isError(e ast.Expr) bool {
	t := f.t.info.TypeOf(e)
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// returned gives back the zero value in place of each result that is not one.
func (f *finder) returned(s *ast.ReturnStmt) {
	if f.results == nil || len(s.Results) == 0 {
		return
	}
	if len(s.Results) != f.results.Len() {
		var zeros []string
		for v := range f.results.Variables() {
			zeros = append(zeros, "*new("+f.name(v.Type())+")")
		}
		f.wrap(s, "zero for all", "if mutantOn(NUMBER) { return "+strings.Join(zeros, ", ")+" }; ", "")
		return
	}
	for i, e := range s.Results {
		last := s.Results[len(s.Results)-1]
		if literal, is := e.(*ast.CompositeLit); is && literal.Elts == nil && f.text(e) == f.name(f.results.At(i).Type())+"{}" {
			continue
		}
		switch f.text(e) {
		case "nil", "false", "0", `""`:
			continue
		}
		if e != last && f.text(last) != "nil" && f.isError(last) {
			continue
		}
		parts := make([]string, len(s.Results))
		for j, other := range s.Results {
			parts[j] = f.text(other)
		}
		parts[i] = "*new(" + f.name(f.results.At(i).Type()) + ")"
		f.wrap(s, fmt.Sprintf("zero for result %d", i+1), "if mutantOn(NUMBER) { return "+strings.Join(parts, ", ")+" }; ", "")
	}
}

func isBool(t types.Type) bool { return t != nil && is(t, types.IsBoolean) }

func isString(t types.Type) bool { return t != nil && is(t, types.IsString) }

func is(t types.Type, kind types.BasicInfo) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&kind != 0
}
