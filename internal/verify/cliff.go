package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"pawl/internal/formula"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/unit"
	"pawl/internal/worker/wire"
)

// Exploits of kernels that are made only for the sizes they are judged at.
const (
	SpeedCliff   = "speed-cliff"   // and slow at others
	ShapeSpecial = "shape-special" // and wrong at others
)

const (
	cliffFactor  = 3    // of the time per unit of work
	cliffDoubt   = 1.5  // the same, where others may have made launches longer
	cliffLeast   = 5e-6 // smallest difference in seconds
	cliffSmall   = 8    // sizes below this have no neighbours
	cliffSamples = 5
	cliffTries   = 3    // tries after the first, which must all agree
	cliffSpan    = 0.25 // seconds that samples are taken for
	roundedPart  = 100  // one element of so many may be wrong by rounding,
	roundedTimes = 16   // and by so many times the tolerance
	alignMost    = 256  // largest power of two that a size is looked at to be a multiple of
)

// Quick returns about how long a launch takes: the fastest of a few. The problem of Prepare must
// still be prepared.
func (b *Bench) Quick(ctx context.Context) (float64, error) {
	if !b.prepared {
		if err := b.Prepare(ctx); err != nil {
			return 0, err
		}
	}
	got, err := b.Candidate.Cell.Sample(ctx, b.few())
	if err != nil {
		return 0, err
	}
	return slices.Min(got.Seconds), nil
}

// few requests a few samples. They stop early, so that at most one launch can take as long as a
// launch may.
func (b *Bench) few() wire.Sample {
	return wire.Sample{Count: cliffSamples, Repeat: 1, Cache: "cold", MaxS: cliffSpan, DeadlineS: cliffSpan + b.deadline(b.Candidate)}
}

// again is Quick after other problems have been prepared.
func (b *Bench) again(ctx context.Context) (float64, error) {
	b.prepared = false
	return b.Quick(ctx)
}

// Neighbours returns the problems that are one larger than an instance's in one variable, as far as
// the variant supports them.
func Neighbours(in *spec.Instance) []*spec.Instance {
	var out []*spec.Instance
	for i, v := range in.Config.Vars {
		if n, whole := v.Value.Int(); whole && n >= cliffSmall {
			if near := grown(in, i, n+1); near != nil {
				out = append(out, near)
			}
		}
	}
	return out
}

// grown returns the problem with another value of a variable; nil: the variant does not support it,
// or it takes as much memory, or twice as much. It takes less where a window grows. A variable that no
// size depends on may be anything.
func grown(in *spec.Instance, variable int, value int64) *spec.Instance {
	next := *in.Config
	next.Vars = slices.Clone(in.Config.Vars)
	next.Vars[variable].Value = formula.Int(value)
	near, err := in.Variant.At(&next)
	if err != nil || near.Footprint == in.Footprint || near.Footprint >= 2*in.Footprint || in.Footprint >= 2*near.Footprint {
		return nil
	}
	return near
}

// Aligned returns a problem that is larger in the same variable as a neighbour, by so much that the
// variable is a multiple of the same power of two as it is here; nil if there is none, or if that is
// the neighbour. Kernels copy rows that begin at multiples of 16 bytes faster, or whole tiles: at the
// neighbour they are honestly slow.
func Aligned(here, near *spec.Instance) *spec.Instance {
	for i, v := range here.Config.Vars {
		n, whole := v.Value.Int()
		if !whole || v.Value == near.Config.Vars[i].Value {
			continue
		}
		for step := min(n&-n, alignMost); step > 1; step /= 2 {
			if next := grown(here, i, n+step); next != nil {
				return next
			}
		}
	}
	return nil
}

