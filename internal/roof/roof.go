// Package roof holds the peaks of a device class, the best rates measured on it, and says how close
// to them a kernel comes. calibrate measures peaks once per class and keeps them in the user's
// cache folder.
package roof

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/disk"
	"pawl/internal/machine"
	"pawl/internal/result"
)

// Schema is the version of the file's form.
const Schema = 1

// Name is what a peak is a peak of.
type Name string

// The peaks there are. What a device does not have is absent from its Peaks.
const (
	DRAM      Name = "dram"       // memory
	LLC       Name = "llc"        // last-level cache of a processor
	L2        Name = "l2"         // of a GPU, or of a core
	L1        Name = "l1"         // of a core; nobody measures it, so that what lies there has no roof
	F32       Name = "f32"        // multiply-adds of the ordinary cores
	F64       Name = "f64"        //
	F16       Name = "f16"        // tensor cores from here on
	BF16      Name = "bf16"       //
	TF32      Name = "tf32"       //
	E4M3      Name = "e4m3"       //
	F64Tensor Name = "f64_tensor" //
)

// Units of rates.
const (
	GBps   = "GB/s"
	GFLOPS = "GFLOP/s"
)

// Peaks are all that was measured of a device class.
type Peaks struct {
	Schema      int         `json:"schema"`
	DeviceClass string      `json:"device_class"`
	Device      string      `json:"device"` // product name
	Cell        string      `json:"cell"`   // cuda, or host: then of one core
	Arch        string      `json:"arch,omitempty"`
	Driver      string      `json:"driver,omitempty"`
	CUDA        string      `json:"cuda,omitempty"`
	Compiler    string      `json:"compiler,omitempty"`
	Tool        result.Tool `json:"tool"`
	Measured    time.Time   `json:"measured"`
	Peaks       []Peak      `json:"peaks"`
	Failed      []Peak      `json:"failed,omitempty"` // those that a kernel failed of: what the others reached may not be the best
}

// Peak is the best that was reached.
type Peak struct {
	Name     Name      `json:"name"`
	Rate     float64   `json:"rate"`
	Unit     string    `json:"unit"` // GB/s or GFLOP/s
	Of       string    `json:"of"`   // what reached it, in words
	GHz      float64   `json:"ghz,omitempty"`
	Measured time.Time `json:"measured,omitzero"` // when it was kept from an earlier run: that one's
	Tried    []Try     `json:"tried"`             // everything that was measured for it, in order
}

// Try is one kernel that might have reached a peak.
type Try struct {
	Kernel    string  `json:"kernel"` // kernel/config
	Of        string  `json:"of"`
	Rate      float64 `json:"rate"` // by its median; 0 when Fault says why there is none
	MedianS   float64 `json:"median_s,omitempty"`
	HalfWidth float64 `json:"half_width,omitempty"` // relative
	GHz       float64 `json:"ghz,omitempty"`
	Fault     string  `json:"fault,omitempty"`
}

// Find returns the peak with a name; nil when it was not measured.
func (p *Peaks) Find(name Name) *Peak {
	for i := range p.Peaks {
		if p.Peaks[i].Name == name {
			return &p.Peaks[i]
		}
	}
	return nil
}

// check refuses what cannot have been measured: a wrong roof would reject right
// kernels.
func (p *Peaks) check() error {
	if p.Schema != Schema {
		return fmt.Errorf("expected schema %d, got %d", Schema, p.Schema)
	}
	if len(p.Peaks) == 0 {
		return fmt.Errorf("there are no peaks in it")
	}
	seen := map[Name]bool{}
	for _, peak := range p.Peaks {
		switch {
		case peak.Name == "" || seen[peak.Name]:
			return fmt.Errorf("the peak %q stands in it twice or has no name", peak.Name)
		case !(peak.Rate > 0) || math.IsInf(peak.Rate, 0):
			return fmt.Errorf("the peak %s is %v", peak.Name, peak.Rate)
		case peak.Unit != GBps && peak.Unit != GFLOPS:
			return fmt.Errorf("the peak %s is in %q; expected %s or %s", peak.Name, peak.Unit, GBps, GFLOPS)
		}
		seen[peak.Name] = true
	}
	return nil
}

// Wide is the relative half-width from which on a peak is in doubt: as much as the
// margin that kernels are given above it.
const Wide = Margin - 1

// Kept is a peak of an earlier run that stays.
type Kept struct {
	Peak
	Now float64 // what was reached this time; 0: nothing
}

// KeepHigher puts back what an earlier run reached and this one did not: a peak is
// what the device can do at best, whatever the compiler and the driver, and what
// else runs beside it only takes from it.
func (p *Peaks) KeepHigher(earlier *Peaks) []Kept {
	var kept []Kept
	for _, old := range earlier.Peaks {
		if old.Measured.IsZero() {
			old.Measured = earlier.Measured
		}
		now := p.Find(old.Name)
		switch {
		case now == nil:
			kept = append(kept, Kept{Peak: old})
			p.Peaks = append(p.Peaks, old)
		case now.Unit == old.Unit && now.Rate < old.Rate:
			kept = append(kept, Kept{old, now.Rate})
			*now = old
		}
	}
	return kept
}

// HalfWidth returns the relative one of the try that reached the peak.
func (p Peak) HalfWidth() float64 {
	for _, try := range p.Tried {
		if try.Rate == p.Rate {
			return try.HalfWidth
		}
	}
	return 0
}

// Folder returns where this user's peaks lie; it is empty where the user has no cache folder.
func Folder() string { return disk.Cache("peaks") }

// Path returns the file of a device class. A class may come from another machine, so
// it is made a plain name first.
func Path(folder, class string) string { return filepath.Join(folder, machine.Slug(class)+".json") }

// Load reads the peaks of a device class; nil when there are none.
func Load(folder, class string) (*Peaks, error) {
	path := Path(folder, class)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read peaks: %w", err)
	}
	p, err := Decode(raw)
	if err == nil && p.DeviceClass != class {
		err = fmt.Errorf("they are those of %q", p.DeviceClass)
	}
	if err != nil {
		return nil, fmt.Errorf("read peaks %s: %w", path, err)
	}
	return p, nil
}

// Decode reads peaks as Encode writes them.
func Decode(raw []byte) (*Peaks, error) {
	p := &Peaks{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Save replaces the peaks of their device class and returns the file's path.
func Save(folder string, p *Peaks) (string, error) {
	if err := p.check(); err != nil {
		return "", fmt.Errorf("save peaks: %w", err)
	}
	if folder == "" {
		return "", errors.New("save peaks: this user has no cache folder; set XDG_CACHE_HOME")
	}
	raw, err := p.Encode()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("save peaks: %w", err)
	}
	path := Path(folder, p.DeviceClass)
	return path, disk.Write(path, raw)
}

// Encode renders the peaks as indented JSON.
func (p *Peaks) Encode() ([]byte, error) {
	raw, err := disk.JSON(p)
	if err != nil {
		return nil, fmt.Errorf("encode peaks: %w", err)
	}
	return raw, nil
}
