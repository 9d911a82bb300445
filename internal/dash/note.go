package dash

import "pawl/internal/store"

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
