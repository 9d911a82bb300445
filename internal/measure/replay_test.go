package measure

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

var replayRoles = []result.Role{"", result.Base, result.Best}

// rowOfMatch makes the row of a report, as a reader gets it.
func rowOfMatch(t *testing.T, m *Match, kind string, opts DuetOptions) *result.Row {
	t.Helper()
	roles := replayRoles[:len(m.Sides)]
	row := &result.Row{Cell: kind, Play: m.Record(roles, opts.Floor)}
	for i, timing := range m.Timings() {
		if i == 0 {
			row.Timing = timing
			continue
		}
		row.Sides = append(row.Sides, &result.Side{Role: roles[i], Row: &result.Row{Timing: timing}, Change: m.Change(i, roles, opts)})
	}
	raw, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	back := &result.Row{}
	if err := json.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// playedOut plays two sets of cells whose samples vary and whose times depend on new data.
func playedOut(t *testing.T, kind string, nanos ...int64) (*Match, DuetOptions) {
	t.Helper()
	host := newStage(t, func(cell, side int) puppet.Script {
		return puppet.Script{Factor: 1 + 0.003*float64((cell*7+side*3)%5), Part: 30, By: 1.1 + 0.1*float64(side), Anew: 1.3}
	})
	m, opts := newMatch(kind, "m", nanos...), brief()
	for set := range 2 {
		Play(t.Context(), []*Match{m}, host, set, opts, quiet)
	}
	if m.Err() != nil {
		t.Fatal(m.Err())
	}
	return m, opts
}

func TestReplayComputesTheSameChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  string
		nanos []int64
	}{
		"two in one cell": {spec.CellCUDA, []int64{210_000, 200_000}},
		"three":           {spec.CellCUDA, []int64{210_000, 200_000, 190_000}},
		"own cells":       {spec.CellHost, []int64{210_000, 200_000}},
		"three of them":   {spec.CellHost, []int64{210_000, 200_000, 190_000}},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "own cells" || name == "three") {
				t.Skip("long: run by make long")
			}
			m, opts := playedOut(t, test.kind, test.nanos...)
			row := rowOfMatch(t, m, test.kind, opts)
			got, err := Replay(row, opts.HalfWidth)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range row.Sides {
				again := got.Changes[side.Role]
				again.Stopped = side.Change.Stopped
				if kept := len(side.Row.Timing.Samples.Kept()); kept != got.Compared[side.Role] {
					t.Errorf("%s: %d of %d samples were compared", side.Role, got.Compared[side.Role], kept)
				}
				if diff := gocmp.Diff(side.Change, again); diff != "" || !side.Change.Confirmed {
					t.Errorf("%s (-played +again):\n%s", side.Role, diff)
				}
			}
		})
	}
}

// A record that cannot be true is refused, and never read out of bounds.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	m, opts := playedOut(t, spec.CellHost, 210_000, 200_000)
	whole := rowOfMatch(t, m, spec.CellHost, opts)
	for name, test := range map[string]struct {
		change func(*result.Row)
		want   string
	}{
		"no cells":           {func(r *result.Row) { r.Play.Cells = nil }, "0 cells"},
		"a side twice":       {func(r *result.Row) { r.Play.Sides = []result.Role{result.Base, result.Base} }, "twice"},
		"unknown side":       {func(r *result.Row) { r.Play.Sides = []result.Role{"x"} }, "not a side"},
		"no samples":         {func(r *result.Row) { r.Sides[0].Row = nil }, "no samples"},
		"unknown first":      {func(r *result.Row) { r.Play.Cells[0].First = "x" }, "no side"},
		"a third set":        {func(r *result.Row) { r.Play.Cells[0].Set = 2 }, "set 0 or 1"},
		"too few beginnings": {func(r *result.Row) { r.Play.Cells[0].From = nil }, "first samples of 2 sides"},
		"negative":           {func(r *result.Row) { r.Play.Cells[0].From[0] = -1 }, "begin at sample -1"},
		"used twice":         {func(r *result.Row) { r.Play.Cells[1].From = r.Play.Cells[0].From }, "begin at sample"},
		"no rounds":          {func(r *result.Row) { r.Play.Cells[0].Rounds = 0 }, "rounds"},
		"too many rounds":    {func(r *result.Row) { r.Play.Cells[0].Rounds = 1 << 60 }, "rounds"},
		"too many blocks":    {func(r *result.Row) { r.Play.Shared, r.Play.Cells[0].Rounds = true, sharedMost+1 }, "expected 1 to 164 rounds"},
		"too many cells": {func(r *result.Row) {
			one := result.PlayCell{From: []int{0, 0}, Rounds: sharedMost}
			r.Timing.Samples.Seconds = slices.Repeat([]float64{1e-3}, 400*4*sharedMost)
			r.Sides[0].Row.Timing.Samples.Seconds = r.Timing.Samples.Seconds
			r.Play.Shared, r.Play.Cells = true, nil
			for i := range 400 {
				one.From = []int{i * 4 * sharedMost, i * 4 * sharedMost}
				r.Play.Cells = append(r.Play.Cells, one)
			}
		}, "too many to be computed again"},
		"a turn less":    {func(r *result.Row) { r.Play.Cells[0].Turns = r.Play.Cells[0].Turns[1:] }, "turns"},
		"an empty turn":  {func(r *result.Row) { r.Play.Cells[0].Turns[3] = 0 }, "takes 0 samples"},
		"a long turn":    {func(r *result.Row) { r.Play.Cells[0].Turns[3] = turnMost + 1 }, "expected 1 to 8"},
		"behind the end": {func(r *result.Row) { r.Timing.Samples.Seconds = r.Timing.Samples.Seconds[:40] }, "sample"},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			row := &result.Row{}
			if err := json.Unmarshal(raw, row); err != nil {
				t.Fatal(err)
			}
			test.change(row)
			if _, err := Replay(row, opts.HalfWidth); test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
