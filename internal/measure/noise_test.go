package measure

import (
	"bufio"
	"compress/gzip"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pawl/internal/judge"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// recorded is one cell of equal code, as it was played: orders of turns.
type recorded [][]turn

// readNoise reads the cells of every kernel: see testdata/README.md.
func readNoise(t *testing.T) map[string][]recorded {
	t.Helper()
	file, err := os.Open("testdata/host_noise.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string][]turn{}
	kernels := map[string]string{}
	var order []string
	for lines := bufio.NewScanner(plain); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		id := strings.Join(fields[:3], " ")
		if cells[id] == nil {
			order = append(order, id)
		}
		side, err := strconv.Atoi(fields[3])
		if err != nil {
			t.Fatal(err)
		}
		took := turn{side: side}
		for _, field := range fields[5:] {
			nanos, err := strconv.ParseFloat(field, 64)
			if err != nil {
				t.Fatal(err)
			}
			took.Seconds = append(took.Seconds, nanos*1e-9)
		}
		cells[id] = append(cells[id], took)
		kernels[id] = fields[1]
	}
	out := map[string][]recorded{}
	for _, id := range order {
		var cell recorded
		for turns := range slices.Chunk(cells[id], len(turnsOf(2))) {
			if len(turns) == len(turnsOf(2)) {
				cell = append(cell, turns)
			}
		}
		if len(cell) >= 2 {
			out[kernels[id]] = append(out[kernels[id]], cell)
		}
	}
	return out
}

// slowed returns the cell with a candidate that takes by times as long in a part of its launches.
func (r recorded) slowed(part, by float64, random *rand.Rand) recorded {
	var out recorded
	for _, turns := range r {
		changed := slices.Clone(turns)
		for i, t := range turns {
			if t.side != 0 {
				continue
			}
			changed[i].Seconds = slices.Clone(t.Seconds)
			for k := range changed[i].Seconds {
				if random.Float64() < part {
					changed[i].Seconds[k] *= by
				}
			}
		}
		out = append(out, changed)
	}
	return out
}

// played is a cell as a match stores it.
type played struct {
	cell    MatchCell
	samples [2][]float64
}

func (r recorded) play() (p played) {
	c := newMatchCell(0, 0, 2)
	for _, turns := range r {
		c.addNeighbours(turns)
		c.addTails(turns)
		for _, t := range turns {
			p.samples[t.side] = append(p.samples[t.side], t.Seconds...)
		}
	}
	c.finish()
	p.cell = *c
	return p
}

// playSlowed plays all cells with a candidate that takes by times as long in a part
// of its launches.
func playSlowed(cells []recorded, part, by float64) (out []played) {
	random := rand.New(rand.NewPCG(42, 0))
	for _, r := range cells {
		out = append(out, r.slowed(part, by, random).play())
	}
	return out
}

// noisy are the kernels of the recorded noise.
var noisy = []string{"r/regs", "f/small", "f/big"}

// tried is a match of recorded cells.
type tried struct {
	*Match
	opts DuetOptions
}

func newTried() *tried {
	m := newMatch(spec.CellHost, "m", 1000, 1000)
	opts := DuetOptions{Options: Default(), Floor: DefaultFloor}
	m.begin(opts)
	m.Stopped = "budget"
	return &tried{m, opts}
}

// add plays one more cell.
func (m *tried) add(p played, set int) {
	for side, seconds := range p.samples {
		samples := &m.series[side].samples
		samples.Seconds = append(samples.Seconds, seconds...)
	}
	p.cell.Set = set
	m.Cells = append(m.Cells, p.cell)
}

func (m *tried) change() *result.Change { return m.Change(1, make([]result.Role, 2), m.opts) }

// verdict applies one of the judge's functions. The kernels are assumed to last long enough to
// fail.
func (m *tried) verdict(by func(judge.Case) (result.Verdict, []result.Reason)) result.Verdict {
	verdict, _ := by(judge.Case{Gate: spec.DefaultGate, Base: &judge.Opponent{Change: m.change(), Median: 1e-3}})
	return verdict
}

// decide plays the whole rule on cells that are handed out one by one: a first set, twice as much
// where that is undecided, and a second set to confirm. A budget of ten seconds has room for sixty
// cells; the width is checked every fourth cell, to save time.
func decide(next func() played) result.Verdict {
	m := newTried()
	set := func(number, most int) {
		for n := 1; n <= most; n++ {
			m.add(next(), number)
			if n%cellsLeast == 0 && m.HalfWidth(number, m.opts.Floor) <= m.opts.HalfWidth {
				return
			}
		}
	}
	const budget = 60
	set(0, budget)
	verdict := m.verdict(judge.Provisional)
	if verdict == result.Inconclusive {
		set(0, 2*budget)
		verdict = m.verdict(judge.Provisional)
	}
	if judge.Confirm(verdict) {
		set(1, budget)
	}
	return m.verdict(judge.Verdict)
}

// The median of neighbours varies no more from cell to cell than the fastest samples, and
// represents what users get; the fastest samples do not.
func TestEstimateOnRecordedNoise(t *testing.T) {
	noise := readNoise(t)
	for _, kernel := range noisy {
		spread := func(of func(MatchCell) []float64, part, by float64) (robust, middle float64) {
			var medians []float64
			for _, p := range playSlowed(noise[kernel], part, by) {
				medians = append(medians, stat.Median(of(p.cell)))
			}
			return (stat.Percentile(medians, 84.1) - stat.Percentile(medians, 15.9)) / 2, math.Expm1(stat.Median(medians))
		}
		logs, fastest := func(c MatchCell) []float64 { return c.Logs[1] }, func(c MatchCell) []float64 { return c.Fastest[1] }
		wide, _ := spread(logs, 0, 1)
		was, _ := spread(fastest, 0, 1)
		_, most := spread(logs, 0.75, 1.5)
		_, missed := spread(fastest, 0.75, 1.5)
		t.Logf("%-8s %d cells: vary by %.2f%% (fastest %.2f%%); half again as slow in three of four reads %+.1f%% (fastest %+.1f%%)", kernel, len(noise[kernel]), 100*wide, 100*was, 100*most, 100*missed)
		if wide > 1.1*was {
			t.Errorf("%s: cells vary by %.2f%%, the fastest samples by %.2f%%", kernel, 100*wide, 100*was)
		}
		if most < 0.40 || most > 0.55 {
			t.Errorf("%s: half again as slow in three launches of four reads %+.1f%%", kernel, 100*most)
		}
	}
}

// A nominal 95% interval of recorded cells contains the truth, which is no change.
func TestCoverageOnRecordedNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 2))
	noise := readNoise(t)
	trials := drawn(300, 150)
	for _, kernel := range noisy {
		cells := playSlowed(noise[kernel], 0, 1)
		for _, n := range []int{4, 8, 16, 32} {
			covered := 0
			var halves []float64
			for range trials {
				var some [][]float64
				for range n {
					some = append(some, cells[random.IntN(len(cells))].cell.Logs[1])
				}
				e := stat.CellEstimate(some, 0)
				halves = append(halves, e.HalfWidth())
				if e.Low <= 0 && 0 <= e.High {
					covered++
				}
			}
			rate := 100 * float64(covered) / float64(trials)
			t.Logf("%-8s %2d cells: covers %.1f%%, half-width %.2f%%", kernel, n, rate, 100*stat.Median(halves))
			if rate < 92 {
				t.Errorf("%s, %d cells: covers %.1f%%", kernel, n, rate)
			}
		}
	}
}

