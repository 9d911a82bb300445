package trial

import (
	"errors"
	"slices"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/spec"
)

// The fills with special values.
const (
	specials = "specials"
	sparse   = "sparse"
)

// enoughSpecials is how many special values an input has, on average, however large it is: one of
// their six kinds is missing once in 30 000 times. In a smaller input, one in four elements is
// special.
const enoughSpecials = 72

// gentleSpecials is how many all inputs have together where none may be the greatest
// number: one batch in 15 has none by chance. Half of E4M3's special values are it,
// for want of infinities: of those there are fewer.
const (
	gentleSpecials = 16
	gentleE4M3     = 6
)

// specialFills gives each input as many special values as its operation tolerates.
func (op operation) specialFills(c *contents, in *spec.Instance, list []int, name string) {
	for _, i := range list {
		every := in.Args[i].Elements / enoughSpecials
		if name == sparse { // one a row, on average: rows that have none show that NaN does not spread
			every = width(in, i)
		}
		if !op.bearsGreatest(in) {
			every = max(every, in.Args[i].Elements/op.gentle(in, list))
		}
		c.args[i] = oracle.Fill{Kind: oracle.Specials, Args: []float64{0, 1, float64(max(4, every))}}
	}
	c.words = map[string]string{specials: "specials", sparse: "sparse specials"}[name]
}

// gentle returns how many special values one input has, where none is the greatest number.
func (op operation) gentle(in *spec.Instance, list []int) int64 {
	count := int64(gentleSpecials)
	if slices.ContainsFunc(list, func(i int) bool { return in.Args[i].DType == dtype.E4M3 }) {
		count = gentleE4M3
	}
	return max(1, count/int64(len(list)))
}

// fewRows reports whether an input has so few rows that special values reach all of them.
func (op operation) fewRows(in *spec.Instance) bool {
	list := op.open(in)
	return slices.ContainsFunc(list, func(i int) bool {
		rows, many := in.Args[i].Elements/width(in, i), int64(enoughSpecials/2)
		if !op.bearsGreatest(in) {
			many = op.gentle(in, list)
		}
		return rows > 1 && rows < many
	})
}

// bearsGreatest reports whether the greatest number among the inputs has one right answer. Where it
// is added or multiplied, partial sums of an honest kernel overflow, or absorb everything else,
// while those of a float64 oracle do not.
func (op operation) bearsGreatest(in *spec.Instance) bool {
	switch op.name {
	case maximum, softmax:
		return true
	case elementwise:
		limit := outputLimit(in)
		for _, i := range op.inputs(in) {
			_, high := in.Args[i].DType.Range()
			limit = min(limit, high)
		}
		reach, ok := op.formulaReach(in, limit)
		return ok && reach <= limit
	}
	return false
}

var errGreatest = errors.New("all generated data contains the largest number, and how its sums round is unknown")

// Limits of Settle: some tries, and not so many elements that it takes long.
// The batches of other trials are left alone.
const (
	settleTries    = 1000
	settleElements = 1 << 29
	settleStride   = 1 << 12
)

// Settle gives a trial of special values a batch that holds some. With complete, the batch has all
// possible kinds, but not the greatest number where the operation does not tolerate it. A batch
// that already qualifies stays: trials that Shrink made and a Store kept have the batch that they
// failed with.
func (p *Plan) Settle(t Trial, complete bool) (Trial, error) {
	if t.Fill != specials && t.Fill != sparse {
		return t, nil
	}
	in, err := p.variant.At(t.Config())
	if err != nil || p.operation.bearsGreatest(in) {
		return t, nil // Resolve says why
	}
	c, err := p.operation.fill(t.Fill, in)
	if err != nil {
		return t, nil // Resolve says why
	}
	elements := int64(0)
	for i := range c.args {
		elements += in.Args[i].Elements
	}
	for range min(settleTries, settleElements/elements) {
		if held, all := c.held(in, t); !held.Greatest && (all || !complete && held != (oracle.Held{})) {
			return t, nil
		}
		t.Batch += settleStride
	}
	return t, errGreatest
}

// held returns which special values the inputs of a trial hold together, and whether they are
// complete: every kind that the types have, and NaN in each input that is large enough for it,
// since an operation need not use another input's.
func (c contents) held(in *spec.Instance, t Trial) (together oracle.Held, complete bool) {
	complete = true
	finite := true
	for i, f := range c.args {
		a := in.Args[i]
		held := oracle.HeldBy(a.DType, f, t.key(i), a.Elements)
		if together = together.And(held); together.Greatest {
			return together, false
		}
		complete = complete && (held.NaN || a.Elements < 4*gentleSpecials)
		finite = finite && a.DType == dtype.E4M3
	}
	infinite := together.Infinity && together.NegativeInfinity || finite
	return together, complete && infinite && together.NaN && together.NegativeZero && together.Smallest
}

// settleAll leaves out the trials for which there is no batch.
func (p *Plan) settleAll() {
	trials := p.Trials[:0]
	for _, t := range p.Trials {
		settled, err := p.Settle(t, t.Fill == specials)
		if err != nil {
			settled, err = p.Settle(t, false)
		}
		if err != nil {
			p.note("%s values are not tried: %v", t.Fill, err)
			continue
		}
		trials = append(trials, settled)
	}
	p.Trials = trials
}
