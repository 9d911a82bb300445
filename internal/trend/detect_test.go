package trend

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/trend/known"
)

// places are where changes begin.
func places(l *Levels) (at []int) {
	for _, c := range l.Changes {
		at = append(at, c.At)
	}
	return at
}

// TestFalsePoints counts the points found in unchanged code, in series of several lengths.
func TestFalsePoints(t *testing.T) {
	points := 30_000
	if testing.Short() {
		points = 20_000
	}
	// What cannot be told from a change by the series alone: of series of 100 with stays of 40 or 100 points, a fifth and more
	// than a third move once, and do not come back.
	bound := map[string]map[int]float64{
		"two speeds, half, dwell 5":    {100: 1.5},
		"two speeds, a fifth, dwell 5": {100: 2.5},
		"two speeds, half, dwell 20":   {100: 5},
		"two speeds, half, dwell 50":   {100: 6, 365: 2.5},
	}
	for _, noise := range known.Noises(t) {
		for _, n := range []int{100, 365, 1000, 3000} {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			found, drawn := 0, 0
			for drawn < points {
				found += len(Detect(noise.Draw(n, r), nil).Changes)
				drawn += n
			}
			rate, most := float64(found)/float64(drawn)*1000, 1.0
			if b, there := bound[noise.Name][n]; there {
				most = b
			}
			t.Logf("| %s | %d | %.2f |", noise.Name, n, rate)
			if rate > most {
				t.Errorf("%s, series of %d: %.2f false points in 1,000, expected at most %v", noise.Name, n, rate, most)
			}
		}
	}
}

// TestStepFound says how often a step is found, and in the right place, by how many points have followed it.
func TestStepFound(t *testing.T) {
	draws := 400
	if testing.Short() {
		draws = 100
	}
	for _, c := range []struct {
		noise string
		draw  func(int, *rand.Rand) []float64
		n     int
		sigma float64
		after int
		least float64
	}{
		{"normal", known.Autoregression(0), 100, 2, 5, 0.5},
		{"normal", known.Autoregression(0), 100, 2, 8, 0.8},
		{"normal", known.Autoregression(0), 100, 2, 12, 0.88},
		{"normal", known.Autoregression(0), 365, 2, 5, 0.7},
		{"normal", known.Autoregression(0), 365, 2, 8, 0.92},
		{"normal", known.Autoregression(0), 365, 2, 12, 0.94},
		{"normal", known.Autoregression(0), 365, 2, 30, 0.95},
		{"normal", known.Autoregression(0), 365, 3, 5, 0.95},
		{"normal", known.Autoregression(0), 30, 5, 5, 0.6},
		{"AR(1), 0.3", known.Autoregression(0.3), 365, 2, 12, 0.7},
		{"AR(1), 0.3", known.Autoregression(0.3), 365, 3, 8, 0.85},
	} {
		r := rand.New(rand.NewPCG(2, uint64(c.n)))
		hits := 0
		for range draws {
			x := c.draw(c.n, r)
			for i := c.n - c.after; i < c.n; i++ {
				x[i] += c.sigma
			}
			hits += known.Score(places(Detect(x, nil)), []int{c.n - c.after}).Right
		}
		share := float64(hits) / float64(draws)
		t.Logf("| %s | %d | %vσ | %d | %.0f%% |", c.noise, c.n, c.sigma, c.after, 100*share)
		if share < c.least {
			t.Errorf("%s, %d points, a step of %vσ with %d points after it: found in %.0f%%, expected %.0f%% at least", c.noise, c.n, c.sigma, c.after, 100*share, 100*c.least)
		}
	}
}

// TestTiger finds the changes that are known of a real series.
func TestTiger(t *testing.T) {
	var all known.Tally
	for i, s := range known.Tiger(t) {
		found := places(Detect(s.Values, nil))
		score := known.Score(found, s.Truth)
		all.Add(score)
		t.Logf("%s: %v of %v", s.Name, found, s.Truth)
		if i == 0 && (score.Wrong > 0 || score.Missed > 0) {
			t.Errorf("%s: found %v, expected %v", s.Name, found, s.Truth)
		}
	}
	if all.F1() < 0.9 {
		t.Errorf("six metrics: precision %.2f, recall %.2f", all.Precision(), all.Recall())
	}
}

