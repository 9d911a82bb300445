// Package render shows a View: as text for a terminal, as Markdown, as an HTML page
// and as CSV. It knows nothing of reports; what is said, and in which form, is the
// view's decision.
package render

import (
	"strings"
	"unicode"

	"pawl/internal/report/view"
)

// shows reports whether a form has something; what names no form is in all of them.
func shows(in, form view.Form) bool { return in == 0 || in&form != 0 }

// oneLine is a text in one line, otherwise as it is.
func oneLine(text string) string { return view.Printable(strings.ReplaceAll(text, "\n", " ")) }

// visible drops control characters, but for those that lay out a text.
func visible(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return -1
	}
	return r
}

// excerpt is the beginning and the end of a text that is too long.
func excerpt(text string) string {
	const most = 64
	const widest = 400
	all := strings.Split(strings.TrimSpace(text), "\n")
	if left := len(all) - most; left > 0 {
		head, tail := all[:most/2], all[len(all)-most/2:]
		all = append(append(append([]string(nil), head...), "… "+view.Count(left, "more line")+", all of them in the JSON report …"), tail...)
	}
	for i, text := range all {
		if len(text) > widest {
			all[i] = strings.ToValidUTF8(text[:widest], "") + "…"
		}
	}
	return strings.Join(all, "\n")
}
