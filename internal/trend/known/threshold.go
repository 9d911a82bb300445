package known

import "math"

// OfPrevious finds points that differ from the one before by more than a tenth.
func OfPrevious(values []float64) (found []int) {
	for i := 1; i < len(values); i++ {
		if math.Abs(math.Expm1(values[i]-values[i-1])) > 0.1 {
			found = append(found, i)
		}
	}
	return found
}

// OfLastTen finds points that differ from the mean of the ten before by more than 3%.
func OfLastTen(values []float64) (found []int) {
	const points, most = 10, 0.03
	for i := points; i < len(values); i++ {
		sum := 0.0
		for _, v := range values[i-points : i] {
			sum += math.Exp(v)
		}
		if math.Abs(math.Exp(values[i])*points/sum-1) > most {
			found = append(found, i)
		}
	}
	return found
}
