package store

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestValuesComeBack(t *testing.T) {
	change := rapid.Custom(func(t *rapid.T) *Change {
		if rapid.Bool().Draw(t, "none") {
			return nil
		}
		return &Change{Median: rapid.Float64().Draw(t, "median"), Low: rapid.Float64().Draw(t, "low"), High: rapid.Float64().Draw(t, "high")}
	})
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Min(0)
		want := rowValues{
			Row: &Row{
				Samples: rapid.IntMin(0).Draw(t, "samples"), Base: change.Draw(t, "base"), Best: change.Draw(t, "best"), RoofPct: rapid.Float64().Draw(t, "roof"),
				Moved: rapid.Bool().Draw(t, "moved"), Dropped: rapid.Bool().Draw(t, "dropped"),
			},
			fault: number.Draw(t, "fault"), identity: number.Draw(t, "identity"), best: number.Draw(t, "best-known"),
		}
		if rapid.Bool().Draw(t, "timed") {
			want.MedianS, want.LowS, want.HighS = rapid.Float64Min(1e-9).Draw(t, "median"), rapid.Float64().Draw(t, "low"), rapid.Float64().Draw(t, "high")
		}
		got := rowValues{Row: &Row{}}
		if err := got.decode(want.encode()); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v became %+v, %v", want.Row, got.Row, err)
		}
	})
}

func FuzzValues(f *testing.F) {
	f.Add(rowValues{Row: &Row{MedianS: 1, Base: &Change{}, Moved: true}}.encode())
	f.Add([]byte{0xff, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		var v rowValues
		v.Row = &Row{}
		_ = v.decode(in)
	})
}
