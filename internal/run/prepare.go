package run

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Request holds the options that every kind of run has.
type Request struct {
	Tool     result.Tool
	Command  []string
	Started  time.Time   // zero: now
	Spec     *spec.Spec  // of the project
	File     string      // path of Spec, for callers that have not loaded it
	Patterns []string    // rows to select: kernel[/config]; none: all
	Seed     *uint64     // of the generated inputs; nil: none is given
	Follow   func(Event) // receives every event as it happens; may be nil
	Quiet    bool        // leave no folder behind
	Database string      // address of the history; "": the project's file
}

// BenchSeed is the default seed of a bench: always the same, so that two benches measure the same
// problems.
const BenchSeed = 42

// Prepare makes a run of a kind. It refuses names that the project does not have and, for a check,
// rows that are still a draft. Only a bench has a predictable seed, unless one is given. On failure
// nothing is left behind.
func Prepare(kind result.Kind, q Request) (*Run, error) {
	var err error
	if q.Spec == nil && q.File != "" {
		if q.Spec, err = spec.Load(q.File); err != nil {
			return nil, err
		}
	}
	var selections []spec.Selection
	if q.Spec != nil {
		if selections, err = q.Spec.Select(q.Patterns); err != nil {
			return nil, err
		}
		if kind == result.KindCheck {
			if err := refuseDrafts(q.Spec, q.Patterns, selections); err != nil {
				return nil, err
			}
		}
	}
	if q.Started.IsZero() {
		q.Started = time.Now()
	}
	r := Quiet(q.Started, q.Follow)
	if q.Spec != nil && !q.Quiet {
		r = New(q.Spec.Dir, q.Started, q.Follow)
	}
	r.Kind, r.Tool, r.Command = kind, q.Tool, q.Command
	r.Database = q.Database
	r.Spec, r.Patterns, r.Selections = q.Spec, q.Patterns, selections
	if r.Price, err = priceOf(q.Spec); err != nil {
		return nil, err
	}
	switch {
	case q.Seed != nil:
		r.Seed = *q.Seed
	case kind == result.KindBench:
		r.Seed = BenchSeed
	default:
		r.Seed = secretSeed()
	}
	return r, nil
}

// Of refuses a run that was prepared for something else, or not at all: its seed and its drafts
// went by other rules.
func (r *Run) Of(kind result.Kind) error {
	if r.Kind != kind || r.Spec == nil {
		return fmt.Errorf("a run of kind %q was prepared, and a %s needs its own", r.Kind, kind)
	}
	return nil
}

// secretSeed returns a seed that nobody can know before the run: a kernel cannot be made for the
// data it will be tried with. It has 48 bits, which JSON holds exactly in any language that reads
// the report.
func secretSeed() uint64 {
	var raw [8]byte
	_, _ = rand.Read(raw[2:])
	return binary.BigEndian.Uint64(raw[:])
}

// refuseDrafts refuses rows that still contain guesses. It says once for each part of the file what is left.
func refuseDrafts(s *spec.Spec, patterns []string, rows []spec.Selection) error {
	drafts := s.DraftsOf(patterns, rows)
	if len(drafts) == 0 {
		return nil
	}
	source, err := os.ReadFile(s.File)
	if err != nil {
		return fmt.Errorf("read the spec again: %w", err)
	}
	var list diag.List
	for _, d := range drafts {
		list.Add(&diag.Problem{Pos: d.TODOs[0], Message: fmt.Sprintf("%s is a draft, and check does not judge guesses: %s", d.Name, guesses(source, d.TODOs))})
	}
	problems := diag.Problems(list.Err(source))
	problems[len(problems)-1].Hint = "correct each guess and delete its TODO comment; pawl bench works in the meantime"
	return diag.Errors(problems)
}

// guesses lists what TODO comments say, each text once with its lines.
func guesses(source []byte, todos []diag.Pos) string {
	lines := strings.Split(string(source), "\n")
	var texts []string
	where := map[string][]string{}
	for _, at := range todos {
		text := ""
		if at.Line <= len(lines) {
			_, text, _ = strings.Cut(lines[at.Line-1], "TODO")
		}
		text = strings.TrimSpace(strings.TrimLeft(text, ": "))
		if where[text] == nil {
			texts = append(texts, text)
		}
		where[text] = append(where[text], strconv.Itoa(at.Line))
	}
	for i, text := range texts {
		lines := where[text]
		word := "line "
		if len(lines) > 1 {
			word = "lines "
		}
		texts[i] = strings.TrimSpace(fmt.Sprintf("%s (%s%s)", text, word, strings.Join(lines, ", ")))
	}
	return strings.Join(texts, "; ")
}
