package judge

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// familyLevel is the chance of a false regression anywhere in two files without a
// change, and the same of a false improvement: 5% together.
const familyLevel = alpha / 2

// Comparison is one benchmark of two files that were compared.
type Comparison struct {
	Before, After []float64 // in the order of measuring where they are paired
	Verdict       result.Verdict
}

// AdjustP returns, for every regression and improvement, a p-value adjusted for
// the number of comparisons: the chance that files without any change would hold
// a claim that strong, of that direction, anywhere. All other comparisons get NaN.
//
// That chance is counted, not computed (Westfall and Young, step-down): samples
// are dealt out to the two files anew at random, benchmark by benchmark, and the
// whole rule judges them. So nothing is assumed about the shape of the noise, and
// benchmarks too quiet to cross the gate by chance cost the others nothing.
func AdjustP(ctx context.Context, comparisons []Comparison, paired bool, gate spec.Gate) ([]float64, error) {
	f := newFamily(comparisons, paired, gate)
	adjusted := make([]float64, len(comparisons))
	for i := range adjusted {
		adjusted[i] = math.NaN()
	}
	if len(f.slower.members)+len(f.faster.members) == 0 {
		return adjusted, nil
	}
	made, err := f.shuffle(ctx)
	if err != nil {
		return nil, err
	}
	for _, claims := range []*claims{&f.slower, &f.faster} {
		largest := 0.0
		for k, i := range claims.members {
			largest = max(largest, float64(1+claims.exceeded[k])/float64(1+made))
			adjusted[i] = largest
		}
	}
	return adjusted, nil
}

// AmongMany is a verdict after adjustment for the number of comparisons.
func AmongMany(v result.Verdict, reasons []result.Reason, p float64) (result.Verdict, []result.Reason) {
	if Confirm(v) && p > familyLevel {
		return result.Inconclusive, []result.Reason{result.AmongMany}
	}
	return v, reasons
}

// claims are the comparisons of one verdict, the strongest first.
type claims struct {
	verdict  result.Verdict
	sign     float64 // of the change that makes it one
	members  []int
	strength []float64
	rank     map[int]int
	exceeded []int // shufflings in which the rest of the family had a claim as strong
}

// family is a set of comparisons that are judged together.
type family struct {
	gate           spec.Gate
	contrasts      []*contrast
	typical        float64 // variance, see stat.PriorVariance
	weight         float64
	slower, faster claims
}

func newFamily(comparisons []Comparison, paired bool, gate spec.Gate) *family {
	f := &family{gate: gate, slower: claims{verdict: result.Regression, sign: 1}, faster: claims{verdict: result.Improvement, sign: -1}}
	var variances, degrees []float64
	for _, c := range comparisons {
		x := newUnpaired(c.Before, c.After)
		if paired {
			x = newPaired(c.Before, c.After)
		}
		f.contrasts = append(f.contrasts, x)
		variances = append(variances, x.total/(x.degrees+1))
		degrees = append(degrees, x.degrees+1)
	}
	f.typical, f.weight = stat.PriorVariance(variances, degrees)
	for _, of := range []*claims{&f.slower, &f.faster} {
		strengths := map[int]float64{}
		for i, c := range comparisons {
			if c.Verdict == of.verdict {
				of.members = append(of.members, i)
				strengths[i] = of.sign * f.strength(f.contrasts[i], f.contrasts[i].observed)
			}
		}
		slices.SortStableFunc(of.members, func(i, j int) int { return cmp.Compare(strengths[j], strengths[i]) })
		of.rank = make(map[int]int, len(of.members))
		of.exceeded = make([]int, len(of.members))
		for k, i := range of.members {
			of.strength = append(of.strength, strengths[i])
			of.rank[i] = k
		}
	}
	return f
}

// strength is a t statistic of a difference, its variance steadied by what is
// typical of the family.
func (f *family) strength(x *contrast, difference float64) float64 {
	variance := f.typical
	if !math.IsInf(f.weight, 1) {
		inside := max(0, x.total-x.size*difference*difference)
		variance = (f.weight*f.typical + inside) / (f.weight + x.degrees)
	}
	if difference == 0 {
		return 0
	}
	return difference * math.Sqrt(x.size/variance)
}

const (
	shufflings     = 999
	fewShufflings  = 199
	mostDealt      = 2_000_000_000 // samples, in all shufflings: a few seconds
	shufflingBatch = 37
	shufflingSeed  = 42
)

// shuffle counts, and returns how many shufflings were made: fewer where no claim
// can become significant any more.
func (f *family) shuffle(ctx context.Context) (int, error) {
	dealt := 1
	var rows []int // that can hold a claim at all
	for i, x := range f.contrasts {
		if x.reach > math.Log1p(f.gate.Regression) || x.reach > -math.Log1p(-f.gate.Claim) || x.reach > -math.Log1p(-f.gate.Improvement) {
			rows = append(rows, i)
			dealt += len(x.values)
		}
	}
	wanted := max(fewShufflings, min(shufflings, mostDealt/dealt))
	hopeless := int(familyLevel * float64(1+wanted)) // exceeded so often, p stays above the level
	for made := 0; made < wanted; {
		batch := min(shufflingBatch, wanted-made)
		counts := make([][2][]bool, batch)
		var next atomic.Int64
		var workers sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), batch) {
			workers.Go(func() {
				scratch := &scratch{}
				for b := next.Add(1) - 1; b < int64(batch) && ctx.Err() == nil; b = next.Add(1) - 1 {
					counts[b] = f.once(rows, rand.NewPCG(shufflingSeed, uint64(made)+uint64(b)), scratch)
				}
			})
		}
		workers.Wait()
		if err := ctx.Err(); err != nil {
			return made, err
		}
		made += batch
		open := false
		for side, of := range []*claims{&f.slower, &f.faster} {
			for k := range of.exceeded {
				for b := range counts {
					if counts[b][side][k] {
						of.exceeded[k]++
					}
				}
				open = open || of.exceeded[k] < hopeless
			}
		}
		if !open {
			return made, nil
		}
	}
	return wanted, nil
}

// once shuffles every benchmark, and reports for each claim whether it is exceeded.
func (f *family) once(rows []int, source *rand.PCG, s *scratch) (exceeded [2][]bool) {
	sides := [2]*claims{&f.slower, &f.faster}
	strongest := [2][]float64{} // of each claim's own benchmark, and last of all others
	for side, of := range sides {
		strongest[side] = make([]float64, len(of.members)+1)
		exceeded[side] = make([]bool, len(of.members))
	}
	for _, i := range rows {
		x := f.contrasts[i]
		difference := x.deal(source, s)
		strength := f.strength(x, difference)
		side := 0
		if strength < 0 {
			side, strength = 1, -strength
		}
		of := sides[side]
		if n := len(of.members); n == 0 || strength < of.strength[n-1] || x.judge(s, f.gate) != of.verdict {
			continue
		}
		at := len(of.members)
		if k, claimed := of.rank[i]; claimed {
			at = k
		}
		strongest[side][at] = max(strongest[side][at], strength)
	}
	for side, of := range sides {
		rest := strongest[side][len(of.members)]
		for k := len(of.members) - 1; k >= 0; k-- {
			rest = max(rest, strongest[side][k])
			exceeded[side][k] = rest >= of.strength[k]
		}
	}
	return exceeded
}
