// Package python holds the Python side of pawl: the cell that runs Python
// functions, and the functions that ship as rivals.
package python

import _ "embed"

// Cell is the program of a python cell. It speaks docs/protocol.md on its
// descriptors 3 and 4 and needs nothing but the standard library and whatever
// framework a kernel uses.
//
//go:embed cell.py
var Cell []byte

// Rivals is the module whose functions `pawl bench --against` knows by name.
//
//go:embed rivals.py
var Rivals []byte
