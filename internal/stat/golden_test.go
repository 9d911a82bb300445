package stat

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// golden is testdata/golden.json, which testdata/golden.py makes with SciPy and
// others; their versions are in it.
type golden struct {
	Versions map[string]string
	Student  []struct{ P, DF, Quantile float64 }
	Boots    []struct {
		Samples   []float64
		Low, High float64
		SciPy     []float64
	} `json:"bootstrap"`
	MiddleRanks []struct {
		N int
		P [][3]float64
	} `json:"middle_ranks"`
	Lists []struct {
		A, B                              []float64
		U, Asymptotic, Auto, Delta, Shift float64
		Less, Greater                     float64
		Exact                             *float64
	} `json:"two_lists"`
	Equivalence []struct {
		A, B         []float64
		Low, High, P float64
	} `json:"equivalence_lists"`
	Duets []struct {
		Cells        [][]float64
		Median, Sign float64
		Low, High    *float64
	}
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{
		"student": len(g.Student), "bootstrap": len(g.Boots), "ranks": len(g.MiddleRanks), "lists": len(g.Lists),
		"equivalence": len(g.Equivalence), "duets": len(g.Duets), "SciPy": len(g.Versions["scipy"]),
	} {
		if n == 0 {
			t.Fatalf("golden.json has nothing about %s", name)
		}
	}
	return &g
}

// close: to a relative 1e-10, or 1e-14 about zero.
func closeTo(a, b float64) bool { return math.Abs(a-b) <= 1e-10*math.Abs(b)+1e-14 }

func TestTQuantileAgainstSciPy(t *testing.T) {
	for _, row := range readGolden(t).Student {
		if got := TQuantile(row.P, row.DF); !closeTo(got, row.Quantile) {
			t.Errorf("p=%v df=%v: %v, want %v", row.P, row.DF, got, row.Quantile)
		}
		if got := tAbove(row.Quantile, row.DF); math.Abs(got-(1-row.P)) > 1e-9 {
			t.Errorf("above %v df=%v: %v, want %v", row.Quantile, row.DF, got, 1-row.P)
		}
	}
}

func TestMiddleRanksAgainstFractions(t *testing.T) {
	for _, row := range readGolden(t).MiddleRanks {
		m := newMiddleRanks(row.N)
		if m.first != 0 || m.rows != row.N {
			t.Fatalf("n=%d: ranks %d to %d", row.N, m.first, m.first+m.rows-1)
		}
		for _, p := range row.P {
			i, d := int(p[0]), int(p[1])-int(p[0])
			at := i*m.width + d
			if got := m.upTo[at] - precedes(m.upTo, at); math.Abs(got-p[2]) > 1e-14 {
				t.Errorf("n=%d: middle ranks %d and %d have probability %v, want %v", row.N, i, i+d, got, p[2])
			}
		}
	}
}

func TestBootstrapMedianAgainstGolden(t *testing.T) {
	for _, row := range readGolden(t).Boots {
		low, high := BootstrapMedianExact(row.Samples)
		if low != row.Low || high != row.High {
			t.Errorf("n=%d: exact [%v, %v], want [%v, %v]", len(row.Samples), low, high, row.Low, row.High)
		}
		if row.SciPy == nil {
			continue
		}
		// 200,000 resamples of SciPy's and 10,000 of ours lie about the exact
		// quantiles, each within five of its own standard errors.
		s := sorted(row.Samples)
		m := newMiddleRanks(len(s))
		within := func(who string, got, p float64, resamples int) {
			error := 5 * math.Sqrt(p*(1-p)/float64(resamples))
			from, to := m.quantile(s, m.upTo, p-error), m.quantile(s, m.upTo, p+error)
			if got < from || got > to {
				t.Errorf("n=%d: %s has %v for %v, which should be in [%v, %v]", len(s), who, got, p, from, to)
			}
		}
		low, high = BootstrapMedian(row.Samples, BootstrapResamples, BootstrapSeed)
		within("pawl", low, lowTail, BootstrapResamples)
		within("pawl", high, highTail, BootstrapResamples)
		within("SciPy", row.SciPy[0], lowTail, 200_000)
		within("SciPy", row.SciPy[1], highTail, 200_000)
	}
}

func TestTwoListsAgainstSciPy(t *testing.T) {
	exacts := 0
	for _, row := range readGolden(t).Lists {
		n, m := len(row.A), len(row.B)
		u, p, exact := MannWhitney(row.A, row.B)
		if u != row.U {
			t.Errorf("%d and %d: U is %v, want %v", n, m, u, row.U)
		}
		want := row.Asymptotic
		if exact {
			if row.Exact == nil {
				continue // too many ways to enumerate there
			}
			exacts++
			want = *row.Exact
		} else if row.Auto != row.Asymptotic {
			t.Errorf("%d and %d: SciPy is exact here", n, m)
		}
		if !closeTo(p, want) {
			t.Errorf("%d and %d, exact %v: p is %v, want %v", n, m, exact, p, want)
		}
		sa, sb := sorted(row.A), sorted(row.B)
		less, greater := normalTails(tieGroups(sa, sb), n, m, u)
		if !closeTo(less, row.Less) || !closeTo(greater, row.Greater) {
			t.Errorf("%d and %d: tails %v and %v, want %v and %v", n, m, less, greater, row.Less, row.Greater)
		}
		if got := CliffDelta(row.A, row.B); !closeTo(got, row.Delta) {
			t.Errorf("%d and %d: δ is %v, want %v", n, m, got, row.Delta)
		}
		if got := HodgesLehmann(row.A, row.B); got != row.Shift {
			t.Errorf("%d and %d: shift is %v, want %v", n, m, got, row.Shift)
		}
	}
	if exacts < 20 {
		t.Errorf("only %d exact tests were compared", exacts)
	}
}

func TestEquivalenceOfListsAgainstSciPy(t *testing.T) {
	for i, row := range readGolden(t).Equivalence {
		if got := TOSTLists(row.A, row.B, row.Low, row.High); !closeTo(got, row.P) {
			t.Errorf("case %d: p is %v, want %v", i, got, row.P)
		}
	}
}

func TestDuetsAgainstSciPy(t *testing.T) {
	for i, row := range readGolden(t).Duets {
		e := CellEstimate(row.Cells, 0)
		if !closeTo(e.Median, row.Median) || e.Cells != len(row.Cells) {
			t.Errorf("case %d: %+v, want %v", i, e, row.Median)
		}
		flat := []float64{}
		for _, cell := range row.Cells {
			flat = append(flat, cell...)
		}
		if got := SignDelta(flat); !closeTo(got, row.Sign) {
			t.Errorf("case %d: δ is %v, want %v", i, got, row.Sign)
		}
		if row.Low == nil {
			if !math.IsInf(e.Low, -1) || !math.IsInf(e.High, 1) {
				t.Errorf("case %d: one cell has the interval [%v, %v]", i, e.Low, e.High)
			}
			continue
		}
		if !closeTo(e.Low, *row.Low) || !closeTo(e.High, *row.High) {
			t.Errorf("case %d: [%v, %v], want [%v, %v]", i, e.Low, e.High, *row.Low, *row.High)
		}
	}
}
