package ratchet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// sumDigits is the number of hash digits: enough against accidents and edits.
const sumDigits = 32

// digest returns a hash over a part of a class's file. It covers class and name, so that no part
// can be copied to another place.
func digest(class, name string, part any) string {
	raw, err := json.Marshal(part)
	if err != nil {
		panic(fmt.Sprintf("ratchet: %v", err)) // only strings and finite numbers
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", class, name)
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))[:sumDigits]
}

func (m Move) sum(class, name string) string {
	m.Sum = ""
	return digest(class, name, m)
}

func (e *Entry) sum(class string) string {
	unsealed := *e
	unsealed.Sum = ""
	return digest(class, e.Name, unsealed)
}

func (r *Removed) sum(class string) string {
	unsealed := *r
	unsealed.Sum = ""
	return digest(class, r.Name, unsealed)
}

// appendMove adds a move to a list of moves, with its checksum.
func appendMove(class, name string, moves []Move, m Move) []Move {
	m = *plain(&m)
	m.Prev = last(moves).Sum
	m.Sum = m.sum(class, name)
	return append(moves[:len(moves):len(moves)], m)
}

// item is what the file has for a name: an entry, or what a reset left of it.
type item struct {
	moves   []Move
	content string // digest of all of it; equal content, equal item
	problem string // what is wrong with it; empty: it is consistent
}

// item returns what the file has for a name; false when it has nothing.
func (f *File) item(name string) (item, bool) {
	entry, removed := f.Entries[name], f.Removed[name]
	var it item
	var sum, want string
	switch {
	case entry != nil:
		it = item{moves: entry.Moves, content: digest(f.Class, name, entry)}
		sum, want = entry.Sum, entry.sum(f.Class)
	case removed != nil:
		it = item{moves: removed.Moves, content: digest(f.Class, name, removed)}
		sum, want = removed.Sum, removed.sum(f.Class)
	default:
		return item{}, false
	}
	fits := fitting(f.Class, name, it.moves)
	switch {
	case entry != nil && removed != nil:
		it.problem = "it is there and removed at once"
	case sum != want:
		it.problem = "its checksum does not fit its content"
	case entry != nil && !(entry.MedianMS > 0 && entry.LowMS > 0 && entry.HighMS >= entry.LowMS):
		it.problem = "its times are no times"
	case len(it.moves) == 0:
		it.problem = "it has no moves"
	case len(fits) < len(it.moves):
		it.problem = fmt.Sprintf("move %d of %d does not go on from the one before", len(fits)+1, len(it.moves))
	case entry != nil && !last(it.moves).end().equal(&From{entry.MedianMS, entry.Commit}), removed != nil && last(it.moves).By != ByReset:
		it.problem = "it is not what its last move made it"
	}
	return it, true
}

// fitting returns the first moves of a list, up to one that does not continue the one before.
func fitting(class, name string, moves []Move) []Move {
	before := Move{}
	for i, m := range moves {
		if m.Prev != before.Sum || m.Sum != m.sum(class, name) || !m.From.equal(before.end()) {
			return moves[:i]
		}
		before = m
	}
	return moves
}

// end returns the version that the next move must start from: none after a reset and at the
// beginning.
func (m Move) end() *From {
	if m.By == ByReset || m.Sum == "" {
		return nil
	}
	return &From{MedianMS: m.MedianMS, Commit: m.Commit}
}

func (f *From) equal(other *From) bool {
	if f == nil || other == nil {
		return f == other
	}
	return *f == *other
}
