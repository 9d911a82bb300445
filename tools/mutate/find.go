package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one small change to a part of a file, from start to end. The texts before
// and after that part make the change happen only when the mutant's number is switched
// on; NUMBER in them stands for that number.
type mutant struct {
	key           string // names it, whatever its line
	line          int
	source        *source
	number        int
	order         int // in which the file's mutants are found: a statement's before those inside it
	start, end    int
	before, after string
}

// finder walks a file and collects its mutants.
type finder struct {
	*target
	*source
	found []*mutant
	seen  map[string]int

	function string
	results  *types.Tuple
}

func find(t *target, s *source) []*mutant {
	f := &finder{target: t, source: s, seen: map[string]int{}}
	for _, d := range s.tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil {
				continue
			}
			f.function = d.Name.Name
			if d.Recv != nil {
				f.function = strings.TrimLeft(f.original(d.Recv.List[0].Type), "*") + "." + f.function
			}
			f.walk(d.Body, f.info.TypeOf(d.Name).(*types.Signature).Results())
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
	ast.Inspect(n, f.visit)
	f.results = outer
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit:
		f.walk(n.Body, f.info.TypeOf(n).(*types.Signature).Results())
		return false
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
		for _, e := range n.List {
			if f.info.Types[e].Value == nil && f.is(e, types.IsBoolean) {
				f.always(e)
				f.never(e)
			}
		}
	case *ast.CommClause:
		f.statements(n.Body)
	case *ast.IfStmt:
		f.always(n.Cond)
		f.never(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.never(n.Cond)
		}
	case *ast.ReturnStmt:
		if f.fails(n) {
			ast.Inspect(n.Results[len(n.Results)-1], f.visit)
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
		f.constant(n)
		return f.info.Types[n].Value == nil
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.ArrayType, *ast.StructType, *ast.InterfaceType, *ast.FuncType:
		return false
	}
	return true
}

// original returns the text of a node.
func (f *finder) original(n ast.Node) string {
	return string(f.text[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) wrap(n ast.Node, what, before, after string) {
	text := strings.Join(strings.Fields(f.original(n)), " ")
	if len(text) > 90 {
		text = text[:90] + "…"
	}
	key := fmt.Sprintf("%s: %s: %s: %s", f.rel, f.function, what, text)
	f.seen[key]++
	if again := f.seen[key]; again > 1 {
		key += fmt.Sprintf(" #%d", again)
	}
	f.found = append(f.found, &mutant{
		key: key, line: f.fset.Position(n.Pos()).Line, source: f.source, order: len(f.found),
		start: f.offset(n.Pos()), end: f.offset(n.End()), before: before, after: after,
	})
}

func (f *finder) always(e ast.Expr) { f.wrap(e, "always", "(mutantOn(NUMBER) || (", "))") }

func (f *finder) never(e ast.Expr) { f.wrap(e, "never", "(!mutantOn(NUMBER) && (", "))") }

// replacements lists the operators to put in place of an operator.
var replacements = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.XOR: {token.AND}, token.AND_NOT: {token.AND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN}, token.MUL_ASSIGN: {token.QUO_ASSIGN},
	token.QUO_ASSIGN: {token.MUL_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.info.Types[n].Value != nil || f.is(n, types.IsString) {
		return
	}
	for _, op := range replacements[n.Op] {
		f.pick(n, n.Op.String()+" → "+op.String(), f.original(n.X)+" "+op.String()+" "+f.original(n.Y))
	}
}

// pick puts another expression in place of e.
func (f *finder) pick(e ast.Expr, what, instead string) {
	if f.is(e, types.IsBoolean) {
		f.wrap(e, what, "(mutantOn(NUMBER) && ("+instead+") || !mutantOn(NUMBER) && (", "))")
		return
	}
	name := f.name(f.info.TypeOf(e))
	f.wrap(e, what, "mutantPick(NUMBER, func() "+name+" { return "+instead+" }, func() "+name+" { return ", " })")
}

// name writes a type as this file would.
func (f *finder) name(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p.Path() == f.ImportPath {
			return ""
		}
		for _, i := range f.tree.Imports {
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
	have := f.info.Types[e]
	named, isNamed := have.Type.(*types.Named)
	if have.Value == nil || isNamed && named.Obj().Name() != "Duration" {
		return
	}
	text := f.original(e)
	switch {
	case f.is(e, types.IsBoolean):
		f.wrap(e, "other", "(", " != mutantOn(NUMBER))")
	case f.is(e, types.IsInteger):
		f.pick(e, "+1", text+" + 1")
		if constant.Sign(have.Value) > 0 {
			f.pick(e, "-1", text+" - 1")
		}
		if constant.Compare(have.Value, token.GTR, constant.MakeInt64(1)) {
			f.pick(e, "0", "0")
		}
	case f.is(e, types.IsFloat):
		f.pick(e, "+1", text+" + 1")
		if constant.Sign(have.Value) != 0 {
			f.pick(e, "0", "0")
			f.pick(e, "×2", text+" * 2")
		}
	}
}

func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
			f.drop(s)
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				f.drop(s)
			}
			if !f.is(s.Lhs[0], types.IsString) {
				f.reassign(s, s.Lhs[0], s.Tok, f.original(s.Rhs[0]))
			}
			if last, is := s.Lhs[len(s.Lhs)-1].(*ast.Ident); is && f.isError(last) {
				f.wrap(s, "error ignored", "", "; if mutantOn(NUMBER) { "+last.Name+" = nil }")
			}
		case *ast.IncDecStmt:
			f.drop(s)
			f.reassign(s, s.X, s.Tok, "")
		case *ast.ReturnStmt:
			f.drop(s)
			f.returned(s)
		}
	}
}

