package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"

	"pawl/internal/result"
)

// compareCSV renders one line a row, times in seconds, changes as fractions.
func compareCSV(r *result.Report) ([]byte, error) {
	records := [][]string{{
		"kernel", "config", "verdict", "reasons",
		"before_median_s", "before_ci_95_low_s", "before_ci_95_high_s", "before_samples",
		"median_s", "ci_95_low_s", "ci_95_high_s", "samples",
		"change", "change_low", "change_high", "delta", "shift_s", "u", "p", "p_adjusted", "cycles", "paired",
	}}
	exact := func(v *float64) string {
		if v == nil {
			return ""
		}
		return zero(*v)
	}
	stats := func(r *result.Row) []string {
		if r == nil || !measured(r) {
			return make([]string, 4)
		}
		s := r.Timing.Stats
		return []string{number(s.Median), number(s.Low), number(s.High), number(float64(s.Count))}
	}
	for _, row := range r.Rows {
		c := comparedRows(&result.Report{Rows: []*result.Row{row}})[0]
		record := []string{row.Kernel, row.Config, c.verdict, c.notes}
		record = append(append(record, stats(c.before)...), stats(c.after)...)
		if ch := c.change; ch != nil {
			record = append(record, zero(ch.Median), zero(ch.Low), zero(ch.High), zero(ch.Delta), zero(ch.Shift), exact(ch.U), exact(ch.P), exact(ch.PAdjusted), exact(ch.Cycles), strconv.FormatBool(ch.Paired))
		} else {
			record = append(record, make([]string, 10)...)
		}
		records = append(records, record)
	}
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}

// zero writes a number that may well be 0, which number takes for nothing.
func zero(v float64) string {
	if v == 0 {
		return "0"
	}
	return number(v)
}
