package trend

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/trend/known"
)

// history is a kernel's true time by commit, and what runs would have found about it.
type history struct {
	seconds []float64
	best    int // commit that is best-known
	r       *rand.Rand
}

const duetError = 0.0015

func estimate(value, error float64) *Estimate {
	return &Estimate{value, value * math.Exp(-normal95*error), value * math.Exp(normal95*error)}
}

func commit(i int) string { return fmt.Sprintf("%040x", 0xabc0000+i) }

// point measures a commit beside its base and the best-known, on a machine that wanders by a third.
func (h *history) point(i int) Point {
	machine := math.Exp(0.15 * h.r.NormFloat64())
	ratio := func(to int) *Estimate {
		return estimate(h.seconds[i]/h.seconds[to]*math.Exp(duetError*h.r.NormFloat64()), duetError)
	}
	p := Point{
		Commit: commit(i), Run: fmt.Sprint("run-", i), Best: commit(h.best), ToBest: ratio(h.best), Machine: "one",
		Median: estimate(h.seconds[i]*machine, 0.001), Reference: estimate(1e-5*machine, 0.001),
	}
	if i > 0 {
		p.Base, p.ToBase = commit(i-1), ratio(i-1)
	}
	return p
}

// made is 60 commits: 4% slower at 20, 10% faster than the best at 40, where the baseline moves.
func made(seed uint64) (h *history, points []Point) {
	h = &history{r: rand.New(rand.NewPCG(seed, 1))}
	for i := range 60 {
		s := 1e-4
		if i >= 20 {
			s *= 1.04
		}
		if i >= 40 {
			s *= 0.9 / 1.04
		}
		h.seconds = append(h.seconds, s)
	}
	for i := range h.seconds {
		p := h.point(i)
		if i == 40 {
			p.Moved = true
			h.best = 40
		}
		points = append(points, p)
	}
	return h, points
}

func TestLine(t *testing.T) {
	inside, all := 0, 0
	for seed := range uint64(20) {
		h, points := made(seed)
		l := NewLine(points)
		if len(l.Places) != 60 {
			t.Fatalf("%d places", len(l.Places))
		}
		for i, p := range l.Places {
			all++
			if truth := h.seconds[i] / h.seconds[0]; p.Index.Low <= truth && truth <= p.Index.High {
				inside++
			}
		}
		var at []int
		for _, c := range l.Changes {
			at = append(at, c.At)
		}
		if s := known.Score(at, []int{20, 40}); s.Wrong > 0 || s.Missed > 0 {
			t.Errorf("seed %d: changes at %v, expected 20 and 40", seed, at)
			continue
		}
		if c := l.Changes[0]; c.Low > 0.04 || c.High < 0.04 || c.High-c.Low > 0.01 || c.Commit != commit(c.At) {
			t.Errorf("seed %d: %+v, expected 4%%", seed, c)
		}
	}
	if share := float64(inside) / float64(all); share < 0.9 {
		t.Errorf("intervals hold the true index in %.1f%%", 100*share)
	}
}

// TestLineKeepsAway is about what is not on main's line.
func TestLineKeepsAway(t *testing.T) {
	h, points := made(1)
	pull := h.point(5)
	pull.PullRequest, pull.Commit, pull.ToBest = true, "pull", estimate(3, 0.001)
	dirty := h.point(5)
	dirty.Dirty, dirty.Commit = true, "dirty"
	points = append(points[:6:6], append([]Point{pull, dirty}, points[6:]...)...)
	points[3].Invalid = true
	l := NewLine(points)
	if len(l.Places) != 60 || len(l.Left) != 3 {
		t.Fatalf("%d places, left out: %+v", len(l.Places), l.Left)
	}
	if p := l.Places[3]; p.Link != NotLinked || p.Index != nil || !l.Places[4].Gap || l.Places[5].Gap {
		t.Errorf("the invalid run left no gap: %+v", l.Places[3:6])
	}
	if l.Left[0].Why != "marked invalid" || l.Left[1].Why != "pull request" || l.Left[2].Why != "uncommitted changes" {
		t.Errorf("%+v", l.Left)
	}
}

