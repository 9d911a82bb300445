package spec

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/diag"
	"pawl/internal/dtype"
)

// maxSourceBytes is more than any source has that people write.
const maxSourceBytes = 8 << 20

// checkPrototypes compares a kernel's arguments with the functions of its source.
func (s *Spec) checkPrototypes(k *Kernel, problems *diag.List) {
	if k.Cell != CellHost && k.Cell != CellCUDA {
		return
	}
	source, err := readUpTo(filepath.Join(s.Dir, filepath.FromSlash(k.Source)), maxSourceBytes+1)
	if err == nil && len(source) <= maxSourceBytes {
		k.comparePrototypes(source, problems)
	}
}

func (k *Kernel) comparePrototypes(source []byte, problems *diag.List) {
	tokens := csource.Read(source)
	for _, l := range k.Launches {
		p := csource.FindPrototype(tokens, l.Entry, path.Ext(k.Source) == ".c", k.macros())
		if p == nil {
			continue
		}
		if k.Launcher {
			if len(p.Params) == 0 || p.Params[0].Kind.DType != "" {
				continue // no stream comes first: the compiler says so
			}
			p.Params = p.Params[1:]
		}
		k.contradictions(l, p, problems)
	}
}

// macros lists the names that the kernel's params and flags define as macros.
func (k *Kernel) macros() []string {
	out := k.paramNames()
	for i, flag := range k.Flags {
		if flag == "-D" && i+1 < len(k.Flags) {
			flag += k.Flags[i+1]
		}
		if name, ok := strings.CutPrefix(flag, "-D"); ok {
			name, _, _ = strings.Cut(name, "=")
			name, _, _ = strings.Cut(name, "(")
			out = append(out, name)
		}
	}
	return out
}

// contradictions reports where a launch's arguments cannot be the function's.
func (k *Kernel) contradictions(l *Launch, p *csource.Prototype, problems *diag.List) {
	args := k.Args
	if l.Args != nil {
		args = nil
		for _, name := range l.Args {
			args = append(args, k.Args[slices.Index(k.argNames(), name)])
		}
	}
	where := fmt.Sprintf("%s:%d", path.Base(k.Source), p.Line)
	if len(args) > len(p.Params) || len(args) < len(p.Params)-p.Optional {
		at := l.Pos
		if len(args) > 0 {
			at = args[len(args)-1].Pos
		}
		problem := problems.Addf(at, "%s gets %s but takes %d (%s)", l.Entry, counted(len(args), "argument"), len(p.Params), where)
		problem.Hint = "list the function's parameters in order: " + p.String()
		return
	}
	for i, a := range args {
		param := p.Params[i]
		if why, hint := contradicts(param, k, a); why != "" {
			problem := problems.Addf(a.dtypeAt, "%s is %s, and %s takes %s there (%s)", a.Name, why, l.Entry, param.Text, where)
			problem.Width, problem.Hint = a.dtypeWidth, hint
		}
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// contradicts says what an argument is, where the parameter cannot be that; else "".
// Addresses may travel as integers and packed elements behind wider unsigned types, so
// that these are believed; so is the sign of a scalar, which has the same bits.
func contradicts(p csource.Param, k *Kernel, a *Arg) (what, hint string) {
	if a.TensorMap != nil || a.dtypeAt.Line == 0 {
		return "", ""
	}
	buffer := a.Value == nil
	wide := func(t dtype.Type) bool { return !t.Float() && t.Size() == 8 }
	switch {
	case buffer && !p.Pointer:
		if p.Kind.DType == "" || wide(p.Kind.DType) {
			return "", ""
		}
		return fmt.Sprintf("a buffer of %s", a.DType), fmt.Sprintf("write dtype: %s and value: instead of shape:", p.Kind.DType)
	case !buffer && p.Pointer:
		if wide(a.DType) {
			return "", ""
		}
		return fmt.Sprintf("a scalar of %s", a.DType), "write shape: instead of value:"
	case p.Kind.DType == "" || p.Kind.Agrees(a.DType, buffer):
		return "", ""
	case !buffer && !k.DeviceCode() && p.Kind.DType.Float() && p.Kind.DType.Size() < 4: // nobody can pass it: something else was tried
		return "", ""
	}
	return string(a.DType), fmt.Sprintf("write dtype: %s", p.Kind.DType)
}
