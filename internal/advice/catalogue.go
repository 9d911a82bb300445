package advice

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"pawl/internal/formula"
)

// Entry is one bottleneck of the catalogue: data, whoever wrote it.
type Entry struct {
	ID    string
	Title string // a clause: "global loads are not coalesced"
	Row   int    // in the catalogue of docs/profiling.md; 0: the user's own

	When       []string // conditions over facts; all must hold
	Unless     []Exception
	Gain       string  // upper bound of the speed-up, as a formula: where the next limit stands; "": not known
	Reach      string  // the speed-up that is in reach with the work as it is; "": Gain
	Amount     string  // the fact that says how much work there is for the limit that it names; "": it names none
	Confidence float64 // that the cause is what it looks like: 0 to 1
	Evidence   string  // a sentence with {facts} in it

	Less *Weaker // what to go by where When needs facts that are not known

	First  string   // what to do first
	Deeper []string // and then
	Next   string   // the exact next step: a command or an edit

	Host   bool   // it is of kernels on the CPU; an entry of pawl's without it is of those on a GPU
	Python *Steps // what to do about it in a Python function on the CPU; nil: the same as in compiled code

	Launching bool // it is about the time in which no SM works, of which no other entry has anything in reach

	Stops   bool // nothing else is to be said: the measurement is not valid
	Settled bool // there is nothing left to gain here: other findings become notes
}

// Steps are what to do about a bottleneck.
type Steps struct {
	First  string
	Deeper []string
	Next   string
}

// Weaker is evidence that is there without ncu.
type Weaker struct {
	When       []string
	Gain       string
	Confidence float64
	Evidence   string
}

// Exception is a condition under which an entry does not apply.
type Exception struct {
	If  string
	Why string
}

// Catalogue is entries, ready to be judged by.
type Catalogue struct {
	entries []compiled
	notes   []compiledNote
}

type compiled struct {
	Entry
	when, less []condition
	unless     []condition
	gain       *condition
	reach      *condition
	lessGain   *condition
}

// condition is a formula over facts.
type condition struct {
	source string
	names  []string
	real   *formula.Real
	strict bool // it may hold because something is not known, and so needs all its facts
}

// EntryError is a mistake in an entry, with the field and the place in its text.
type EntryError struct {
	ID, Field string
	Text      string // the formula or sentence
	Message   string
	Hint      string
	Offset    int // in the text, in bytes
}

func (e *EntryError) Error() string {
	return fmt.Sprintf("finding %s: %s: %s", e.ID, e.Field, e.Message)
}

var placeholder = regexp.MustCompile(`\{([a-z0-9_]+)\}`)

