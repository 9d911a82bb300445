package profile

import (
	"strings"
)

// records reads the records of a CSV text one after the other. It copies nothing unless a field has
// a doubled quote, since files of ncu have thousands of columns.
type records struct {
	text    string
	at      int
	line    int // of the record that read returned, from 1
	counted int // up to where lines are counted
	next    int // line there
}

func newRecords(text string, line int) *records { return &records{text: text, next: line} }

// here returns the line of the current place. Lines are counted once a record, not once a field.
func (r *records) here() int {
	r.next += strings.Count(r.text[r.counted:r.at], "\n")
	r.counted = r.at
	return r.next
}

// problem of a record.
type badRecord struct {
	line    int
	message string
}

// read appends the fields of the next record that is not empty to fields; ok is false at the end.
func (r *records) read(fields []string) (_ []string, ok bool, bad *badRecord) {
	for r.at < len(r.text) && (r.text[r.at] == '\n' || r.text[r.at] == '\r') {
		r.at++
	}
	if r.at >= len(r.text) {
		return fields, false, nil
	}
	r.line = r.here()
	for {
		if r.at < len(r.text) && r.text[r.at] == '"' {
			field, closed := r.quoted()
			if !closed {
				return fields, false, &badRecord{r.line, "the file ends inside of a quoted field"}
			}
			fields = append(fields, field)
			if r.at < len(r.text) && r.text[r.at] != ',' && r.text[r.at] != '\n' && r.text[r.at] != '\r' {
				return fields, false, &badRecord{r.here(), "expected a comma after a quoted field"}
			}
		} else {
			end := strings.IndexAny(r.text[r.at:], ",\r\n")
			if end < 0 {
				end = len(r.text) - r.at
			}
			fields = append(fields, r.text[r.at:r.at+end])
			r.at += end
		}
		if r.at >= len(r.text) || r.text[r.at] != ',' {
			return fields, true, nil
		}
		r.at++
	}
}

// quoted reads a field in quotes.
func (r *records) quoted() (field string, closed bool) {
	r.at++
	start := r.at
	doubled := false
	for {
		i := strings.IndexByte(r.text[r.at:], '"')
		if i < 0 {
			r.at = len(r.text)
			return "", false
		}
		r.at += i + 1
		if r.at >= len(r.text) || r.text[r.at] != '"' {
			break
		}
		doubled = true
		r.at++
	}
	field = r.text[start : r.at-1]
	if doubled {
		field = strings.ReplaceAll(field, `""`, `"`)
	}
	return field, true
}
