package judge

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// shapes are kinds of noise with the given coefficient of variation, around 1.
var shapes = map[string]func(random *rand.Rand, cv float64) float64{
	"normal":    func(r *rand.Rand, cv float64) float64 { return 1 + cv*r.NormFloat64() },
	"lognormal": func(r *rand.Rand, cv float64) float64 { return math.Exp(cv * r.NormFloat64()) },
	"Student's t, 3 degrees": func(r *rand.Rand, cv float64) float64 {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		return math.Exp(cv * r.NormFloat64() / math.Sqrt(a*a+b*b+c*c))
	},
	"exponential": func(r *rand.Rand, cv float64) float64 { return (1 + cv*r.ExpFloat64()) / (1 + cv*math.Ln2) },
	"two states": func(r *rand.Rand, cv float64) float64 {
		return 1 + cv*float64(2*r.IntN(2)-1) + 0.1*cv*r.NormFloat64()
	},
	"ticks of 5%": func(r *rand.Rand, cv float64) float64 { return math.Round((1+cv*r.NormFloat64())/0.05) * 0.05 },
}

var familyDraws = flag.Int("family-draws", 5, "draws of each row of the table of families")

const mixed = "normal, CVs of 0.3–15%"

// drawFamily draws two files; the first benchmark is changed by a factor.
func drawFamily(random *rand.Rand, shape string, cv float64, benchmarks, samples int, factor float64, paired bool) []Comparison {
	family := make([]Comparison, benchmarks)
	for i := range family {
		noise, own := shapes[shape], cv
		if shape == mixed {
			noise = shapes["normal"]
			if i > 0 {
				own = 0.003 * math.Pow(50, random.Float64())
			}
		}
		c := Comparison{Before: make([]float64, samples), After: make([]float64, samples)}
		for j := range samples {
			c.Before[j], c.After[j] = noise(random, own), noise(random, own)
			if i == 0 {
				c.After[j] *= factor
			}
		}
		c.Verdict = verdictAlone(c, paired)
		family[i] = c
	}
	return family
}

// verdictAlone judges claims as Unpaired and Paired do, without what costs time and
// is not asked for here.
func verdictAlone(c Comparison, paired bool) result.Verdict {
	if paired {
		_, verdict, _ := Paired(c.Before, c.After, spec.DefaultGate)
		return verdict
	}
	before, after := slices.Clone(c.Before), slices.Clone(c.After)
	slices.Sort(before)
	slices.Sort(after)
	change, apart := medianChange(before, after, closedForm(before), closedForm(after))
	verdict, _ := unpairedVerdict(change, apart, false, spec.DefaultGate)
	return verdict
}

// outcome counts the claims of one draw: false regressions and improvements with
// and without adjustment, and whether the changed benchmark was found.
type outcome struct{ alone, slower, faster, foundAlone, found int }

func (o *outcome) add(t *testing.T, family []Comparison, paired, changed bool) {
	t.Helper()
	p, err := AdjustP(context.Background(), family, paired, spec.DefaultGate)
	if err != nil {
		t.Fatal(err)
	}
	var alone, slower, faster int
	for i, c := range family {
		verdict, _ := AmongMany(c.Verdict, nil, p[i])
		switch {
		case changed && i == 0:
			if c.Verdict == result.Regression {
				o.foundAlone++
			}
			if verdict == result.Regression {
				o.found++
			}
			continue
		case c.Verdict == result.Regression:
			alone = 1
		}
		switch verdict {
		case result.Regression:
			slower = 1
		case result.Improvement:
			faster = 1
		}
	}
	o.alone, o.slower, o.faster = o.alone+alone, o.slower+slower, o.faster+faster
}

// The table of docs/statistics.md: files of 1,000 benchmarks, in how many of the
// draws they hold a false regression, and in how many one that is truly 5% slower
// is found.
func TestFamilyLevel(t *testing.T) {
	t.Parallel()
	const benchmarks = 1000
	draws := *familyDraws
	t.Logf("%d draws each", draws)
	total, files := 0, 0
	for _, test := range []struct {
		shape   string
		cv      float64
		samples int
		paired  bool
		power   float64 // least part of draws in which +5% is found; 0: not drawn
	}{
		{"normal", 0.01, 20, false, 0.9},
		{"normal", 0.02, 20, false, 0.9},
		{"normal", 0.03, 20, false, 0.8},
		{"normal", 0.05, 20, false, 0},
		{"normal", 0.1, 20, false, 0},
		{"normal", 0.05, 10, false, 0},
		{"normal", 0.01, 10, false, 0.9},
		{"normal", 0.01, 5, false, 0.8},
		{"normal", 0.1, 50, false, 0},
		{"normal", 0.1, 100, false, 0},
		{"lognormal", 0.03, 20, false, 0.8},
		{"lognormal", 0.3, 20, false, 0},
		{"Student's t, 3 degrees", 0.03, 20, false, 0.8},
		{"Student's t, 3 degrees", 0.1, 20, false, 0},
		{"exponential", 0.03, 20, false, 0.8},
		{"exponential", 0.1, 20, false, 0},
		{"two states", 0.1, 20, false, 0},
		{"two states", 0.1, 5, false, 0},
		{"ticks of 5%", 0.05, 20, false, 0},
		{mixed, 0.03, 20, false, 0.8},
		{"normal", 0.01, 20, true, 0.8},
		{"normal", 0.1, 20, true, 0},
		{"normal", 0.03, 100, true, 0.8},
		{"normal", 0.1, 100, true, 0},
		{"Student's t, 3 degrees", 0.1, 20, true, 0},
		{"two states", 0.1, 10, true, 0},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		var null, changed outcome
		for range draws {
			null.add(t, drawFamily(random, test.shape, test.cv, benchmarks, test.samples, 1, test.paired), test.paired, false)
			if test.power > 0 {
				changed.add(t, drawFamily(random, test.shape, test.cv, benchmarks, test.samples, 1.05, test.paired), test.paired, true)
			}
		}
		total, files = total+null.slower+null.faster, files+2*draws
		found := ""
		if test.power > 0 {
			found = fmt.Sprintf("; +5%% found in %d, alone in %d", changed.found, changed.foundAlone)
			if float64(changed.found) < test.power*float64(draws) && draws >= 100 || float64(changed.found) < 0.6*float64(draws) {
				t.Errorf("%s, CV %v, %d samples: found in %d of %d", test.shape, test.cv, test.samples, changed.found, draws)
			}
		}
		t.Logf("%s, CV %v%%, %d samples, paired %v: false regressions in %d (unadjusted %d), improvements in %d%s",
			test.shape, 100*test.cv, test.samples, test.paired, null.slower, null.alone, null.faster, found)
		if draws >= 100 && null.slower > draws/20 {
			t.Errorf("%s, CV %v, %d samples: a false regression in %d of %d", test.shape, test.cv, test.samples, null.slower, draws)
		}
	}
	if bound := stat.RateBound(total, files); bound > 0.05 {
		t.Errorf("%d of %d sets of claims are false: up to %.3f", total, files, bound)
	}
}
