package judge

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// against returns an opponent of 100 µs that the candidate played against.
func against(low, median, high float64, more ...func(*Opponent)) *Opponent {
	o := &Opponent{Median: 100e-6, Change: &result.Change{Low: low, Median: median, High: high, Paired: true}}
	o.Change.Exact = o.Change.HalfWidth() <= 0.005+1e-12
	for _, change := range more {
		change(o)
	}
	return o
}

func lasting(seconds float64) func(*Opponent) { return func(o *Opponent) { o.Median = seconds } }

func confirmed(o *Opponent) { o.Change.Confirmed = true }

// confirmed returns the same opponent, after a second set of cells.
func (o *Opponent) confirmed() *Opponent {
	if o == nil || o.Change == nil {
		return o
	}
	again, change := *o, *o.Change
	change.Confirmed = true
	again.Change = &change
	return &again
}

func bistable(o *Opponent) { o.Change.Bistable = true }

func inCycles(change float64) func(*Opponent) { return func(o *Opponent) { o.Change.Cycles = &change } }

// withTail sets a P90 that changed by this much, with this p-value.
func withTail(change, p float64) func(*Opponent) {
	return func(o *Opponent) {
		was := 1.2 * o.Median
		o.Change.Tail = &result.Tail{BeforeS: was, AfterS: was * (1 + change), Change: change, P: p}
	}
}

func missing(o *Opponent) { o.Missing = true }

var (
	same    = &Opponent{Same: true}
	unknown = &Opponent{Missing: true}
	equal   = against(-0.002, 0, 0.002)
)

func fault(cause result.Cause) *result.Fault { return &result.Fault{Cause: cause} }

