package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// checkCSV renders one line a row, times in seconds, changes as fractions.
func checkCSV(r *result.Report) ([]byte, error) {
	head := []string{
		"kernel", "config", "verdict", "reasons", "fault", "identity",
		"median_s", "ci_95_low_s", "ci_95_high_s", "samples",
	}
	roles := []result.Role{result.Base, result.Best}
	for _, role := range roles {
		for _, field := range []string{
			"commit", "median_s", "ci_95_low_s", "ci_95_high_s", "samples",
			"change", "change_low", "change_high", "delta", "shift_s", "cycles", "cells", "pairs", "exact", "confirmed", "stopped",
		} {
			head = append(head, string(role)+"_"+field)
		}
	}
	records := [][]string{append(append(head, "baseline", "baseline_from_commit", "baseline_from_s", "plan"), verifyFields...)}
	for _, c := range checkedRows(r) {
		row := c.row
		var reasons []string
		for _, reason := range row.Reasons {
			reasons = append(reasons, string(reason))
		}
		fault := ""
		if row.Fault != nil {
			fault = string(row.Fault.Cause)
		}
		record := []string{row.Kernel, row.Config, string(row.Verdict), strings.Join(reasons, "; "), fault, row.Identity}
		record = append(record, statFields(row)...)
		for _, role := range roles {
			record = append(record, sideFields(row, role)...)
		}
		record = append(append(record, movedFields(row.Moved)...), row.Plan)
		records = append(records, append(record, c.verifyRecord()...))
	}
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}

func statFields(row *result.Row) []string {
	if row == nil || !measured(row) {
		return make([]string, 4)
	}
	s := row.Timing.Stats
	return []string{number(s.Median), number(s.Low), number(s.High), number(float64(s.Count))}
}

func sideFields(row *result.Row, role result.Role) []string {
	for _, side := range row.Sides {
		if side.Role != role {
			continue
		}
		out := append([]string{side.Commit}, statFields(side.Row)...)
		change := side.Change
		if change == nil {
			return append(out, make([]string, 11)...)
		}
		cycles := ""
		if change.Cycles != nil {
			cycles = zero(*change.Cycles)
		}
		return append(
			out, zero(change.Median), zero(change.Low), zero(change.High), zero(change.Delta), zero(change.Shift), cycles,
			strconv.Itoa(len(change.Cells)), strconv.Itoa(change.Pairs), strconv.FormatBool(change.Exact), strconv.FormatBool(change.Confirmed), change.Stopped,
		)
	}
	return make([]string, 16)
}

// movedFields say what became of the baseline: moved, would move, refused, that this
// branch moved it before, or that only its commit is another.
func movedFields(m *result.Moved) []string {
	if m == nil {
		return make([]string, 3)
	}
	state := "would move"
	switch {
	case m.Done && m.Anchor:
		state = "bound"
	case m.Done:
		state = "moved"
	case m.Refused != "":
		state = "refused"
	case m.Already:
		state = "already"
	case m.Anchor:
		state = "would be bound"
	}
	return []string{state, m.From, number(m.FromS)}
}
