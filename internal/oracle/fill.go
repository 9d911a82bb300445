package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pawl/internal/dtype"
)

// Fill says what a buffer is filled with.
type Fill struct {
	Kind string
	Args []float64
}

// The kinds of fill.
const (
	Normal   = "normal"
	Uniform  = "uniform"
	Integers = "integers"
	Constant = "constant"
	Zero     = "zero"
	Iota     = "iota"
	Rows     = "rows"
	Outliers = "outliers"
	Specials = "specials"
)

// arguments names those of each kind.
var arguments = map[string][]string{
	Normal:   {"mean", "std"},
	Uniform:  {"low", "high"},
	Integers: {"low", "high"},
	Constant: {"value"},
	Zero:     {},
	Iota:     {},
	Rows:     {"mean", "std", "width"},
	Outliers: {"mean", "std", "width", "factor"},
	Specials: {"mean", "std", "every"},
}

// Kinds lists the kinds of fill.
var Kinds = []string{Normal, Uniform, Integers, Constant, Zero, Iota, Rows, Outliers, Specials}

// Defaults returns the fill of an input that says nothing about it.
func Defaults(t dtype.Type) Fill {
	low, _ := t.Range()
	switch {
	case t.Float():
		return Fill{Normal, []float64{0, 1}}
	case low < 0:
		return Fill{Integers, []float64{-8, 8}}
	}
	return Fill{Integers, []float64{0, 15}}
}

// reach is how many standard deviations the normal fill's values lie from the
// mean at most.
const reach = 4.9

// largestInteger is 2⁵³: up to here float64, which fills are written in, holds
// every whole number.
const largestInteger = 1 << 53

// CheckFill returns an error that says what is wrong with a fill of type t, if
// anything is.
func CheckFill(t dtype.Type, fill Fill) error {
	if !t.Valid() {
		return fmt.Errorf("unknown type %q", t)
	}
	names, ok := arguments[fill.Kind]
	if !ok {
		return fmt.Errorf("unknown fill %q: expected one of %s", fill.Kind, strings.Join(Kinds, ", "))
	}
	if len(fill.Args) != len(names) {
		return fmt.Errorf("fill %s takes %s, not %d", fill.Kind, wanted(names), len(fill.Args))
	}
	if slices.ContainsFunc(fill.Args, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return fmt.Errorf("fill %s takes finite numbers, not %v", fill.Kind, fill.Args)
	}
	if err := checkArgs(t, fill); err != nil {
		return fmt.Errorf("fill %s of %s: %w", fill.Kind, t, err)
	}
	return nil
}

func wanted(names []string) string {
	switch len(names) {
	case 0:
		return "no arguments"
	case 1:
		return "one argument (" + names[0] + ")"
	}
	return fmt.Sprintf("%d arguments (%s)", len(names), strings.Join(names, ", "))
}

func checkArgs(t dtype.Type, fill Fill) error {
	a := fill.Args
	if floatOnly(fill.Kind) && !t.Float() {
		return fmt.Errorf("integer types take integers, constant, zero or iota")
	}
	switch fill.Kind {
	case Normal, Rows, Outliers, Specials:
		if a[1] < 0 {
			return fmt.Errorf("std %v is negative", a[1])
		}
		if len(a) > 2 {
			if err := whole(a[2]); err != nil {
				return err
			}
			if a[2] < 1 {
				return fmt.Errorf("%s %v is below 1", arguments[fill.Kind][2], a[2])
			}
		}
		spread := reach*a[1] + math.Abs(a[0])
		if fill.Kind == Outliers {
			spread *= max(1, math.Abs(a[3]))
		}
		return inRange(t, -spread, spread)
	case Uniform:
		if err := cmp.Or(ordered(a[0], a[1]), inRange(t, a[0], a[1])); err != nil {
			return err
		}
		if limit := widest(t); a[1]-a[0] > limit {
			return fmt.Errorf("%v to %v is wider than its arithmetic holds (%v)", a[0], a[1], limit)
		}
	case Integers:
		return cmp.Or(ordered(a[0], a[1]), whole(a...), inRange(t, a[0], a[1]))
	case Constant:
		if t.Float() {
			return inRange(t, a[0], a[0])
		}
		return cmp.Or(whole(a[0]), inRange(t, a[0], a[0]))
	}
	return nil
}

func floatOnly(kind string) bool {
	return slices.Contains([]string{Normal, Uniform, Rows, Outliers, Specials}, kind)
}

// widest returns the greatest number of the type that uniform is computed in.
func widest(t dtype.Type) float64 {
	if t == dtype.F64 {
		return math.MaxFloat64
	}
	return math.MaxFloat32
}

func ordered(low, high float64) error {
	if low > high {
		return fmt.Errorf("low %v is above high %v", low, high)
	}
	return nil
}

func whole(values ...float64) error {
	for _, v := range values {
		if v != math.Trunc(v) || math.Abs(v) > largestInteger {
			return fmt.Errorf("%v is not a whole number of at most 2^53", v)
		}
	}
	return nil
}

func inRange(t dtype.Type, low, high float64) error {
	least, greatest := t.Range()
	if low < least || high > greatest {
		return fmt.Errorf("values from %v to %v are out of its range, %v to %v", low, high, least, greatest)
	}
	return nil
}
