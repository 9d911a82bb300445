package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Encode renders the report as readable JSON: indented, but with lists of numbers on one line, and
// a final newline.
func (r *Report) Encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return append(indent(bytes.TrimSpace(buf.Bytes())), '\n'), nil
}

// indent lays out compact JSON, leaving lists without strings or objects alone.
func indent(compact []byte) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/4)
	depth := 0
	newline := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, ' ', ' ')
		}
	}
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := i + 1
			for compact[end] != '"' {
				if compact[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, compact[i:end+1]...)
			i = end
		case '{', '[':
			if end := bytes.IndexAny(compact[i+1:], `{}[]"`); compact[i+1+end] == c+2 { // nothing nested: ']' and '}' are two after their openers
				out = append(out, compact[i:i+end+2]...)
				i += end + 1
				continue
			}
			out = append(out, c)
			depth++
			newline()
		case '}', ']':
			depth--
			newline()
			out = append(out, c)
		case ',':
			out = append(out, c)
			newline()
		case ':':
			out = append(out, c, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

// lastYear is the last that a time can be in: JSON has years of four digits, in every time zone.
const lastYear = 9998

// Decode reads a report. It refuses text that is not a report, and other schemas.
func Decode(raw []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("this is not a report of pawl (report.json of a run, or what --json prints): %w", err)
	}
	switch {
	case r.Schema > Schema:
		return nil, fmt.Errorf("the report has schema %d and this pawl reads %d: use the newer pawl that wrote it", r.Schema, Schema)
	case r.Schema != Schema:
		return nil, fmt.Errorf("this is not a report of pawl: expected schema %d, got %d", Schema, r.Schema)
	}
	for _, at := range []time.Time{r.Started, r.Finished} {
		if year := at.UTC().Year(); year < 1 || year > lastYear {
			return nil, fmt.Errorf("the report is damaged: its time is in the year %d", year)
		}
	}
	for i, row := range r.Rows {
		if row == nil {
			return nil, fmt.Errorf("the report is damaged: row %d is null", i)
		}
		if err := row.check(); err != nil {
			return nil, fmt.Errorf("the report is damaged: %s: %w", row.Name(), err)
		}
	}
	if r.Tuning != nil {
		if err := r.Tuning.check(); err != nil {
			return nil, fmt.Errorf("the report is damaged: tuning: %w", err)
		}
	}
	return &r, nil
}

// What can be measured at most: of more, the sums and products that a reader makes have no number.
const (
	mostSeconds = 1e9
	mostChange  = 1e12
)

// check refuses rows that no reader could show: samples of the row, its sides and rivals must be in
// order, and its cases and reasons must exist.
func (r *Row) check() error {
	if r.Timing != nil {
		if err := r.Timing.Samples.check(); err != nil {
			return err
		}
		for _, seconds := range []float64{r.Timing.Stats.Median, r.Timing.Stats.Low, r.Timing.Stats.High} {
			if !(seconds >= 0 && seconds <= mostSeconds) {
				return fmt.Errorf("a launch takes %g s", seconds)
			}
		}
	}
	if r.Verification != nil {
		for i, c := range r.Verification.Cases {
			if c == nil {
				return fmt.Errorf("case %d is null", i)
			}
		}
	}
	for i, why := range r.Why {
		if why == nil || len(why.Versions) < 1 || len(why.Versions) > 2 {
			return fmt.Errorf("reason %d is not about one version or two", i)
		}
	}
	for i, side := range r.Sides {
		if side == nil {
			return fmt.Errorf("side %d is null", i)
		}
		if c := side.Change; c != nil {
			for _, change := range []float64{c.Median, c.Low, c.High} {
				if !(change >= -1 && change <= mostChange) {
					return fmt.Errorf("%s: its time is %g times as long", side.Role, 1+change)
				}
			}
		}
		if side.Row != nil {
			if err := side.Row.check(); err != nil {
				return fmt.Errorf("%s: %w", side.Role, err)
			}
		}
	}
	for i, rival := range r.Rivals {
		if rival == nil || rival.Row == nil {
			return fmt.Errorf("rival %d is null", i)
		}
		if err := rival.Row.check(); err != nil {
			return fmt.Errorf("%s: %w", rival.Label, err)
		}
	}
	return nil
}

// check makes sure that the dropped ranges are valid.
func (s *Samples) check() error {
	next := 0
	for _, d := range s.Dropped {
		if d.From < next || d.To < d.From || d.To > len(s.Seconds) {
			return fmt.Errorf("dropped samples %d to %d of %d", d.From, d.To, len(s.Seconds))
		}
		next = d.To
	}
	return nil
}
