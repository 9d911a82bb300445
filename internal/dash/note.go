package dash

import (
	"strings"

	"pawl/internal/store"
)

// noteWord says what kind of note somebody wrote.
func noteWord(kind store.NoteKind) string {
	switch kind {
	case store.Acknowledged:
		return "acknowledged"
	case store.Invalid:
		return "invalid"
	}
	return "note"
}

// notesText are notes as the end of a sentence.
func notesText(notes []store.Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString("; " + noteWord(n.Kind))
		if n.Text != "" {
			b.WriteString(": " + strings.Map(printable, n.Text))
		}
	}
	return b.String()
}
