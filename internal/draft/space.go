package draft

import (
	"fmt"
	"strings"
)

// Space has the params of a kernel and their constraints, as a description of its tuning space says
// them.
type Space struct {
	From        string // the description's file
	Params      []SpaceParam
	Constraints []string // formulas
}

// SpaceParam is a param with its values as pawl.yaml writes them, the default first.
type SpaceParam struct {
	Name   string
	Values []string
}

// Describe gives a kernel the params of a description. It finds the kernel by name; a single one needs
// none.
func Describe(entries []Entry, kernel string, space *Space) error {
	for i := range entries {
		if e := &entries[i]; e.Name == kernel || len(entries) == 1 {
			e.space = space
			return nil
		}
	}
	if kernel == "" {
		return fmt.Errorf("%s does not name its kernel, and there are %d: name one source file with one kernel", space.From, len(entries))
	}
	return fmt.Errorf("%s describes the kernel %s, and there are only %s", space.From, kernel, strings.Join(Names(entries), ", "))
}

// has reports whether the description has the param.
func (s *Space) has(name string) bool {
	if s != nil {
		for _, p := range s.Params {
			if p.Name == name {
				return true
			}
		}
	}
	return false
}

// write writes the params, and then the constraints.
func (s *Space) write(b *strings.Builder, others []Macro) {
	fmt.Fprintf(b, "    params: # of %s; the first value is the default\n", yamlText(s.From))
	for _, p := range s.Params {
		fmt.Fprintf(b, "      %s: [%s]\n", yamlText(p.Name), strings.Join(p.Values, ", "))
	}
	writeMacros(b, others)
	if len(s.Constraints) > 0 {
		b.WriteString("    constraints:\n")
	}
	for _, c := range s.Constraints {
		fmt.Fprintf(b, "      - %s\n", yamlText(c))
	}
}
