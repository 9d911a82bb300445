package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"pawl/internal/disk"
	"pawl/internal/spec"
)

// Folder returns the folder of curves.
func Folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "pawl", "calibration")
}

// Path returns the file of a device class and a gate, by the present method: curves of several
// projects lie beside each other.
func Path(folder, class string, gate spec.Gate) string {
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'g', 6, 64) }
	return filepath.Join(folder, fmt.Sprintf("%s.gate-%s-%s.method-%d.json", class, percent(gate.Regression), percent(gate.Improvement), Method))
}

// Load reads the curve of a class and a gate; nil when there is none.
func Load(folder, class string, gate spec.Gate) (*Curve, error) {
	if folder == "" {
		return nil, nil
	}
	path := Path(folder, class, gate)
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the calibration: %w", err)
	}
	c := &Curve{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("read the calibration %s: %w", path, err)
	}
	if err := c.check(class); err != nil {
		return nil, fmt.Errorf("read the calibration %s: %w", path, err)
	}
	return c, nil
}

func (c *Curve) check(class string) error {
	switch {
	case c.Schema != Schema:
		return fmt.Errorf("expected schema %d, got %d", Schema, c.Schema)
	case c.DeviceClass != class:
		return fmt.Errorf("it is of %q, not of %q", c.DeviceClass, class)
	}
	for _, l := range c.Levels {
		if l == nil {
			return errors.New("a level is null")
		}
		for _, d := range l.Decisions {
			if !(d.Change > -1) || math.IsInf(d.Change, 0) {
				return fmt.Errorf("level %v: a change of %v", l.Nominal, d.Change)
			}
		}
	}
	return nil
}

// Save writes a curve atomically.
func Save(folder string, c *Curve) (string, error) {
	raw, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	path := Path(folder, c.DeviceClass, spec.Gate{Regression: c.Gate.Regression, Improvement: c.Gate.Improvement})
	if err := disk.Write(path, append(raw, '\n')); err != nil {
		return "", fmt.Errorf("write the calibration: %w", err)
	}
	return path, nil
}
