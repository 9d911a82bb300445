package effect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/result"
)

// known is a space whose cost is known everywhere.
type known struct {
	params []result.SpaceParam
	log    func(at []int) float64
}

func paramOf(name string, values ...string) result.SpaceParam {
	return result.SpaceParam{Name: name, Values: values, Default: values[0]}
}

func (k known) trial(n int, at []int) *result.Trial {
	t := &result.Trial{N: n, Params: map[string]string{}, Status: result.TrialOK, Cost: math.Exp(k.log(at))}
	for i, p := range k.params {
		t.Params[p.Name] = p.Values[at[i]]
	}
	return t
}

// all returns every point of the space.
func (k known) all() [][]int {
	out := [][]int{nil}
	for _, p := range k.params {
		var longer [][]int
		for _, at := range out {
			for v := range p.Values {
				longer = append(longer, append(slices.Clone(at), v))
			}
		}
		out = longer
	}
	return out
}

// exact returns the shares over the whole space.
func (k known) exact() map[string]float64 {
	points := k.all()
	first, second := 0.0, 0.0
	for _, at := range points {
		first += k.log(at) / float64(len(points))
		second += k.log(at) * k.log(at) / float64(len(points))
	}
	out := map[string]float64{}
	for i, p := range k.params {
		level := make([]float64, len(p.Values))
		for _, at := range points {
			level[at[i]] += k.log(at) * float64(len(p.Values)) / float64(len(points))
		}
		for _, v := range level {
			out[p.Name] += (v - first) * (v - first) / float64(len(level)) / (second - first*first)
		}
	}
	return out
}

// search returns trials as a search makes them: some at random, most near the best so far.
func (k known) search(n int, seed uint64) []*result.Trial {
	random := rand.New(rand.NewPCG(seed, 1))
	var out []*result.Trial
	seen := map[string]bool{}
	best, low := []int(nil), math.Inf(1)
	for len(out) < n {
		at := make([]int, len(k.params))
		for i, p := range k.params {
			at[i] = random.IntN(len(p.Values))
			if len(out) > n/5 && random.IntN(len(k.params)) > 0 {
				at[i] = best[i]
			}
		}
		if seen[fmt.Sprint(at)] {
			continue
		}
		seen[fmt.Sprint(at)] = true
		out = append(out, k.trial(len(out)+1, at))
		if v := k.log(at); v < low {
			low, best = v, at
		}
	}
	return out
}

func sharesOf(effects []result.Effect) map[string]float64 {
	out := map[string]float64{}
	for _, e := range effects {
		out[e.Param] = e.Share
	}
	return out
}

// kernel has params that matter much, little, only together, and not at all.
func kernel() known {
	return known{
		params: []result.SpaceParam{
			paramOf("TILE", "8", "16", "32", "64", "128"), paramOf("ORDER", "row", "column", "tiled", "morton"),
			paramOf("UNROLL", "1", "2", "4", "8"), paramOf("STAGES", "1", "2", "3"), paramOf("NOTHING", "1", "2", "3", "4"), paramOf("ONE", "7"),
		},
		log: func(at []int) float64 {
			return 0.5*math.Abs(float64(at[0])-3) + []float64{0.3, 0, 0.5, 0.1}[at[1]] - 0.05*float64(at[2]) + 0.15*math.Abs(float64(at[3])-float64(at[2])/2)
		},
	}
}

// Shares are those of the whole space, though the search has looked most near the best settings.
func TestSharesOfAConcentratedSearch(t *testing.T) {
	k := kernel()
	want := k.exact()
	for seed := range uint64(5) {
		got := sharesOf(Of(k.params, k.search(150, seed)))
		for name, share := range want {
			if math.Abs(got[name]-share) > 0.13 {
				t.Errorf("seed %d: %s explains %.3f, and over the whole space %.3f", seed, name, got[name], share)
			}
		}
		if got["NOTHING"] > 0.02 || got["ONE"] != 0 {
			t.Errorf("seed %d: params that do nothing explain %.3f and %.3f", seed, got["NOTHING"], got["ONE"])
		}
	}
}

// A whole space is decomposed nearly exactly.
func TestSharesOfAWholeSpace(t *testing.T) {
	k := kernel()
	var trials []*result.Trial
	for i, at := range k.all() {
		trials = append(trials, k.trial(i+1, at))
	}
	effects := Of(k.params, trials)
	got := sharesOf(effects)
	for name, share := range k.exact() {
		if math.Abs(got[name]-share) > 0.02 {
			t.Errorf("%s explains %.3f, want %.3f", name, got[name], share)
		}
	}
	if effects[0].Param != "TILE" || effects[1].Param != "ORDER" {
		t.Errorf("the largest first: %s, %s", effects[0].Param, effects[1].Param)
	}
}

