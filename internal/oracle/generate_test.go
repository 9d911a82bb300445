package oracle

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
)

func floats(t dtype.Type, fill Fill, count int, key uint64) []float64 {
	data := make([]byte, count*t.Size())
	Generate(data, t, fill, key)
	values := make([]float64, count)
	for i := range values {
		if t == dtype.F64 {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		} else {
			values[i] = float64(t.Get(data, i))
		}
	}
	return values
}

// moments returns mean, variance and kurtosis.
func moments(values []float64) (mean, variance, kurtosis float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	var fourth float64
	for _, v := range values {
		d := (v - mean) * (v - mean)
		variance += d / n
		fourth += d * d / n
	}
	return mean, variance, fourth / (variance * variance)
}

func TestDistributions(t *testing.T) {
	const count = 200_000
	for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
		for _, test := range []struct {
			fill                     Fill
			mean, variance, kurtosis float64
			low, high                float64
		}{
			// Eight uniforms have a kurtosis of 3 − 1.2/8.
			{Fill{Normal, []float64{0, 1}}, 0, 1, 2.85, -4.9, 4.9},
			{Fill{Normal, []float64{5, 0.5}}, 5, 0.25, 2.85, 5 - 2.45, 5 + 2.45},
			{Fill{Uniform, []float64{0, 1}}, 0.5, 1. / 12, 1.8, 0, 1},
			{Fill{Uniform, []float64{-3, 1}}, -1, 16. / 12, 1.8, -3, 1},
			// (n²−1)/12 for n equally likely whole numbers.
			{Fill{Integers, []float64{-8, 8}}, 0, 24, 1.7917, -8, 8},
		} {
			values := floats(typ, test.fill, count, Key(1, 2, 3))
			mean, variance, kurtosis := moments(values)
			// Five standard errors.
			if off := math.Abs(mean - test.mean); off > 5*math.Sqrt(test.variance/count) {
				t.Errorf("%s %v: mean %v, want %v", typ, test.fill, mean, test.mean)
			}
			if off := math.Abs(variance/test.variance - 1); off > 5*math.Sqrt(2./count) {
				t.Errorf("%s %v: variance %v, want %v", typ, test.fill, variance, test.variance)
			}
			if off := math.Abs(kurtosis - test.kurtosis); off > 0.05 {
				t.Errorf("%s %v: kurtosis %v, want %v", typ, test.fill, kurtosis, test.kurtosis)
			}
			for _, v := range values {
				if v < test.low || v > test.high {
					t.Fatalf("%s %v: %v is out of range", typ, test.fill, v)
				}
			}
		}
	}
}

func TestIntegersAreEquallyLikely(t *testing.T) {
	const count = 160_000
	data := make([]byte, count)
	Generate(data, dtype.U8, Fill{Integers, []float64{0, 15}}, Key(7, 0, 0))
	var seen [256]float64
	for _, v := range data {
		seen[v]++
	}
	chi := 0.0
	for v, n := range seen {
		if v > 15 {
			if n > 0 {
				t.Errorf("%d is out of range", v)
			}
			continue
		}
		chi += (n - count/16) * (n - count/16) / (count / 16)
	}
	if chi > 37.7 { // scipy.stats.chi2.ppf(0.999, 15)
		t.Errorf("chi-square of 16 values is %.1f", chi)
	}
}

// Streams that differ in seed, argument or batch, and neighbours in one stream,
// have nothing to do with each other.
func TestStreamsAreIndependent(t *testing.T) {
	const count = 100_000
	fill := Fill{Normal, []float64{0, 1}}
	base := floats(dtype.F32, fill, count+1, Key(42, 0, 0))
	for name, other := range map[string][]float64{
		"seed":      floats(dtype.F32, fill, count, Key(43, 0, 0)),
		"argument":  floats(dtype.F32, fill, count, Key(42, 1, 0)),
		"batch":     floats(dtype.F32, fill, count, Key(42, 0, 1)),
		"neighbour": base[1:],
	} {
		correlation := 0.0
		for i := range count {
			correlation += base[i] * other[i] / count
		}
		if math.Abs(correlation) > 5/math.Sqrt(count) {
			t.Errorf("another %s: correlation %v", name, correlation)
		}
	}
}

