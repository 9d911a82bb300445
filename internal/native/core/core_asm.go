//go:build amd64 || arm64

package core

// flush evicts lines from start to end, and waits until that is done.
//
//go:noescape
func flush(start, end uintptr, optimised bool)

//go:noescape
func spin(rounds int)

// walk loads from each address that is listed from first to end, one after the other.
//
//go:noescape
func walk(first, end uintptr)