func TestReruns(t *testing.T) {
	base := Point{Commit: "a", Run: "1", New: true, Median: estimate(1, 0.01)}
	run := func(id string, ratio float64) Point {
		return Point{Commit: "b", Run: id, Base: "a", ToBase: estimate(ratio, 0.002)}
	}
	l := NewLine([]Point{base, run("2", 1.050), run("3", 1.052), run("4", 1.048)})
	p := l.Places[1]
	if len(l.Places) != 2 || len(p.Runs) != 3 || p.Differs || math.Abs(p.Index.Value-1.05) > 1e-4 {
		t.Errorf("three runs that agree: %+v", p)
	}
	if width := math.Log(p.Index.High / p.Index.Low); math.Abs(width-2*normal95*0.002/math.Sqrt(3)) > 1e-6 {
		t.Errorf("three runs are as uncertain as %v", width)
	}
	l = NewLine([]Point{base, run("2", 1.00), run("3", 1.05)})
	if p := l.Places[1]; !p.Differs || p.Index.Low > 1.01 || p.Index.High < 1.04 {
		t.Errorf("two runs that disagree: %+v %+v", p, p.Index)
	}
}

// TestGaps is about commits that nothing was measured of: what follows is joined through the best-known version, by
// medians with an interval that says so, or not at all.
func TestGaps(t *testing.T) {
	h, points := made(2)
	for i := 10; i < 13; i++ {
		points[i] = Point{Commit: commit(i)}
	}
	l := NewLine(points)
	if p := l.Places[13]; !p.Gap || p.Link != ByBest || p.Index.High/p.Index.Low > 1.01 {
		t.Errorf("through the best-known version: %+v %+v", p, p.Index)
	}
	bare := func(i int) Point {
		p := h.point(i)
		p.Best, p.ToBest = "", nil
		return p
	}
	l = NewLine([]Point{bare(0), bare(1), {Commit: commit(2)}, bare(4), bare(5)})
	if p := l.Places[3]; !p.Gap || p.Link != Bridged || p.Stretch != 0 || p.Index.High/p.Index.Low < 1.5 {
		t.Errorf("by medians: %+v %+v", p, p.Index)
	}
	if p := l.Places[4]; p.Link != ByBase || p.Gap || p.Index.High/p.Index.Low < 1.5 {
		t.Errorf("after a bridge: %+v %+v", p, p.Index)
	}
	other := bare(4)
	other.Machine = "two"
	l = NewLine([]Point{bare(0), bare(1), {Commit: commit(2)}, other, bare(5)})
	if p := l.Places[3]; p.Link != Start || p.Stretch != 1 || p.Index.Value != 1 {
		t.Errorf("on another machine: %+v", p)
	}
}

// TestUnchanged repeats the same code: no number of runs makes it more certain, or a level.
func TestUnchanged(t *testing.T) {
	h := &history{seconds: []float64{1, 1.05}, r: rand.New(rand.NewPCG(1, 1))}
	points := []Point{h.point(0), h.point(1)}
	for i := range 30 {
		points = append(points, Point{Commit: commit(i + 2), Run: "again", Base: commit(i + 1), Unchanged: true})
	}
	l := NewLine(points)
	last := l.Places[len(l.Places)-1]
	if *last.Index != *l.Places[1].Index || last.Link != Same {
		t.Errorf("%+v, expected %+v", last.Index, l.Places[1].Index)
	}
}

