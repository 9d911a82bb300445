package formula

import "testing"

// The formulas a spec is made of: a launch dimension, a shared-memory size, a
// constraint, a scalar and a flop count in floats.
var benchmarks = []struct{ name, src string }{
	{"launch", "ceildiv(S, BLOCK_M) * B * H + 16 * (D % 8)"},
	{"shared", "NUM_STAGES * BLOCK_N * D * 4"},
	{"constraint", "BLOCK_M % (16 * NUM_WARPS) == 0"},
	{"chain", "0 < BLOCK_N <= BLOCK_M and BLOCK_M <= S"},
	{"conditional", "S if D > 64 else round_up(S, BLOCK_M)"},
	{"scale", "D ** -0.5"},
	{"float", "4 * B * H * S * S * D / 1e9"},
	{"string", "2 if DTYPE == 'f16' else 4"},
}

var (
	benchmarkNames  = []string{"B", "H", "S", "D", "BLOCK_M", "BLOCK_N", "NUM_WARPS", "NUM_STAGES", "DTYPE"}
	benchmarkValues = []Value{Int(32), Int(8), Int(512), Int(64), Int(128), Int(64), Int(4), Int(2), String("f16")}
)

func BenchmarkEval(b *testing.B) {
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			expr, err := Parse(bm.src)
			if err != nil {
				b.Fatal(err)
			}
			program, err := expr.Compile(benchmarkNames)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Eval(benchmarkValues); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevals/s")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchmarks[0].src); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	expr, err := Parse(benchmarks[0].src)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expr.Compile(benchmarkNames); err != nil {
			b.Fatal(err)
		}
	}
}
