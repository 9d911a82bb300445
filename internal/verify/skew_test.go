package verify

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pawl/internal/clocks"
	"pawl/internal/result"
)

func TestHidden(t *testing.T) {
	for _, clock := range []*result.ClockCheck{nil, {ClaimedS: 1e-5, WorkerS: 1e-4}, {ClaimedS: 1e-5, WorkerS: 1e-4, HostS: 9e-5}, {ClaimedS: 1e-5, WorkerS: 1e-4, MeanS: 9e-5}} {
		want := clock != nil && clock.HostS+clock.MeanS > 0
		if found := Hidden(&result.Timing{Clock: clock}); (len(found) == 1) != want {
			t.Errorf("%+v: %+v", clock, found)
		}
	}
}

func TestOverRoof(t *testing.T) {
	if f := OverRoof("too fast"); f.Exploit != InflatedWork || f.Severity != result.Suspicious || f.Message != "too fast" {
		t.Errorf("%+v", f)
	}
}

func TestSkew(t *testing.T) {
	const rounds = 240
	// timing repeats the values, except for the first few.
	timing := func(claimed, beyond float64, first ...float64) *result.Timing {
		clock := &result.ClockCheck{ClaimedS: claimed}
		for i := range rounds {
			if i < len(first) {
				clock.Beyond = append(clock.Beyond, first[i])
			} else {
				clock.Beyond = append(clock.Beyond, beyond)
			}
		}
		return &result.Timing{Clock: clock}
	}
	// disturbed returns this many rounds, of which every third tells nothing.
	disturbed := func(n int) (first []float64) {
		for range n {
			first = append(first, 92e-6, 92e-6, -50e-6)
		}
		return first
	}
	short := timing(140e-6, 92e-6)
	short.Clock.Beyond = short.Clock.Beyond[:34] // of which each must say so
	honest := timing(230e-6, 10e-6)
	for _, test := range []struct {
		name        string
		mine, other *result.Timing
		found       bool
	}{
		{"honest", timing(228e-6, 25e-6), honest, false},
		{"hides two fifths", timing(140e-6, 92e-6), honest, true},
		{"hides less than a tenth", timing(200e-6, 25e-6), honest, false},
		{"a clock that leaves 15% out", timing(196e-6, 44e-6), honest, true},
		{"beyond its claims as much as the other", timing(140e-6, 92e-6), timing(150e-6, 84e-6), false},
		{"the first rounds were disturbed", timing(140e-6, 92e-6, -50e-6, -50e-6, -50e-6, 92e-6, -50e-6, -50e-6), honest, true},
		{"some rounds were disturbed", timing(140e-6, 92e-6, disturbed(70)...), honest, true},
		{"half of them were", timing(140e-6, 92e-6, slices.Repeat([]float64{92e-6, -50e-6}, 120)...), honest, false},
		{"all were, for a while", timing(140e-6, 92e-6, slices.Repeat([]float64{-50e-6}, 10)...), honest, false},
		{"a microsecond", timing(2e-6, 1.5e-6), timing(2e-6, 0), false},
		{"the other takes less than it claims", timing(100e-6, 5e-6), timing(100e-6, -60e-6), false},
		{"hides a twelfth of its claim", timing(100e-6, 17.9e-6), honest, false},
		{"hides more than that", timing(100e-6, 18.1e-6), honest, true},
		{"too few rounds", short, honest, false},
		{"too few rounds of the other", timing(140e-6, 92e-6), short, false},
		{"nothing known of the other", timing(140e-6, 92e-6), &result.Timing{}, false},
		{"there is no other", timing(140e-6, 92e-6), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := Skew(test.mine, test.other); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
			if found := Helped(test.mine, test.other); len(found) > 0 {
				t.Errorf("nothing is known of its processors: %+v", found)
			}
			ofProcessors := func(t *result.Timing) *result.Timing {
				if t == nil || t.Clock == nil {
					return t
				}
				// of which twice the part is allowed
				return &result.Timing{Clock: &result.ClockCheck{ClaimedS: t.Clock.ClaimedS / 2, Helped: t.Clock.Beyond}}
			}
			if found := Helped(ofProcessors(test.mine), ofProcessors(test.other)); (len(found) == 1) != test.found {
				t.Errorf("of processors: %+v", found)
			}
		})
	}
}

