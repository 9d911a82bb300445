package store

import (
	"cmp"
	"strings"
)

// Compare orders series by kernel, config and class, as people order names: numbers in them by value.
func (s Series) Compare(other Series) int {
	return cmp.Or(compareNames(s.Kernel, other.Kernel), compareNames(s.Config, other.Config), compareNames(s.Class, other.Class))
}

// compareNames puts gemm2 before gemm10. Names that differ in the zeros of a number alone are in the order of their bytes.
func compareNames(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		digitsA, digitsB := digitsOf(restA), digitsOf(restB)
		if digitsA == "" || digitsB == "" {
			if restA[0] != restB[0] {
				return cmp.Compare(restA[0], restB[0])
			}
			restA, restB = restA[1:], restB[1:]
			continue
		}
		restA, restB = restA[len(digitsA):], restB[len(digitsB):]
		valueA, valueB := strings.TrimLeft(digitsA, "0"), strings.TrimLeft(digitsB, "0")
		if c := cmp.Or(cmp.Compare(len(valueA), len(valueB)), cmp.Compare(valueA, valueB)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), cmp.Compare(a, b))
}

// digitsOf returns the digits that a text begins with.
func digitsOf(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
}
