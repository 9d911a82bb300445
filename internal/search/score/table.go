package score

import (
	"math/rand/v2"
	"slices"

	"pawl/internal/search/recorded"
	"pawl/internal/stat"
)

// Row is what the runs of a strategy on one space come to, or on all spaces together.
type Row struct {
	Space    string     `json:"space,omitempty"`
	Strategy string     `json:"strategy"`
	Spaces   int        `json:"spaces"`
	Seeds    int        `json:"seeds"` // the fewest of all spaces
	P        float64    `json:"p"`
	Low      float64    `json:"p_low"` // 95% interval of P, by the bootstrap over seeds
	High     float64    `json:"p_high"`
	Near     float64    `json:"p_within_1_percent"` // P where all settings within Tolerance of the optimum count as the optimum
	Fraction [3]float64 `json:"fraction_at_50_100_200"`
	Found    float64    `json:"optimum_found"` // share of the runs that found the optimum
	Seconds  float64    `json:"strategy_seconds,omitempty"`

	seeds []float64 // P of every run
}

// resamples of the bootstrap: the ends of its intervals are known to about 0.01.
const resamples = 2000

// Judge scores the runs of one strategy on one space.
func Judge(s *recorded.Space, strategy string, runs []*Run, evals int) *Row {
	r := &Row{Space: s.Name, Strategy: strategy, Spaces: 1, Seeds: len(runs)}
	exact, near := NewTruth(s, evals, 0), NewTruth(s, evals, Tolerance)
	n := float64(len(runs))
	for _, run := range runs {
		r.seeds = append(r.seeds, exact.P(run.Seq))
		r.Near += near.P(run.Seq) / n
		for i, x := range At {
			r.Fraction[i] += exact.Fraction(run.Seq, x) / n
		}
		if exact.Fraction(run.Seq, evals) == 1 {
			r.Found += 1 / n
		}
		r.Seconds += run.Seconds / n
	}
	r.P = stat.Mean(r.seeds)
	r.Low, r.High = interval([]*Row{r})
	return r
}

// Mean returns the means of rows: those of one strategy on several spaces.
func Mean(rows []*Row) *Row {
	m := &Row{Strategy: rows[0].Strategy, Spaces: len(rows), Seeds: rows[0].Seeds}
	n := float64(len(rows))
	for _, r := range rows {
		m.Seeds = min(m.Seeds, r.Seeds)
		m.P += r.P / n
		m.Near += r.Near / n
		for i, f := range r.Fraction {
			m.Fraction[i] += f / n
		}
		m.Found += r.Found / n
		m.Seconds += r.Seconds / n
	}
	m.Low, m.High = interval(rows)
	return m
}

// interval returns the 95% interval of the mean P of spaces. Seeds are resampled, and spaces are not: the
// interval says what other seeds would have shown on these spaces.
func interval(rows []*Row) (low, high float64) {
	random := rand.New(rand.NewPCG(1, 1))
	means := make([]float64, resamples)
	for i := range means {
		for _, r := range rows {
			sum := 0.0
			for range r.seeds {
				sum += r.seeds[random.IntN(len(r.seeds))]
			}
			means[i] += sum / float64(len(r.seeds)*len(rows))
		}
	}
	slices.Sort(means)
	return means[resamples/40], means[resamples-1-resamples/40]
}

// Outliers are spaces whose optimum is a lucky measurement, 6% or more ahead of the second.
const outlierLead = 1.06

// IsOutlier reports whether the optimum of a space is so far ahead of the second that it is measurement
// luck, or can only be found by luck.
func IsOutlier(s *recorded.Space) bool {
	var first, second float64
	for i := range s.Len() {
		ms, ok := s.Time(i)
		switch {
		case !ok:
		case first == 0 || ms < first:
			first, second = ms, first
		case second == 0 || ms < second:
			second = ms
		}
	}
	return second > outlierLead*first
}
