package view

import "testing"

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
