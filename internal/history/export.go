package history

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"pawl/internal/store"
)

func writeReport(w *bytes.Buffer, e store.Entry) error {
	raw := e.Raw
	if raw == nil {
		var err error
		if raw, err = e.Report.Encode(); err != nil {
			return err
		}
	}
	if err := json.Compact(w, raw); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// ExportLines writes the reports of the runs that a filter selects and the notes about them, the oldest
// first: lines of JSON that Import reads.
func (h *History) ExportLines(ctx context.Context, w io.Writer, f store.Filter) (runs int, err error) {
	list, err := h.Runs(ctx, f)
	if err != nil {
		return 0, err
	}
	for _, run := range slices.Backward(list) {
		raw, err := h.Document(ctx, run.ID)
		if err != nil {
			return runs, err
		}
		if _, err := w.Write(append(raw, '\n')); err != nil {
			return runs, err
		}
		runs++
	}
	notes, err := h.Notes(ctx)
	if err != nil {
		return runs, err
	}
	written := make(map[string]bool, len(list))
	for _, run := range list {
		written[run.ID] = true
	}
	for _, n := range notes {
		if !written[n.Run] {
			continue
		}
		n.ID = 0 // of this history alone
		raw, err := json.Marshal(noteLine{&n})
		if err != nil {
			return runs, err
		}
		if _, err := w.Write(append(raw, '\n')); err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// ExportCSV writes a line for each row that a filter selects, the oldest first.
func (h *History) ExportCSV(ctx context.Context, w io.Writer, f store.Filter) (rows int, err error) {
	points, err := h.DB.Points(ctx, f)
	if err != nil {
		return 0, err
	}
	notes, err := h.Notes(ctx)
	if err != nil {
		return 0, err
	}
	invalid := map[string][]store.Note{}
	for _, n := range notes {
		if n.Kind == store.Invalid {
			invalid[n.Run] = append(invalid[n.Run], n)
		}
	}
	out := csv.NewWriter(w)
	_ = out.Write([]string{
		"run", "kind", "started", "commit", "dirty", "branch", "pull", "class", "machine", "tool", "kernel", "config", "verdict", "fault",
		"median_s", "ci_95_low", "ci_95_high", "samples", "roof_pct", "base", "base_change", "base_low", "base_high", "best", "best_change", "best_low", "best_high",
		"identity", "moved", "invalid",
	})
	for _, p := range points {
		pull := ""
		if p.Run.Pull != 0 {
			pull = strconv.FormatInt(p.Run.Pull, 10)
		}
		line := []string{
			p.Run.ID, string(p.Run.Kind), p.Run.Started.Format(time.RFC3339), p.Run.Commit, mark(p.Run.Dirty), plainCell(p.Run.Branch), pull, plainCell(p.Class), p.Run.Machine, plainCell(p.Run.Tool),
			plainCell(p.Kernel), plainCell(p.Config), string(p.Verdict), string(p.Fault), decimal(p.MedianS), decimal(p.LowS), decimal(p.HighS), strconv.Itoa(p.Samples), decimal(p.RoofPct),
		}
		for _, c := range []*store.Change{p.Base, p.Best} {
			if c == nil {
				line = append(line, "", "", "", "")
				continue
			}
			line = append(line, c.Commit, number(c.Median), number(c.Low), number(c.High))
		}
		bad := slices.ContainsFunc(invalid[p.Run.ID], func(n store.Note) bool { return n.About(&p.Row) })
		if err := out.Write(append(line, p.Identity, mark(p.Moved), mark(bad))); err != nil {
			return rows, fmt.Errorf("write CSV: %w", err)
		}
		rows++
	}
	out.Flush()
	return rows, out.Error()
}

func mark(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// decimal writes a number that 0 stands for none of.
func decimal(v float64) string {
	if v == 0 {
		return ""
	}
	return number(v)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// plainCell keeps a name from being a formula in a spreadsheet.
func plainCell(text string) string {
	if text != "" && bytes.IndexByte([]byte("=+-@\t\r"), text[0]) >= 0 {
		return "'" + text
	}
	return text
}
