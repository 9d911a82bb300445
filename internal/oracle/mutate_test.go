package oracle

import (
	"bytes"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"pawl/internal/dtype"
)

// A step changes at most eight elements, and few of them to what they were; fills
// without draws stay as they are.
func TestMutateChangesAFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(dtype.All).Draw(t, "type")
		fills := []Fill{{Kind: Zero}, {Kind: Iota}, {Constant, []float64{1}}, {Integers, []float64{0, 15}}}
		if typ.Float() {
			fills = append(fills, Fill{Normal, []float64{0, 1}}, Fill{Uniform, []float64{0, 1}},
				Fill{Rows, []float64{0, 1, 7}}, Fill{Outliers, []float64{0, 1, 32, 9}}, Fill{Specials, []float64{0, 1, 3}})
		}
		fill := rapid.SampledFrom(fills).Draw(t, "fill")
		count, size := rapid.IntRange(1, 2000).Draw(t, "count"), typ.Size()
		key, step := rapid.Uint64().Draw(t, "key"), rapid.IntRange(1, math.MaxInt32).Draw(t, "step")
		before := make([]byte, count*size)
		Generate(before, typ, fill, key)
		after := bytes.Clone(before)
		Mutate(after, typ, fill, key, step)
		changed := 0
		for i := range count {
			if !bytes.Equal(before[i*size:][:size], after[i*size:][:size]) {
				changed++
			}
		}
		_, changing := Changing(fill)
		if changed > Changes || changed > 0 && !changing {
			t.Fatalf("%s: %d elements changed", fill.Kind, changed)
		}
		if wide := typ == dtype.F32 || typ == dtype.F64; wide && fill.Kind == Normal && changed == 0 {
			t.Fatal("nothing changed")
		}
	})
}

// Where places collide the last change stays, and all places of a buffer are
// reached sooner or later.
func TestMutateOrderAndReach(t *testing.T) {
	fill, key := Fill{Normal, []float64{0, 1}}, Key(3, 0, 0)
	stream := floats(dtype.F32, fill, 1+8*3, key)
	one := make([]byte, 4)
	Generate(one, dtype.F32, fill, key)
	Mutate(one, dtype.F32, fill, key, 2)
	if got, want := float64(dtype.F32.Get(one, 0)), stream[1+8*2+7]; got != want {
		t.Errorf("the only element is %v after step 2, want %v", got, want)
	}

	const count = 100
	data := make([]byte, 4*count)
	Generate(data, dtype.F32, fill, key)
	before := bytes.Clone(data)
	for step := range 200 {
		Mutate(data, dtype.F32, fill, key, step+1)
	}
	for i := range count {
		if bytes.Equal(before[4*i:][:4], data[4*i:][:4]) {
			t.Errorf("element %d was never changed", i)
		}
	}
}

func TestSpecials(t *testing.T) {
	is := [6]func(v, most float64) bool{
		func(v, _ float64) bool { return math.IsNaN(v) },
		func(v, most float64) bool { return math.IsInf(v, 1) || most == 448 && v == most },
		func(v, most float64) bool { return math.IsInf(v, -1) || most == 448 && v == -most },
		func(v, _ float64) bool { return v == 0 && math.Signbit(v) },
		func(v, most float64) bool { return v > 0 && v < 0.01 && v < 1/most },
		func(v, most float64) bool { return v == most },
	}
	for _, typ := range dtype.All {
		if !typ.Float() {
			continue
		}
		_, most := typ.Range()
		for n, code := range specialBits[typ] {
			raw := make([]byte, 8)
			for i := range raw {
				raw[i] = byte(code >> (8 * i))
			}
			values := make([]float64, 1)
			Values(values, Typed[[]byte]{Data: raw[:typ.Size()], Type: typ}, 0)
			if !is[n](values[0], most) {
				t.Errorf("%s: special value %d is %v", typ, n, values[0])
			}
		}
	}
	const count = 60_000
	special := 0
	for _, v := range floats(dtype.F32, Fill{Specials, []float64{0, 1, 10}}, count, 5) {
		if v != v || math.Abs(v) > 4.9 || math.Abs(v) < 1e-40 {
			special++
		}
	}
	if special < count/10*9/10 || special > count/10*11/10 {
		t.Errorf("%d of %d are special, want every tenth", special, count)
	}
}

func TestRowsAndOutliers(t *testing.T) {
	const width, count = 48, 48 * 1000
	rows := floats(dtype.F32, Fill{Rows, []float64{0, 1, width}}, count, 11)
	for i, v := range rows {
		if v != rows[i/width*width] {
			t.Fatalf("element %d differs from its row", i)
		}
	}
	if rows[0] == rows[width] {
		t.Error("neighbouring rows are equal")
	}
	var square [width]float64
	for i, v := range floats(dtype.F32, Fill{Outliers, []float64{0, 1, width, 20}}, count, 11) {
		square[i%width] += v * v * width / count
	}
	large := 0
	for column, s := range square {
		if s > 100 {
			large++
			if square[column%16] < 100 {
				t.Errorf("column %d is large, %d is not", column, column%16)
			}
		}
	}
	if large != width/16 {
		t.Errorf("%d large columns, want %d", large, width/16)
	}
}

// A cell mutates before every sample, and its collector is off meanwhile.
func TestMutateLeavesLittleGarbage(t *testing.T) {
	const steps, most = 100, 2048 // bytes a step
	for _, typ := range dtype.All {
		data := make([]byte, 4096*typ.Size())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for step := range steps {
			Mutate(data, typ, Defaults(typ), 1, step)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / steps; each > most {
			t.Errorf("%s: a step allocates %d bytes", typ, each)
		}
	}
}
