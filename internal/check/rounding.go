package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

const (
	roundingTimes  = 4  // errors of rounding are at most so many times what is allowed,
	roundingSpread = 16 // and at most so many times their own root mean square: they are everywhere

	// The rounding of a sum grows with the square root of its terms: of more terms than this, more is
	// rounding. In sums of 2¹⁸ squares, one in float and one in double differ by five times the tolerance.
	roundingTerms = 1 << 14
)

// noteRounding says, of wrong answers whose errors look like rounding, which tolerance judged them and
// which one admits them.
func (c *check) noteRounding(v *verified, one *result.Case) []result.Warning {
	var of []string
	admits := map[string]float64{} // by key
	for _, o := range one.Outputs {
		if o.Wrong == 0 {
			continue
		}
		if !roundingError(o, terms(v.candidate.Instance, o.Count)) {
			return nil
		}
		key, value, far := admitting(o)
		if key == "atol" && o.Atol < v.candidate.Variant.Kernel.Tolerance.Atol {
			return nil // it is as large as answers of this size allow: no other one admits the error
		}
		of = append(of, fmt.Sprintf("%s (%s; allowed are atol %.3g and rtol %.3g)", o.Name, far, o.Atol, o.Rtol))
		admits[key] = max(admits[key], value)
	}
	if len(of) == 0 {
		return nil
	}
	var keys []string
	for _, key := range []string{"atol", "rtol"} {
		if value, has := admits[key]; has {
			keys = append(keys, fmt.Sprintf("%s: %g", key, value))
		}
	}
	hint := fmt.Sprintf("if the kernel may round like this, tolerance: {%s} in pawl.yaml admits it", strings.Join(keys, ", "))
	if v.exam != nil && v.exam.whose != "" {
		hint += before
	}
	if v.exam != nil && v.exam.Oracle == nil { // the base version's answers count, and are no more right than these
		hint += "; an oracle: in pawl.yaml says which version is nearer to the right answers"
	}
	return []result.Warning{{
		Code:    "rounding",
		Message: "the errors are small and in all elements, as those of rounding are: " + strings.Join(of, ", "),
		Hint:    hint + "; sums in several accumulators, or in a wider type, round less" + contracted(v),
	}}
}

// terms returns how many inputs an element of an output may be a sum of, at most.
func terms(in *spec.Instance, outputs int64) float64 {
	n := int64(0)
	if in != nil {
		for _, a := range in.Args {
			if a.Buffer && a.Role != spec.RoleOut {
				n += a.Elements
			}
		}
	}
	return float64(n) / float64(max(1, outputs))
}

// roundingError reports whether the error of a wrong output looks like rounding: it is little more than what
// is allowed, and no element is far worse than the others. A mistake at an edge leaves the others exact.
func roundingError(o result.OutputError, terms float64) bool {
	if o.Exact || o.NaNs+o.Blank > 0 || o.Worst == nil || !(o.MaxAbs <= roundingSpread*o.RMS) {
		return false
	}
	got, err := strconv.ParseFloat(o.Worst.Got, 64)
	want, err2 := strconv.ParseFloat(o.Worst.Want, 64)
	return err == nil && err2 == nil && math.Abs(got-want) <= roundingTimes*max(1, math.Sqrt(terms/roundingTerms))*(o.Atol+o.Rtol*math.Abs(want))
}

// admitting returns the key of a tolerance, with the least round value that admits the errors of an output:
// the absolute bound or the relative one, whichever has to grow less, and the largest error of that kind.
func admitting(o result.OutputError) (key string, value float64, far string) {
	if o.Rtol > 0 && o.MaxRel > 0 && o.MaxRel/o.Rtol < o.MaxAbs/o.Atol {
		return "rtol", roundUp(o.MaxRel), "max rel " + unit.Scientific(o.MaxRel)
	}
	return "atol", roundUp(o.MaxAbs), "max abs " + unit.Scientific(o.MaxAbs)
}

// roundUp returns the least of 1, 2 and 5 times a power of ten that is no less than a number.
func roundUp(v float64) float64 {
	power := math.Floor(math.Log10(v))
	for _, digit := range []string{"1", "2", "5"} {
		up, _ := strconv.ParseFloat(fmt.Sprintf("%se%g", digit, power), 64) // as it is read: no product of powers is
		if up >= v {
			return up
		}
	}
	up, _ := strconv.ParseFloat(fmt.Sprintf("1e%g", power+1), 64)
	return up
}

// contracted says, of a build whose compiler may do other arithmetic than the source says, how it does the
// source's; "" of others.
func contracted(v *verified) string {
	made := v.candidate.Record.Build
	if made == nil || v.candidate.Cell() != spec.CellHost {
		return ""
	}
	switch has := func(flags ...string) bool {
		return slices.ContainsFunc(flags, func(flag string) bool { return slices.Contains(made.Flags, flag) })
	}; {
	case has("-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math"):
		return "; -ffast-math lets the compiler reorder sums: without it they are as in the source"
	case has("-ffp-contract=off"):
		return ""
	case has("-march=native", "-mfma", "-ffp-contract=fast"):
		return "; the compiler makes one operation with one rounding of a*b + c (-march=native, -mfma): -ffp-contract=off keeps both roundings, as a reference without it has them"
	}
	return ""
}
