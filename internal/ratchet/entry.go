package ratchet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
)

// Entry is the best-known version of a kernel on a config. Times are milliseconds.
type Entry struct {
	Name string `json:"-"` // kernel/config

	MedianMS float64   `json:"median_ms"`
	LowMS    float64   `json:"ci_95_low"`
	HighMS   float64   `json:"ci_95_high"`
	GFLOPS   float64   `json:"throughput_gflops,omitempty"`
	GBps     float64   `json:"bandwidth_gb_s,omitempty"`
	Commit   string    `json:"git_commit"` // the commit that it is built from
	Time     time.Time `json:"timestamp"`

	Params   map[string]string `json:"params,omitempty"`
	Vars     map[string]string `json:"vars,omitempty"` // the config's own values
	Cell     string            `json:"cell"`
	Identity string            `json:"identity"`
	Code     string            `json:"code,omitempty"`
	Key      string            `json:"key,omitempty"`

	Fingerprint Fingerprint `json:"fingerprint"`
	Samples     Samples     `json:"samples"`
	Cells       int         `json:"cells,omitempty"` // of the duet that moved it here
	Pairs       int         `json:"pairs,omitempty"`

	Moves []Move `json:"moves"` // all moves, the oldest first
	Sum   string `json:"sum"`   // over all of the above
}

// Removed is what a reset leaves of an entry: its moves.
type Removed struct {
	Name  string `json:"-"`
	Moves []Move `json:"moves"`
	Sum   string `json:"sum"`
}

// By is the cause of a move.
type By string

// The causes of moves.
const (
	ByCheck  By = "check"  // first of its kind, or faster in a duet
	ByAccept By = "accept" // somebody accepted it, whatever the duet said
	ByAnchor By = "anchor" // the same version, built from another commit from now on
	ByReset  By = "reset"  // somebody removed the entry
	ByMerge  By = "merge"  // git merge took one side's entry; appears only in an Audit, never in a file
)

// Move is one move of the ratchet.
type Move struct {
	By     By        `json:"by"`
	Who    string    `json:"who,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Run    string    `json:"run,omitempty"`
	Time   time.Time `json:"timestamp"`

	Commit   string  `json:"git_commit,omitempty"`
	MedianMS float64 `json:"median_ms,omitempty"` // as measured then; 0 for a reset
	Change   *Change `json:"change,omitempty"`    // against the version before, in a duet
	From     *From   `json:"from,omitempty"`      // the version before

	Prev string `json:"prev,omitempty"` // Sum of the move before
	Sum  string `json:"sum"`
}

// Change is the relative slowdown of the new version (below 0: it is faster).
type Change struct {
	Median float64 `json:"median"`
	Low    float64 `json:"ci_95_low"`
	High   float64 `json:"ci_95_high"`
}

// From is the version that a move replaced.
type From struct {
	MedianMS float64 `json:"median_ms"`
	Commit   string  `json:"git_commit"`
}

// Samples names the block of the samples file that holds the entry's samples.
type Samples struct {
	Count  int    `json:"count"`  // kept
	Of     int    `json:"of"`     // measured
	SHA256 string `json:"sha256"` // of the block
}

// Moved returns the move that made the entry what it is.
func (e *Entry) Moved() Move { return last(e.Moves) }

// AcceptedSince returns the latest reasoned accept that the entry has and its former version, which
// may be nil, does not: an intended slowdown.
func (e *Entry) AcceptedSince(former *Entry) (Move, bool) {
	known := map[string]bool{}
	if former != nil {
		for _, m := range former.Moves {
			known[m.Sum] = true
		}
	}
	for _, m := range slices.Backward(e.Moves) {
		if m.By == ByAccept && m.Reason != "" && !known[m.Sum] {
			return m, true
		}
	}
	return Move{}, false
}

func last(moves []Move) Move {
	if len(moves) == 0 {
		return Move{}
	}
	return moves[len(moves)-1]
}

// Name returns the name of an entry: kernel/config.
func Name(kernel, config string) string { return kernel + "/" + config }

// Select chooses names by patterns kernel[/config], in which * ? and [abc] match as in file names;
// without a pattern it chooses all. A pattern that matches nothing is an error. The names need not
// be in any pawl.yaml: the baseline of a removed kernel may still exist.
func Select(names, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return names, nil
	}
	chosen := map[string]bool{}
	var problems diag.Errors
	for _, pattern := range patterns {
		full := pattern
		if !strings.Contains(pattern, "/") {
			full += "/*"
		}
		if _, err := path.Match(full, ""); err != nil {
			problems = append(problems, &diag.Problem{
				Message: fmt.Sprintf("%q is not a valid selector", pattern),
				Hint:    "write kernel or kernel/config; * stands for any characters, ? for one, [abc] for one of several",
			})
			continue
		}
		found := false
		for _, name := range names {
			if match, _ := path.Match(full, name); match {
				chosen[name], found = true, true
			}
		}
		if !found {
			problems = append(problems, &diag.Problem{Message: fmt.Sprintf("nothing here matches %q", pattern), Hint: diag.Meant(pattern, names)})
		}
	}
	if problems != nil {
		return nil, problems
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !chosen[name] }), nil
}

// sumDigits is the number of hash digits: enough against accidents and edits.
const sumDigits = 32

// digest returns a hash over a part of a class's file. It covers class and name, so that no part
// can be copied to another place.
func digest(class, name string, part any) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", class, name)
	h.Write(compact(part))
	return hex.EncodeToString(h.Sum(nil))[:sumDigits]
}

// compact encodes a value that contains only strings and finite numbers.
func compact(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("ratchet: %v", err))
	}
	return raw
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
		it.problem = "it is both present and removed"
	case sum != want:
		it.problem = "its checksum does not fit its content"
	case entry != nil && !(entry.MedianMS > 0 && entry.LowMS > 0 && entry.HighMS >= entry.LowMS):
		it.problem = "its times are not valid"
	case len(it.moves) == 0:
		it.problem = "it has no moves"
	case len(fits) < len(it.moves):
		it.problem = fmt.Sprintf("move %d of %d does not continue from the previous one", len(fits)+1, len(it.moves))
	case entry != nil && !last(it.moves).end().equal(&From{entry.MedianMS, entry.Commit}), removed != nil && last(it.moves).By != ByReset:
		it.problem = "it does not match its last move"
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
