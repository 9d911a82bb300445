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
		if k.Launcher && !k.takeStream(l, p, problems) {
			continue
		}
		k.contradictions(l, p, problems)
	}
}

// takeStream takes the stream out of a launcher's parameters. It returns false where the entry does
// not take it there, which no compiler would find: pawl calls the entry by its C name.
func (k *Kernel) takeStream(l *Launch, p *csource.Prototype, problems *diag.List) bool {
	isStream := func(param csource.Param) bool { return slices.Contains(streamTypes, param.Text) }
	place := slices.IndexFunc(p.Params, isStream)
	where := fmt.Sprintf("%s:%d", path.Base(k.Source), p.Line)
	switch {
	case place >= 0 && (l.Stream >= len(p.Params) || !isStream(p.Params[l.Stream])):
		problems.Addf(l.Pos, "pawl passes the stream as parameter %d of %s, which takes it as parameter %d (%s)", l.Stream+1, l.Entry, place+1, where).
			Hint = "put stream into args at its place: " + k.argsWithStream(l, place)
		return false
	case l.Stream >= len(p.Params):
		problems.Addf(l.Pos, "pawl passes the stream as parameter %d of %s, which takes %s (%s)", l.Stream+1, l.Entry, counted(len(p.Params), "parameter"), where).
			Hint = streamHint
		return false
	}
	if param := p.Params[l.Stream]; param.Kind.DType != "" && (param.Pointer || !wide(param.Kind.DType)) {
		problems.Addf(l.Pos, "pawl passes the stream as parameter %d of %s, which takes %s there (%s)", l.Stream+1, l.Entry, param.Text, where).
			Hint = streamHint
		return false
	}
	if l.Stream >= len(p.Params)-p.Optional {
		p.Optional--
	}
	p.Params = slices.Delete(p.Params, l.Stream, l.Stream+1)
	return true
}

// streamTypes are the types of streams in CUDA's headers.
var streamTypes = []string{"cudaStream_t", "CUstream"}

const streamHint = "a launcher takes a cudaStream_t: first, or where args has the word stream"

// argsWithStream lists a launch's arguments with the stream at a place.
func (k *Kernel) argsWithStream(l *Launch, place int) string {
	names := l.Args
	if names == nil {
		names = k.argNames()
	}
	return strings.Join(slices.Insert(slices.Clone(names), min(place, len(names)), streamWord), ", ")
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
	args := slices.DeleteFunc(slices.Clone(k.Args), func(a *Arg) bool { return a.Symbol != "" })
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

// wide reports whether a type can hold an address.
func wide(t dtype.Type) bool { return !t.Float() && t.Size() == 8 }

// contradicts says what an argument is, where the parameter cannot be that; else "".
// Addresses may travel as integers and packed elements behind wider unsigned types, so
// that these are believed; so is the sign of a scalar, which has the same bits.
func contradicts(p csource.Param, k *Kernel, a *Arg) (what, hint string) {
	if a.TensorMap != nil || a.dtypeAt.Line == 0 {
		return "", ""
	}
	buffer := a.Value == nil
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
	hint = fmt.Sprintf("write dtype: %s", p.Kind.DType)
	if buffer && p.Kind.DType.Size() == 1 && a.DType.Size() > 1 { // such a function may take elements apart
		hint += "; shape: then counts bytes"
	}
	return string(a.DType), hint
}
