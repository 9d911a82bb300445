package profile

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pawl/internal/diag"
)

// Form is a way in which ncu writes CSV.
type Form string

// The forms.
const (
	Wide    Form = "raw"     // --page raw: a column for each metric, a row for each launch, units in a row of their own
	Long    Form = "details" // --page details: a row for each metric of each launch
	Summary Form = "summary" // --print-summary: a row for each metric of each kernel, over its launches
)

// File is what one CSV file of ncu has.
type File struct {
	Name     string
	Form     Form
	Launches []*Launch
	Noise    []string // lines of ncu and of the program before the table, without the empty ones; the last few
}

// Launch is one launch of a kernel that ncu profiled, or all launches of it in a summary.
type Launch struct {
	ID          string
	Kernel      string
	Process     string
	Device      string // number of the GPU
	CC          string // compute capability, as 9.0; "": the file does not say
	Stream      string
	Grid, Block [3]int // zero where the file does not say
	Invocations int    // of a summary; else 1
	Line        int    // in the file, where it begins
	Rules       []Rule // what ncu itself says; in the form details alone

	columns *columns // of a wide file; shared
	cells   []string
	rows    []cell // of a long one
	index   map[string]int
}

// Rule is what one of ncu's own rules says.
type Rule struct {
	Section, Name string
	Type          string // OPT, WRN or INF
	Text          string
	Speedup       Value  // absent: Unit is empty
	Scope         string // of the speed-up: global or local
}

// columns are the metrics of a wide file.
type columns struct {
	names []string
	units []scale
	index map[string]int
}

// cell is one row of a long file.
type cell struct{ section, name, unit, value string }

const (
	reexport   = "write it again: ncu --import REPORT.ncu-rep --csv --page raw --print-units base"
	noiseLines = 20
)

// Read reads a CSV file that ncu wrote: --csv with the page raw or details, of any version from 2020 on.
func Read(name string, raw []byte) (*File, error) {
	f := &File{Name: name}
	switch {
	case len(raw) >= 4 && string(raw[:4]) == "NVR\x00":
		return nil, f.problem(0, "this is a report of Nsight Compute (.ncu-rep), expected its CSV", "ncu --import FILE --csv --page raw --print-units base > FILE.csv")
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, f.problem(0, "the file is empty, expected CSV of Nsight Compute", reexport)
	case !utf8.Valid(raw):
		return nil, f.problem(0, "this is no text, expected CSV of Nsight Compute", reexport)
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	start, line := f.findHeader(text)
	if start < 0 {
		return nil, f.foreign()
	}
	r := newRecords(text[start:], line)
	header, _, bad := r.read(nil)
	if bad != nil {
		return nil, f.broken(bad)
	}
	var err error
	switch at := places(header); {
	case at["Metric Name"] >= 0 && (at["Metric Value"] >= 0 || at["Average"] >= 0):
		err = f.readLong(r, header, at)
	case at["Metric Name"] >= 0:
		return nil, f.problem(line, "the table has Metric Name, but no Metric Value", reexport)
	default:
		err = f.readWide(r, header, at)
	}
	if err != nil {
		return nil, err
	}
	if len(f.Launches) == 0 {
		return nil, f.problem(line, "the table has a heading and no kernel", "ncu profiled nothing: look at --kernel-name, --launch-skip and --target-processes all")
	}
	return f, nil
}

// findHeader returns where the table begins, and its line. What stands before is noise: ncu and the
// program write to the same stream.
func (f *File) findHeader(text string) (start, line int) {
	at := 0
	for line = 1; at < len(text); line++ {
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			end = len(text) - at
		}
		head := text[at : at+end]
		if strings.HasPrefix(head, `"ID",`) || strings.HasPrefix(head, "ID,") || strings.HasPrefix(head, `"Process ID",`) || strings.HasPrefix(head, `"Kernel Name",`) {
			return at, line
		}
		if trimmed := strings.TrimSpace(head); trimmed != "" {
			if len(f.Noise) == noiseLines {
				f.Noise = f.Noise[1:]
			}
			f.Noise = append(f.Noise, trimmed)
		}
		at += end + 1
	}
	return -1, 0
}

// foreign says what a file without a table of ncu is.
func (f *File) foreign() error {
	for _, line := range f.Noise {
		switch {
		case strings.Contains(line, "ERR_NVGPUCTRPERM"):
			return f.problem(0, "ncu was not permitted to read the GPU's counters (ERR_NVGPUCTRPERM)", "pawl doctor says how to get the permission; without it pawl uses the compiled code alone")
		case strings.Contains(line, "No kernels were profiled"):
			return f.problem(0, "ncu profiled no kernel", "look at --kernel-name, --launch-skip and --target-processes all")
		case strings.HasPrefix(line, "==ERROR=="):
			return f.problem(0, "ncu failed: "+strings.TrimSpace(strings.TrimPrefix(line, "==ERROR==")), "")
		}
	}
	return f.problem(1, `no line begins with "ID", expected CSV of Nsight Compute`, reexport)
}

