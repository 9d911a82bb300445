package compare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"pawl/internal/foreign"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// many returns a file of n benchmarks with k samples each, slower by a factor.
func many(n, k int, factor float64, seed uint64) *foreign.File {
	random := rand.New(rand.NewPCG(seed, 42))
	rows := make([]*result.Row, n)
	for i := range rows {
		seconds := make([]float64, k)
		for j := range seconds {
			seconds[j] = factor * float64(1+i%97) * 1e-6 * (1 + 0.01*random.NormFloat64())
		}
		rows[i] = &result.Row{Kernel: fmt.Sprintf("k%05d", i), Timing: &result.Timing{Samples: result.Samples{Seconds: seconds}}}
	}
	return &foreign.File{Path: "x", Format: foreign.JSONList, Report: &result.Report{Rows: rows}}
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("%dx100", n), func(b *testing.B) {
			before, after := many(n, 100, 1, 1), many(n, 100, 1.01, 2)
			for b.Loop() {
				if _, err := Parsed(context.Background(), before, after, Options{Gate: spec.DefaultGate}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
