package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// An earlier version that the candidate disagrees with is asked again on the same data. Its launches
// are few where all give the same bits, and more where they do not: a version that varies by about
// as much as the tolerance allows does not exceed it every time.
const (
	againFew  = 3
	againMost = 8
)

// UnsteadyError means that the right answers would be those of an earlier version, and that this
// version disagrees with itself. It says nothing of the candidate.
type UnsteadyError struct {
	Differ string // how its answers to the same data differ
	Bits   bool   // they differ in their bits alone, within the tolerance
}

func (e *UnsteadyError) Error() string {
	return "the base version's own answers to the same data differ from launch to launch: " + e.Differ
}

// Unsteady returns the error that an earlier version disagrees with itself; nil: it is another error,
// or none.
func Unsteady(err error) *UnsteadyError {
	found, _ := errors.AsType[*UnsteadyError](err)
	return found
}

// wrong compares outputs of the candidate as Compare does, and says why they are wrong; "" when they
// are right. An earlier version must agree with itself before it proves that the candidate is wrong:
// if it does not, the error is an UnsteadyError in an OracleError. Where it varies within the
// tolerance, outputs are right if they agree with any of its answers.
func (b *Bench) wrong(ctx context.Context, got []wire.Buffer, batch, steps int, tol oracle.Tolerance) (errs []result.OutputError, why string, err error) {
	if errs, err = b.Compare(ctx, got, batch, steps, tol); err != nil {
		return nil, "", err
	}
	if why = Reason(errs, b.Factor); why == "" || !b.Oracle.Earlier {
		return errs, why, nil
	}
	first, varied := b.reference.last, false
	for i := 0; i < againFew || varied && i < againMost; i++ {
		other, err := b.reference.launch(ctx, batch, steps)
		if err != nil {
			return nil, "", &OracleError{Err: err}
		}
		if differs(first, other) < 0 {
			continue
		}
		varied = true
		own, err := b.compare(ctx, b.between(first, other, batch, steps, tol))
		if err != nil {
			return nil, "", err
		}
		if Reason(own, b.Factor) != "" {
			return nil, "", unsteady(own, b.Factor, false)
		}
		m := b.question(got, batch, steps, tol)
		m.Want = other
		closer, err := b.compare(ctx, m)
		if err != nil || Reason(closer, b.Factor) == "" {
			return closer, "", err
		}
	}
	return errs, why, nil
}

// bitsVary returns the UnsteadyError, in an OracleError, of an earlier version whose launches on the
// data of a batch give other bits; nil: they give the same, or the right answers are not such a
// version's.
func (b *Bench) bitsVary(ctx context.Context, batch int) error {
	other, err := b.otherBits(ctx, batch)
	if other == nil || err != nil {
		return err
	}
	first := b.reference.last
	own, err := b.compare(ctx, b.between(first, other, batch, 0, b.Tolerance))
	if err != nil || Reason(own, b.Factor) != "" {
		return cmp.Or(err, unsteady(own, b.Factor, false))
	}
	if own, err = b.compare(ctx, b.between(first, other, batch, 0, oracle.Tolerance{})); err != nil {
		return err
	}
	return unsteady(own, 0, true)
}

// otherBits asks an earlier version again on the data of a batch. It returns the first answer with
// other bits; nil: there is none, or the right answers are not such a version's.
func (b *Bench) otherBits(ctx context.Context, batch int) ([]wire.Buffer, error) {
	if !b.Oracle.Earlier {
		return nil, nil
	}
	first, err := b.want(ctx, batch, 0)
	if err != nil {
		return nil, err
	}
	for range againFew {
		other, err := b.reference.launch(ctx, batch, 0)
		if err != nil {
			return nil, &OracleError{Err: err}
		}
		if differs(first, other) >= 0 {
			return other, nil
		}
	}
	return nil, nil
}

// between asks how an answer of the reference differs from one that it gave before.
func (b *Bench) between(first, other []wire.Buffer, batch, steps int, tol oracle.Tolerance) wire.Judge {
	m := b.question(other, batch, steps, tol)
	m.Want, m.Args = first, slices.Clone(m.Args)
	for _, w := range other {
		m.Args[w.Arg].DType = w.DType
	}
	return m
}

// unsteady returns the error of a reference whose own answers differ like this.
func unsteady(own []result.OutputError, factor float64, bits bool) error {
	var parts []string
	for _, e := range own {
		if w := e.Worst; w != nil {
			parts = append(parts, fmt.Sprintf("%s: %d of %d elements (%s is %s, then %s)", e.Name, e.Wrong, e.Count, place(e.Name, w.Index), w.Want, w.Got))
		}
	}
	text := strings.Join(parts, "; ")
	if text == "" && bits {
		text = "the same numbers in other bits"
	} else if text == "" {
		text = Reason(own, factor)
	}
	return &OracleError{Err: &UnsteadyError{Differ: text, Bits: bits}}
}
