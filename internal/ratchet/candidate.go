package ratchet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"pawl/internal/result"
)

// Candidate is a result that may become the baseline.
type Candidate struct {
	Class   string
	Row     *result.Row    // the last measurement, so that a lucky first one is not stored
	Change  *result.Change // against the present entry; nil: it was not measured
	Against string         // commit of that entry, when Change was measured
	Gone    string         // commit of that entry, if it is this same version and nobody can build that commit any more
	Commit  *result.Commit
	Machine result.Fingerprint
	Run     string
	Time    time.Time
	Who     string
}

// CandidateOf takes a row's result out of a report. former is the entry it may replace, or nil;
// Change comes from the side that is that entry.
func CandidateOf(r *result.Report, row *result.Row, former *Entry, who string) Candidate {
	c := Candidate{Class: cmp.Or(row.Class, r.DeviceClass), Row: row, Commit: r.Commit, Machine: r.Machine, Run: r.ID, Time: r.Finished, Who: who}
	if former == nil {
		return c
	}
	if m := row.Moved; m != nil && m.Anchor {
		c.Gone = m.From
	}
	for _, side := range row.Sides {
		same := side.Role == result.Best && side.Commit == former.Commit || side.Known == former.Commit ||
			side.Row != nil && side.Row.Is(former.Identity)
		if same && side.Change != nil {
			c.Change, c.Against = side.Change, former.Commit
			if side.Role == result.Best {
				break
			}
		}
	}
	return c
}

// Remeasured returns the candidate with the times of its last set of cells: an earlier set is why
// there was another, and may have been lucky. The change remains that of all sets.
func (c Candidate) Remeasured(timing *result.Timing) Candidate {
	row := *c.Row
	row.Timing = timing
	c.Row = &row
	if c.Change == nil {
		return c
	}
	change := *c.Change
	last := 0
	for _, cell := range change.Cells {
		last = max(last, cell.Set)
	}
	change.Cells = slices.DeleteFunc(slices.Clone(change.Cells), func(cell result.CellChange) bool { return cell.Set < last })
	change.Pairs = 0
	for _, cell := range change.Cells {
		change.Pairs += cell.Pairs
	}
	c.Change = &change
	return c
}

// timed refuses a candidate that has no number.
func (c Candidate) timed() error {
	switch {
	case c.Row.Timing == nil:
		return c.refuse("it was not measured", "")
	case !measured(c.Row.Timing):
		return c.refuse("its times are not valid", "")
	}
	return nil
}

func (c Candidate) refuse(why, hint string) error {
	return &Refusal{Name: c.Row.Name(), Why: why, Hint: hint}
}

func measured(t *result.Timing) bool {
	good := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	s := t.Stats
	return good(s.Median) && good(s.Low) && good(s.High) && s.Low <= s.Median && s.Median <= s.High &&
		len(t.Samples.Kept()) > 0 && !slices.ContainsFunc(t.Samples.Kept(), func(v float64) bool { return !good(v) })
}

// Fingerprint summarizes what an entry's numbers depend on besides its code.
type Fingerprint struct {
	ID       string `json:"id"` // equal if everything that matters is equal
	Device   string `json:"device"`
	Driver   string `json:"driver,omitempty"`
	Compiler string `json:"compiler,omitempty"`
}

// FingerprintOf returns the fingerprint of a row measured on a machine. It leaves out meaningless
// changes from boot to boot, and the parts that belong to another kind of cell.
func FingerprintOf(m result.Fingerprint, row *result.Row) Fingerprint {
	f := Fingerprint{Device: m.CPU.Model}
	if row.Build != nil {
		f.Compiler = row.Build.Compiler
	}
	parts := map[string]any{"arch": m.Arch, "cell": row.Cell, "compiler": f.Compiler}
	if gpu := m.GPU; gpu != nil {
		f.Device, f.Driver = gpu.Name, gpu.Driver
		parts["gpu"] = []any{gpu.Name, gpu.Arch, gpu.Driver, gpu.SMs, gpu.MemoryBytes, gpu.PowerLimitW, gpu.MaxGHz, gpu.ECC, gpu.ComputeMode}
	} else {
		parts["cpu"] = []any{m.CPU.Model, m.CPU.Cores, m.CPU.Threads, m.CPU.MaxGHz, m.CPU.Governor, m.CPU.Turbo, m.CPU.Flags}
		parts["system"] = []any{m.Libc, m.Hypervisor, m.Container}
	}
	sum := sha256.Sum256(compact(parts))
	f.ID = hex.EncodeToString(sum[:6])
	return f
}