func (f *File) problem(line int, message, hint string) error {
	return &diag.Problem{Pos: diag.Pos{File: f.Name, Line: line}, Message: message, Hint: hint}
}

func (f *File) broken(bad *badRecord) error {
	return f.problem(bad.line, bad.message, "the file was cut off or changed by hand: "+reexport)
}

// places are the columns that both forms may have; −1: it is not there.
func places(header []string) map[string]int {
	at := map[string]int{}
	for _, name := range []string{
		"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
		"Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup",
		"Invocations", "Minimum", "Maximum", "Average",
	} {
		at[name] = slices.Index(header, name)
	}
	return at
}

// launch returns what the leading columns of a record say.
func launch(record []string, at map[string]int, line int) *Launch {
	get := func(name string) string {
		if i := at[name]; i >= 0 && i < len(record) {
			return record[i]
		}
		return ""
	}
	l := &Launch{
		ID: get("ID"), Kernel: get("Kernel Name"), Process: get("Process ID"), Device: get("Device"), CC: get("CC"), Stream: get("Stream"),
		Grid: triple(get("Grid Size")), Block: triple(get("Block Size")), Invocations: 1, Line: line,
	}
	if n, err := strconv.Atoi(get("Invocations")); err == nil {
		l.Invocations = n
	}
	return l
}

// triple reads "(256, 1, 1)", and the same without spaces or parentheses.
func triple(text string) (t [3]int) {
	parts := strings.Split(strings.Trim(strings.TrimSpace(text), "()"), ",")
	if len(parts) != 3 {
		return [3]int{}
	}
	for i, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return [3]int{}
		}
		t[i] = n
	}
	return t
}

func (f *File) readWide(r *records, header []string, at map[string]int) error {
	f.Form = Wide
	known := 0
	shared := &columns{names: header, index: make(map[string]int, len(header))}
	for i, name := range header {
		if _, twice := shared.index[name]; !twice {
			shared.index[name] = i
		}
		if strings.Contains(name, "__") {
			known++
		}
	}
	if at["Kernel Name"] < 0 {
		return f.problem(r.line, "the table has no column Kernel Name", reexport)
	}
	if known == 0 {
		return f.problem(r.line, "none of the columns is a metric of Nsight Compute, expected names such as sm__throughput.avg.pct_of_peak_sustained_elapsed", "write it with --page raw")
	}
	line := r.line
	units, more, bad := r.read(make([]string, 0, len(header)))
	switch {
	case bad != nil:
		return f.broken(bad)
	case !more:
		return f.problem(line, "the table has a heading and no kernel", "ncu profiled nothing, or the file was cut off: "+reexport)
	}
	shared.units = make([]scale, len(header))
	if named := at["Kernel Name"]; named < len(units) && units[named] != "" { // there is no row of units: values are in base units
		if err := f.addWide(units, shared, at, r.line); err != nil {
			return err
		}
		for i, name := range header {
			shared.units[i] = guessed(name)
		}
	} else {
		seen := map[string]scale{}
		for i, unit := range units[:min(len(units), len(header))] {
			s, known := seen[unit]
			if !known {
				s = unitOf(unit)
				seen[unit] = s
			}
			shared.units[i] = s
		}
	}
	for {
		record, more, bad := r.read(make([]string, 0, len(header)))
		if bad != nil {
			return f.broken(bad)
		}
		if !more {
			return nil
		}
		if len(record) == 1 && strings.HasPrefix(record[0], "==") {
			continue
		}
		if slices.Equal(record, header) { // several tables in one file: the next begins with the same heading and units
			if _, _, bad := r.read(nil); bad != nil {
				return f.broken(bad)
			}
			continue
		}
		if err := f.addWide(record, shared, at, r.line); err != nil {
			return err
		}
	}
}

// guessed returns the unit of a metric in a file without units.
func guessed(name string) scale {
	switch {
	case strings.Contains(name, ".pct") || strings.HasSuffix(name, "_pct"):
		return scale{"%", 1}
	case strings.HasPrefix(name, "gpu__time_duration"):
		return scale{"s", 1e-9}
	case strings.Contains(name, "bytes") && strings.HasSuffix(name, "per_second"):
		return scale{"B/s", 1}
	case strings.Contains(name, "bytes") && !strings.HasSuffix(name, ".ratio"), strings.Contains(name, "shared_mem_per_block"):
		return scale{"B", 1}
	case strings.Contains(name, "cycles") && strings.HasSuffix(name, "per_second"):
		return scale{"Hz", 1}
	}
	return scale{"", 1}
}

