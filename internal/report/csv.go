package report

import (
	"bytes"
	"encoding/csv"
	"fmt"

	"pawl/internal/result"
)

// CSV renders one line a row, times in seconds, for programs.
func CSV(r *result.Report) ([]byte, error) {
	all := append(append([]column(nil), columns...), fields...)
	head := []string{"kernel", "config", "verdict", "fault", "identity"}
	for _, c := range all {
		head = append(head, c.field)
	}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	lines := [][]string{head}
	for _, row := range r.Rows {
		fault := ""
		if row.Fault != nil {
			fault = string(row.Fault.Cause)
		}
		line := []string{row.Kernel, row.Config, string(row.Verdict), fault, row.Identity}
		for _, c := range all {
			value := ""
			if measured(row) {
				value = c.value(row)
			}
			line = append(line, value)
		}
		lines = append(lines, line)
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}