// Threads that work while nothing is launched are helpers that nobody has asked for.
func TestCompany(t *testing.T) {
	timing := func(threads float64) *result.Timing {
		return &result.Timing{Clock: &result.ClockCheck{Beside: slices.Repeat([]float64{threads}, 60)}}
	}
	for _, test := range []struct {
		mine, other float64
		found       bool
	}{{0.9, -0.1, true}, {0.1, 0, true}, {0.07, 0, false}, {0.9, 0.85, false}, {-1, -2, false}} {
		found := Helped(timing(test.mine), timing(test.other))
		if (len(found) == 1) != test.found || test.found && !strings.Contains(found[0].Message, "while nothing is launched") {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

// However much the machine varies, honest versions that take turns are almost never accused, and
// one that hides much more than the variation is found.
func TestSkewUnderNoise(t *testing.T) {
	const machines, claimed = 4000, 20e-6
	for name, noise := range map[string]func(*rand.Rand, float64) float64{
		"even":   func(r *rand.Rand, _ float64) float64 { return 200e-6 * r.NormFloat64() },
		"spikes": func(r *rand.Rand, _ float64) float64 { return 20e-6 * math.Exp(2*r.NormFloat64()) },
		"modes":  func(r *rand.Rand, _ float64) float64 { return 200e-6 * float64(r.IntN(2)) },
		"phases": func(_ *rand.Rand, phase float64) float64 { return 200e-6 * math.Round(phase) }, // that last for rounds
	} {
		for hides, most := range map[float64]int{0: machines / 1000, 5e-3: machines} {
			r := rand.New(rand.NewPCG(1, 2))
			accused := 0
			for range machines {
				mine, other := &result.ClockCheck{ClaimedS: claimed}, &result.ClockCheck{ClaimedS: claimed}
				phase := r.Float64()
				for open := true; open; _, open = clocks.Hides(mine, other) {
					if r.IntN(5) == 0 {
						phase = r.Float64()
					}
					mine.Beyond, other.Beyond = append(mine.Beyond, hides+noise(r, phase)), append(other.Beyond, noise(r, phase))
				}
				accused += len(Skew(&result.Timing{Clock: mine}, &result.Timing{Clock: other}))
			}
			if accused > most || hides > 0 && accused < machines*99/100 {
				t.Errorf("%s: of %d machines on which a launch hides %g s %d are accused", name, machines, hides, accused)
			}
		}
	}
}

// With two versions to compare with, differing from one of them is not enough: that one may be the
// exception.
func TestSkewOfThree(t *testing.T) {
	const rounds = 60
	timing := func(beyond, helped, beside float64) *result.Timing {
		return &result.Timing{Clock: &result.ClockCheck{
			ClaimedS: 100e-6, Beyond: slices.Repeat([]float64{beyond}, rounds), Helped: slices.Repeat([]float64{helped}, rounds), Beside: slices.Repeat([]float64{beside}, rounds),
		}}
	}
	honest := timing(5e-6, 5e-6, 0)
	for _, test := range []struct {
		name                 string
		mine, base, best     *result.Timing
		skew, helped, silent string // what is found, and what must not be said of it
	}{
		{"hides more than both", timing(60e-6, 0, 0), honest, timing(25e-6, 0, 0), "35.0 µs more", "", "55.0 µs"},
		{"hides as much as its base", timing(60e-6, 0, 0), timing(60e-6, 0, 0), honest, "", "", ""},
		{"hides as much as the best-known", timing(60e-6, 0, 0), honest, timing(60e-6, 0, 0), "", "", ""},
		{"hides more than its base; of the best-known there are no readings", timing(60e-6, 0, 0), honest, &result.Timing{Clock: &result.ClockCheck{}}, "55.0 µs more", "", ""},
		{"hides more than its base; of the best-known there is nothing", timing(60e-6, 0, 0), honest, nil, "55.0 µs more", "", ""},
		{"hides more than the best-known; of its base there is nothing", timing(60e-6, 0, 0), &result.Timing{}, honest, "55.0 µs more", "", ""},
		{"of no other version there are readings", timing(60e-6, 60e-6, 1), nil, &result.Timing{Clock: &result.ClockCheck{}}, "", "", ""},
		{"has more help than both", timing(0, 60e-6, 0), honest, honest, "", "uses 55.0 µs more", ""},
		{"has as much help as the best-known", timing(0, 60e-6, 0), honest, timing(0, 60e-6, 0), "", "", ""},
		{"has more company than both", timing(0, 0, 1), honest, timing(0, 0, 0.4), "", "0.6 more of its threads", ""},
		{"has as much company as its base", timing(0, 0, 1), timing(0, 0, 1), honest, "", "", ""},
		{"more help than one, more company than the other", timing(0, 60e-6, 1), timing(0, 60e-6, 0), timing(0, 0, 1), "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, one := range map[string]struct {
				found []result.Finding
				want  string
			}{"skew": {Skew(test.mine, test.base, test.best), test.skew}, "helped": {Helped(test.mine, test.base, test.best), test.helped}} {
				if (len(one.found) == 1) != (one.want != "") {
					t.Errorf("%s: %+v", name, one.found)
				} else if len(one.found) == 1 && (!strings.Contains(one.found[0].Message, one.want) || test.silent != "" && strings.Contains(one.found[0].Message, test.silent)) {
					t.Errorf("%s: %s", name, one.found[0].Message)
				}
			}
		})
	}
}

// A row has three comparisons, against one version or two: together they accuse fewer than one
// honest row of 4,900.
func TestRowsUnderNoise(t *testing.T) {
	t.Parallel()
	rows := 20_000
	if testing.Short() {
		rows = 5000
	}
	for others := 1; others <= 2; others++ {
		r := rand.New(rand.NewPCG(1, 2))
		accused := 0
		for range rows {
			all := make([]*result.ClockCheck, 1+others)
			for i := range all {
				all[i] = &result.ClockCheck{ClaimedS: 20e-6}
			}
			noise := func() float64 { return 1000 + 100*r.NormFloat64() } // so large that all else is nothing
			for open := true; open; {
				for _, c := range all {
					c.Beyond, c.Helped, c.Beside = append(c.Beyond, noise()), append(c.Helped, noise()), append(c.Beside, noise())
				}
				_, hides := clocks.Hides(all[0], all[1:]...)
				_, helped := clocks.HasHelp(all[0], all[1:]...)
				_, company := clocks.HasCompany(all[0], all[1:]...)
				open = hides || helped || company
			}
			var versions []*result.Timing
			for _, c := range all {
				versions = append(versions, &result.Timing{Clock: c})
			}
			if len(Skew(versions[0], versions[1:]...))+len(Helped(versions[0], versions[1:]...)) > 0 {
				accused++
			}
		}
		t.Logf("%d of %d honest rows are accused, compared with %d", accused, rows, others)
		if accused > 2*rows/4900 { // these are drawn
			t.Errorf("%d of %d honest rows are accused, compared with %d", accused, rows, others)
		}
	}
}

// inTurns returns the timing of a version in the given number of rounds of a match. In the rounds
// that cheats selects, a launch claims claimed seconds and takes beyond seconds longer; in the
// others it claims both, and hides nothing. All of it varies by noise seconds.
func inTurns(r *rand.Rand, rounds int, claimed, beyond, noise float64, cheats func(round int) bool) *result.Timing {
	c := &result.TurnClocks{}
	for i := range rounds {
		claim, hidden := claimed, beyond
		if !cheats(i) {
			claim, hidden = claimed+beyond, 0
		}
		hidden += noise * r.NormFloat64()
		c.Claimed = append(c.Claimed, claim*(1+0.05*r.Float64()))
		c.Beyond, c.Helped, c.Beside = append(c.Beyond, hidden), append(c.Helped, hidden), append(c.Beside, -0.1)
	}
	return &result.Timing{InTurns: c}
}

func TestSkewInTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	always := func(int) bool { return true }
	never := func(int) bool { return false }
	honest := func(rounds int) *result.Timing { return inTurns(r, rounds, 230e-6, 0, 5e-6, never) }
	for _, test := range []struct {
		name        string
		mine, other *result.Timing
		found       bool
	}{
		{"honest", inTurns(r, 60, 200e-6, 0, 5e-6, never), honest(60), false},
		{"hides two fifths", inTurns(r, 60, 140e-6, 92e-6, 5e-6, always), honest(60), true},
		{"too few rounds", inTurns(r, 59, 140e-6, 92e-6, 5e-6, always), honest(60), false},
		{"too few of the other", inTurns(r, 60, 140e-6, 92e-6, 5e-6, always), honest(59), false},
		{"as much as the other", inTurns(r, 60, 140e-6, 92e-6, 5e-6, always), inTurns(r, 60, 140e-6, 92e-6, 5e-6, always), false},
		{"less than an eighth", inTurns(r, 60, 200e-6, 22e-6, 1e-6, always), honest(60), false},
		{"a fifth", inTurns(r, 60, 200e-6, 40e-6, 1e-6, always), honest(60), true},
		{"a short launch may take 2 µs more", inTurns(r, 60, 1e-6, 1.8e-6, 1e-8, always), inTurns(r, 60, 2e-6, 0, 1e-8, never), false},
		{"a short launch", inTurns(r, 60, 1e-6, 2.2e-6, 1e-8, always), inTurns(r, 60, 2e-6, 0, 1e-8, never), true},
		{"only late in the match", inTurns(r, 160, 140e-6, 92e-6, 5e-6, func(i int) bool { return i >= 60 }), honest(160), true},
		{"in three turns of five", inTurns(r, 160, 140e-6, 92e-6, 5e-6, func(i int) bool { return i%5 < 3 }), honest(160), true},
		{"in one turn of four", inTurns(r, 160, 140e-6, 92e-6, 5e-6, func(i int) bool { return i%4 == 0 }), honest(160), false},
		{"nothing was held", &result.Timing{}, honest(60), false},
		{"nothing of the other was", inTurns(r, 60, 140e-6, 92e-6, 5e-6, always), &result.Timing{}, false},
		{"there is no other", honest(60), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := Skew(test.mine, test.other); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
			if found := Helped(test.mine, test.other); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
		})
	}
	// A version that hides time only where data is wholly new, in one turn of three.
	third := func(i int) bool { return i%3 == 0 }
	for _, test := range []struct {
		rounds int
		known  bool // which turns have new data
		found  bool
	}{{60, true, true}, {60, false, false}, {57, true, false}} {
		mine, other := inTurns(r, test.rounds, 140e-6, 92e-6, 5e-6, third), honest(test.rounds)
		for i := range test.rounds {
			mine.InTurns.Fresh = append(mine.InTurns.Fresh, test.known && third(i))
			mine.InTurns.Claimed[i] = 140e-6
			other.InTurns.Claimed[i] = 230e-6 * (1 + 0.1*r.Float64())
		}
		if found := Skew(mine, other); (len(found) == 1) != test.found {
			t.Errorf("%+v: %+v", test, found)
		}
	}
	found := Skew(inTurns(r, 60, 140e-6, 92e-6, 0, always), honest(60))
	if len(found) != 1 || found[0].Exploit != ClockMismatch || found[0].Severity != result.Suspicious || !strings.Contains(found[0].Message, "its launches claim 14") {
		t.Errorf("%+v", found)
	}
	spins := honest(60)
	for i := range spins.InTurns.Beside {
		spins.InTurns.Beside[i] = 0.9
	}
	if found := Helped(spins, honest(60)); len(found) != 1 || !strings.Contains(found[0].Message, "1 more of its threads") {
		t.Errorf("%+v", found)
	}
}

