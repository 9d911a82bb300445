package plot

import "math"

// Ticks returns at most the given number of round values inside the scale, ascending.
func (s Scale) Ticks(most int) []float64 {
	if most < 1 || s.low >= s.high {
		return nil
	}
	if s.log {
		if ticks := s.logTicks(most); ticks != nil {
			return ticks
		}
	}
	return s.linearTicks(most)
}

// linearTicks returns the multiples of 1, 2 or 5 times a power of ten, with the least
// such step that is wide enough.
func (s Scale) linearTicks(most int) []float64 {
	// Of a step: a division may miss a tick at the very end by its rounding.
	const slack = 1e-5
	power := int(math.Floor(math.Log10((s.high - s.low) / float64(most))))
	for ; ; power++ {
		for _, digit := range []float64{1, 2, 5} {
			step := times10(digit, power)
			first, last := math.Ceil(s.low/step-slack), math.Floor(s.high/step+slack)
			if last-first >= float64(most) {
				continue
			}
			var ticks []float64
			for i := first; i <= last; i++ {
				if v := times10(i*digit, power); v >= s.low && v <= s.high {
					ticks = append(ticks, v)
				}
			}
			return ticks
		}
	}
}

// logTicks are 1, 2 and 5 times the powers of ten, or fewer where those are too
// many; nil where the range is so narrow that it is better divided evenly.
func (s Scale) logTicks(most int) []float64 {
	for _, digits := range [][]float64{{1, 2, 5}, {1, 3}, {1}} {
		ticks := s.powers(1, digits...)
		switch {
		case len(ticks) < 4 && s.high/s.low < 10 || len(ticks) < 2:
			return nil
		case len(ticks) <= most:
			return ticks
		}
	}
	for stride := 2; ; stride++ {
		if ticks := s.powers(stride, 1); len(ticks) <= most {
			return ticks
		}
	}
}

// powers returns the digits times every so many powers of ten, as far as they are on the scale.
func (s Scale) powers(stride int, digits ...float64) []float64 {
	var ticks []float64
	last := int(math.Ceil(math.Log10(s.high)))
	for power := int(math.Floor(math.Log10(s.low))); power <= last; power++ {
		for _, digit := range digits {
			if v := times10(digit, power); power%stride == 0 && s.holds(v) {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

// times10 is v times a power of ten. Dividing by a whole power is exact where
// multiplying by a fraction is not: 3/10, and not 3×0.1.
func times10(v float64, power int) float64 {
	if power < 0 {
		return v / math.Pow10(-power)
	}
	return v * math.Pow10(power)
}