// TestInjected keeps precision and recall of noise with changes put in.
func TestInjected(t *testing.T) {
	least := map[string]float64{
		"steps of 2 to 6 σ": 0.92, "steps of 1 to 2 σ": 0.88, "ramps over 4 to 9 points": 0.95, "steps and outliers": 0.95, "steps and two speeds": 0.78,
	}
	most := map[string]int{"two speeds and outliers, no change": 6, "a slow rise of 3 σ, no change": 6} // wrong points in 18 series
	for _, set := range known.Injected(t, 1) {
		var all known.Tally
		for _, s := range set.Series {
			all.Add(known.Score(places(Detect(s.Values, nil)), s.Truth))
		}
		t.Logf("%s: %+v, precision %.3f, recall %.3f, F1 %.3f", set.Name, all, all.Precision(), all.Recall(), all.F1())
		if m, there := most[set.Name]; there && all.Wrong > m {
			t.Errorf("%s: %d wrong points, expected at most %d", set.Name, all.Wrong, m)
		}
		if all.F1() < least[set.Name] {
			t.Errorf("%s: F1 %.3f, expected %.2f at least", set.Name, all.F1(), least[set.Name])
		}
	}
}

// TestInterval counts how often the interval of a change holds its true size, and the range of places its true place.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	found, size, place := 0, 0, 0
	for range 500 {
		x := known.Autoregression(0)(120, r)
		for i := 70; i < len(x); i++ {
			x[i] += 2.5
		}
		for _, c := range Detect(x, nil).Changes {
			if c.First <= 70 && 70 <= c.Last || max(c.At-70, 70-c.At) <= known.Tolerance {
				found++
				if c.Low <= 2.5 && 2.5 <= c.High {
					size++
				}
				if c.First <= 70 && 70 <= c.Last {
					place++
				}
			}
		}
	}
	t.Logf("%d found; size inside its interval %d times, place %d times", found, size, place)
	if found < 490 || float64(size) < 0.93*float64(found) || float64(place) < 0.9*float64(found) {
		t.Errorf("of %d changes, %d sizes and %d places lie inside their intervals", found, size, place)
	}
}

// TestFew looks at series that are too short for much.
func TestFew(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   []int
	}{
		{nil, nil},
		{[]float64{1}, nil},
		{[]float64{1, 2}, nil},
		{[]float64{1, 1, 1, 1, 1}, nil},
		{[]float64{10, 10.1, 9.9, 10, 30}, nil}, // one point is an outlier until more follow
		{[]float64{10, 10.1, 9.9, 10, 10.1, 10.02, 30, 30.1, 29.9, 30, 30.05, 30}, []int{6}},
		{[]float64{10, 10.1, 9.9, 10, 30, 10.1, 10, 9.9, 10.1, 10, 9.95, 10}, nil},
		{[]float64{10, 11, 9, 10.5, 9.5, 10, 11, 10, 9, 10.2, 9.7, 10.4}, nil},
		{slices.Concat(slices.Repeat([]float64{5}, 6), slices.Repeat([]float64{6}, 6)), []int{6}},
		{[]float64{10, math.NaN(), 10.1, 9.9, math.Inf(1), 10, 10.1, 10.02, 30, math.NaN(), 30.1, 29.9, 30, 30.05, 30}, []int{8}},
	} {
		if got := places(Detect(c.values, nil)); !slices.Equal(got, c.want) {
			t.Errorf("%v: changes at %v, expected %v", c.values, got, c.want)
		}
	}
}

// TestDrift names a slow rise as what it is, and a step in the middle of a series as what that is.
func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	x := known.Autoregression(0)(200, r)
	for i := range x {
		x[i] += 6 * float64(i) / 200
	}
	l := Detect(x, nil)
	if len(l.Changes) > 0 || len(l.Drifts) != 1 || math.Abs(l.Drifts[0].Size-6) > 1 {
		t.Errorf("a rise by 6: changes %v, drifts %+v", places(l), l.Drifts)
	}
	if gap := Detect(append([]float64{math.NaN(), math.NaN()}, x...), nil); len(gap.Drifts) != 1 || gap.Drifts[0].To != l.Drifts[0].To+2 {
		t.Errorf("after a gap of two: drifts %+v, before %+v", gap.Drifts, l.Drifts)
	}
	y := known.Autoregression(0)(200, r)
	for i := 100; i < 200; i++ {
		y[i] += 2
	}
	if l := Detect(y, nil); len(l.Drifts) > 0 || len(l.Changes) != 1 {
		t.Errorf("a step by 2: changes %v, drifts %+v", places(l), l.Drifts)
	}
}