// A version that hides a sixth is found by the turns of a match, even on a busy machine whose turns
// vary by more than that.
func TestSkewInNoisyTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	found := 0
	for range 200 {
		mine := inTurns(r, 470, 95e-6, 19e-6, 14e-6, func(int) bool { return true })
		found += len(Skew(mine, inTurns(r, 470, 114e-6, 0, 14e-6, func(int) bool { return true })))
	}
	if found < 190 {
		t.Errorf("found in %d of 200 matches", found)
	}
}

// However noisy the machine, honest versions are almost never accused, even where time that was not
// theirs is in their claims, and so missing beyond them.
func TestSkewInTurnsByChance(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	accused := 0
	for range 4000 {
		var of [2]*result.Timing
		rounds := 60 + r.IntN(150)
		for side := range of {
			of[side] = inTurns(r, rounds, 100e-6, 0, 80e-6, func(int) bool { return false })
			c := of[side].InTurns
			for i := range rounds {
				wait := 200e-6 * math.Max(0, r.NormFloat64())
				c.Claimed[i] += wait
				c.Beyond[i] -= wait / 2
				c.Fresh = append(c.Fresh, r.IntN(3) == 0)
			}
		}
		accused += len(Skew(of[0], of[1])) + len(Helped(of[0], of[1]))
	}
	if accused > 2 {
		t.Errorf("%d of 8000 are accused", accused)
	}
}
