package calibrate

import (
	"fmt"
	"os"
	"strings"

	"pawl/internal/curve"
	"pawl/internal/diag"
	"pawl/internal/foreign"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/roof"
	"pawl/internal/spec"
	"pawl/internal/stat"
)

// Telling is the largest bound for a run that checks cite.
const Telling = curve.Telling

type (
	// Curve is the operating curve of the gate.
	Curve = curve.Curve
	// Level is one slowdown of a curve, with the decisions about it.
	Level = curve.Level
	// Peaks are the best rates of a device class.
	Peaks = roof.Peaks
	// Peak is one of them.
	Peak = roof.Peak
	// Kept is a peak of an earlier run that is kept.
	Kept = roof.Kept
)

// Folder returns the folder of this user's curves.
func Folder() string { return curve.Folder() }

// Path returns the path of a curve's file in Folder.
func Path(c *Curve) string {
	return curve.Path(Folder(), c.DeviceClass, spec.Gate{Regression: c.Gate.Regression, Improvement: c.Gate.Improvement})
}

// ProjectGate returns the gate of the project in the working folder; the default where there is
// none. It does not read the project's kernels: calibrate measures its own.
func ProjectGate() (spec.Gate, error) {
	file, err := spec.Find(".")
	if err != nil {
		return spec.DefaultGate, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return spec.Gate{}, fmt.Errorf("read spec: %w", err)
	}
	s, err := spec.Parse(file, text)
	if err != nil {
		return spec.Gate{}, err
	}
	return s.Gate, nil
}

// KeepPeaks saves peaks for later runs and returns the file's path. Unless forget is set, it keeps
// earlier peaks that this run did not reach; unread says why the earlier ones could not be read.
func KeepPeaks(peaks *Peaks, forget bool) (kept []Kept, path string, unread, err error) {
	if !forget {
		var earlier *Peaks
		if earlier, unread = roof.Load(roof.Folder(), peaks.DeviceClass); earlier != nil {
			kept = peaks.KeepHigher(earlier)
		}
	}
	path, err = roof.Save(roof.Folder(), peaks)
	return kept, path, unread, err
}

// Doubtful reports whether a peak is not known exactly.
func Doubtful(p Peak) bool { return p.HalfWidth() > roof.Wide }

// Rate formats a rate of a peak with its unit.
func Rate(p Peak, value float64) string { return roof.Rate(p.Unit, value) }

// about describes the peaks.
var about = map[roof.Name]string{
	roof.DRAM: "memory", roof.LLC: "last-level cache", roof.L2: "L2", roof.F32: "f32", roof.F64: "f64",
	roof.F16: "tensor cores, f16", roof.BF16: "tensor cores, bf16", roof.TF32: "tensor cores, tf32",
	roof.E4M3: "tensor cores, e4m3", roof.F64Tensor: "tensor cores, f64",
}

// Reached says which kernel reached the peak and how far the others came.
func Reached(all *Peaks, p Peak) string {
	text := about[p.Name] + ": " + p.Of
	if all.Cell == spec.CellHost {
		text += ", one core"
	}
	best := map[string]float64{}
	var order []string
	for _, try := range p.Tried {
		if try.Of == p.Of {
			continue
		}
		if _, seen := best[try.Of]; !seen {
			order = append(order, try.Of)
		}
		best[try.Of] = max(best[try.Of], try.Rate)
	}
	var others []string
	for _, of := range order {
		others = append(others, of+" "+Rate(p, best[of]))
	}
	if others != nil {
		text += " (" + strings.Join(others, ", ") + ")"
	}
	return text
}

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
		return nil, &diag.Problem{Message: fmt.Sprintf("--from %s: too few samples: one sample does not show how they vary", path), Hint: "give at least two samples a row; twenty are better"}
	}
	return nil, fmt.Errorf("--from %s: it has no measured row", path)
}

func firstChange(row *result.Row) *result.Change {
	for _, side := range row.Sides {
		if side.Change != nil && len(side.Change.Cells) > 1 {
			return side.Change
		}
	}
	return nil
}
