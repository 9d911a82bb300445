//go:build amd64 || arm64

package cell

// branches executes unpredictable branches at 4096 locations: one location alone leaves most of a
// predictor's tables unchanged. The bit that a feedback register shifts out decides whether a
// branch is taken. Seed must not be zero.
//
//go:noescape
func branches(rounds int, seed uint64) uint64
