package draft

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/formula"
	"pawl/internal/pattern"
)

// sum is a formula of sizes: a polynomial with whole coefficients. Its names are variables, or
// formulas that are no polynomials, such as ceildiv(N, 16). Nil is 0.
type sum []term

// term is a product.
type term struct {
	factor int64
	names  []string
}

// maxTerms bounds a sum, and maxNames a term, on hostile sources.
const (
	maxTerms  = 12
	maxNames  = 8
	maxFactor = 1 << 40

	maxNameLength = 200
)

func number(n int64) sum {
	if n == 0 {
		return nil
	}
	return sum{{factor: n}}
}

func named(name string) sum { return sum{{factor: 1, names: []string{name}}} }

// constant returns the value of a sum without names.
func (s sum) constant() (int64, bool) {
	switch {
	case len(s) == 0:
		return 0, true
	case len(s) == 1 && len(s[0].names) == 0:
		return s[0].factor, true
	}
	return 0, false
}

func (t term) key() string {
	sorted := slices.Sorted(slices.Values(t.names))
	return strings.Join(sorted, "\x00")
}

func (s sum) plus(other sum, times int64) sum {
	out := slices.Clone(s)
	for _, t := range other {
		i := slices.IndexFunc(out, func(u term) bool { return u.key() == t.key() })
		if i < 0 {
			out = append(out, term{t.factor * times, t.names})
			continue
		}
		out[i] = term{out[i].factor + t.factor*times, out[i].names}
	}
	return slices.DeleteFunc(out, func(t term) bool { return t.factor == 0 })
}

// tooLarge reports whether a sum is more than anybody would write.
func (s sum) tooLarge() bool {
	return len(s) > maxTerms || slices.ContainsFunc(s, func(t term) bool {
		return len(t.names) > maxNames || t.factor > maxFactor || t.factor < -maxFactor ||
			slices.ContainsFunc(t.names, func(name string) bool { return len(name) > maxNameLength })
	})
}

func (s sum) times(other sum) sum {
	var out sum
	for _, a := range s {
		for _, b := range other {
			names := slices.Concat(a.names, b.names)
			if t, cut := wholeProduct(names, a.factor*b.factor); cut {
				out = out.plus(sum{t}, 1)
				continue
			}
			out = out.plus(sum{{a.factor * b.factor, names}}, 1)
		}
	}
	return out
}

// wholeProduct simplifies ceildiv(N, B) * B and N // B * B to N: tiles cover what they are made for.
func wholeProduct(names []string, factor int64) (term, bool) {
	for i, name := range names {
		a, b, ok := quotient(name)
		if !ok || !productOfNames.MatchString(a) || !productOfNames.MatchString(b) {
			continue
		}
		rest := slices.Concat(names[:i], names[i+1:])
		for part := range strings.SplitSeq(b, " * ") {
			n, err := strconv.ParseInt(part, 10, 64)
			at := slices.Index(rest, part)
			switch {
			case err == nil && n > 0 && factor%n == 0:
				factor /= n
			case err != nil && at >= 0:
				rest = slices.Delete(rest, at, at+1)
				if at < i {
					i--
				}
			default:
				return term{}, false
			}
		}
		t := term{factor, slices.Clone(rest[:i])}
		for part := range strings.SplitSeq(a, " * ") {
			if n, err := strconv.ParseInt(part, 10, 64); err == nil {
				t.factor *= n
			} else {
				t.names = append(t.names, part)
			}
		}
		t.names = append(t.names, rest[i:]...)
		return t, true
	}
	return term{}, false
}

var productOfNames = pattern.New(`^\w+( \* \w+)*$`)

// quotient splits the name that a division has.
func quotient(name string) (a, b string, ok bool) {
	inside, ceil := strings.CutPrefix(name, "ceildiv(")
	if ceil && strings.Count(inside, ",") == 1 {
		a, b, ok = strings.Cut(strings.TrimSuffix(inside, ")"), ", ")
		return a, b, ok
	}
	if inside, ok := strings.CutPrefix(name, "("); ok && strings.Count(inside, " // ") == 1 {
		a, b, ok = strings.Cut(strings.TrimSuffix(inside, ")"), " // ")
		return a, b, ok
	}
	return "", "", false
}

// over divides. What has no whole quotient becomes a name of its own.
func (s sum) over(divisor sum) sum {
	if n, ok := divisor.constant(); ok && n == 1 {
		return s
	}
	if n, ok := divisor.constant(); ok {
		if m, whole := s.constant(); whole && n != 0 {
			return number(m / n)
		}
	}
	quotient, rest := s.split(divisor)
	if len(quotient) > 0 || len(s) == 0 {
		n, whole := rest.constant()
		by, known := divisor.constant()
		switch {
		case whole && known && by != 0:
			return quotient.plus(number(floorDivide(n, by)), 1)
		case whole && n == -1:
			return quotient.plus(number(1), -1)
		case whole && n == 0:
			return quotient
		case whole && n > 0:
			return quotient.plus(named(fmt.Sprintf("(%d // %s)", n, divisor.operand())), 1)
		}
	}
	return named("(" + s.operand() + " // " + divisor.operand() + ")")
}

func floorDivide(a, b int64) int64 {
	if q := a / b; a%b == 0 || (a < 0) == (b < 0) {
		return q
	}
	return a/b - 1
}

