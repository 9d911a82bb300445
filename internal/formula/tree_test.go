package formula

import (
	"math/big"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// tree is a random formula over integers and booleans, kept apart from the
// package's own syntax tree: it is printed by Python's grammar and computed
// with math/big, both written here a second time.
type tree struct {
	form  string // "constant", "name", "compare", "if", "not", "neg", or an operator or function
	value int64
	name  string
	signs []string // compare: the operators between kids
	kids  []*tree
	at    []int // offsets of the operators, once printed
}

// How tightly Python's forms bind, loosest first.
var binding = map[string]int{
	"if": 0, "or": 1, "and": 2, "not": 3, "compare": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8,
	"+": 9, "-": 9, "*": 10, "//": 10, "%": 10, "neg": 11, "~": 11, "**": 12,
}

const bindsAll = 13

func (n *tree) binding() int {
	switch b, ok := binding[n.form]; {
	case ok:
		return b
	case n.form == "constant" && n.value < 0:
		return binding["neg"]
	}
	return bindsAll
}

// String prints the tree with no more parentheses than Python needs.
func (n *tree) String() string {
	var b strings.Builder
	n.print(&b, 0)
	return b.String()
}

func (n *tree) print(b *strings.Builder, least int) {
	if n.binding() < least {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	n.at = nil
	mark := func(symbol string) {
		n.at = append(n.at, b.Len())
		b.WriteString(symbol)
	}
	own := n.binding()
	switch n.form {
	case "constant":
		b.WriteString(strconv.FormatInt(n.value, 10))
	case "name":
		b.WriteString(n.name)
	case "neg", "~":
		mark(strings.Replace(n.form, "neg", "-", 1))
		n.kids[0].print(b, own)
	case "not":
		mark("not")
		b.WriteByte(' ')
		n.kids[0].print(b, own)
	case "if":
		n.kids[0].print(b, own+1)
		b.WriteString(" ")
		mark("if")
		b.WriteString(" ")
		n.kids[1].print(b, own+1)
		b.WriteString(" else ")
		n.kids[2].print(b, own)
	case "compare":
		for i, kid := range n.kids {
			if i > 0 {
				b.WriteByte(' ')
				mark(n.signs[i-1])
				b.WriteByte(' ')
			}
			kid.print(b, own+1)
		}
	case "**":
		n.kids[0].print(b, bindsAll)
		mark("**")
		n.kids[1].print(b, binding["neg"])
	case "min", "max", "abs", "gcd", "ceildiv", "round_up", "next_pow2", "int":
		mark(n.form)
		for i, kid := range n.kids {
			b.WriteString(map[bool]string{true: "(", false: ", "}[i == 0])
			kid.print(b, 0)
		}
		b.WriteByte(')')
	default:
		n.kids[0].print(b, own)
		b.WriteByte(' ')
		mark(n.form)
		b.WriteByte(' ')
		n.kids[1].print(b, own+1)
	}
}

// compute returns the value, booleans as 0 and 1, or the offset of the
// operator that has no result in 64 bits.
func (n *tree) compute(env map[string]int64) (result *big.Int, fault int) {
	defer func() {
		if fault < 0 && !result.IsInt64() {
			result, fault = nil, n.at[0]
		}
	}()
	kid := func(i int) *big.Int {
		if fault >= 0 {
			return nil
		}
		var v *big.Int
		v, fault = n.kids[i].compute(env)
		return v
	}
	fault = -1
	switch n.form {
	case "constant":
		return big.NewInt(n.value), -1
	case "name":
		return big.NewInt(env[n.name]), -1
	case "and", "or":
		x := kid(0)
		if fault >= 0 || (x.Sign() != 0) == (n.form == "or") {
			return x, fault
		}
		return kid(1), fault
	case "if":
		test := kid(1)
		if fault >= 0 {
			return nil, fault
		}
		if test.Sign() != 0 {
			return kid(0), fault
		}
		return kid(2), fault
	case "compare":
		left := kid(0)
		for i, sign := range n.signs {
			right := kid(i + 1)
			if fault >= 0 {
				return nil, fault
			}
			if !holds(sign, left.Cmp(right)) {
				return new(big.Int), -1
			}
			left = right
		}
		return big.NewInt(1), fault
	}
	operands := make([]*big.Int, len(n.kids))
	for i := range n.kids {
		operands[i] = kid(i)
	}
	if fault >= 0 {
		return nil, fault
	}
	if result = apply(n.form, operands); result == nil {
		return nil, n.at[0]
	}
	return result, -1
}

func holds(sign string, c int) bool {
	switch sign {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	case "==":
		return c == 0
	}
	return c != 0
}

// apply computes one operation, nil where it is not defined. A result beyond
// 64 bits may be any number beyond 64 bits.
func apply(form string, v []*big.Int) *big.Int {
	r := new(big.Int)
	switch form {
	case "neg":
		return r.Neg(v[0])
	case "~":
		return r.Not(v[0])
	case "not":
		return big.NewInt(bit(v[0].Sign() == 0))
	case "abs":
		return r.Abs(v[0])
	case "int":
		return v[0]
	case "next_pow2":
		for r.SetInt64(1); r.Cmp(v[0]) < 0; {
			r.Lsh(r, 1)
		}
		return r
	case "min", "max":
		r.Set(v[0])
		for _, x := range v[1:] {
			if (x.Cmp(r) < 0) == (form == "min") {
				r.Set(x)
			}
		}
		return r
	case "+":
		return r.Add(v[0], v[1])
	case "-":
		return r.Sub(v[0], v[1])
	case "*":
		return r.Mul(v[0], v[1])
	case "|":
		return r.Or(v[0], v[1])
	case "^":
		return r.Xor(v[0], v[1])
	case "&":
		return r.And(v[0], v[1])
	case "**":
		return r.Exp(v[0], v[1], nil)
	case "gcd":
		return r.GCD(nil, nil, new(big.Int).Abs(v[0]), new(big.Int).Abs(v[1]))
	case "<<", ">>":
		if v[1].Sign() < 0 {
			return nil
		}
		count := uint(min(v[1].Uint64(), 200))
		if form == "<<" {
			return r.Lsh(v[0], count)
		}
		return r.Rsh(v[0], count)
	case "round_up":
		if v[1].Sign() <= 0 {
			return nil
		}
		return r.Mul(apply("ceildiv", v), v[1])
	case "ceildiv":
		if quotient := apply("//", []*big.Int{r.Neg(v[0]), v[1]}); quotient != nil {
			return quotient.Neg(quotient)
		}
		return nil
	}
	if v[1].Sign() == 0 {
		return nil
	}
	quotient, rest := r.QuoRem(v[0], v[1], new(big.Int))
	if rest.Sign() != 0 && rest.Sign() != v[1].Sign() {
		quotient.Sub(quotient, big.NewInt(1))
		rest.Add(rest, v[1])
	}
	if form == "//" {
		return quotient
	}
	return rest
}

var treeNames = []string{"B", "H", "S", "D", "BLOCK_M"}

func integers() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(-3, 9),
		rapid.Int64Range(1, 4096),
		rapid.Int64(),
		rapid.SampledFrom([]int64{-1 << 63, -1<<63 + 1, 1<<63 - 1, 1 << 62, 1 << 31, 1 << 32, -1 << 32}),
	)
}

