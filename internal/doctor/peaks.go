package doctor

import (
	"context"
	"path/filepath"

	"pawl/internal/machine"
	"pawl/internal/roof"
)

// peaks reports whether it is known what this machine can do at best.
func (s *system) peaks(cacheDir, hostClass string) probe {
	folder := roof.Folder()
	if cacheDir != "" {
		folder = filepath.Join(cacheDir, "peaks")
	}
	class := hostClass
	if models := s.gpuModels(); len(models) > 0 {
		class = machine.Slug(models[0])
	}
	return single(Check{Group: Machine, Name: "peaks", Gives: "the percentage of the machine's peaks that a kernel reaches"},
		func(_ context.Context, c *Check) { lookPeaks(c, folder, class) })
}

func lookPeaks(c *Check, folder, class string) {
	const fix = "pawl calibrate --roofline"
	found, err := roof.Load(folder, class)
	switch {
	case err != nil:
		c.Status, c.Note, c.Fix = Limited, err.Error(), fix
	case found == nil:
		c.Status, c.Note, c.Fix = Missing, "not measured yet: "+class, fix
	default:
		c.Status, c.Path = OK, roof.Path(folder, class)
		c.Value = class + ", measured " + found.Measured.Format("2006-01-02")
	}
}
