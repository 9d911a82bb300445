package space

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pawl/internal/formula"
)

// From the text of the constraints to all points, counted and listed.
func BenchmarkConstruct(b *testing.B) {
	for _, name := range []string{"gemm_milo", "hotspot_milo"} {
		b.Run(name, func(b *testing.B) {
			params, conditions := readDefinition(b, name)
			b.ReportAllocs()
			for b.Loop() {
				s, err := New(params, parse(b, conditions...))
				if err != nil {
					b.Fatal(err)
				}
				n := 0.0
				for range s.All() {
					n++
				}
				if n != s.Size() {
					b.Fatalf("%v points of %v", n, s.Size())
				}
			}
		})
	}
}

// huge returns 10^12 combinations and constraints, as spaces of GPU kernels have them.
func huge(b testing.TB, constraints ...string) ([]Param, []*formula.Expr) {
	var params []Param
	for i := range 12 {
		params = append(params, Param{Name: fmt.Sprintf("P%d", i)})
		for v := range 10 {
			params[i].Values = append(params[i].Values, formula.Int(int64(v+1)))
		}
	}
	return params, parse(b, constraints...)
}

var hugeConstraints = map[string][]string{
	"free":  nil,
	"pairs": {"P0 % P1 == 0", "P2 * P3 <= 32", "P4 % P5 == 0", "P6 <= P7", "P8 * P9 >= 8", "P10 != P11"},
	"chain": {"P0 <= P1", "P1 <= P2", "P2 <= P3", "P3 <= P4", "P4 <= P5", "P5 <= P6", "P6 <= P7", "P7 <= P8", "P8 <= P9", "P9 <= P10", "P10 <= P11"},
	"tiles": {
		"P0 * P1 % 4 == 0", "P0 * P1 * P2 <= 512", "P3 * P4 <= 64", "(P0 * P3 + P5 * 2) * (P1 * P4 + P5 * 2) * (2 + P6) * 4 <= 16384",
		"P7 % P8 == 0", "P5 % P7 == 0", "P9 * P0 <= 80", "P10 + P11 <= P2 + P9",
	},
	"wide": {strings.Join(strings.Fields("P0 P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11"), " + ") + " == 37"},
}

// From the text of the constraints to the first point drawn from 10^12 combinations.
func BenchmarkHuge(b *testing.B) {
	for name, constraints := range hugeConstraints {
		b.Run(name, func(b *testing.B) {
			var s *Space
			for b.Loop() {
				var err error
				if s, err = New(huge(b, constraints...)); err != nil {
					b.Fatal(err)
				}
				if p := s.Sample(rand.New(rand.NewPCG(1, 2))); !s.Contains(p) {
					b.Fatal(p)
				}
			}
			b.ReportMetric(s.Size(), "points")
		})
	}
}

func BenchmarkSample(b *testing.B) {
	each := func(name string, params []Param, constraints []*formula.Expr) {
		b.Run(name, func(b *testing.B) {
			s, err := New(params, constraints)
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				s.Sample(r)
			}
		})
	}
	for _, name := range []string{"gemm_milo", "hotspot_milo"} {
		params, conditions := readDefinition(b, name)
		each(name, params, parse(b, conditions...))
	}
	for name, constraints := range hugeConstraints {
		params, parsed := huge(b, constraints...)
		each(name, params, parsed)
	}
}

func BenchmarkNeighbours(b *testing.B) {
	each := func(name string, params []Param, constraints []*formula.Expr) {
		b.Run(name, func(b *testing.B) {
			s, err := New(params, constraints)
			if err != nil {
				b.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			points := make([]Point, 256)
			for i := range points {
				points[i] = s.Sample(r)
			}
			b.ReportAllocs()
			found, n := 0, 0
			for b.Loop() {
				found += len(s.Neighbours(points[n%len(points)]))
				n++
			}
			b.ReportMetric(float64(found)/float64(n), "neighbours")
		})
	}
	for _, name := range []string{"gemm_milo", "hotspot_milo"} {
		params, conditions := readDefinition(b, name)
		each(name, params, parse(b, conditions...))
	}
	params, constraints := huge(b, hugeConstraints["tiles"]...)
	each("tiles", params, constraints)
}