// Every row of the decision table, before and after confirmation.
func TestVerdict(t *testing.T) {
	type reasons []result.Reason
	for _, test := range []struct {
		name string
		c    Case
		want result.Verdict
		why  reasons
	}{
		// Verdicts that no measurement can change.
		{"incorrect, whatever else", Case{Incorrect: true, Fault: fault(result.CauseForged), Base: same}, result.Incorrect, nil},
		{"forged", Case{Fault: fault(result.CauseForged), Base: equal}, result.Rejected, nil},
		{"over the roof", Case{Fault: fault(result.CauseOverRoof), Base: equal}, result.Rejected, nil},
		{"does not compile", Case{Fault: fault(result.CauseCompile), Base: equal}, result.Broken, nil},
		{"makes no sense on this config", Case{Fault: fault(result.CauseSpec)}, result.Broken, nil},
		{"crashes", Case{Fault: fault(result.CauseCrash), Base: equal}, result.Broken, nil},
		{"hangs", Case{Fault: fault(result.CauseTimeout), Base: equal}, result.Broken, nil},
		{"writes outside", Case{Fault: fault(result.CauseOutOfBounds), Base: equal}, result.Broken, nil},
		{"no device: says nothing of the kernel", Case{Fault: fault(result.CauseUnsupported), Base: equal}, "", nil},
		{"interrupted: likewise", Case{Fault: fault(result.CauseInterrupted), Base: equal}, "", nil},
		{"the machine failed: likewise", Case{Fault: fault(result.CauseInternal), Base: equal}, "", nil},
		{"killed from outside: likewise", Case{Fault: fault(result.CauseKilled), Base: equal}, "", nil},
		{"another protocol: likewise", Case{Fault: fault(result.CauseProtocol), Base: equal}, "", nil},

		// What there is to compare with.
		{"nothing", Case{}, result.New, reasons{result.NoBaseline}},
		{"nothing but a draft", Case{Draft: true}, result.New, reasons{result.BaseDraft}},
		{"a draft, the best's own code", Case{Draft: true, Best: same}, result.Unchanged, nil},
		{"a draft: the best decides", Case{Draft: true, Best: against(0.038, 0.04, 0.042)}, result.Regression, nil},
		{"a draft, and the best cannot be had", Case{Draft: true, Best: unknown}, result.Incomparable, nil},
		{"the base's own code", Case{Base: same}, result.Unchanged, nil},
		{"the base's own code, the best another", Case{Base: same, Best: unknown}, result.Unchanged, nil},
		{"no base, the best's own code", Case{Best: same}, result.Unchanged, nil},
		{"another than the base, back to the best", Case{Base: against(-0.102, -0.1, -0.098), Best: same}, result.Improvement, nil},
		{"base cannot be had", Case{Base: unknown}, result.Incomparable, nil},
		{"base cannot be had, though it was measured before it failed", Case{Base: against(0.1, 0.1, 0.1, missing)}, result.Incomparable, nil},
		{"base was not measured", Case{Base: &Opponent{}}, result.Incomparable, nil},
		{"best cannot be had, no base", Case{Best: unknown}, result.Incomparable, nil},
		{"neither can be had", Case{Base: unknown, Best: unknown}, result.Incomparable, nil},
		{"base cannot be had, back to the best", Case{Base: unknown, Best: same}, result.Incomparable, nil},
		{"base cannot be had: the best decides", Case{Base: unknown, Best: against(0.038, 0.04, 0.042)}, result.Regression, nil},
		{"no base: the best decides", Case{Best: against(-0.082, -0.08, -0.078)}, result.Improvement, nil},
		{"best cannot be had: the base decides", Case{Base: against(0.038, 0.04, 0.042), Best: unknown}, result.Regression, nil},

		// Width reached: the middle decides.
		{"slower than the gate", Case{Base: against(0.0305, 0.0315, 0.0325)}, result.Regression, nil},
		{"slower than the gate, the interval reaches into it", Case{Base: against(0.027, 0.031, 0.035)}, result.Regression, nil},
		{"slower by exactly the gate", Case{Base: against(0.028, 0.03, 0.032)}, result.Maintained, reasons{result.Slower}},
		{"slower inside the gate", Case{Base: against(0.018, 0.02, 0.022)}, result.Maintained, reasons{result.Slower}},
		{"equal", Case{Base: equal}, result.Maintained, nil},
		{"equal, touching 0", Case{Base: against(0, 0.002, 0.004)}, result.Maintained, nil},
		{"faster inside the gate", Case{Base: against(-0.042, -0.04, -0.038)}, result.Maintained, reasons{result.Faster}},
		{"faster by exactly the gate", Case{Base: against(-0.052, -0.05, -0.048)}, result.Maintained, reasons{result.Faster}},
		{"faster than the gate", Case{Base: against(-0.053, -0.051, -0.049)}, result.Improvement, nil},

		// Width not reached: decided where a narrower interval would say the same.
		{"wide, over the gate's edge", Case{Base: against(0.01, 0.04, 0.07)}, result.Inconclusive, nil},
		{"wide, over the other edge", Case{Base: against(-0.09, -0.06, -0.03)}, result.Inconclusive, nil},
		{"wide, over everything", Case{Base: against(-0.3, 0, 0.3)}, result.Inconclusive, nil},
		{"wide, middle inside, reaching out", Case{Base: against(-0.02, 0.01, 0.04)}, result.Inconclusive, nil},
		{"wide, all of it slower", Case{Base: against(0.4, 0.5, 0.6)}, result.Regression, nil},
		{"wide, all of it faster", Case{Base: against(-0.6, -0.5, -0.4)}, result.Improvement, nil},
		{"wide, all of it inside", Case{Base: against(-0.02, 0, 0.02)}, result.Maintained, nil},
		{"one cell bounds nothing", Case{Base: against(-1, 0.5, 1e3)}, result.Inconclusive, nil},

		// Absolute differences that are too small for a verdict.
		{"0.49 µs slower, of 10 µs", Case{Base: against(0.047, 0.049, 0.051, lasting(10e-6))}, result.Maintained, reasons{result.TooSmall}},
		{"0.51 µs slower, of 10 µs", Case{Base: against(0.049, 0.051, 0.053, lasting(10e-6))}, result.Regression, nil},
		{"0.02 to 0.22 µs slower, of 2 µs", Case{Base: against(0.01, 0.06, 0.11, lasting(2e-6))}, result.Maintained, reasons{result.TooSmall}},
		{"0.2 to 2.2 µs slower, of 20 µs", Case{Base: against(0.01, 0.06, 0.11, lasting(20e-6))}, result.Inconclusive, nil},
		{"twice as slow, of 0.4 µs", Case{Base: against(0.99, 1, 1.01, lasting(0.4e-6))}, result.Maintained, reasons{result.TooSmall}},
		{"twice as fast, of 0.4 µs: not a matter of failing", Case{Base: against(-0.502, -0.5, -0.498, lasting(0.4e-6))}, result.Improvement, nil},
		{"2% slower, of 1 µs: inside the gate, not too small", Case{Base: against(0.018, 0.02, 0.022, lasting(1e-6))}, result.Maintained, reasons{result.Slower}},

		// The slowest tenth, which a median does not show.
		{"equal, with a slow tail", Case{Base: against(-0.002, 0, 0.002, withTail(0.4, 0.001))}, result.Maintained, reasons{result.SlowTail}},
		{"faster than the gate, with a slow tail", Case{Base: against(-0.082, -0.08, -0.078, withTail(0.031, 0.009))}, result.Improvement, reasons{result.SlowTail}},
		{"undecided, with a slow tail", Case{Base: against(-0.1, 0, 0.1, withTail(0.4, 0.001))}, result.Inconclusive, reasons{result.SlowTail}},
		{"slower than the gate: the tail adds nothing", Case{Base: against(0.04, 0.04, 0.04, withTail(0.4, 0))}, result.Regression, nil},
		{"a tail inside the gate", Case{Base: against(-0.002, 0, 0.002, withTail(0.03, 0))}, result.Maintained, nil},
		{"a tail that may be chance", Case{Base: against(-0.002, 0, 0.002, withTail(0.4, 0.01))}, result.Maintained, nil},
		{"a tail of 0.4 µs", Case{Base: against(-0.002, 0, 0.002, lasting(1e-6), withTail(0.33, 0))}, result.Maintained, nil},
		{"a faster tail", Case{Base: against(-0.002, 0, 0.002, withTail(-0.4, 0))}, result.Maintained, nil},

		// A trio: the base, and the best-known besides.
		{"a small step that goes too far from the best", Case{Base: against(0.013, 0.015, 0.017), Best: against(0.038, 0.04, 0.042)}, result.Regression, reasons{result.TooFar}},
		{"a small step, wide, all of it inside", Case{Base: against(0.005, 0.015, 0.025), Best: against(0.038, 0.04, 0.042)}, result.Regression, reasons{result.TooFar}},
		{"a small step, wide, reaching over the gate: a regression either way", Case{Base: against(0.015, 0.025, 0.035), Best: against(0.05, 0.055, 0.06)}, result.Regression, reasons{result.TooFar}},
		{"a step of 0.2%, whatever the best is", Case{Base: against(0.001, 0.002, 0.003), Best: against(0.098, 0.1, 0.102)}, result.Maintained, reasons{result.Slower, result.Creep}},
		{"a step of 0.3 µs, whatever the best is", Case{
			Base: against(0.013, 0.015, 0.017, lasting(20e-6)), Best: against(0.098, 0.1, 0.102, lasting(20e-6)),
		}, result.Maintained, reasons{result.Slower, result.Creep}},
		{"a small step, not too far from the best", Case{Base: against(0.013, 0.015, 0.017), Best: against(0.023, 0.025, 0.027)}, result.Maintained, reasons{result.Slower}},
		{"a small step, how far from the best is not known", Case{Base: against(0.013, 0.015, 0.017), Best: against(0.01, 0.04, 0.07)}, result.Maintained, reasons{result.Slower}},
		{"a small step, behind the best by less than 0.5 µs", Case{
			Base: against(0.013, 0.015, 0.017, lasting(10e-6)), Best: against(0.038, 0.04, 0.042, lasting(10e-6)),
		}, result.Maintained, reasons{result.Slower}},
		{"no step, behind the best: creep", Case{Base: equal, Best: against(0.038, 0.04, 0.042)}, result.Maintained, reasons{result.Creep}},
		{"a step forward, still behind the best", Case{Base: against(-0.022, -0.02, -0.018), Best: against(0.038, 0.04, 0.042)}, result.Maintained, reasons{result.Faster, result.Creep}},
		{"a large step forward, still behind", Case{Base: against(-0.2, -0.2, -0.2), Best: against(0.04, 0.04, 0.04)}, result.Improvement, reasons{result.Creep}},
		{"undecided, and behind the best", Case{Base: against(-0.06, 0.01, 0.08), Best: against(0.04, 0.04, 0.04)}, result.Inconclusive, reasons{result.Creep}},
		{"a regression is its own, not creep", Case{Base: against(0.04, 0.04, 0.04), Best: against(0.08, 0.08, 0.08)}, result.Regression, nil},
		{"slower than the base, better than the best", Case{Base: against(0.04, 0.04, 0.04), Best: against(-0.1, -0.1, -0.1)}, result.Regression, nil},

		// Reasons.
		{"two groups of cells", Case{Base: against(-0.002, 0, 0.002, bistable)}, result.Maintained, reasons{result.Bistable}},
		{"two groups of cells, slower", Case{Base: against(0.04, 0.05, 0.06, bistable)}, result.Regression, reasons{result.Bistable}},
		{"two groups of cells, undecided", Case{Base: against(-0.1, 0, 0.1, bistable)}, result.Inconclusive, reasons{result.Bistable}},
		{"slower in time, not in cycles", Case{Base: against(0.04, 0.05, 0.06, inCycles(0.001))}, result.Regression, reasons{result.ClockEffect}},
		{"slower in time, faster in cycles", Case{Base: against(0.04, 0.05, 0.06, inCycles(-0.05))}, result.Regression, reasons{result.ClockEffect}},
		{"slower in both", Case{Base: against(0.04, 0.05, 0.06, inCycles(0.049))}, result.Regression, nil},
		{"slower, most of it in cycles", Case{Base: against(0.04, 0.05, 0.06, inCycles(0.03))}, result.Regression, nil},
		{"faster in time, not in cycles", Case{Base: against(-0.11, -0.1, -0.09, inCycles(-0.01))}, result.Improvement, reasons{result.ClockEffect}},
		{"faster in both", Case{Base: against(-0.11, -0.1, -0.09, inCycles(-0.1))}, result.Improvement, nil},
		{"the clock of what passes is nobody's business", Case{Base: against(0.018, 0.02, 0.022, inCycles(0))}, result.Maintained, reasons{result.Slower}},
		{"slower on purpose", Case{Base: against(0.04, 0.05, 0.06), Accepted: true}, result.Regression, reasons{result.Accepted}},
		{"accepted, and no regression", Case{Base: equal, Accepted: true}, result.Maintained, nil},
		{"a second set of cells did not agree", Case{Base: against(0.026, 0.028, 0.03, confirmed)}, result.Maintained, reasons{result.Slower, result.NotConfirmed}},
		{"a second set of cells found nothing", Case{Base: against(-0.002, 0, 0.002, confirmed)}, result.Maintained, reasons{result.NotConfirmed}},
		{"a second set of cells agreed", Case{Base: against(0.04, 0.05, 0.06, confirmed)}, result.Regression, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.c.Gate = spec.DefaultGate
			verdict, why := Provisional(test.c)
			if verdict != test.want || !slices.Equal(why, test.why) {
				t.Errorf("got %q %v, want %q %v", verdict, why, test.want, test.why)
			}
			if Confirm(test.want) {
				test.c.Base, test.c.Best = test.c.Base.confirmed(), test.c.Best.confirmed()
			}
			verdict, why = Verdict(test.c)
			if verdict != test.want || !slices.Equal(why, test.why) {
				t.Errorf("in the end: got %q %v, want %q %v", verdict, why, test.want, test.why)
			}
		})
	}
}

