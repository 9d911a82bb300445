// Package fuzz looks for problems that a kernel answers wrongly. It tries a kernel at the problems
// that package trial plans, each in the kernel's own cell, and compares the answers with those from
// the oracle's cell. A failing trial is shrunk and saved in a Store, and every later run tries it
// first.
package fuzz
