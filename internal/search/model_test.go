package search

import (
	"math"
	"testing"

	"pawl/internal/space"
)

// line returns a model of one param with eleven values, and trials at some of them.
func line(outcomes map[uint16]Outcome) (*model, []*trial) {
	m := newModel([]space.Param{numbers("x", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)}, 1)
	var trials []*trial
	for v := range uint16(11) {
		if o, found := outcomes[v]; found {
			trials = append(trials, &trial{point: space.Point{v}, told: o != Outcome{}, Outcome: o})
		}
	}
	return m, trials
}

// expected returns what a model that has learned from trials expects at a value, as the logarithm of the cost, and
// the probability that it does not fail.
func expected(m *model, trials []*trial, at uint16) (cost, fine float64) {
	m.learn(trials, len(trials))
	c := m.pool.add(space.Point{at})
	m.pool.predict()
	return c.mean*m.scale + m.center, m.feasible(c)
}

var slope = map[uint16]Outcome{0: {Cost: 1}, 2: {Cost: 2}, 4: {Cost: 4}, 6: {Cost: 8}}

func with(v uint16, o Outcome) map[uint16]Outcome {
	all := map[uint16]Outcome{v: o}
	for v, o := range slope {
		all[v] = o
	}
	return all
}

func TestModelInterpolates(t *testing.T) {
	m, trials := line(slope)
	cost, fine := expected(m, trials, 3)
	if want := math.Log(math.Sqrt(8)); math.Abs(cost-want) > 0.15 || fine != 1 {
		t.Errorf("between costs 2 and 4 %v is expected, with probability %v: want about %v, and 1", cost, fine, want)
	}
}

// A failure is slow, never infinite, and its neighbours are likely to fail too.
func TestModelOfFailures(t *testing.T) {
	m, trials := line(with(10, Outcome{Failed: true}))
	cost, fine := expected(m, trials, 9)
	_, far := expected(m, trials, 1)
	if math.IsNaN(cost) || cost > math.Log(16) || cost < math.Log(2) {
		t.Errorf("beside a failure %v is expected", cost)
	}
	if !(fine < far) || fine > 0.9 || far < 0.7 {
		t.Errorf("beside a failure the probability of success is %v, far from it %v", fine, far)
	}
}

// A cut point costs at least what was seen.
func TestModelOfCutPoints(t *testing.T) {
	for bound, atLeast := range map[float64]float64{16: 16, 1: 2} {
		m, trials := line(with(8, Outcome{Cost: bound, Cut: true}))
		if cost, _ := expected(m, trials, 8); cost < math.Log(atLeast)-0.3 {
			t.Errorf("where a trial was cut at %v, %v is expected: want at least about %v", bound, math.Exp(cost), atLeast)
		}
		if m.best != m.g.y[0] {
			t.Errorf("cut at %v, the best value is %v: expected that of cost 1", bound, m.best)
		}
	}
	m, trials := line(with(8, Outcome{Cost: 1, Cut: true}))
	trials[len(trials)-1].expected, trials[len(trials)-1].guess = true, math.Log(20)
	if cost, _ := expected(m, trials, 8); cost < math.Log(10) {
		t.Errorf("20 was expected, and it was cut at 1: now %v is expected", math.Exp(cost))
	}
}

// A point that is being tried is believed to have its expected cost, and nothing more is to be learned there.
func TestModelOfPendingPoints(t *testing.T) {
	without, trials := line(slope)
	before, _ := expected(without, trials, 8)
	far := without.pool.members[space.Point{8}.Key()].variance / without.g.signal

	m, trials := line(with(8, Outcome{}))
	trials[len(trials)-1].expected, trials[len(trials)-1].guess = true, before
	after, _ := expected(m, trials, 8)
	if math.Abs(after-before) > 0.2 {
		t.Errorf("%v was expected before the trial began, %v since", before, after)
	}
	if near := m.pool.members[space.Point{8}.Key()].variance / m.g.signal; near > far/4 {
		t.Errorf("the variance of a point that is being tried is %v, before that %v", near, far)
	}
}

// More trials than a model can hold: the best, failures and the latest are kept.
func TestModelOfManyTrials(t *testing.T) {
	var trials []*trial
	for i := range 3 * maxRows {
		o := Outcome{Cost: 1 + float64(i*7919%1000)}
		if i%10 == 0 {
			o = Outcome{Failed: true}
		}
		trials = append(trials, &trial{point: space.Point{uint16(i)}, told: true, Outcome: o})
	}
	best, latest := trials[0], trials[len(trials)-1]
	for _, t := range trials {
		if !t.Failed && (best.Failed || t.Cost < best.Cost) {
			best = t
		}
	}
	kept, failures := map[*trial]bool{}, 0
	for _, t := range worthwhile(trials, maxRows) {
		kept[t] = true
		if t.Failed {
			failures++
		}
	}
	if len(kept) != maxRows || !kept[best] || !kept[latest] || failures < maxRows/20 {
		t.Errorf("%d trials are kept, of %d; the best: %v; the latest: %v; failures: %d", len(kept), maxRows, kept[best], kept[latest], failures)
	}
	if few := trials[:maxRows]; len(worthwhile(few, maxRows)) != maxRows {
		t.Error("trials are left out though all can be held")
	}
}