// Nothing fails, and nothing is called faster, before a second set of cells was played.
func TestVerdictNeedsConfirmation(t *testing.T) {
	slower, faster := against(0.07, 0.08, 0.09), against(-0.09, -0.08, -0.07)
	for _, test := range []struct {
		name string
		c    Case
	}{
		{"slower", Case{Base: slower}},
		{"slower on purpose", Case{Base: slower, Accepted: true}},
		{"faster", Case{Base: faster}},
		{"slower than the best, no base", Case{Best: slower}},
		{"slower than the best, the base cannot be had", Case{Base: against(0, 0, 0, confirmed, missing), Best: slower}},
		{"a small step too far", Case{Base: against(0.013, 0.015, 0.017), Best: slower}},
	} {
		test.c.Gate = spec.DefaultGate
		if verdict, _ := Provisional(test.c); !Confirm(verdict) {
			t.Errorf("%s: %s needs no confirmation", test.name, verdict)
		}
		verdict, why := Verdict(test.c)
		if verdict != result.Inconclusive || !slices.Equal(why, []result.Reason{result.Unconfirmed}) {
			t.Errorf("%s: %s %v", test.name, verdict, why)
		}
	}
}

// The gate is the one that is given.
func TestVerdictByAnotherGate(t *testing.T) {
	loose := spec.Gate{Regression: 0.5, Improvement: 0.6}
	for change, want := range map[float64]result.Verdict{0.4: result.Maintained, 0.51: result.Regression, -0.59: result.Maintained, -0.61: result.Improvement} {
		if got, _ := Verdict(Case{Gate: loose, Base: against(change, change, change, confirmed)}); got != want {
			t.Errorf("%+.2f: %s, want %s", change, got, want)
		}
	}
}

