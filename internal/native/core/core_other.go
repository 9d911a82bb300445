//go:build !amd64 && !arm64

package core

// SpinCycles is 0: it is not known.
const SpinCycles = 0

const optimised = false

func how() string { return "" }

func flush(_, _ uintptr, _ bool) {}

func spin(int) {}

func walk(_, _ uintptr) {}