func environments() *rapid.Generator[map[string]int64] {
	return rapid.Custom(func(t *rapid.T) map[string]int64 {
		env := map[string]int64{}
		for _, name := range treeNames {
			env[name] = integers().Draw(t, name)
		}
		return env
	})
}

// integerTrees are formulas that give integers.
func integerTrees(depth int) *rapid.Generator[*tree] {
	return rapid.Custom(func(t *rapid.T) *tree {
		kid := func() *tree { return integerTrees(depth-1).Draw(t, "kid") }
		if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
			if rapid.Bool().Draw(t, "constant") {
				return &tree{form: "constant", value: integers().Draw(t, "value")}
			}
			return &tree{form: "name", name: rapid.SampledFrom(treeNames).Draw(t, "name")}
		}
		form := rapid.SampledFrom([]string{
			"+", "-", "*", "//", "%", "+", "-", "*", "//", "%", "|", "^", "&", "<<", ">>", "**", "neg", "~",
			"and", "or", "if", "abs", "min", "max", "gcd", "ceildiv", "round_up", "next_pow2", "int",
		}).Draw(t, "form")
		switch form {
		case "neg", "~", "abs", "next_pow2":
			return &tree{form: form, kids: []*tree{kid()}}
		case "int":
			return &tree{form: form, kids: []*tree{booleanTrees(depth-1).Draw(t, "kid")}}
		case "**":
			// A negative exponent makes a float, which has no place here.
			exponent := &tree{form: "constant", value: rapid.Int64Range(0, 70).Draw(t, "exponent")}
			return &tree{form: form, kids: []*tree{kid(), exponent}}
		case "<<", ">>":
			count := &tree{form: "constant", value: rapid.Int64Range(-1, 70).Draw(t, "count")}
			return &tree{form: form, kids: []*tree{kid(), count}}
		case "if":
			return &tree{form: form, kids: []*tree{kid(), booleanTrees(depth-1).Draw(t, "test"), kid()}}
		case "min", "max":
			n := &tree{form: form}
			for range rapid.IntRange(1, 4).Draw(t, "arguments") {
				n.kids = append(n.kids, kid())
			}
			return n
		}
		return &tree{form: form, kids: []*tree{kid(), kid()}}
	})
}

// booleanTrees are formulas that give booleans.
func booleanTrees(depth int) *rapid.Generator[*tree] {
	return rapid.Custom(func(t *rapid.T) *tree {
		inner := max(0, depth-1)
		kid := func() *tree { return booleanTrees(inner).Draw(t, "kid") }
		forms := []string{"compare"}
		if depth > 0 {
			forms = []string{"compare", "compare", "and", "or", "not", "if"}
		}
		switch form := rapid.SampledFrom(forms).Draw(t, "form"); form {
		case "and", "or":
			return &tree{form: form, kids: []*tree{kid(), kid()}}
		case "not":
			return &tree{form: form, kids: []*tree{kid()}}
		case "if":
			return &tree{form: form, kids: []*tree{kid(), kid(), kid()}}
		}
		n := &tree{form: "compare", kids: []*tree{integerTrees(inner).Draw(t, "first")}}
		for range rapid.IntRange(1, 3).Draw(t, "signs") {
			n.signs = append(n.signs, rapid.SampledFrom([]string{"<", "<=", ">", ">=", "==", "!="}).Draw(t, "sign"))
			n.kids = append(n.kids, integerTrees(inner).Draw(t, "next"))
		}
		return n
	})
}
