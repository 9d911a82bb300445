//go:build !amd64 && !arm64

package cell

// branches executes branches at one location, the best that is possible without machine code.
func branches(rounds int, seed uint64) uint64 {
	for range 4096 * rounds {
		carry := seed>>63 == 1
		if seed <<= 1; carry {
			seed ^= 0x1b
		}
	}
	return seed
}
