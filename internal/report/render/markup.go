package render

import (
	"strings"
	"unicode"
)

// safe makes any text harmless within a line. A comment has room for so many bytes
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

// inline makes any text safe within a line of Markdown, and no longer than so many
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

// clip shortens a text to so many bytes, with an ellipsis where it was cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// fenced is a code block whose fence the text cannot close.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n\n"
}
