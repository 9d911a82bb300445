// Package render shows a View: as text for a terminal, as Markdown, as an HTML page and as CSV. It
// knows nothing of reports; the view decides what is said and in which form.
package render

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pawl/internal/report/view"
)

// shows reports whether a form has something; what names no form is in all of them.
func shows(in, form view.Form) bool { return in == 0 || in&form != 0 }

// visible drops control characters, but for those that lay out a text.
func visible(r rune) rune {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return -1
	}
	return r
}

// excerpt returns the beginning and the end of a text that is too long.
func excerpt(text string) string {
	const most = 64
	const widest = 400
	all := strings.Split(strings.TrimSpace(text), "\n")
	if left := len(all) - most; left > 0 {
		more := "… " + view.Count(left, "more line") + ", all of them in the JSON report …"
		all = slices.Concat(all[:most/2], []string{more}, all[len(all)-most/2:])
	}
	for i, text := range all {
		if len(text) > widest {
			all[i] = strings.ToValidUTF8(text[:widest], "") + "…"
		}
	}
	return strings.Join(all, "\n")
}

// safe makes any text harmless within a line. A comment has room for this many bytes
// of it.
func (d *markdown) safe(text string, most int) string {
	if d.comment {
		return inline(text, most)
	}
	return escape(text)
}

// escape keeps names and messages from being read as Markdown or HTML.
func escape(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_", "`", "\\`").Replace(text)
}

// markup are the characters that Markdown would not show as they are. A table's bar
// must not be seen even behind a backslash, and nobody is to be called by a name.
var markup = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "~", "\\~", "$", "\\$", "@", "@\u200b",
)

// inline makes any text safe within a line of Markdown, and no longer than this many
// bytes of its own.
func inline(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	return markup.Replace(clip(strings.TrimSpace(text), most))
}

// clip shortens a text to this many bytes, with an ellipsis where it was cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// fenced returns a code block whose fence the text cannot close.
func fenced(text string) string { return fencedAs("", text) }

func fencedAs(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + "\n" + fence + "\n\n"
}

// CSV renders the records of a view.
func CSV(v view.View) ([]byte, error) {
	var buf bytes.Buffer
	if err := csv.NewWriter(&buf).WriteAll(v.Records); err != nil {
		return nil, fmt.Errorf("render CSV: %w", err)
	}
	return buf.Bytes(), nil
}
