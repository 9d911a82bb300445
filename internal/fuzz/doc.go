// Package fuzz looks for problems that a kernel answers wrongly: it tries a kernel at
// the problems that package trial plans, each in the kernel's cell and beside the
// oracle's. A trial that fails is made smaller and kept by a Store, which has it
// tried first ever after.
package fuzz