// Whatever part of a buffer is written on its own, it is the same as in the
// whole, and however many processors share the work.
func TestPartsAndProcessors(t *testing.T) {
	key := Key(42, 3, 1)
	for _, typ := range dtype.All {
		kinds := []Fill{Defaults(typ), {Kind: Iota}}
		if typ.Float() {
			kinds = append(kinds, Fill{Rows, []float64{0, 1, 300}}, Fill{Outliers, []float64{0, 1, 300, 8}}, Fill{Specials, []float64{0, 1, 9}})
		}
		for _, kind := range kinds {
			size := typ.Size()
			count := 3*share + 17
			all := make([]byte, count*size)
			Generate(all, typ, kind, key)

			before := runtime.GOMAXPROCS(1)
			alone := make([]byte, count*size)
			Generate(alone, typ, kind, key)
			runtime.GOMAXPROCS(before)
			if !bytes.Equal(all, alone) {
				t.Errorf("%s %s: one processor makes other values", typ, kind.Kind)
			}

			write := writer(typ, kind, key)
			rapid.Check(t, func(t *rapid.T) {
				first := rapid.IntRange(0, count).Draw(t, "first")
				last := rapid.IntRange(first, min(count, first+2*block)).Draw(t, "last")
				part := make([]byte, (last-first)*size)
				write(part, uint64(first))
				if !bytes.Equal(part, all[first*size:last*size]) {
					t.Fatalf("%s %s: elements %d to %d differ", typ, kind.Kind, first, last)
				}
			})
		}
	}
}

func TestIotaNeverOverflows(t *testing.T) {
	for _, typ := range dtype.All {
		data := make([]byte, 70_000*typ.Size())
		Generate(data, typ, Fill{Kind: Iota}, 0)
		if !typ.Float() || typ == dtype.F64 {
			continue
		}
		period := 1 << typ.Integers()
		for i := range 70_000 {
			if got := typ.Get(data, i); got != float32(i%period) {
				t.Fatalf("%s: element %d is %v", typ, i, got)
			}
		}
	}
}

// Uniform never leaves its bounds, rounded to float32, however they lie.
func TestUniformStaysInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float32Range(-1e30, 1e30).Draw(t, "a")
		b := rapid.Float32Range(-1e30, 1e30).Draw(t, "b")
		low, high := min(a, b), max(a, b)
		key := rapid.Uint64().Draw(t, "key")
		for _, v := range floats(dtype.F32, Fill{Uniform, []float64{float64(low), float64(high)}}, 1000, key) {
			if v < float64(low) || v > float64(high) {
				t.Fatalf("%v is not in [%v, %v]", v, low, high)
			}
		}
		// The greatest draw there is.
		greatest := float32(float32((high-low)*(1-0x1p-24)) + low)
		if greatest > high {
			t.Fatalf("the greatest draw gives %v, above %v", greatest, high)
		}
	})
}

func TestGenerateRefuses(t *testing.T) {
	for want, call := range map[string]func(){
		"7 bytes":      func() { Generate(make([]byte, 7), dtype.F32, Fill{Kind: Zero}, 0) },
		"unknown fill": func() { Generate(nil, dtype.F32, Fill{Kind: "noise"}, 0) },
		"5 bytes":      func() { Mutate(make([]byte, 5), dtype.F32, Defaults(dtype.F32), 0, 1) },
		"a part":       func() { Poison(make([]byte, 7), dtype.F32) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.Contains(message, want) {
					t.Errorf("panic says %q, want %q", message, want)
				}
			}()
			call()
		}()
	}
	Mutate(nil, dtype.F32, Defaults(dtype.F32), 0, 1)
	Generate(nil, dtype.F32, Defaults(dtype.F32), 0) // no elements: nothing to do
	Poison(nil, dtype.F32)
}

func TestPoison(t *testing.T) {
	for _, typ := range dtype.All {
		data := make([]byte, 1001*typ.Size())
		Poison(data, typ)
		for i := range 1001 {
			switch {
			case typ == dtype.F64:
				if bits := binary.LittleEndian.Uint64(data[8*i:]); bits != 0x7ff8a5a5a5a5a5a5 {
					t.Fatalf("f64 element %d is %x", i, bits)
				}
			case typ.Float():
				v := typ.Get(data, i)
				if v == v {
					t.Fatalf("%s element %d is %v, not NaN", typ, i, v)
				}
				if quiet := math.Float32bits(v)&0x400000 != 0; !quiet {
					t.Fatalf("%s element %d is a signalling NaN", typ, i)
				}
			case data[i] != 0xa5:
				t.Fatalf("%s byte %d is %x", typ, i, data[i])
			}
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	const count = 1 << 24
	for _, typ := range []dtype.Type{dtype.F32, dtype.F16, dtype.E4M3, dtype.F64, dtype.I32} {
		fills := []Fill{{Uniform, []float64{-1, 1}}, {Normal, []float64{0, 1}}, {Integers, []float64{-8, 8}}}
		if !typ.Float() {
			fills = fills[2:]
		}
		for _, fill := range fills {
			b.Run(string(typ)+"/"+fill.Kind, func(b *testing.B) {
				dst := make([]byte, count*typ.Size())
				for b.Loop() {
					Generate(dst, typ, fill, 42)
				}
				b.ReportMetric(count*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
			})
		}
	}
}
