package clocks

import (
	"slices"
	"testing"

	"pawl/internal/result"
)

// On a busy machine, launches that take twenty times as long are interrupted twenty times as often.
// That is no reason to accuse them, and hiding would gain them nothing. A version that claims as much
// as the other, or less, and takes as much longer, hides it.
func TestFarSlowerIsNotCompared(t *testing.T) {
	const rounds = 200
	for claimed, accused := range map[float64]bool{500e-6: false, 40e-6: false, 26e-6: true, 20e-6: true} {
		fill := func(v float64) []float64 { return slices.Repeat([]float64{v}, rounds) }
		over := fill(0.4 * claimed)
		mine := &result.ClockCheck{ClaimedS: claimed, Beyond: over, Helped: over, Beside: fill(0.5)}
		others := &result.ClockCheck{ClaimedS: 25e-6, Beyond: fill(1e-6), Helped: fill(1e-6), Beside: fill(0)}
		hidden, open := Hides(mine, others)
		helped, _ := HasHelp(mine, others)
		company, _ := HasCompany(mine, others)
		if (hidden > 0) != accused || (helped > 0) != accused || (company > 0) != accused || open {
			t.Errorf("a claim of %g beside 25 µs: hides %g, helped %g, company %g, open %v", claimed, hidden, helped, company, open)
		}
		inTurns := &result.TurnClocks{Claimed: fill(claimed), Beyond: over, Helped: over, Beside: fill(0.5)}
		besideIt := &result.TurnClocks{Claimed: fill(25e-6), Beyond: fill(1e-6), Helped: fill(1e-6), Beside: fill(0)}
		hidden, _ = HidesInTurns(inTurns, besideIt)
		helped, _ = HasHelpInTurns(inTurns, besideIt)
		company = HasCompanyInTurns(inTurns, besideIt)
		if (hidden > 0) != accused || (helped > 0) != accused || (company > 0) != accused {
			t.Errorf("in turns, a claim of %g beside 25 µs: hides %g, helped %g, company %g", claimed, hidden, helped, company)
		}
	}
}

// On a busy machine, a version that takes 3 ms waits in its launches, and works for 0.9 ms less than it
// claims. Beside it, one that takes 15 µs seems to work for far too long, though it is only that pawl's
// own work before a launch takes a little longer. One that has help still has it.
func TestOthersThatWait(t *testing.T) {
	const rounds = 200
	fill := func(v float64) []float64 { return slices.Repeat([]float64{v}, rounds) }
	for _, tc := range []struct {
		name           string
		others, waited float64
		accused        bool
	}{
		{"it waits", -890e-6, 890e-6, false},
		{"and is idle besides", -890e-6, 300e-6, true},
		{"nobody waits", 0, 0, true},
		{"a little", 0, 1e-6, true},
	} {
		mine := &result.ClockCheck{ClaimedS: 15e-6, Beyond: fill(6e-6), Helped: fill(6e-6), Waited: fill(15e-6)}
		others := &result.ClockCheck{ClaimedS: 3.1e-3, Beyond: fill(tc.others), Helped: fill(tc.others), Waited: fill(tc.waited)}
		if tc.name == "it waits" { // for a little longer than it works less
			others.Waited = fill(tc.waited + 5e-6)
		}
		helped, _ := HasHelp(mine, others)
		turns := &result.TurnClocks{Claimed: fill(15e-6), Beyond: mine.Beyond, Helped: mine.Helped, Waited: mine.Waited}
		their := &result.TurnClocks{Claimed: fill(3.1e-3), Beyond: others.Beyond, Helped: others.Helped, Waited: others.Waited}
		inTurns, _ := HasHelpInTurns(turns, their)
		hides, _ := Hides(mine, others)
		hidesInTurns, _ := HidesInTurns(turns, their)
		for name, seconds := range map[string]float64{"helped": helped, "helped in turns": inTurns, "hides": hides, "hides in turns": hidesInTurns} {
			if (seconds > 0) != tc.accused {
				t.Errorf("%s: %s %g", tc.name, name, seconds)
			}
		}
	}
}
