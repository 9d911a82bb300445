//go:build amd64 || arm64

package cell

// branches takes branches that nobody can predict, at 4096 places: one place alone
// leaves most of a predictor's tables as they were. Whether one is taken is the bit
// that a feedback register shifts out. Seed must not be zero.
//
//go:noescape
func branches(rounds int, seed uint64) uint64
