// Package sample has code that its tests look at, and code that they do not.
package sample

import "errors"

var errEmpty = errors.New("empty")

const most = 3

// Sum adds up at most three numbers.
func Sum(numbers []int) (int, error) {
	if len(numbers) == 0 {
		return 0, errEmpty
	}
	sum := 0
	for i, n := range numbers {
		if i >= most {
			break
		}
		sum += n
	}
	return sum, nil
}

// Within is tested far from its ends.
func Within(v float64) bool { return v > 0.5 && !(v > 2) }

// Forgotten is not tested.
func Forgotten(n int) int { return n*2 + 1 }

// Forever ends unless it is broken.
func Forever() {
	for n := 10; n > 0; {
		n--
	}
}