// split returns what a divisor of one term divides, and the rest.
func (s sum) split(divisor sum) (quotient, rest sum) {
	if len(divisor) != 1 {
		return nil, s
	}
	d := divisor[0]
	for _, t := range s {
		names, whole := slices.Clone(t.names), t.factor%d.factor == 0
		for _, name := range d.names {
			i := slices.Index(names, name)
			if whole = whole && i >= 0; !whole {
				break
			}
			names = slices.Delete(names, i, i+1)
		}
		if whole {
			quotient = quotient.plus(sum{{t.factor / d.factor, names}}, 1)
		} else {
			rest = rest.plus(sum{t}, 1)
		}
	}
	return quotient, rest
}

// ceilOver divides and rounds up.
func (s sum) ceilOver(divisor sum) sum {
	if n, ok := divisor.constant(); ok && n == 1 {
		return s
	}
	if n, ok := divisor.constant(); ok && n > 0 {
		if m, whole := s.constant(); whole {
			return number((m + n - 1) / n)
		}
	}
	if quotient, rest := s.split(divisor); len(rest) == 0 {
		return quotient
	}
	return named(fmt.Sprintf("ceildiv(%s, %s)", s, divisor))
}

// operand writes the sum so that it can stand beside * and //.
func (s sum) operand() string {
	if len(s) > 1 || len(s) == 1 && (s[0].factor < 0 || len(s[0].names) > 0 && s[0].factor != 1 || len(s[0].names) > 1) {
		return "(" + s.String() + ")"
	}
	return s.String()
}

// String writes the formula.
func (s sum) String() string {
	if len(s) == 0 {
		return "0"
	}
	var b strings.Builder
	for i, t := range s {
		factor := t.factor
		switch {
		case i > 0 && factor < 0:
			b.WriteString(" - ")
			factor = -factor
		case i > 0:
			b.WriteString(" + ")
		}
		var parts []string
		if factor != 1 || len(t.names) == 0 {
			parts = append(parts, fmt.Sprint(factor))
		}
		b.WriteString(strings.Join(append(parts, t.names...), " * "))
	}
	return b.String()
}

// whole returns the size of the grid that an extent ends in, where loops or guards stop before the
// grid's edge: H * W for H * W - W - 1. Where only whole rows are missing, the grid may end there.
func (s sum) whole(values map[string]int64) sum {
	grid, rows := s.grid()
	rest := s.plus(grid, -1)
	if grid == nil || len(rest) == 0 || slices.ContainsFunc(rest, func(t term) bool { return t.factor > 0 }) ||
		!slices.ContainsFunc(rest, func(t term) bool { return len(t.names) == 0 }) {
		return s
	}
	all, ok := grid.at(values)
	reached, also := s.at(values)
	if n, known := values[rows]; !ok || !also || !known || (all-reached)*n > 2*all {
		return s
	}
	return grid
}

// beyond reports whether an extent is that of a grid and rows beyond it: a guard that nobody
// understood may keep the kernel from there.
func (s sum) beyond() bool {
	grid, _ := s.grid()
	rest := s.plus(grid, -1)
	return grid != nil && slices.ContainsFunc(rest, func(t term) bool { return t.factor > 0 && len(t.names) > 0 })
}

// grid returns the longest product of a sum, and its first variable; nil where it is not one of
// several variables.
func (s sum) grid() (sum, string) {
	if len(s) == 0 {
		return nil, ""
	}
	longest := slices.MaxFunc(s, func(a, b term) int { return len(a.names) - len(b.names) })
	for _, name := range longest.names {
		if plainName.FindString(name) != name {
			return nil, ""
		}
	}
	if longest.factor != 1 || len(longest.names) < 2 {
		return nil, ""
	}
	return sum{longest}, longest.names[0]
}

// at evaluates the sum.
func (s sum) at(values map[string]int64) (int64, bool) {
	total := int64(0)
	for _, t := range s {
		product := t.factor
		for _, name := range t.names {
			n, known := values[name]
			if !known {
				if n, known = evaluate(name, values); !known {
					return 0, false
				}
			}
			if n != 0 && (product > maxNumber/max(n, -n) || product < -maxNumber/max(n, -n)) {
				return 0, false
			}
			product *= n
		}
		total += product
	}
	return total, true
}

// maxNumber is more than any size.
const maxNumber = 1 << 56

// evaluate computes a formula of integers.
func evaluate(text string, values map[string]int64) (int64, bool) {
	e, err := formula.Parse(text)
	if err != nil {
		return 0, false
	}
	var names []string
	var given []formula.Value
	for _, name := range plainName.FindAllString(text, -1) {
		if n, known := values[name]; known && !slices.Contains(names, name) {
			names, given = append(names, name), append(given, formula.Int(n))
		}
	}
	program, err := e.Compile(names)
	if err != nil {
		return 0, false
	}
	value, err := program.Eval(given)
	if err != nil {
		return 0, false
	}
	return value.Int()
}

// names lists the variables of the sum.
func (s sum) variables() []string {
	var out []string
	for _, t := range s {
		for _, name := range t.names {
			for _, word := range plainName.FindAllString(name, -1) {
				if !slices.Contains(out, word) && !slices.Contains(formula.Functions(), word) {
					out = append(out, word)
				}
			}
		}
	}
	return out
}