func TestMoves(t *testing.T) {
	faster, slower := against(-0.082, -0.08, -0.078, confirmed), against(0.078, 0.08, 0.082, confirmed)
	for _, test := range []struct {
		name  string
		c     Case
		first bool // there is no baseline of its name
		want  bool
	}{
		{"the first of its name", Case{}, true, true},
		{"nothing to compare with, though there is a baseline", Case{}, false, true},
		{"the first, as fast as the base", Case{Base: equal}, true, true},
		{"the first, the base's own code", Case{Base: same}, true, true},
		{"the first, faster, not confirmed", Case{Base: against(-0.082, -0.08, -0.078)}, true, false},
		{"the first, faster", Case{Base: faster}, true, true},
		{"the first, slower than the base", Case{Base: slower}, true, false},
		{"the first, undecided", Case{Base: against(-0.1, 0, 0.1)}, true, false},
		{"the first, the base cannot be had", Case{Base: unknown}, true, false},
		{"the first, broken", Case{Fault: fault(result.CauseCrash)}, true, false},
		{"the first, no device", Case{Fault: fault(result.CauseUnsupported)}, true, false},
		{"faster than the base, which is the best", Case{Base: faster}, false, true},
		{"faster, not confirmed", Case{Base: against(-0.082, -0.08, -0.078)}, false, false},
		{"faster than the best, equal to the base", Case{Base: equal, Best: faster}, false, true},
		{"faster than the base, equal to the best", Case{Base: faster, Best: equal}, false, false},
		{"faster than the base, behind the best", Case{Base: faster, Best: slower}, false, false},
		{"faster than the best by less than the gate", Case{Base: equal, Best: against(-0.042, -0.04, -0.038, confirmed)}, false, false},
		{"faster than the best, slower than the base", Case{Base: slower, Best: faster}, false, false},
		{"a small step behind the base, ahead of the best", Case{Base: against(0.018, 0.02, 0.022), Best: faster}, false, true},
		{"how much faster is not known", Case{Base: against(-0.12, -0.07, -0.02, confirmed)}, false, false},
		{"against the base not known, ahead of the best", Case{Base: against(-0.07, -0.03, 0.04), Best: faster}, false, false},
		{"maintained", Case{Base: equal}, false, false},
		{"unchanged", Case{Base: same}, false, false},
		{"incomparable", Case{Base: unknown}, false, false},
		{"the best cannot be had", Case{Base: faster, Best: unknown}, false, false},
		{"faster than the best, no base", Case{Best: faster}, false, true},
		{"broken", Case{Fault: fault(result.CauseCrash)}, false, false},
		{"incorrect", Case{Incorrect: true, Base: faster}, false, false},
		{"rejected", Case{Fault: fault(result.CauseForged), Base: faster}, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.c.Gate = spec.DefaultGate
			verdict, _ := Verdict(test.c)
			if got := Moves(test.c, verdict, test.first); got != test.want {
				t.Errorf("%s moves the baseline: %t, want %t", verdict, got, test.want)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	for _, v := range []result.Verdict{
		result.Regression, result.Improvement, result.Maintained, result.Inconclusive, result.Unchanged, result.New, result.Incomparable,
		result.Incorrect, result.Broken, result.Rejected, "",
	} {
		if want := v == result.Regression || v == result.Improvement; Confirm(v) != want {
			t.Errorf("%q: %t", v, Confirm(v))
		}
	}
}

// drawOpponent draws any measured opponent, of 0.1 µs to 1 s.
func drawOpponent(t *rapid.T, label string) *Opponent {
	median := rapid.Float64Range(-0.15, 0.15).Draw(t, label)
	below, above := rapid.Float64Range(0, 0.08).Draw(t, "below"), rapid.Float64Range(0, 0.08).Draw(t, "above")
	o := against(median-below, median, median+above, lasting(math.Pow(10, rapid.Float64Range(-7, 0).Draw(t, "seconds"))))
	o.Change.Confirmed, o.Change.Bistable = rapid.Bool().Draw(t, "confirmed"), rapid.Bool().Draw(t, "bistable")
	return o
}

func drawCase(t *rapid.T) Case {
	c := Case{Gate: spec.DefaultGate, Accepted: rapid.Bool().Draw(t, "accepted")}
	if c.Base = drawOpponent(t, "base"); rapid.Bool().Draw(t, "a trio") {
		c.Best = drawOpponent(t, "best")
	}
	return c
}

// slowed returns the same opponent, against which the candidate is slower by this much more.
func (o *Opponent) slowed(by float64) *Opponent {
	if o == nil {
		return nil
	}
	change := *o.Change
	change.Low, change.Median, change.High = change.Low+by, change.Median+by, change.High+by
	return &Opponent{Median: o.Median, Change: &change}
}

// rank orders verdicts from what is best for the author of a change.
func rank(v result.Verdict) int {
	return slices.Index([]result.Verdict{result.Improvement, result.Maintained, result.Regression}, v)
}

// More slowdown never makes a verdict better; undecided is between any two.
func TestVerdictIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		by := rapid.Float64Range(0, 0.2).Draw(t, "slower by")
		slower := c
		slower.Base, slower.Best = c.Base.slowed(by), c.Best.slowed(by)
		before, _ := Verdict(c)
		after, _ := Verdict(slower)
		if before == result.Regression && after != result.Regression {
			t.Fatalf("a regression that becomes %g slower is %s", by, after)
		}
		if before != result.Inconclusive && after != result.Inconclusive && rank(after) < rank(before) {
			t.Fatalf("%s, and %g slower %s", before, by, after)
		}
		if verdict, _ := Verdict(slower); Moves(slower, verdict, false) && !Moves(c, before, false) && before != result.Inconclusive {
			t.Fatalf("it moves the baseline only when it is slower")
		}
	})
}