// TestSameCode joins a commit whose base nobody measured by its identity.
func TestSameCode(t *testing.T) {
	h := &history{seconds: []float64{1, 1.05}, r: rand.New(rand.NewPCG(1, 1))}
	first, second := h.point(0), h.point(1)
	second.Identity = "abc"
	again := Point{Commit: "later", Run: "again", Base: "unmeasured", Unchanged: true, Identity: "abc"}
	l := NewLine([]Point{first, second, {Commit: "unmeasured"}, again})
	if p := l.Places[3]; p.Link != Same || *p.Index != *l.Places[1].Index || !p.Gap {
		t.Errorf("%+v", p)
	}
	again.Identity = "abd"
	if p := NewLine([]Point{first, second, {Commit: "unmeasured"}, again}).Places[3]; p.Link == Same {
		t.Errorf("other code: %+v", p)
	}
}

// TestUnchangedIsNoLevel repeats a reading that is uncertain: it stays uncertain.
func TestUnchangedIsNoLevel(t *testing.T) {
	var points []Point
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 20 {
		points = append(points, Point{Commit: commit(i), Run: "r", Best: "best", ToBest: estimate(1+0.01*r.NormFloat64(), 0.01), Identity: commit(i)})
	}
	points = append(points, Point{Commit: commit(20), Run: "r", Best: "best", ToBest: estimate(1.025, 0.01), Identity: "same"})
	for i := range 30 {
		points = append(points, Point{Commit: commit(21 + i), Run: "r", Unchanged: true, Identity: "same"})
	}
	if l := NewLine(points); len(l.Changes) > 0 || l.Places[50].Link != Same {
		t.Errorf("one reading of +2.5%% ± 2%%, repeated: %+v", l.Changes)
	}
}

// TestAnchorError moves the baseline by a duet that is uncertain: all places after it share its error, which is no change.
func TestAnchorError(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var points []Point
	for i := range 60 {
		p := Point{Commit: commit(i), Run: "r", Best: commit(0), ToBest: estimate(math.Exp(duetError*r.NormFloat64()), duetError)}
		if i == 30 {
			p.ToBest, p.Moved = estimate(1.01, 0.01), true
		}
		if i > 30 {
			p.Best = commit(30)
		}
		points = append(points, p)
	}
	if l := NewLine(points); len(l.Changes) > 0 {
		t.Errorf("a baseline moved to what is as fast, known to ± 2%%: %+v", l.Changes)
	}
	points[30].ToBest = estimate(1.05, duetError)
	if l := NewLine(points); len(l.Changes) != 1 {
		t.Errorf("moved to what is 5%% slower, known to ± 0.3%%: %+v", l.Changes)
	}
}

// TestLineDrifts loses 4% over 120 commits, in no step that any duet shows.
func TestLineDrifts(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var points []Point
	for i := range 120 {
		slower := 0.04 * float64(i) / 119
		points = append(points, Point{Commit: commit(i), Run: "r", Best: commit(0), ToBest: estimate(math.Exp(slower+0.01*r.NormFloat64()), 0.01)})
	}
	l := NewLine(points)
	if len(l.Drifts) != 1 || math.Abs(l.Drifts[0].Size-0.04) > 0.01 || len(l.Changes) > 0 {
		t.Errorf("drifts %+v, changes %+v", l.Drifts, l.Changes)
	}
}

// TestContradicted is about a duet that erred: the next commit's duets say so.
func TestContradicted(t *testing.T) {
	h := &history{seconds: []float64{1, 1, 1, 1, 1, 1, 1}, r: rand.New(rand.NewPCG(1, 1))}
	var points []Point
	for i := range h.seconds {
		points = append(points, h.point(i))
	}
	erred := estimate(1.05, duetError)
	points[4].ToBase, points[4].ToBest = erred, erred
	if l := NewLine(points); len(l.Changes) > 0 {
		t.Errorf("%+v", l.Changes)
	}
	if l := NewLine(points[:5]); len(l.Changes) != 1 || !l.Changes[0].Direct {
		t.Errorf("before anything contradicts it: %+v", l.Changes)
	}
}

