package draft

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/foreign"
	"pawl/internal/formula"
	"pawl/internal/space"
)

// described has the params of a kernel as a description of its tuning space says them.
type described struct {
	from        string // the description's file
	params      []space.Param
	constraints []string // formulas
}

// Describe gives one of the entries the params and constraints of a description in the T1 format: that
// with the kernel's name, or the only one. The notes say what of the description was left out.
func Describe(entries []Entry, path string) (notes []string, err error) {
	file, err := foreign.ReadT1(path)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if e := &entries[i]; e.Name == file.Kernel || len(entries) == 1 {
			e.described = &described{filepath.Base(path), file.Params, file.Constraints}
			return file.Notes, nil
		}
	}
	if file.Kernel == "" {
		return nil, fmt.Errorf("%s does not name its kernel, and there are %d: name one source file with one kernel", path, len(entries))
	}
	return nil, fmt.Errorf("%s describes the kernel %s, and there are only %s", path, file.Kernel, strings.Join(Names(entries), ", "))
}

// has reports whether the description has the param.
func (s *described) has(name string) bool {
	return s != nil && slices.ContainsFunc(s.params, func(p space.Param) bool { return p.Name == name })
}

// write writes the params, and then the constraints.
func (s *described) write(b *strings.Builder, others []Macro) {
	fmt.Fprintf(b, "    params: # of %s; the first value is the default\n", yamlText(s.from))
	for _, p := range s.params {
		var values []string
		for _, v := range p.Values {
			values = append(values, valueText(v))
		}
		fmt.Fprintf(b, "      %s: [%s]\n", yamlText(p.Name), strings.Join(values, ", "))
	}
	writeMacros(b, others)
	if len(s.constraints) > 0 {
		b.WriteString("    constraints:\n")
	}
	for _, c := range s.constraints {
		fmt.Fprintf(b, "      - %s\n", yamlText(c))
	}
}

// valueText returns a value as pawl.yaml writes it.
func valueText(v formula.Value) string {
	switch v.Kind() {
	case formula.KindString:
		return strconv.Quote(v.String())
	case formula.KindBool:
		return strings.ToLower(v.String())
	}
	return v.String()
}
