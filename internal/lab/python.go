package lab

import (
	"encoding/json"
	"path/filepath"

	"pawl/internal/build"
	"pawl/internal/worker/wire"
)

// Limits of a Python cell: importing a framework takes memory, threads and, the first time, a long
// while.
const (
	pythonThreads = 1024
	pythonImports = 90 // seconds
)

// python adds the settings of a Python cell.
func (l *Lab) python(p *Job, open *wire.Open, load *wire.Load) {
	open.Memory = 5*l.Largest + spareMemory + driverMemory // the cell may serve other configs too
	open.Threads = pythonThreads
	open.Framework = p.Artifact.Framework
	if dir, err := filepath.Abs(p.Dir); err == nil && p.Module == nil {
		open.Dirs, open.Apart = []string{dir}, build.Apart(l.Options.Build.Checkout, dir)
	}
	load.Entry, load.Params = p.Artifact.Symbols[0], map[string]json.RawMessage{}
	for name, value := range p.Keywords {
		if raw, err := json.Marshal(value); err == nil {
			load.Params[name] = raw
		}
	}
	load.DeadlineS += pythonImports
}