// The slowest tenth is called slow where it is, and almost never where it is not.
func TestTailOnRecordedNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 3))
	noise := readNoise(t)
	const cellsEach = 8
	trials := drawn(100, 40)
	for _, kernel := range noisy {
		for _, test := range []struct{ part, by, least, most float64 }{{0, 1, 0, 5}, {0.25, 1.5, 90, 100}, {0.125, 1.5, 70, 100}} {
			cells := playSlowed(noise[kernel], test.part, test.by)
			called := 0
			for range trials {
				m := newTried()
				for range cellsEach {
					m.add(cells[random.IntN(len(cells))], 0)
				}
				if judge.SlowTail(spec.DefaultGate, &judge.Opponent{Change: m.change()}) {
					called++
				}
			}
			rate := 100 * float64(called) / float64(trials)
			t.Logf("%-8s %g times as slow in %.1f%%: slow tail in %.1f%% of %d", kernel, test.by, 100*test.part, rate, trials)
			if rate < test.least || rate > test.most {
				t.Errorf("%s, %g in %g: %.1f%%, want %g to %g", kernel, test.by, test.part, rate, test.least, test.most)
			}
		}
	}
}

// drawn returns how many trials of a simulation are made: these, or fewer in short tests.
func drawn(all, short int) int {
	if testing.Short() {
		return short
	}
	return all
}

// The operating curve of the whole rule on recorded noise: equal code slowed by a known factor.
func TestOperatingCurveOnRecordedNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(42, 4))
	noise := readNoise(t)
	trials := drawn(16, 5)
	for _, kernel := range noisy {
		for _, change := range []float64{0, 0.02, 0.04, 0.05} {
			cells := playSlowed(noise[kernel], 1, 1+change)
			counts := map[result.Verdict]int{}
			for range trials {
				counts[decide(func() played { return cells[random.IntN(len(cells))] })]++
			}
			failed, undecided := counts[result.Regression], counts[result.Inconclusive]
			t.Logf("%-8s true %+.0f%%: %d of %d fail, %d undecided", kernel, 100*change, failed, trials, undecided)
			if want := trials * int(change*100/4); failed > want || failed < min(want, trials) || undecided > 0 {
				t.Errorf("%s: %d of %d fail at %+.0f%%, %d are undecided", kernel, failed, trials, 100*change, undecided)
			}
		}
	}
}
