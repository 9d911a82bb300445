package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSampleIsUniform tests draws by chi-square: at a fixed seed, what holds once holds always.
func TestSampleIsUniform(t *testing.T) {
	tests := map[string]struct {
		params      []Param
		constraints []string
	}{
		"joined":      {[]Param{upTo("A", 6), upTo("B", 6), upTo("C", 6)}, []string{"A % B == 0", "B + C <= A + 2"}},
		"independent": {[]Param{upTo("A", 5), upTo("B", 5), upTo("C", 3), ints("D", 7)}, []string{"A <= B"}},
		"skewed":      {[]Param{upTo("A", 8), upTo("B", 8), upTo("C", 8)}, []string{"A == 1 or B == 1", "A * B * C < 30"}},
		"many values": {[]Param{upTo("A", 3), upTo("B", 90)}, []string{"B % (A * A * 3) == 0"}},
	}
	for name, test := range tests {
		for way, most := range ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				s := mustNew(t, most, test.params, test.constraints...)
				if len(s.components) > 0 && s.components[0].late != nil && s.components[0].ceiling != 1 {
					t.Fatal("too few draws are kept to be uniform")
				}
				want := bruteForce(t, test.params, test.constraints)
				counts := map[string]int{}
				const draws = 200
				n := len(want)
				r := rand.New(rand.NewPCG(5, 6))
				for range n * draws {
					counts[fmt.Sprint(s.Sample(r))]++
				}
				chi, of := 0.0, 0
				for _, p := range want {
					count := counts[fmt.Sprint(p)]
					of += count
					chi += float64((count-draws)*(count-draws)) / draws
				}
				if of != n*draws {
					t.Errorf("%d of %d draws are no points of the space", n*draws-of, n*draws)
				}
				// 4 standard deviations of a chi-square distribution with n-1 degrees of freedom
				if limit := float64(n-1) + 4*math.Sqrt(2*float64(n-1)); chi > limit {
					t.Errorf("chi-square %.1f of %d points, want at most %.1f", chi, n, limit)
				}
			})
		}
	}
}

// TestSumOfDice compares the size of a space with what the sum of dice has: counted, and estimated where
// it may not be.
func TestSumOfDice(t *testing.T) {
	params := make([]Param, 12)
	ways := []float64{1} // of each sum
	var sum []string
	for i := range params {
		params[i] = upTo(fmt.Sprintf("P%d", i), 10)
		sum = append(sum, params[i].Name)
		next := make([]float64, len(ways)+10)
		for total, n := range ways {
			for v := 1; v <= 10; v++ {
				next[total+v] += n
			}
		}
		ways = next
	}
	want := 0.0
	for total, n := range ways {
		if total <= 60 {
			want += n
		}
	}
	constraint := strings.Join(sum, " + ") + " <= 60"
	if s := mustNew(t, usualLimits, params, constraint); s.Size() != want || !s.Exact() {
		t.Errorf("counted %.12g, exact %v, want %.12g", s.Size(), s.Exact(), want)
	}
	few := usualLimits
	few.huge = 0
	s := mustNew(t, few, params, constraint)
	if ratio := s.Size() / want; math.Abs(ratio-1) > 0.05 || s.Exact() {
		t.Errorf("estimated %.6g, exact %v, want %.6g", s.Size(), s.Exact(), want)
	}
	r := rand.New(rand.NewPCG(1, 2))
	first := 0.0
	const draws = 4000
	for range draws {
		first += float64(s.Sample(r)[0])
	}
	if got := first / draws; math.Abs(got-meanFirst(ways)) > 0.2 { // 4 standard errors
		t.Errorf("P0 is at %.2f on average, want %.2f", got, meanFirst(ways))
	}
}

// meanFirst returns the mean index of one die where the sum of twelve is at most 60: all are alike.
func meanFirst(ways []float64) float64 {
	sum, n := 0.0, 0.0
	for total, each := range ways[:61] {
		sum, n = sum+each*float64(total), n+each
	}
	return sum/n/12 - 1
}