func (f *File) addWide(record []string, shared *columns, at map[string]int, line int) error {
	if len(record) != len(shared.names) {
		return f.problem(line, fmt.Sprintf("the row has %d fields, expected %d as the heading has", len(record), len(shared.names)), "the file was cut off or changed by hand: "+reexport)
	}
	l := launch(record, at, line)
	l.columns, l.cells = shared, record
	f.Launches = append(f.Launches, l)
	return nil
}

func (f *File) readLong(r *records, header []string, at map[string]int) error {
	f.Form = Long
	value := at["Metric Value"]
	if value < 0 {
		f.Form, value = Summary, at["Average"]
	}
	if at["Kernel Name"] < 0 {
		return f.problem(r.line, "the table has no column Kernel Name", reexport)
	}
	least := max(value, at["Metric Name"], at["Kernel Name"])
	record := make([]string, 0, len(header))
	var now *Launch
	open := map[string]*Launch{}
	for {
		var more bool
		var bad *badRecord
		record, more, bad = r.read(record[:0])
		if bad != nil {
			return f.broken(bad)
		}
		if !more {
			return nil
		}
		if len(record) == 1 && strings.HasPrefix(record[0], "==") || slices.Equal(record, header) {
			continue
		}
		// Rows of metrics end with the value and a comma; only those of rules have all columns.
		if len(record) <= least || len(record) > len(header) {
			return f.problem(r.line, fmt.Sprintf("the row has %d fields, expected %d to %d", len(record), least+1, len(header)), "the file was cut off or changed by hand: "+reexport)
		}
		if now == nil || !now.same(record, at) {
			fresh := launch(record, at, r.line)
			key := fresh.key()
			if now = open[key]; now == nil {
				now, fresh.index = fresh, map[string]int{}
				open[key] = now
				f.Launches = append(f.Launches, now)
			}
		}
		now.add(record, at, value)
	}
}

// same reports whether a record is about this launch.
func (l *Launch) same(record []string, at map[string]int) bool {
	is := func(name, value string) bool {
		i := at[name]
		return i < 0 || i < len(record) && record[i] == value
	}
	return is("ID", l.ID) && is("Kernel Name", l.Kernel) && is("Process ID", l.Process) && is("Device", l.Device) && is("Stream", l.Stream) &&
		(at["ID"] >= 0 || is("Grid Size", shown(l.Grid)) && is("Block Size", shown(l.Block)))
}

func shown(t [3]int) string { return fmt.Sprintf("(%d, %d, %d)", t[0], t[1], t[2]) }

// key tells launches of one file apart. A summary has no ids, but one entry for each size.
func (l *Launch) key() string {
	return strings.Join([]string{l.ID, l.Process, l.Kernel, l.Device, l.Stream, shown(l.Grid), shown(l.Block)}, "\x00")
}

// add takes in one row: a metric, or what a rule says.
func (l *Launch) add(record []string, at map[string]int, value int) {
	get := func(name string) string {
		if i := at[name]; i >= 0 && i < len(record) {
			return record[i]
		}
		return ""
	}
	if rule := get("Rule Name"); rule != "" {
		found := Rule{Section: get("Section Name"), Name: rule, Type: get("Rule Type"), Text: get("Rule Description"), Scope: get("Estimated Speedup Type")}
		if v, ok := number(get("Estimated Speedup")); ok {
			found.Speedup = Value{v, "%"}
		}
		l.Rules = append(l.Rules, found)
	}
	name := get("Metric Name")
	if name == "" {
		return
	}
	c := cell{section: get("Section Name"), name: name, unit: get("Metric Unit"), value: record[value]}
	for _, key := range []string{c.section + ": " + name, name} {
		if _, known := l.index[key]; !known {
			l.index[key] = len(l.rows)
		}
	}
	l.rows = append(l.rows, c)
}

// Text returns what the file has for a metric, as it was written; ok is false where it has nothing.
func (l *Launch) Text(metric string) (text string, ok bool) {
	if l.columns != nil {
		i, found := l.columns.index[metric]
		if !found || i >= len(l.cells) {
			return "", false
		}
		text = l.cells[i]
	} else if i, found := l.index[metric]; found {
		text = l.rows[i].value
	}
	return text, !absent[text]
}

// Value returns a metric by ncu's name for it (of the page details: the label, or section and label
// as "Occupancy: Achieved Occupancy") in base units; ok is false where there is no number.
func (l *Launch) Value(metric string) (v Value, ok bool) {
	if l.columns != nil {
		i, found := l.columns.index[metric]
		if !found || i >= len(l.cells) {
			return Value{}, false
		}
		n, ok := number(l.cells[i])
		if !ok {
			return Value{}, false
		}
		s := &l.columns.units[i]
		return Value{n * s.size, s.base}, true
	}
	i, found := l.index[metric]
	if !found {
		return Value{}, false
	}
	n, ok := number(l.rows[i].value)
	if !ok {
		return Value{}, false
	}
	s := unitOf(l.rows[i].unit)
	return Value{n * s.size, s.base}, true
}