// Nothing fails, and nothing moves, without evidence of it.
func TestVerdictNeedsEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		verdict, why := Verdict(c)
		change := c.Base.Change
		switch verdict {
		case result.Regression:
			if !change.Confirmed {
				t.Fatalf("%+v fails, and nobody has confirmed it", change)
			}
			far := c.Best != nil && c.Best.Change.Median > c.Gate.Regression && change.Low > 0
			if change.Median <= c.Gate.Regression && !far {
				t.Fatalf("%+v fails", change)
			}
			if change.Median*c.Base.Median < LeastSeconds {
				t.Fatalf("%g s fail", change.Median*c.Base.Median)
			}
			if slices.Contains(why, result.Accepted) != c.Accepted {
				t.Fatalf("accepted %t: %v", c.Accepted, why)
			}
		case result.Improvement:
			if change.Median >= -c.Gate.Improvement {
				t.Fatalf("%+v is an improvement", change)
			}
		case result.Maintained:
			if change.Median > c.Gate.Regression && change.Median*c.Base.Median >= LeastSeconds || change.Median < -c.Gate.Improvement {
				t.Fatalf("%+v is maintained", change)
			}
			if slices.Contains(why, result.Slower) && change.Low <= 0 || slices.Contains(why, result.Faster) && change.High >= 0 {
				t.Fatalf("%+v: %v", change, why)
			}
		case result.Inconclusive:
			if change.Exact && (change.Confirmed || !slices.Equal(why, []result.Reason{result.Unconfirmed})) {
				t.Fatalf("%+v is exact, and not decided: %v", change, why)
			}
		default:
			t.Fatalf("%s of two that were measured", verdict)
		}
		best := c.Base
		if c.Best != nil {
			best = c.Best
		}
		if Moves(c, verdict, false) && (!best.Change.Confirmed || best.Change.Median >= -c.Gate.Improvement || verdict == result.Regression) {
			t.Fatalf("%s of %+v moves the baseline", verdict, best.Change)
		}
	})
}

