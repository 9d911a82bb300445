package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// runOf takes of a report what lists show of its run.
func runOf(r *result.Report) *Run {
	made := &Run{
		ID: r.ID, Kind: r.Kind, Started: millis(r.Started), Finished: millis(r.Finished), Class: r.DeviceClass, Machine: machineOf(&r.Machine), Tool: r.Tool.Version, Rows: len(r.Rows),
	}
	if r.Commit != nil {
		made.Commit, made.Dirty = r.Commit.SHA, r.Commit.Dirty
	}
	if r.Base != nil {
		made.Base = r.Base.SHA
	}
	if r.Origin != nil {
		made.Branch, made.Pull, made.Fork = r.Origin.Branch, r.Origin.Pull, r.Origin.Fork
	}
	if r.Outcome != nil {
		made.Outcome = r.Outcome.Result
	}
	return made
}

// rowsOf takes of a report what pictures show of its rows.
func rowsOf(r *result.Report) []*Row {
	made := make([]*Row, 0, len(r.Rows))
	for n, from := range r.Rows {
		row := &Row{
			Kernel: from.Kernel, Config: from.Config, Class: from.Class, N: n, Verdict: from.Verdict, Identity: from.Identity, Dropped: from.Dropped,
			Moved: from.Moved != nil && from.Moved.Done,
		}
		if row.Class == "" {
			row.Class = r.DeviceClass
		}
		if from.Fault != nil {
			row.Fault = from.Fault.Cause
		}
		if t := from.Timing; t != nil {
			row.MedianS, row.LowS, row.HighS, row.RoofPct = t.Stats.Median, t.Stats.Low, t.Stats.High, t.Stats.RoofPct
			row.Samples = len(t.Samples.Seconds)
		}
		for _, side := range from.Sides {
			switch side.Role {
			case result.Base:
				row.Base = changeOf(side, side.Commit)
				if side.Known != "" { // the base is the best-known version, too
					row.Best = changeOf(side, side.Known)
				}
			case result.Best:
				row.Best = changeOf(side, side.Commit)
			}
		}
		made = append(made, row)
	}
	return made
}

func changeOf(side *result.Side, commit string) *Change {
	if side.Change == nil {
		return nil
	}
	return &Change{Commit: commit, Median: side.Change.Median, Low: side.Change.Low, High: side.Change.High}
}

// machineOf returns a digest of what the numbers of a run depend on besides the code.
func machineOf(f *result.Fingerprint) string {
	raw, err := json.Marshal(f)
	if err != nil {
		return ""
	}
	return digestOf(raw)[:16]
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// millis is the time as it is stored.
func millis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// shaBytes stores a commit in half the room. What is no commit is stored as it is, after a zero.
func shaBytes(sha string) []byte {
	if sha == "" {
		return nil
	}
	if isSHA.MatchString(sha) {
		raw, _ := hex.DecodeString(sha)
		return raw
	}
	return append([]byte{0}, bounded(sha)...)
}

func shaText(raw []byte) string {
	switch {
	case len(raw) == 20 || len(raw) == 32:
		return hex.EncodeToString(raw)
	case len(raw) > 0:
		return string(raw[1:])
	}
	return ""
}

var isSHA = pattern.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// goodID is what an ID may be: it stands in addresses and in names of files.
var goodID = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Flags of a run, which its points have, too.
const (
	dirty = 1 << iota
	pull
	fork
)

func flagsOf(run *Run) (flags int64) {
	if run.Dirty {
		flags |= dirty
	}
	if run.Pull != 0 {
		flags |= pull
	}
	if run.Fork {
		flags |= fork
	}
	return flags
}
