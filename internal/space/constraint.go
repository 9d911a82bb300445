package space

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"pawl/internal/formula"
)

// constraint is a condition on some params.
type constraint struct {
	index   int    // among those that New was given
	source  string // its text
	scope   []int  // the params that it names, in the order of the file; those of one value are folded into it
	values  [][]formula.Value
	expr    *formula.Expr
	program *formula.Program // takes a value of each param of scope
	states  []state          // its parts, itself the first; nil: nobody has looked
	strides []int            // of table, by param of scope
	table   []uint64         // a bit for every combination of values; nil: there are too many
	share   float64          // of the combinations that satisfy it; an estimate without a table
}

// outcome is what a constraint comes to.
type outcome uint8

const (
	satisfied outcome = iota
	unsatisfied
	undecided // neither true nor false
	failed    // it cannot be evaluated
)

const (
	maxTable = 1 << 12 // combinations: a table costs as much as evaluating each once
	probes   = 256     // combinations that an estimate of the share is made from
)

// compile makes a constraint ready to be evaluated.
func (s *Space) compile(index int, expr *formula.Expr, fixed map[string]formula.Value) (*constraint, error) {
	c := &constraint{index: index, source: expr.Source()}
	open := expr.With(fixed)
	used := open.Names()
	var names []string
	for i, p := range s.params {
		if slices.Contains(used, p.Name) {
			c.scope, names, c.values = append(c.scope, i), append(names, p.Name), append(c.values, p.Values)
		}
	}
	program, err := open.Compile(names)
	if err != nil {
		e := c.error("cannot be compiled: %v", err)
		if at, ok := errors.AsType[*formula.Error](err); ok && at.Name != "" {
			e = c.error("names %s, which is no param", at.Name)
			e.Hint = "there are no params"
			if len(s.params) > 0 {
				var all []string
				for _, p := range s.params {
					all = append(all, p.Name)
				}
				e.Hint = "the params are " + strings.Join(all, ", ")
			}
		}
		return nil, e
	}
	c.expr, c.program = open, program
	c.tabulate()
	return c, nil
}

// error returns what is wrong with the constraint.
func (c *constraint) error(format string, args ...any) *Error {
	return &Error{Constraint: c.index, Message: fmt.Sprintf("constraint %q ", c.source) + fmt.Sprintf(format, args...)}
}

// combinations returns the number of combinations of values of the scope.
func (c *constraint) combinations() float64 {
	product := 1.0
	for _, values := range c.values {
		product *= float64(len(values))
	}
	return product
}

// tabulate evaluates a constraint of few combinations at all of them, others at some to
// estimate their share.
func (c *constraint) tabulate() {
	sc, hits := &scratch{}, 0
	if total := c.combinations(); total > maxTable {
		r := rand.New(rand.NewPCG(1, uint64(c.index)))
		for range probes {
			if o, _ := c.evalWith(sc, func(i int) int { return r.IntN(len(c.values[i])) }); o == satisfied {
				hits++
			}
		}
		c.share = (float64(hits) + 0.5) / (probes + 1)
		return
	}
	c.strides = make([]int, len(c.scope))
	total := 1
	for i := len(c.scope) - 1; i >= 0; i-- {
		c.strides[i] = total
		total *= len(c.values[i])
	}
	table := make([]uint64, total/64+1)
	for n := range total {
		if o, _ := c.evalWith(sc, func(i int) int { return n / c.strides[i] % len(c.values[i]) }); o == satisfied {
			table[n/64] |= 1 << (n % 64)
			hits++
		}
	}
	c.table, c.share = table, float64(hits)/float64(total)
}

// holds reports whether the point satisfies the constraint.
func (c *constraint) holds(p Point, sc *scratch) bool {
	if c.table != nil {
		n := 0
		for i, param := range c.scope {
			n += c.strides[i] * int(p[param])
		}
		sc.work += workTable
		return c.table[n/64]&(1<<(n%64)) != 0
	}
	values := sc.room(len(c.scope))
	for i, param := range c.scope {
		values[i] = c.values[i][p[param]]
	}
	o, _ := c.eval(sc)
	return o == satisfied
}

// evalWith evaluates the constraint with a chosen value of each param of its scope, by index.
func (c *constraint) evalWith(sc *scratch, choose func(i int) int) (outcome, error) {
	values := sc.room(len(c.scope))
	for i := range values {
		values[i] = c.values[i][choose(i)]
	}
	return c.eval(sc)
}

// eval evaluates the constraint with the values in sc. An outcome that is not decided has an error
// that says why.
func (c *constraint) eval(sc *scratch) (outcome, error) {
	sc.work += workEval
	v, err := c.program.Eval(sc.values[:len(c.scope)])
	if err != nil {
		sc.work += workError
		return failed, err
	}
	switch holds, ok := v.Bool(); {
	case !ok:
		return undecided, nil
	case holds:
		return satisfied, nil
	}
	return unsatisfied, nil
}

func (sc *scratch) room(n int) []formula.Value {
	if cap(sc.values) < n {
		sc.values = make([]formula.Value, n)
	}
	sc.values = sc.values[:n]
	return sc.values
}
