// Package examples holds the example kernels, for the demo and for tests.
package examples

import "embed"

// Files are the kernels with their specs: pawl.yaml and host for any machine, cuda
// for one with a GPU.
//
//go:embed pawl.yaml host cuda
var Files embed.FS
