package dtype

// Holds reports whether t holds every value of another type: f64 holds f32 and i32,
// and f32 does not hold i32.
func (t Type) Holds(other Type) bool {
	switch {
	case !t.Valid() || !other.Valid():
		return false
	case t == other:
		return true
	case other.Float() && !t.Float():
		return false
	case !t.Float() && signed(other) && !signed(t):
		return false
	}
	_, high := t.Range()
	_, least := other.Range()
	return t.Integers() >= other.Integers() && high >= least
}

func signed(t Type) bool {
	low, _ := t.Range()
	return low < 0
}
