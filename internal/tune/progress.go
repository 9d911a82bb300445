package tune

import (
	"path/filepath"

	"pawl/internal/result"
)

// Progress is what a search has found so far, as its journal has it: of one that still runs, or that was
// killed, there is no report.
type Progress struct {
	Kernel    string
	Configs   []string
	Objective string
	Class     string
	Space     result.Space
	Trials    []*result.Trial
}

// ReadProgress reads the journal in the folder of a run. A run that is no search has none: fs.ErrNotExist.
func ReadProgress(dir string) (*Progress, error) {
	h, trials, err := readJournal(filepath.Join(dir, journalFile))
	if err != nil {
		return nil, err
	}
	return &Progress{h.Kernel, h.Configs, h.Objective, h.Class, h.Space, trials}, nil
}
