package calibrate

import (
	"fmt"

	"pawl/internal/diag"
	"pawl/internal/foreign"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/stat"
)

// Power is what one row needs to see an effect.
type Power struct {
	Name  string  `json:"name"`
	Duet  bool    `json:"duet"` // Need counts cells, else samples of each side
	Need  int     `json:"need"`
	Had   int     `json:"had,omitempty"`
	Noise float64 `json:"noise"` // between cells, or of samples
}

// PowerOfDuet returns what a duet needs, from the results of its cells.
func PowerOfDuet(name string, cells []result.CellChange, effect float64) Power {
	return Power{Name: name, Duet: true, Had: len(cells), Need: measure.DuetNeeds(cells, effect), Noise: measure.CellNoise(cells)}
}

// PowerFrom returns what the rows of a result file need.
func PowerFrom(path string, effect float64) ([]Power, error) {
	file, err := foreign.Read(path, foreign.Options{})
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	var rows []Power
	single := false
	for _, row := range file.Report.Rows {
		var kept []float64
		if row.Timing != nil {
			kept = row.Timing.Samples.Kept()
		}
		switch change := firstChange(row); {
		case change != nil:
			rows = append(rows, PowerOfDuet(row.Name(), change.Cells, effect))
		case len(kept) > 1:
			rows = append(rows, Power{Name: row.Name(), Had: len(kept), Noise: stat.Summarize(kept).CV, Need: measure.SamplesNeeded(kept, effect)})
		case len(kept) == 1:
			single = true
		}
	}
	switch {
	case len(rows) > 0:
		return rows, nil
	case single:
		return nil, &diag.Problem{Message: fmt.Sprintf("--from %s: too few samples: one says nothing of how they scatter", path), Hint: "at least two of a row; twenty say more"}
	}
	return nil, fmt.Errorf("--from %s: no row of it was measured", path)
}

func firstChange(row *result.Row) *result.Change {
	for _, side := range row.Sides {
		if side.Change != nil && len(side.Change.Cells) > 1 {
			return side.Change
		}
	}
	return nil
}
