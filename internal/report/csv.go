package report

import (
	"bytes"
	"encoding/csv"
	"fmt"

	"pawl/internal/result"
)

// CSV renders one line a row, times in seconds, for programs.
func CSV(r *result.Report) ([]byte, error) {
	switch r.Kind {
	case result.KindCompare:
		return compareCSV(r)
	case result.KindCheck:
		return checkCSV(r)
	case result.KindFuzz:
		return fuzzCSV(r)
	case result.KindSelftest:
		return selftestCSV(r)
	}
	all := append(append([]column(nil), columns...), fields...)
	if uuids := devices(lines(r)); uuids != nil {
		all = append(all, deviceColumn(uuids))
	}
	head := []string{"kernel", "config", "rival", "verdict", "fault", "identity"}
	for _, c := range all {
		head = append(head, c.field)
	}
	head = append(head, "speedup", "speedup_low", "speedup_high")
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	records := [][]string{head}
	for _, l := range lines(r) {
		record := l.identify()
		for _, c := range all {
			value := ""
			if measured(l.row) {
				value = c.value(l.row)
			}
			record = append(record, value)
		}
		if l.rival != nil && l.rival.Ratio != nil {
			ratio := l.rival.Ratio
			record = append(record, number(ratio.Median), number(ratio.Low), number(ratio.High))
		} else {
			record = append(record, "", "", "")
		}
		records = append(records, record)
	}
	if err := w.WriteAll(records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}

// identify is what says which line it is.
func (l line) identify() []string {
	label, fault := "", ""
	if l.rival != nil {
		label = l.label
	}
	if l.row.Fault != nil {
		fault = string(l.row.Fault.Cause)
	}
	return []string{l.row.Kernel, l.row.Config, label, string(l.row.Verdict), fault, l.row.Identity}
}