// TestPrune takes out what was worth a cut only beside others.
func TestPrune(t *testing.T) {
	x := known.Autoregression(0)(100, rand.New(rand.NewPCG(9, 9)))
	for i := 60; i < 100; i++ {
		x[i] += 4
	}
	n := noiseOf(x, nil, []int{0, 60})
	if got := n.prune(x, []int{0, 20, 40, 60, 80}); !slices.Equal(got, []int{0, 60}) {
		t.Errorf("cuts left: %v, expected only that at 60", got)
	}
}

// TestErrors is about points that bring their standard error: few of them already show a step.
func TestErrors(t *testing.T) {
	values := []float64{0, 0.001, -0.001, 0.0005, 0.05, 0.051, 0.0495}
	errors := slices.Repeat([]float64{0.001}, len(values))
	if got := places(Detect(values, errors)); !slices.Equal(got, []int{4}) {
		t.Errorf("with errors of 0.1%%: changes at %v, expected 4", got)
	}
	for i := range errors {
		errors[i] = 0.03
	}
	if got := places(Detect(values, errors)); got != nil {
		t.Errorf("with errors of 3%%: changes at %v, expected none", got)
	}
}

// TestFlips tells a machine with two speeds from changes: both are levels, one kind comes back.
func TestFlips(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	levels := func(level ...float64) []float64 {
		x := known.Autoregression(0)(40*len(level), r)
		for i := range x {
			x[i] += level[i/40]
		}
		return x
	}
	if l := Detect(levels(0, 8, 0, 8, 0, 8, 0, 8), nil); len(l.Changes) != 0 || len(l.Flips) != 7 {
		t.Errorf("two speeds in turns: %d changes, %d flips", len(l.Changes), len(l.Flips))
	}
	if l := Detect(levels(0, 8, 0), nil); len(l.Changes) != 2 || len(l.Flips) != 0 {
		t.Errorf("a change that was taken back: %d changes, %d flips", len(l.Changes), len(l.Flips))
	}
	if l := Detect(levels(0, 8, 0, 5, 0), nil); len(l.Changes) < 2 {
		t.Errorf("two speeds, of which the faster one is another at its second stay: %d changes, %d flips", len(l.Changes), len(l.Flips))
	}
	if l := Detect(levels(0, 8, 16, 24, 3), nil); len(l.Changes) != 4 {
		t.Errorf("four changes: %v", places(l))
	}
}

// TestShortStay is about a dozen points at another level: times may be those of a machine that slowed down for a while,
// which duets would not show.
func TestShortStay(t *testing.T) {
	x := known.Autoregression(0)(100, rand.New(rand.NewPCG(10, 10)))
	for i := 50; i < 62; i++ {
		x[i] += 8
	}
	if l := Detect(x, nil); len(l.Changes) != 0 || len(l.Flips) != 2 {
		t.Errorf("times: changes at %v, %d flips; expected two flips", places(l), len(l.Flips))
	}
	if l := detectIn(x, nil, crossingsOfIndex); !slices.Equal(places(l), []int{50, 62}) {
		t.Errorf("index: changes at %v, expected 50 and 62", places(l))
	}
}

// TestProvisional follows changes from when they are first seen: those that are no longer provisional stay.
func TestProvisional(t *testing.T) {
	const draws = 60
	r := rand.New(rand.NewPCG(5, 5))
	const before, after = 80, 25
	seen, kept := make([]int, after), make([]int, after) // by how many points followed
	final, lost := 0, 0
	for i := range draws {
		x := known.Autoregression(0)(before+after, r)
		if i%2 == 0 {
			for j := before; j < len(x); j++ {
				x[j] += 2
			}
		}
		last := places(Detect(x, nil))
		for n := before + 1; n < len(x); n++ {
			for _, c := range Detect(x[:n], nil).Changes {
				follow := n - c.At
				if follow > after {
					continue
				}
				stays := slices.ContainsFunc(last, func(at int) bool { return max(at-c.At, c.At-at) <= known.Tolerance })
				seen[follow-1]++
				if stays {
					kept[follow-1]++
				}
				if c.Provisional != (follow < 10) {
					t.Errorf("%d points follow, and provisional is %v", follow, c.Provisional)
				}
				if !c.Provisional {
					final++
					if !stays {
						lost++
					}
				}
			}
		}
	}
	for i, n := range seen {
		if n > 0 {
			t.Logf("| %d | %d | %.0f%% |", i+1, n, 100*float64(kept[i])/float64(n))
		}
	}
	if final == 0 || float64(lost) > 0.06*float64(final) {
		t.Errorf("%d of %d changes that were final are gone", lost, final)
	}
}

