package report

import (
	"slices"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// faultOf explains why a row failed, a failed build with the compiler's own words.
func faultOf(row *result.Row) view.Item {
	f := row.Fault
	item := view.Item{Name: row.Name(), Badge: line{row: row}.judged(), Message: f.Message, Hint: f.Hint, Log: row.Log}
	if f.Stage == "build" {
		item.Name, item.Built = row.Kernel+variant(row), true
	}
	if row.Build != nil {
		item.Output = row.Build.Output
	}
	return item
}

// faulty reports whether a row failed for a reason that needs an explanation.
func faulty(row *result.Row) bool {
	return row.Fault != nil && row.Fault.Cause != result.CauseInterrupted
}

// faults explains every line that failed. Rows of one kernel whose build failed alike
// are explained once and, where that is wanted, all kernels together that this machine
// cannot build for one reason.
func faults(r *result.Report, together bool) []view.Item {
	const open = 3 // more outputs than this would bury each other
	var out []view.Item
	seen := map[string]bool{}
	for _, l := range lines(r) {
		if !faulty(l.row) {
			continue
		}
		f, item := l.row.Fault, faultOf(l.row)
		id := l.row.Kernel + "\x00" + f.Message
		if together && unbuildable(f) {
			id = f.Message
			if alike := kernelsWith(r, f.Message); len(alike) > 1 {
				item.Name = few(alike)
			}
		}
		if f.Stage == "build" && seen[id] {
			continue
		}
		seen[id] = true
		item.Open = len(out) < open
		out = append(out, item)
	}
	return out
}

// allFaults has every line that failed, by its name.
func allFaults(r *result.Report) []view.Item {
	var out []view.Item
	for _, l := range lines(r) {
		if l.row.Fault != nil {
			item := faultOf(l.row)
			item.Name, item.Badge.Text = l.row.Name(), status(l.row)
			out = append(out, item)
		}
	}
	return out
}

// unbuildable reports whether a fault is the machine's and not the kernel's.
func unbuildable(f *result.Fault) bool {
	return f != nil && f.Stage == "build" && f.Cause == result.CauseUnsupported
}

// kernelsWith are those that this machine cannot build for one reason.
func kernelsWith(r *result.Report, message string) []string {
	var names []string
	for _, l := range lines(r) {
		if f := l.row.Fault; unbuildable(f) && f.Message == message && !slices.Contains(names, l.row.Kernel) {
			names = append(names, l.row.Kernel)
		}
	}
	return names
}
