package view

import "testing"

// One wrong element is named; a picture shows where several are.
func TestDrawable(t *testing.T) {
	tiles := func(wrong ...int64) Map {
		return Map{Rows: 1, Columns: len(wrong), TileRows: 4, TileCols: 4, Wrong: wrong}
	}
	for _, test := range []struct {
		m    Map
		want bool
	}{
		{tiles(0, 2, 0), true},
		{tiles(1, 1), true},
		{tiles(1<<62, 1<<62, 1<<62), true},
		{tiles(0, 1, 0), false},
		{tiles(1), false},
		{tiles(0, 0), false},
		{tiles(-5, 1), false},
		{Map{Rows: 2, Columns: 1, TileRows: 4, TileCols: 4, Wrong: []int64{9}}, false},
		{Map{}, false},
	} {
		if got := test.m.Drawable(); got != test.want {
			t.Errorf("%+v: %t", test.m, got)
		}
	}
}

func TestFocusLeavesStraysOut(t *testing.T) {
	var sorted []float64
	for i := range 100 {
		sorted = append(sorted, 1+float64(i)/1000)
	}
	if low, high := Focus(sorted); low != 1 || high != sorted[99] {
		t.Errorf("%v to %v without a stray sample", low, high)
	}
	if low, high := Focus(append(sorted, 50)); low != 1 || high > 1.3 {
		t.Errorf("%v to %v with a slow one", low, high)
	}
	if low, high := Focus(append([]float64{1e-9}, sorted...)); low < 0.8 || high != sorted[99] {
		t.Errorf("%v to %v with a fast one", low, high)
	}
	if low, high := Focus([]float64{2, 2, 2}); low != 2 || high != 2 {
		t.Errorf("%v to %v of equal ones", low, high)
	}
}