// Exchanging candidate and opponent changes the sign of the result, and so never lets both fail, or
// both improve.
func TestVerdictIsFairToBothSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOpponent(t, "base")
		c := o.Change
		turned := &Opponent{Median: o.Median * (1 + c.Median), Change: &result.Change{
			Low: 1/(1+c.High) - 1, Median: 1/(1+c.Median) - 1, High: 1/(1+c.Low) - 1, Exact: c.Exact,
		}}
		one, _ := Provisional(Case{Gate: spec.DefaultGate, Base: o})
		other, _ := Provisional(Case{Gate: spec.DefaultGate, Base: turned})
		if one == other && Confirm(one) {
			t.Fatalf("both are a %s: %+v", one, c)
		}
		if c.Exact && c.Median > 0.055 && o.Median > 1e-5 && (one != result.Regression || other != result.Improvement) {
			t.Fatalf("%+v: %s, and the other way %s", c, one, other)
		}
	})
}

func TestPairedIsADuet(t *testing.T) {
	if !ByClock(result.Regression, against(0.04, 0.05, 0.06, inCycles(0)).Change) || ByClock(result.Maintained, against(0.04, 0.05, 0.06, inCycles(0)).Change) {
		t.Error("what is explained by the clock is what would fail or be claimed")
	}
}
