package sample

import (
	"errors"
	"testing"
)

func TestSum(t *testing.T) {
	if sum, err := Sum([]int{1, 2, 4, 8}); sum != 7 || err != nil {
		t.Errorf("%d, %v", sum, err)
	}
	if sum, err := Sum([]int{5}); sum != 5 || err != nil {
		t.Errorf("%d, %v", sum, err)
	}
	if _, err := Sum(nil); !errors.Is(err, errEmpty) {
		t.Error(err)
	}
}

func TestWithin(t *testing.T) {
	if !Within(1) || Within(9) || Within(-9) {
		t.Error("1 is not within, or 9 is, or -9")
	}
}
