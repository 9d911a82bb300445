package roof

// Wide is the relative half-width from which on a peak is in doubt: as much as the
// margin that kernels are given above it.
const Wide = Margin - 1

// Kept is a peak of an earlier run that stays.
type Kept struct {
	Peak
	Now float64 // what was reached this time; 0: nothing
}

// KeepHigher puts back what an earlier run reached and this one did not: a peak is
// what the device can do at best, whatever the compiler and the driver, and what
// else runs beside it only takes from it.
func (p *Peaks) KeepHigher(earlier *Peaks) []Kept {
	var kept []Kept
	for _, old := range earlier.Peaks {
		if old.Measured.IsZero() {
			old.Measured = earlier.Measured
		}
		now := p.Find(old.Name)
		switch {
		case now == nil:
			kept = append(kept, Kept{Peak: old})
			p.Peaks = append(p.Peaks, old)
		case now.Unit == old.Unit && now.Rate < old.Rate:
			kept = append(kept, Kept{old, now.Rate})
			*now = old
		}
	}
	return kept
}

// HalfWidth returns the relative one of the try that reached the peak.
func (p Peak) HalfWidth() float64 {
	for _, try := range p.Tried {
		if try.Rate == p.Rate {
			return try.HalfWidth
		}
	}
	return 0
}
