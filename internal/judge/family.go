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

// familyLevel is the chance of a false claim of each direction anywhere in two files without a
// change: 5% together. Most of it goes to regressions, because a larger chance finds more of them;
// a claim to be faster can wait for a duet.
var familyLevel = [2]float64{slower: 0.56 * alpha, faster: 0.44 * alpha}

// Comparison is one benchmark of the two files that are compared.
type Comparison struct {
	Before, After []float64 // in the order of measuring where they are paired
	Verdict       result.Verdict
}

// AdjustP returns, for every regression and improvement, a p-value adjusted for the number of
// comparisons: the chance that files without any change would hold a claim of that strength and
// direction anywhere. All other comparisons get NaN.
//
// That chance is counted, not computed (Westfall and Young, step-down): samples are reassigned to
// the two files at random, benchmark by benchmark, and the whole rule judges them. So nothing is
// assumed about the shape of the noise, and benchmarks too quiet to cross the gate by chance cost
// the others nothing.
func AdjustP(ctx context.Context, comparisons []Comparison, paired bool, gate spec.Gate) ([]float64, error) {
	f := newFamily(comparisons, paired, gate)
	adjusted := make([]float64, len(comparisons))
	for i := range adjusted {
		adjusted[i] = math.NaN()
	}
	if len(f.claims) == 0 {
		return adjusted, nil
	}
	made, err := f.shuffle(ctx)
	if err != nil {
		return nil, err
	}
	largest := 0.0 // no claim gets a smaller p-value than a stronger one
	for _, c := range f.claims {
		largest = max(largest, float64(1+c.exceeded)/float64(1+made))
		adjusted[c.row] = largest
	}
	return adjusted, nil
}

// AmongMany returns the verdict after adjustment for the number of comparisons.
func AmongMany(v result.Verdict, reasons []result.Reason, p float64) (result.Verdict, []result.Reason) {
	if direction := slices.Index(claimed[:], v); direction >= 0 && p > familyLevel[direction] {
		return result.Inconclusive, []result.Reason{result.AmongMany}
	}
	return v, reasons
}

// The directions of claims.
const (
	slower = iota
	faster
)

var claimed = [2]result.Verdict{slower: result.Regression, faster: result.Improvement}

// claim is a comparison that, on its own, is a regression or an improvement.
type claim struct {
	row       int
	direction int
	strength  float64
	exceeded  int // shufflings in which it, or a weaker comparison, has a claim as strong
}

// family is a set of comparisons that are judged together.
type family struct {
	gate      spec.Gate
	contrasts []*contrast
	typical   float64 // variance, see stat.PriorVariance
	weight    float64
	claims    []*claim    // the strongest first
	rank      map[int]int // row → place in claims
	weakest   [2]float64  // strength of claims
}

func newFamily(comparisons []Comparison, paired bool, gate spec.Gate) *family {
	f := &family{gate: gate, rank: map[int]int{}, weakest: [2]float64{math.Inf(1), math.Inf(1)}}
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
	for i, c := range comparisons {
		if direction := slices.Index(claimed[:], c.Verdict); direction >= 0 {
			// Means may say the opposite of medians: the weakest of claims.
			strength := f.strength(f.contrasts[i], f.contrasts[i].observed)
			if direction == faster {
				strength = -strength
			}
			f.claims = append(f.claims, &claim{row: i, direction: direction, strength: max(0, strength)})
			f.weakest[direction] = min(f.weakest[direction], max(0, strength))
		}
	}
	slices.SortStableFunc(f.claims, func(a, b *claim) int { return cmp.Compare(b.strength, a.strength) })
	for k, c := range f.claims {
		f.rank[c.row] = k
	}
	return f
}

// strength returns the t statistic of a difference, its variance moderated by the family's typical
// variance.
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
	mostDealt      = 100_000_000 // samples, in all shufflings: a fraction of a second
	shufflingBatch = 37
	shufflingSeed  = 42
)

// shuffle counts the shufflings that exceed each claim, and returns how many shufflings were made:
// fewer where no claim can become significant any more.
func (f *family) shuffle(ctx context.Context) (int, error) {
	dealt := 1
	var rows []int // rows that can hold a claim at all
	for i, x := range f.contrasts {
		if x.reach > math.Log1p(f.gate.Regression) || x.reach > -math.Log1p(-f.gate.Claim) || x.reach > -math.Log1p(-f.gate.Improvement) {
			rows = append(rows, i)
			dealt += len(x.values)
		}
	}
	wanted := max(fewShufflings, min(shufflings, mostDealt/dealt))
	hopeless := int(max(familyLevel[slower], familyLevel[faster]) * float64(1+wanted)) // a claim exceeded this often has p above the level
	for made := 0; made < wanted; {
		batch := min(shufflingBatch, wanted-made)
		exceeded := make([][]bool, batch)
		var next atomic.Int64
		var workers sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), batch) {
			workers.Go(func() {
				s := &scratch{}
				for b := next.Add(1) - 1; b < int64(batch) && ctx.Err() == nil; b = next.Add(1) - 1 {
					exceeded[b] = f.once(rows, rand.NewPCG(shufflingSeed, uint64(made)+uint64(b)), s)
				}
			})
		}
		workers.Wait()
		if err := ctx.Err(); err != nil {
			return made, err
		}
		made += batch
		open := false
		for k, c := range f.claims {
			for _, in := range exceeded {
				if in[k] {
					c.exceeded++
				}
			}
			open = open || c.exceeded < hopeless
		}
		if !open {
			return made, nil
		}
	}
	return wanted, nil
}

// once shuffles every benchmark, and reports for each claim whether it is exceeded by a claim of
// its direction: one of its own benchmark, or of a benchmark that has no stronger claim.
func (f *family) once(rows []int, source *rand.PCG, s *scratch) []bool {
	n := len(f.claims)
	var strongest [2][]float64 // of each claim's own benchmark, and last of all others
	for direction := range strongest {
		strongest[direction] = slices.Repeat([]float64{-1}, n+1)
	}
	for _, i := range rows {
		x := f.contrasts[i]
		strength, direction := f.strength(x, x.deal(source, s)), slower
		if strength < 0 {
			strength, direction = -strength, faster
		}
		if strength < f.weakest[direction] || x.judge(s, f.gate) != claimed[direction] {
			continue
		}
		at, ok := f.rank[i]
		if !ok {
			at = n
		}
		strongest[direction][at] = max(strongest[direction][at], strength)
	}
	exceeded := make([]bool, n)
	rest := [2]float64{strongest[slower][n], strongest[faster][n]}
	for k := n - 1; k >= 0; k-- {
		for direction := range rest {
			rest[direction] = max(rest[direction], strongest[direction][k])
		}
		exceeded[k] = rest[f.claims[k].direction] >= f.claims[k].strength
	}
	return exceeded
}