// TestPottsIsExact compares with all ways to cut short series.
func TestPottsIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-8, 8), 1, 9).Draw(t, "values")
		scales := make([]float64, len(values))
		for i := range scales {
			scales[i] = rapid.Float64Range(0.3, 2).Draw(t, "scale")
		}
		pay := rapid.Float64Range(0.5, 20).Draw(t, "penalty")
		n := noise{scales: scales}
		cost := func(from, to int) float64 { return exactCost(&n, values, from, to) }
		total := func(starts []int) float64 {
			sum := pay * float64(len(starts)-1)
			for i, s := range starts {
				sum += cost(s, endOf(starts, i, len(values)))
			}
			return sum
		}
		least := math.Inf(1)
		for set := range 1 << (len(values) - 1) {
			starts := []int{0}
			for i := 1; i < len(values); i++ {
				if set>>(i-1)&1 == 1 {
					starts = append(starts, i)
				}
			}
			least = min(least, total(starts))
		}
		if got := total(potts(values, scales, pay)); got > least+1e-9 {
			t.Fatalf("cost %v, the least is %v", got, least)
		}
	})
}

// exactCost is the least cost of one level: the bounded loss is a parabola between the places where a point becomes an outlier.
func exactCost(n *noise, values []float64, from, to int) float64 {
	var edges []float64
	for i := from; i < to; i++ {
		edges = append(edges, values[i]-outlier*n.scales[i], values[i]+outlier*n.scales[i])
	}
	slices.Sort(edges)
	least := math.Inf(1)
	for e := 1; e < len(edges); e++ {
		middle := (edges[e-1] + edges[e]) / 2
		sum, weight := 0.0, 0.0
		for i := from; i < to; i++ {
			if math.Abs(values[i]-middle) < outlier*n.scales[i] {
				w := 1 / n.scales[i] / n.scales[i]
				sum, weight = sum+w*values[i], weight+w
			}
		}
		at := middle
		if weight > 0 {
			at = sum / weight
		}
		least = min(least, n.cost(values, from, to, at))
	}
	return least
}

// TestSame keeps properties that hold of any series: a shift and a scale change nothing, and backwards the changes are mirrored.
func TestSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-3, 3), 0, 60).Draw(t, "values")
		step := rapid.IntRange(0, 60).Draw(t, "step")
		for i := range values {
			if i >= step {
				values[i] += 20
			}
		}
		want := places(Detect(values, nil))
		moved := make([]float64, len(values))
		for i, v := range values {
			moved[i] = 4*v + 1024
		}
		if got := places(Detect(moved, nil)); len(got) != len(want) {
			t.Fatalf("changes at %v, and at %v of the same times 4 plus 1024", want, got)
		}
	})
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte(`[1,2,3]`))
	f.Add([]byte(`[1e308,-1e308,1e-308,0,0,0,0,5,5,5]`))
	f.Add([]byte(`[0,0,0,0,0,0,1,1,1,1,1e200]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var values []float64
		if json.Unmarshal(text, &values) != nil || len(values) > 2000 {
			return
		}
		l := Detect(values, nil)
		last := 0
		for _, s := range l.Segments {
			if s.From != last || s.To <= s.From {
				t.Fatalf("segments %+v", l.Segments)
			}
			last = s.To
		}
		if last != len(values) || len(l.Changes) > max(len(l.Segments)-1, 0) {
			t.Fatalf("%d segments end at %d of %d; %d changes", len(l.Segments), last, len(values), len(l.Changes))
		}
		for _, c := range l.Changes {
			if !(c.First <= c.At && c.At <= c.Last) || !(c.Confidence >= 0 && c.Confidence <= 1) {
				t.Fatalf("%+v", c)
			}
		}
	})
}

// processorTime returns the seconds that this process has worked.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkDetect(b *testing.B) {
	const n = 5000
	steps := func(x []float64) []float64 {
		for i := range x {
			x[i] += 3 * float64(i/250%5)
		}
		return x
	}
	r := rand.New(rand.NewPCG(6, 6))
	for _, c := range []struct {
		name   string
		values []float64
	}{
		{"normal", known.Autoregression(0)(n, r)},
		{"steps", steps(known.Autoregression(0)(n, r))},
		{"autoregression", known.Autoregression(0.9)(n, r)},
		{"flips", known.TwoSpeeds(0.5, 20)(n, r)},
	} {
		b.Run(c.name, func(b *testing.B) {
			before := processorTime(b)
			for b.Loop() {
				Detect(c.values, nil)
			}
			// Beside other work, time on the clock says little.
			b.ReportMetric(1000*(processorTime(b)-before)/float64(b.N), "cpu-ms/op")
		})
	}
}
