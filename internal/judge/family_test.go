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

// The table in the documentation has 100 draws a row, and takes minutes.
var familyDraws = flag.Int("family-draws", 0, "draws of every row of the table of families; 0: a few of some rows")

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

// verdictAlone judges claims as Unpaired and Paired do, without the slow parts that are not needed
// here.
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

// The table of docs/statistics.md, for files of 1,000 benchmarks: the number of draws with a false
// regression, and the number in which a true slowdown of 5% is found.
func TestFamilyLevel(t *testing.T) {
	t.Parallel()
	wrong, claims := 0, 0
	for _, test := range []struct {
		shape   string
		cv      float64
		samples int
		paired  bool
		power   float64 // least part of draws in which +5% is found; 0: not drawn
		draws   int     // without the flag
	}{
		{"normal", 0.01, 20, false, 0.9, 0},
		{"normal", 0.02, 20, false, 0.9, 0},
		{"normal", 0.03, 20, false, 0.8, 4},
		{"normal", 0.05, 20, false, 0, 6},
		{"normal", 0.1, 20, false, 0, 0},
		{"normal", 0.05, 10, false, 0, 0},
		{"normal", 0.01, 10, false, 0.9, 0},
		{"normal", 0.01, 5, false, 0.8, 1},
		{"normal", 0.1, 50, false, 0, 0},
		{"normal", 0.1, 100, false, 0, 0},
		{"lognormal", 0.03, 20, false, 0.8, 0},
		{"lognormal", 0.3, 20, false, 0, 0},
		{"Student's t, 3 degrees", 0.03, 20, false, 0.8, 0},
		{"Student's t, 3 degrees", 0.1, 20, false, 0, 0},
		{"exponential", 0.03, 20, false, 0.8, 0},
		{"exponential", 0.1, 20, false, 0, 0},
		{"two states", 0.1, 20, false, 0, 0},
		{"two states", 0.1, 5, false, 0, 5},
		{"ticks of 5%", 0.05, 20, false, 0, 0},
		{mixed, 0.03, 20, false, 0.8, 0},
		{"normal", 0.01, 20, true, 0.8, 1},
		{"normal", 0.1, 20, true, 0, 5},
		{"normal", 0.03, 100, true, 0.8, 0},
		{"normal", 0.1, 100, true, 0, 0},
		{"Student's t, 3 degrees", 0.1, 20, true, 0, 0},
		{"two states", 0.1, 10, true, 0, 0},
	} {
		draws := test.draws
		if *familyDraws > 0 {
			draws = *familyDraws
		}
		if draws == 0 {
			continue
		}
		name := fmt.Sprintf("%s, CV %v%%, %d samples, paired %v", test.shape, 100*test.cv, test.samples, test.paired)
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var null, changed outcome
			for range draws {
				null.add(t, drawFamily(random, test.shape, test.cv, 1000, test.samples, 1, test.paired), test.paired, false)
				if test.power > 0 {
					changed.add(t, drawFamily(random, test.shape, test.cv, 1000, test.samples, 1.05, test.paired), test.paired, true)
				}
			}
			wrong, claims = wrong+null.slower+null.faster, claims+2*draws
			t.Logf("%d draws: a false regression in %d (unadjusted in %d), an improvement in %d", draws, null.slower, null.alone, null.faster)
			if null.slower > max(2, draws/20) {
				t.Errorf("a false regression in %d of %d", null.slower, draws)
			}
			if test.power == 0 {
				return
			}
			t.Logf("%d draws: +5%% found in %d (unadjusted in %d)", draws, changed.found, changed.foundAlone)
			if least := test.power * float64(draws); draws >= 100 && float64(changed.found) < least || 2*changed.found < draws {
				t.Errorf("+5%% found in %d of %d", changed.found, draws)
			}
		})
	}
	if rate := float64(wrong) / float64(max(1, claims)); claims > 100 && rate > 0.05 || rate > 0.1 {
		t.Errorf("false claims in %.1f%%", 100*rate)
	}
}

// A few comparisons need no adjustment: the rule alone errs less often than the level.
func TestFamilyOfFew(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, samples := range []int{4, 6, 20} {
		family := drawFamily(random, "normal", 0.01, 3, samples, 1.1, false)
		p, err := AdjustP(context.Background(), family, false, spec.DefaultGate)
		if err != nil || !(p[0] <= familyLevel[slower]) || !math.IsNaN(p[1]) || !math.IsNaN(p[2]) {
			t.Errorf("%d samples: %v, %v", samples, p, err)
		}
	}
}

// Many claims at once do not hide each other, whatever their direction, even where
// ranks of so few samples could not show any among so many.
func TestFamilyOfManyClaims(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var family []Comparison
	for i := range 60 {
		factor := []float64{1.3, 0.7, 1}[i%3]
		family = append(family, drawFamily(random, "normal", 0.01, 1, 5, factor, false)...)
	}
	p, err := AdjustP(context.Background(), family, false, spec.DefaultGate)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range family {
		verdict, reasons := AmongMany(c.Verdict, nil, p[i])
		if want := []result.Verdict{result.Regression, result.Improvement, result.Inconclusive}[i%3]; verdict != want || reasons != nil {
			t.Errorf("%d: %s %v, p %v", i, verdict, reasons, p[i])
		}
	}
}

func TestAmongMany(t *testing.T) {
	clock := []result.Reason{result.ClockEffect}
	for _, test := range []struct {
		was, want result.Verdict
		p         float64
		lost      bool
	}{
		{result.Regression, result.Regression, 0.028, false},
		{result.Regression, result.Inconclusive, 0.029, true},
		{result.Improvement, result.Improvement, 0.022, false},
		{result.Improvement, result.Inconclusive, 0.023, true},
		{result.Improvement, result.Inconclusive, 1, true},
		{result.Maintained, result.Maintained, 1, false},
	} {
		verdict, reasons := AmongMany(test.was, clock, test.p)
		if lost := !slices.Equal(reasons, clock); verdict != test.want || lost != test.lost || lost && !slices.Equal(reasons, []result.Reason{result.AmongMany}) {
			t.Errorf("%s with p %v: %s %v", test.was, test.p, verdict, reasons)
		}
	}
}

// The same files give the same p-values on every machine, and a cancelled
// comparison ends.
func TestFamilyIsRepeatable(t *testing.T) {
	family := drawFamily(rand.New(rand.NewPCG(9, 9)), "normal", 0.05, 200, 20, 1.1, false)
	first, err := AdjustP(context.Background(), family, false, spec.DefaultGate)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := AdjustP(context.Background(), family, false, spec.DefaultGate)
	if !slices.EqualFunc(first, second, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Error("other p-values of the same files")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := AdjustP(ctx, family, false, spec.DefaultGate); err == nil {
		t.Error("cancelled, and it went on")
	}
}