// New makes a catalogue of entries and notes. All mistakes are reported, each as an *EntryError.
func New(entries []Entry, notes []Note) (*Catalogue, error) {
	names := Names()
	c := &Catalogue{}
	var wrong []error
	seen := map[string]bool{}
	for _, e := range entries {
		bad := func(field, text string, err error) {
			if err != nil {
				wrong = append(wrong, entryError(e.ID, field, text, err, names))
			}
		}
		switch {
		case e.ID == "":
			wrong = append(wrong, &EntryError{ID: `""`, Field: "id", Message: "it has no id"})
		case seen[e.ID] && e.Row == 0: // pawl's own may have several faces
			wrong = append(wrong, &EntryError{ID: e.ID, Field: "id", Message: "there is another with this id"})
		case len(e.When) == 0:
			wrong = append(wrong, &EntryError{ID: e.ID, Field: "when", Message: "it has no condition"})
		case e.Confidence <= 0 || e.Confidence > 1:
			wrong = append(wrong, &EntryError{ID: e.ID, Field: "confidence", Message: fmt.Sprintf("%v, expected more than 0 and at most 1", e.Confidence)})
		}
		seen[e.ID] = true
		made := compiled{Entry: e}
		list := func(field string, sources []string, to *[]condition) {
			for _, source := range sources {
				one, err := compile(source, names)
				bad(field, source, err)
				*to = append(*to, one)
			}
		}
		list("when", e.When, &made.when)
		for _, x := range e.Unless {
			list("unless", []string{x.If}, &made.unless)
		}
		gain := func(source string) *condition {
			if source == "" {
				return nil
			}
			one, err := compile(source, names)
			bad("gain", source, err)
			return &one
		}
		made.gain, made.reach = gain(e.Gain), gain(e.Reach)
		if e.Amount != "" {
			_, err := compile(e.Amount, names)
			bad("amount", e.Amount, err)
		}
		sentences := []string{e.Evidence}
		if e.Less != nil {
			list("when", e.Less.When, &made.less)
			made.lessGain = gain(e.Less.Gain)
			sentences = append(sentences, e.Less.Evidence)
		}
		for _, sentence := range sentences {
			bad("evidence", sentence, checkSentence(sentence, names))
		}
		c.entries = append(c.entries, made)
	}
	for _, n := range notes {
		one, err := compile(n.When, names)
		if err == nil {
			err = checkSentence(n.Text, names)
		}
		if err != nil {
			wrong = append(wrong, entryError(n.ID, "when", n.When, err, names))
		}
		c.notes = append(c.notes, compiledNote{n, one})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return c, nil
}

func entryError(id, field, text string, err error, names []string) *EntryError {
	e := &EntryError{ID: id, Field: field, Text: text, Message: err.Error()}
	if at, ok := errors.AsType[*formula.Error](err); ok {
		e.Message, e.Hint, e.Offset = at.Message, at.Hint, at.Offset
		if at.Name != "" {
			e.Message, e.Hint = fmt.Sprintf("there is no fact %q", at.Name), meant(at.Name, names)
		}
	}
	return e
}

func compile(source string, names []string) (condition, error) {
	expression, err := formula.Parse(source)
	if err != nil {
		return condition{}, err
	}
	used := expression.Names()
	for _, name := range used {
		if _, known := slices.BinarySearch(names, name); !known {
			if _, err := expression.CompileReal(names); err != nil {
				return condition{}, err
			}
		}
	}
	real, err := expression.CompileReal(used)
	if err != nil {
		return condition{}, err
	}
	return condition{source, used, real, lax.FindString(source) != ""}, nil
}

// lax finds operators that are true where a comparison with something unknown is not.
var lax = regexp.MustCompile(`\bnot\b|!=|\bif\b|\bint\b`)

func checkSentence(sentence string, names []string) error {
	for _, m := range placeholder.FindAllStringSubmatch(sentence, -1) {
		if _, known := slices.BinarySearch(names, m[1]); !known {
			return fmt.Errorf("there is no fact {%s}", m[1])
		}
	}
	return nil
}

// value computes a formula; what is not known is returned instead, where something is not.
func (c condition) value(f Facts) (v float64, missing []string) {
	values, missing := c.values(f)
	if missing != nil {
		return math.NaN(), missing
	}
	return c.real.Eval(values), nil
}

// values returns the facts in the order of the names, NaN for those that are not known.
func (c condition) values(f Facts) (values []float64, missing []string) {
	values = make([]float64, len(c.names))
	for i, name := range c.names {
		fact, known := f[name]
		if !known {
			missing = append(missing, name)
			fact.Value = math.NaN()
		}
		values[i] = fact.Value
	}
	return values, missing
}

// holds reports whether a condition holds. What is missing is returned where that is why it does not:
// "a or b" holds when a does, whatever b is, since no comparison with NaN is true.
func (c condition) holds(f Facts) (holds bool, missing []string) {
	values, missing := c.values(f)
	if c.strict && missing != nil {
		return false, missing
	}
	if v := c.real.Eval(values); v != 0 && !math.IsNaN(v) {
		return true, nil
	}
	return false, missing
}

// all reports whether all conditions hold. Where one does not, the others do not matter; where none is
// known to fail and something is missing, nothing is decided.
func all(conditions []condition, f Facts) (holds bool, missing []string) {
	for _, c := range conditions {
		one, absent := c.holds(f)
		if !one && absent == nil {
			return false, nil
		}
		missing = append(missing, absent...)
	}
	slices.Sort(missing)
	return len(missing) == 0, slices.Compact(missing)
}

// sources returns where the facts of some conditions come from.
func sources(conditions []condition, f Facts) (from []Source) {
	for _, c := range conditions {
		for _, name := range c.names {
			from = append(from, f[name].From...)
		}
	}
	slices.SortFunc(from, func(a, b Source) int { return cmp.Compare(a, b) })
	return slices.Compact(from)
}
