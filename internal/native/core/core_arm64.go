package core

// SpinCycles are those of 64 additions. It is the multiplier's latency that differs
// between cores.
const SpinCycles = 64

// optimised means nothing here.
const optimised = true

func how() string { return "dc civac" }