// TestDirect shows a step in a chain of duets with bases, without any best-known version.
func TestDirect(t *testing.T) {
	h, points := made(3)
	_ = h
	for i := range points {
		points[i].Best, points[i].ToBest = "", nil
	}
	l := NewLine(points)
	var at []int
	for _, c := range l.Changes {
		at = append(at, c.At)
	}
	if s := known.Score(at, []int{20, 40}); s.Missed > 0 || s.Wrong > 0 {
		t.Errorf("changes at %v, expected 20 and 40", at)
	}
	if first, last := l.Places[1].Index, l.Places[59].Index; last.High/last.Low < 3*first.High/first.Low-2 {
		t.Errorf("intervals do not grow along the chain: %+v, %+v", first, last)
	}
}

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine func(i int) float64
		kernel  func(i int) float64
		duets   bool
		ref     bool
		want    Cause
	}{
		{"the machine, by duets", step(0.2), step(0), true, false, Machine},
		{"the machine, by both", step(0.2), step(0), true, true, Machine},
		{"the machine, by the reference", step(0.2), step(0), false, true, Machine},
		{"the kernel, by duets", step(0), step(0.2), true, false, Kernel},
		{"the kernel, by the reference", step(0), step(0.2), false, true, Kernel},
		{"both", step(0.2), step(0.1), true, true, Both},
		{"nothing to tell by", step(0.2), step(0), false, false, Unknown},
	} {
		r := rand.New(rand.NewPCG(7, 7))
		var points []Point
		for i := range 60 {
			k, m := math.Exp(c.kernel(i)), math.Exp(c.machine(i)+0.02*r.NormFloat64())
			noise := math.Exp(duetError * r.NormFloat64())
			p := Point{Commit: commit(i), Run: "r", Machine: "m", Median: estimate(k*m, 0.002)}
			if c.ref {
				p.Reference = estimate(m*math.Exp(0.003*r.NormFloat64()), 0.002)
			}
			if c.duets {
				p.Best, p.ToBest = commit(0), estimate(k*noise, duetError)
			}
			points = append(points, p)
		}
		times := NewLine(points).Times()
		if len(times.Changes) != 1 || max(times.Changes[0].At-30, 30-times.Changes[0].At) > 1 {
			t.Errorf("%s: %+v", c.name, times.Changes)
			continue
		}
		change := times.Changes[0]
		if change.Cause != c.want {
			t.Errorf("%s: %s, expected %s: %s", c.name, change.Cause, c.want, change.Words())
		}
		t.Logf("%s: %s", c.name, change.Words())
	}
}

// step is a move at 30.
func step(size float64) func(int) float64 {
	return func(i int) float64 {
		if i >= 30 {
			return size
		}
		return 0
	}
}

func TestWords(t *testing.T) {
	c := LineChange{Change: Change{Size: 0.051, Low: 0.046, High: 0.056}, Commit: "3fa9c2b" + strings.Repeat("0", 33)}
	if got, want := c.Words(), "+5.1% [+4.6, +5.6] since 3fa9c2b"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	c = LineChange{Change: Change{Size: -0.124, Low: -0.126, High: 0.0001}, Commit: "v1.2"}
	if got, want := c.Words(), "−12.4% [−12.6, 0.0] since v1.2"; got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	for _, d := range []struct {
		debt *Estimate
		want string
	}{
		{nil, ""},
		{&Estimate{1.02, 1.01, 1.03}, "+2.0% [+1.0, +3.0] behind the best-known"},
		{&Estimate{0.95, 0.94, 0.96}, "−5.0% [−6.0, −4.0] ahead of the best-known"},
		{&Estimate{1, 0.99, 1.01}, "level with the best-known: 0.0% [−1.0, +1.0]"},
	} {
		if got := (&Place{Debt: d.debt}).DebtWords(); got != d.want {
			t.Errorf("%q, expected %q", got, d.want)
		}
	}
}