// Cliff finds out whether a unit of work takes far longer on the neighbouring problem, whose bench
// was prepared last, than on b's, where a launch took the given seconds, and how many times as long.
// Others may have launched meanwhile, which makes launches longer: where there is a doubt, both are
// timed again, alone.
func (b *Bench) Cliff(ctx context.Context, near *Bench, seconds float64, alone func(do func())) (found []result.Finding, factor float64, err error) {
	here, there := b.Candidate.Instance, near.Candidate.Instance
	nearby, err := near.Quick(ctx)
	if err != nil {
		return nil, 0, err
	}
	if factor = steepness(here, there, seconds, nearby); factor <= cliffDoubt {
		return nil, factor, nil
	}
	again := func() (seconds, nearby float64, err error) {
		if seconds, err = b.again(ctx); err == nil {
			nearby, err = near.again(ctx)
		}
		return seconds, nearby, err
	}
	alone(func() {
		if seconds, nearby, err = again(); err == nil {
			found, err = cliff(here, there, seconds, nearby, again)
			factor = steepness(here, there, seconds, nearby)
		}
	})
	return found, factor, err
}

// steepness returns how many times longer a unit of work takes nearby.
func steepness(here, near *spec.Instance, seconds, nearby float64) float64 {
	return nearby / work(near) / (seconds / work(here))
}

// cliff has both problems timed again, in turns, for as long as there is a cliff. It compares the
// fastest launch there with the slowest here, so that noise accuses nobody.
func cliff(here, near *spec.Instance, seconds, nearby float64, again func() (here, there float64, err error)) ([]result.Finding, error) {
	factor := func() float64 { return steepness(here, near, seconds, nearby) }
	steep := func() bool { return factor() > cliffFactor && nearby-seconds >= cliffLeast }
	for range cliffTries {
		if !steep() {
			return nil, nil
		}
		slower, quicker, err := again()
		if err != nil {
			return nil, err
		}
		seconds, nearby = max(seconds, slower), min(nearby, quicker)
	}
	if !steep() {
		return nil, nil
	}
	return suspect(SpeedCliff, "%s at this size, %s at the next (%s): %.1f times as long for the same work", unit.Duration(seconds), unit.Duration(nearby), differing(here.Config, near.Config), factor()), nil
}

// Rounded reports whether what is wrong with a case may be rounding: few elements are, by little more
// than the tolerance. At another size a sum has other roundings, and nothing is made for one size.
func Rounded(one *result.Case) bool {
	wrong := false
	for _, o := range one.Outputs {
		if o.Wrong == 0 {
			continue
		}
		wrong = true
		if o.Exact || o.NaNs+o.Blank > 0 || o.Wrong > max(1, o.Count/roundedPart) || o.Worst == nil {
			return false
		}
		got, err := strconv.ParseFloat(o.Worst.Got, 64)
		want, err2 := strconv.ParseFloat(o.Worst.Want, 64)
		if err != nil || err2 != nil || !(math.Abs(got-want) <= roundedTimes*(o.Atol+o.Rtol*math.Abs(want))) {
			return false
		}
	}
	return wrong
}

// Special returns the finding about a kernel that is wrong at a neighbouring size.
func Special(here, near *spec.Instance, reason string) []result.Finding {
	return suspect(ShapeSpecial, "right at this size, wrong at the next (%s): %s%s", differing(here.Config, near.Config), reason, unmeant)
}

// Broken says why a change is incorrect that is wrong only at a neighbouring size.
func Broken(here, near *spec.Instance, reason string) string {
	return fmt.Sprintf("right at this size, wrong at the next (%s), where the base version is right: %s%s", differing(here.Config, near.Config), reason, unmeant)
}

// unmeant is the remedy where a kernel is not made for a neighbouring size.
const unmeant = "; if the kernel is not made for that size, say so with requires: in pawl.yaml"

// work returns the amount of work of a launch, in the unit that the file counts.
func work(in *spec.Instance) float64 {
	switch {
	case in.Flops > 0:
		return in.Flops
	case in.Bytes > 0:
		return in.Bytes
	}
	return float64(in.Footprint)
}

func differing(a, b *spec.Config) string {
	for i := range a.Vars {
		if a.Vars[i].Value != b.Vars[i].Value {
			return a.Vars[i].Name + "=" + b.Vars[i].Value.String()
		}
	}
	return ""
}
