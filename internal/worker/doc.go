// Package worker runs foreign code at arm's length. A worker is a trusted process on the machine
// that has the device. For candidate code it starts cells: sandboxed children (package sandbox)
// that load and time the code (package cell).
//
// Serve is the worker's side: it holds the device lock, starts and ends cells, keeps their logs
// bounded, compares their claims with its own clock and ends with its parent. Client is the
// parent's side, and a Cell is the parent's handle of one cell. Both sides speak package wire;
// docs/protocol.md is the specification.
//
// Faults belong to the cell: a hang is killed at its deadline, and a crash ends that cell alone.
// Every such end reaches the caller as a *result.Fault (inside a *Failed) that names the cause.
package worker