// Shares lie between 0 and 1 and sum to at most 1; the unit of the cost does not change them, and failures
// have no part in them.
func TestSharesProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var params []result.SpaceParam
		for i := range rapid.IntRange(1, 4).Draw(t, "params") {
			p := result.SpaceParam{Name: string(rune('A' + i))}
			for v := range rapid.IntRange(1, 5).Draw(t, "values") {
				p.Values = append(p.Values, strconv.Itoa(v)+rapid.SampledFrom([]string{"", "x"}).Draw(t, "kind"))
			}
			params = append(params, p)
		}
		var trials, scaled, failing []*result.Trial
		for n := range rapid.IntRange(0, 40).Draw(t, "trials") {
			one := &result.Trial{N: n + 1, Params: map[string]string{}, Status: result.TrialOK, Cost: rapid.Float64Range(1e-9, 1e3).Draw(t, "cost")}
			for _, p := range params {
				one.Params[p.Name] = rapid.SampledFrom(p.Values).Draw(t, p.Name)
			}
			more, failed := *one, *one
			more.Cost *= 1000
			failed.Status, failed.Cost = result.TrialCrash, 0
			trials, scaled, failing = append(trials, one), append(scaled, &more), append(failing, one, &failed)
		}
		effects := Of(params, trials)
		if (effects == nil) != (len(trials) < fewest) {
			t.Fatalf("%d effects of %d trials", len(effects), len(trials))
		}
		sum := 0.0
		for i, e := range effects {
			if !(e.Share >= 0) || i > 0 && e.Share > effects[i-1].Share {
				t.Fatalf("shares %v", effects)
			}
			sum += e.Share
		}
		if sum > 1+1e-9 {
			t.Fatalf("the shares sum to %g", sum)
		}
		want := sharesOf(effects)
		for how, other := range map[string][]result.Effect{"in another unit": Of(params, scaled), "with failures": Of(params, failing)} {
			for name, share := range sharesOf(other) {
				if math.Abs(share-want[name]) > 0.02 { // costs that are equal but for rounding may split otherwise
					t.Fatalf("%s: %s explains %g, else %g", how, name, share, want[name])
				}
			}
		}
	})
}

// What a value came to is counted as it was: failures apart, a cut trial is no best one, and what the
// device cannot run was not tried.
func TestValues(t *testing.T) {
	of := func(value string, status result.TrialStatus, cost float64) *result.Trial {
		return &result.Trial{Params: map[string]string{"A": value}, Status: status, Cost: cost}
	}
	trials := []*result.Trial{
		of("1", result.TrialOK, 3), of("1", result.TrialOK, 1), of("1", result.TrialCut, 5), of("1", result.TrialWrong, 0), of("1", result.TrialUnfit, 0),
		of("2", result.TrialCut, 0.5), of("2", result.TrialLost, 0), of("3", result.TrialCompileError, 0), of("elsewhere", result.TrialOK, 1),
	}
	got := values(paramOf("A", "1", "2", "3", "4"), trials)
	want := []result.EffectValue{
		{Value: "1", Trials: 4, Failed: 1, Best: 1, Median: 3},
		{Value: "2", Trials: 2, Median: 0.5},
		{Value: "3", Trials: 1, Failed: 1},
		{Value: "4"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFront(t *testing.T) {
	of := func(n int, status result.TrialStatus, seconds, joules float64) *result.Trial {
		return &result.Trial{N: n, Status: status, Cost: seconds, On: []result.TrialConfig{{MedianS: seconds, Joules: joules}}}
	}
	trials := []*result.Trial{
		of(1, result.TrialOK, 3, 1), of(2, result.TrialOK, 1, 5), of(3, result.TrialOK, 2, 2), of(4, result.TrialOK, 2, 2), of(5, result.TrialOK, 2, 3),
		of(6, result.TrialOK, 4, 1), of(7, result.TrialWrong, 0.5, 0.5), of(8, result.TrialOK, 0.5, 0), of(9, result.TrialCut, 0.4, 0.1),
	}
	if d := cmp.Diff([]int{2, 3, 1}, Front(trials, 1)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := Front(trials, 2); got != nil {
		t.Errorf("trials of one config of two: %v", got)
	}
}

// No trial beats one of the front in both, and every other trial is beaten or equalled.
func TestFrontProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var trials []*result.Trial
		for n := range rapid.IntRange(0, 30).Draw(t, "trials") {
			trials = append(trials, &result.Trial{N: n + 1, Status: result.TrialOK, Cost: 1, On: []result.TrialConfig{{
				MedianS: float64(rapid.IntRange(1, 9).Draw(t, "s")), Joules: float64(rapid.IntRange(1, 9).Draw(t, "j")),
			}}})
		}
		front := Front(trials, 1)
		for _, a := range trials {
			beaten, equalled := false, false
			for _, b := range trials {
				s, j := b.On[0].MedianS-a.On[0].MedianS, b.On[0].Joules-a.On[0].Joules
				beaten = beaten || s <= 0 && j <= 0 && (s < 0 || j < 0)
				equalled = equalled || s == 0 && j == 0 && b.N < a.N
			}
			if slices.Contains(front, a.N) != (!beaten && !equalled) {
				t.Fatalf("trial %d: in the front %t, beaten %t, equalled %t", a.N, slices.Contains(front, a.N), beaten, equalled)
			}
		}
	})
}