func (f *finder) drop(s ast.Stmt) { f.wrap(s, "dropped", "if !mutantOn(NUMBER) { ", " }") }

// reassign changes a variable by another operator.
func (f *finder) reassign(s ast.Stmt, variable ast.Expr, operator token.Token, by string) {
	for _, op := range replacements[operator] {
		instead := f.original(variable) + " " + op.String() + " " + by
		f.wrap(s, operator.String()+" → "+op.String(), "if mutantOn(NUMBER) { "+instead+" } else { ", " }")
	}
}

func (f *finder) isError(e ast.Expr) bool {
	t := f.info.TypeOf(e)
	return t != nil && types.Implements(t, types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// fails reports whether a statement returns an error with other results, which nobody
// reads then.
func (f *finder) fails(s *ast.ReturnStmt) bool {
	last := len(s.Results) - 1
	return last > 0 && f.original(s.Results[last]) != "nil" && f.isError(s.Results[last])
}

// returned gives back the zero value in place of each result that is not one.
func (f *finder) returned(s *ast.ReturnStmt) {
	var results, zeros []string
	for _, e := range s.Results {
		results = append(results, f.original(e))
	}
	for v := range f.results.Variables() {
		zeros = append(zeros, "*new("+f.name(v.Type())+")")
	}
	instead := func(what string, results []string) {
		f.wrap(s, what, "if mutantOn(NUMBER) { return "+strings.Join(results, ", ")+" }; ", "")
	}
	if len(results) > 0 && len(results) != len(zeros) {
		instead("zero for all", zeros)
		return
	}
	for i, text := range results {
		isZero := slices.Contains([]string{"nil", "false", "0", `""`, f.name(f.results.At(i).Type()) + "{}"}, text)
		if isZero || f.fails(s) && i < len(results)-1 {
			continue
		}
		changed := slices.Clone(results)
		changed[i] = zeros[i]
		instead(fmt.Sprintf("zero for result %d", i+1), changed)
	}
}

// is reports whether an expression's type is of a kind.
func (f *finder) is(e ast.Expr, kind types.BasicInfo) bool {
	t := f.info.TypeOf(e)
	if t == nil {
		return false
	}
	basic, isBasic := t.Underlying().(*types.Basic)
	return isBasic && basic.Info()&kind != 0
}
