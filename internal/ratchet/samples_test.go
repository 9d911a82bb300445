package ratchet

import (
	"bytes"
	"math"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := make([]float64, rapid.IntRange(0, 2000).Draw(t, "values"))
		for i := range values {
			values[i] = float64(i)
		}
		got := spread(values, MaxSamples)
		if len(got) != min(len(values), MaxSamples) {
			t.Fatalf("%d of %d", len(got), len(values))
		}
		if len(got) == 0 {
			return
		}
		if got[0] != 0 || got[len(got)-1] != float64(len(values)-1) {
			t.Fatalf("from %v to %v", got[0], got[len(got)-1])
		}
		step := float64(len(values)-1) / float64(max(1, len(got)-1))
		for i, v := range got {
			if math.Abs(v-float64(i)*step) >= 1 {
				t.Fatalf("value %d is %v, evenly it would be %v", i, v, float64(i)*step)
			}
		}
	})
}

func TestSamplesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := blocks{}
		lists := rapid.SliceOfN(rapid.SliceOfN(rapid.Float64Range(1e-8, 10), 1, 300), 0, 4).Draw(t, "lists")
		kept := make([]Samples, len(lists))
		for i, list := range lists {
			kept[i] = b.add(list)
			if kept[i].Count != min(len(list), MaxSamples) || kept[i].Of != len(list) {
				t.Fatalf("of %d: %+v", len(list), kept[i])
			}
		}
		raw, err := b.encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := b.encode(); !bytes.Equal(raw, again) {
			t.Fatal("the same blocks have two forms")
		}
		back, err := decodeBlocks(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, list := range lists {
			got, err := back.get(kept[i])
			if err != nil {
				t.Fatal(err)
			}
			for j, want := range spread(list, MaxSamples) {
				if math.Abs(got[j]-want) > 1e-5*want {
					t.Fatalf("%v became %v", want, got[j])
				}
			}
		}
	})
}

func TestDamagedSamples(t *testing.T) {
	b := blocks{}
	if many := b.add(make([]float64, 3*MaxSamples)); many.Count != MaxSamples || many.Of != 3*MaxSamples {
		t.Errorf("%+v", many)
	}
	kept := b.add([]float64{1e-3, 2e-3})
	for name, spoil := range map[string]func(Samples) Samples{
		"another hash":  func(s Samples) Samples { s.SHA256 = "0"; return s },
		"another count": func(s Samples) Samples { s.Count = 3; return s },
	} {
		if _, err := b.get(spoil(kept)); err == nil {
			t.Errorf("%s: taken for good", name)
		}
	}
	for _, text := range []string{"1 x", "1 -2", "1 0", "1 NaN", "1 +Inf"} {
		b := blocks{blockHash(text): text}
		if got, err := b.get(Samples{Count: 2, SHA256: blockHash(text)}); err == nil {
			t.Errorf("%q are times: %v", text, got)
		}
	}
	encoder, _ := zstd.NewWriter(nil)
	packed := encoder.EncodeAll([]byte(samplesHeader+"\n"+kept.SHA256+" 9 9\nno block\n"), nil)
	if got, err := decodeBlocks(packed); err != nil || len(got) != 0 {
		t.Errorf("a block that is not what its hash says: %v, %v", got, err)
	}
	for _, raw := range [][]byte{nil, []byte("hello"), encoder.EncodeAll([]byte("hello"), nil)} {
		if _, err := decodeBlocks(raw); err == nil {
			t.Errorf("%q are samples", raw)
		}
	}
	bomb := encoder.EncodeAll(make([]byte, maxSamplesBytes+1), nil)
	if _, err := decodeBlocks(bomb); err == nil {
		t.Errorf("%d bytes became %d", len(bomb), maxSamplesBytes+1)
	}
}

func FuzzDecodeBlocks(f *testing.F) {
	b := blocks{}
	b.add([]float64{1e-3, 2e-3})
	raw, err := b.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := decodeBlocks(raw)
		if err != nil {
			return
		}
		for sha := range b {
			_, _ = b.get(Samples{Count: 1, SHA256: sha})
		}
	})
}
