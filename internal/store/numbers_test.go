package store

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lists draws lists of all kinds that reports have, and others.
func lists() *rapid.Generator[[]float64] {
	decimal := rapid.Custom(func(t *rapid.T) float64 {
		return float64(rapid.Int64Range(-1e6, 1e9).Draw(t, "k")) / tens[rapid.IntRange(0, 15).Draw(t, "decimals")]
	})
	event := rapid.Custom(func(t *rapid.T) float64 {
		return max(float64(rapid.Float32Range(0, 1e4).Draw(t, "ms"))*1e-3-2.5e-6, 1e-9) / 3
	})
	nanos := rapid.Custom(func(t *rapid.T) float64 {
		return max(float64(float32(float64(32*rapid.Int64Range(0, 1e6).Draw(t, "steps"))/1e6))*1e-3-2.5e-6, 1e-9) / 3
	})
	return rapid.OneOf(
		rapid.SliceOfN(nanos, 1, 50),
		rapid.SliceOfN(decimal, 1, 50), rapid.SliceOfN(event, 1, 50), rapid.SliceOfN(rapid.Float64(), 1, 50),
		rapid.SliceOfN(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e22, 1 << 53, 1<<53 + 2, -1e-300}), 1, 20),
	)
}

// Every number comes back with all its bits, whatever list it is in, and the next list begins where
// one ends.
func TestPackExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(lists(), 1, 4).Draw(t, "lists")
		var packed []byte
		for _, list := range all {
			packed = pack(packed, list, []scale{{2.5e-6, 3}})
		}
		for _, list := range all {
			got, rest, err := unpack(packed, []scale{{2.5e-6, 3}}, maxList)
			if err != nil || len(got) != len(list) {
				t.Fatalf("%v: %v, %v", list, got, err)
			}
			for i := range list {
				if math.Float64bits(got[i]) != math.Float64bits(list[i]) {
					t.Fatalf("%v became %v", list[i], got[i])
				}
			}
			packed = rest
		}
		if len(packed) > 0 {
			t.Fatalf("%d bytes too many", len(packed))
		}
	})
}

// A list that is cut off is no shorter list.
func TestUnpackCut(t *testing.T) {
	for _, list := range [][]float64{{1, 2, 3, 400, 5}, {math.Pi, math.E, 1e-9}, {0.0521e-3 - 1.5e-6, 1}} {
		packed := pack(nil, list, []scale{{1.5e-6, 1}})
		for n := range packed {
			if got, _, err := unpack(packed[:n], []scale{{1.5e-6, 1}}, maxList); err == nil {
				t.Errorf("%d of %d bytes became %v", n, len(packed), got)
			}
		}
		if _, _, err := unpack(packed, nil, 2); err == nil && len(list) > 2 {
			t.Error("more numbers than allowed")
		}
	}
	endless := bytes.Repeat([]byte{0xff}, 11)
	for what, in := range map[string][]byte{"count": {9, 1}, "middle": {9, 1, 2}, "step": {9, 1, 2, 0}} {
		if got, _, err := unpack(append(in, endless...), nil, maxList); err == nil {
			t.Errorf("with a %s that never ends: %v", what, got)
		}
	}
	if _, _, err := unpack(pack(nil, []float64{float64(float32(0.0521))*1e-3 - 1.5e-6, float64(float32(0.053))*1e-3 - 1.5e-6}, []scale{{1.5e-6, 1}}), nil, maxList); err == nil {
		t.Error("a scale that is not there")
	}
}

// Histories are read with the same powers of ten that they were written with.
func TestTens(t *testing.T) {
	for i, ten := range tens {
		if ten != math.Pow10(i) {
			t.Errorf("10^%d is %g", i, ten)
		}
	}
}

// The code is chosen by how many bits it takes.
func TestGolombBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, order := rapid.Uint64Max(1<<62).Draw(t, "v"), rapid.IntRange(1, 62).Draw(t, "order")
		w := bitWriter{}
		w.golomb(v, order)
		if got, want := golombBits(v, order), 8*len(w.out)+w.n; got != want {
			t.Fatalf("%d bits, and it is written with %d", got, want)
		}
	})
}

// Samples take the room that their noise needs, and no more.
func TestPackSmall(t *testing.T) {
	var clock, cuda, stepped, several, steady []float64
	for i := range 1000 {
		noise := float64(i * 7919 % 1024) // 10 bits
		clock = append(clock, (52100+noise)/1e9)
		cuda = append(cuda, float64(float32(0.0521+noise*1e-7))*1e-3-1.5e-6)
		stepped = append(stepped, float64(float32((52096+32*float64(i*7919%64))/1e6))*1e-3-1.5e-6) // 6 bits
		several = append(several, (float64(float32(0.0521+noise*1e-7))*1e-3-1.5e-6)/4)
		steady = append(steady, 1.755)
	}
	for _, c := range []struct {
		name string
		list []float64
		most int // bytes
	}{{"nanoseconds", clock, 1700}, {"events", cuda, 3300}, {"stepped", stepped, 1150}, {"several launches", several, 3300}, {"steady", steady, 300}} {
		if got := len(pack(nil, c.list, []scale{{1.5e-6, 1}, {1.5e-6, 4}})); got > c.most {
			t.Errorf("%s: %d bytes, expected at most %d", c.name, got, c.most)
		}
	}
}

func FuzzAppendNumber(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e21, 9.9e20, -5e-324, 1.5e-9, 1e-10} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		want, err := json.Marshal(v)
		if err == nil && string(appendNumber(nil, v)) != string(want) {
			t.Fatalf("%s, expected %s", appendNumber(nil, v), want)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(pack(nil, []float64{1, 2.5, 3e-9, -4}, nil))
	f.Add(pack(nil, []float64{math.Pi, math.E}, nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		list, rest, err := unpack(in, []scale{{1e-6, 1}}, 1000)
		if err == nil && (len(list) > 1000 || len(rest) > len(in)) {
			t.Fatalf("%d numbers, %d of %d bytes left", len(list), len(rest), len(in))
		}
	})
}

// longer repeats the middle of lists, so that they are packed.
func longer(text string) string {
	return strings.ReplaceAll(text, ",5,", strings.Repeat(",5,5.5", 20)+",")
}

// What is split comes back byte for byte, also where it looks like a list and is none.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{
		longer(`{"pair_s":0.0000015,"repeat":3,"s":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]}`), longer(`[1,2,3,4,5,6,7,8,9,10000000000000000000000000]`),
		longer(`["\"[",1,2,3,4,5,6,7,8,[9]]`), longer(`[0.1,0.2,0.30,4e-9,5,6,7,8,9]`), longer(`[0.1,0.2,4e-9,5,6,7,8,9]`),
		`{"a":[1,2,3,4,5,6,7,8,9],"b":"[1,2,3,4,5,6,7,8]","c":[1,2]}`, `[0.1,0.2,0.30,4e-9,5,6,7,8,9]`, `["\"[",1,2,3,4,5,6,7,8,[9]]`,
		`[1,2,3,4,5,6,7,8,9,10000000000000000000000000]`, `{"pair_s":0.0000015,"repeat":3,"s":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8]}`, `[null,1,2,3,4,5,6,7,8]`, `[`, `"\`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if bytes.IndexByte(doc, hole) >= 0 {
			return // no JSON
		}
		skeleton, numbers := split(doc)
		got, err := join(skeleton, numbers)
		if err != nil || !bytes.Equal(got, doc) {
			t.Fatalf("%q became %q, %v", doc, got, err)
		}
	})
}
