package spec

import (
	"slices"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/pattern"
)

// plainName is what kernels, configs and pools may be called: names appear in
// selectors (kernel/config, globs), file names and tables.
var plainName = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)

func (d *decoder) plainName(n *node, what string) {
	if !plainName.MatchString(n.text) {
		d.fail(n, "%s is not a valid name for %s", quote(n.text), what).
			Hint = "names hold letters, digits, _ . and -, start with a letter, digit or _, and have at most 64 characters"
	}
}

var variable = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// variableName checks a name that formulas use.
func (d *decoder) variableName(n *node, what string) bool {
	switch {
	case !variable.MatchString(n.text):
		d.fail(n, "%s is not a valid name for %s", quote(n.text), what).Hint = identifierHint
	case slices.Contains(formulaWords, n.text) || slices.Contains(formula.Functions(), n.text):
		d.fail(n, "%s has a meaning in formulas, so it cannot be the name of %s", n.text, what)
	default:
		return true
	}
	return false
}

const identifierHint = "use a C identifier: letters, digits and _, not starting with a digit"

var formulaWords = strings.Fields("and or not if else True False true false")

// cWords cannot be macros without breaking every header.
var cWords = strings.Fields(`auto bool break case char class const constexpr continue default defined delete do double
	else enum explicit extern float for friend goto if inline int long mutable namespace new operator private
	protected public register restrict return short signed sizeof static struct switch template this throw try
	typedef typename union unsigned using virtual void volatile while`)
