package build

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// instantiated evaluates the template arguments of an entry: with BLOCK_M=64,
// "attention<BLOCK_M, 64>" is "attention<64, 64>", and BLOCK_M is passed.
func instantiated(entry string, v spec.Variant) (instance string, passed []string, err error) {
	name, rest, isTemplate := strings.Cut(entry, "<")
	if !isTemplate {
		return entry, nil, nil
	}
	inside, closed := strings.CutSuffix(strings.TrimSpace(rest), ">")
	if !closed {
		return "", nil, fmt.Errorf("expected > at its end")
	}
	var names []string
	for _, p := range v.Kernel.Params {
		names = append(names, p.Name)
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(p.Name) + `\b`).MatchString(inside) {
			passed = append(passed, p.Name)
		}
	}
	var args []string
	for _, arg := range strings.Split(inside, ",") {
		text := strings.TrimSpace(arg)
		if expr, err := formula.Parse(text); err == nil {
			if program, err := expr.Compile(names); err == nil {
				value, err := program.Eval(v.Values)
				if err != nil {
					return "", nil, err
				}
				text = value.String()
				if b, ok := value.Bool(); ok {
					text = strconv.FormatBool(b)
				}
			}
		}
		args = append(args, text) // what is no formula is a type
	}
	return strings.TrimSpace(name) + "<" + strings.Join(args, ", ") + ">", passed, nil
}

// without removes the macros of params that are passed to a template of the source as its parameter
// of that name; otherwise the compiler would read "template <int 64>".
func (c *cudaPlan) without(flags []string, source []byte) []string {
	declared := templateParameters(source)
	return slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		define := strings.TrimPrefix(strings.TrimPrefix(flag, "-D"), "--define-macro=")
		name, _, _ := strings.Cut(define, "=")
		return define != flag && slices.Contains(c.passed, name) && declared[name]
	})
}

var (
	templateHead  = pattern.New(`\btemplate\s*<`)
	parameterName = pattern.New(`\w\s+([A-Za-z_]\w*)\s*(?:[=,>]|$)`)
)

// templateParameters returns the names that templates in a source give to their
// parameters.
func templateParameters(source []byte) map[string]bool {
	found := map[string]bool{}
	for _, at := range templateHead.Regexp().FindAllIndex(source, -1) {
		head := source[at[1]:]
		angles, parens := 1, 0
		for i, c := range head {
			switch {
			case c == '(':
				parens++
			case c == ')':
				parens--
			case c == '<' && parens == 0:
				angles++
			case c == '>' && parens == 0:
				angles--
			case c == ';' || c == '{':
				angles = 0
			}
			if angles == 0 {
				head = head[:i]
				break
			}
		}
		for _, name := range parameterName.Regexp().FindAllSubmatch(head, -1) {
			found[string(name[1])] = true
		}
	}
	return found
}

// explain adds what a template in a header makes of a macro: the user sees only "template <int
// 64>".
func (c *cudaPlan) explain(fault *result.Fault, output string) *result.Fault {
	if fault.Hint == "" && len(c.passed) > 0 && strings.Contains(output, "template") {
		fault.Hint = "params are also macros: rename the template parameters in the header that are called " + strings.Join(c.passed, ", ")
	}
	return fault
}

// instances returns a source that includes the user's and refers to every template
// that is launched, which makes the compiler instantiate it. It is empty when
// there are none.
func (c *cudaPlan) instances(source string) string {
	templates := c.templates()
	if templates == nil {
		return ""
	}
	return fmt.Sprintf("#include %q\nstatic __attribute__((used)) void *pawl_instances[] = {(void *)&%s};\n", source, strings.Join(templates, ", (void *)&"))
}

// templates returns the entries that must be instantiated to exist.
func (c *cudaPlan) templates() []string {
	var list []string
	for _, entry := range c.entries {
		if strings.Contains(entry, "<") && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}
