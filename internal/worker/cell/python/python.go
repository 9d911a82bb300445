// Package python holds the Python side of pawl: the cell that runs Python
// functions, and the functions that ship as rivals.
package python

import "embed"

// Cell is the package of a python cell. It speaks docs/protocol.md on its
// descriptors 3 and 4 and needs nothing but the standard library and whatever
// framework a kernel uses.
//
//go:embed _pawl_cell/*.py _pawl_cell/frameworks/*.py
var Cell embed.FS

// Program is the file of Cell that an interpreter starts. It finds the rest beside it,
// as text or, where it is bytecode itself, as bytecode.
const Program = "_pawl_cell/__main__.py"

// Rivals is the module whose functions `pawl bench --against` knows by name.
//
//go:embed rivals.py
var Rivals []byte
