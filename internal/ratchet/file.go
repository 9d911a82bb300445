package ratchet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/disk"
)

// Schema is the version of the file format.
const Schema = 1

// File is the baseline of a device class.
type File struct {
	Class   string
	Entries map[string]*Entry   // by name
	Removed map[string]*Removed // by name

	path       string // for messages
	damage     []*diag.Problem
	samples    blocks
	samplesErr error // why there are none
}

// document is the file's JSON form.
type document struct {
	Schema  int                 `json:"schema"`
	Class   string              `json:"class"`
	Entries map[string]*Entry   `json:"entries"`
	Removed map[string]*Removed `json:"removed,omitempty"`
}

func newFile(class, path string) *File {
	return &File{Class: class, Entries: map[string]*Entry{}, Removed: map[string]*Removed{}, path: path, samples: blocks{}}
}

// Entry returns the entry of a kernel on a config, or nil.
func (f *File) Entry(kernel, config string) *Entry { return f.Entries[Name(kernel, config)] }

// Names returns the names of the entries, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Entries)) }

// RemovedNames returns the names of removed entries, sorted.
func (f *File) RemovedNames() []string { return slices.Sorted(maps.Keys(f.Removed)) }

// Samples returns an entry's samples, in seconds.
func (f *File) Samples(e *Entry) ([]float64, error) {
	seconds, err := f.samples.get(e.Samples)
	if err != nil && f.samplesErr != nil {
		err = f.samplesErr
	}
	if err != nil {
		return nil, fmt.Errorf("samples of %s: %w", e.Name, err)
	}
	return seconds, nil
}

// Damaged says what was changed in the file by something other than pawl; nil when nothing was.
func (f *File) Damaged() error {
	if len(f.damage) == 0 {
		return nil
	}
	return diag.Errors(f.damage)
}

// encode writes the file with sorted names and one value per line, so that diffs show what moved.
func (f *File) encode() ([]byte, error) {
	raw, err := disk.JSON(document{Schema: Schema, Class: f.Class, Entries: f.Entries, Removed: f.Removed})
	if err != nil {
		return nil, fmt.Errorf("encode the baseline: %w", err)
	}
	return raw, nil
}

var (
	classSlug = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)
	entryName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
)

func checkClass(class string) error {
	if !classSlug.MatchString(class) {
		return fmt.Errorf("%q is not a valid device class: expected lower-case letters, digits, points and hyphens", class)
	}
	return nil
}

// parse reads a file of a class. A file that is not a baseline is an error; an edited one has
// Damaged entries.
func parse(path, class string, raw []byte) (*File, error) {
	p := &parser{path: path, raw: raw}
	doc, problem := p.document(class)
	if problem != nil {
		return nil, diag.Errors{problem}
	}
	f := newFile(class, path)
	for name, e := range doc.Entries {
		e.Name = name
		f.Entries[name] = e
	}
	for name, r := range doc.Removed {
		r.Name = name
		f.Removed[name] = r
	}
	for _, name := range f.allNames() {
		if it, _ := f.item(name); it.problem != "" {
			f.damage = append(f.damage, p.key(name, fmt.Sprintf("%s was edited by hand: %s", name, it.problem),
				fmt.Sprintf("pawl baseline verify shows since which commit, and how to restore it; pawl baseline reset %s --reason … discards it", name)))
		}
	}
	return f, nil
}

func (f *File) allNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(f.Entries)), maps.Keys(f.Removed))
	slices.Sort(names)
	return slices.Compact(names)
}

// parser keeps the text, to report positions in it.
type parser struct {
	path string
	raw  []byte
}

const restore = "restore it with git checkout; only pawl writes this file"

func (p *parser) document(class string) (*document, *diag.Problem) {
	var head struct {
		Schema *int    `json:"schema"`
		Class  *string `json:"class"`
	}
	if err := json.Unmarshal(p.raw, &head); err != nil {
		return nil, p.problem(err)
	}
	switch {
	case head.Schema == nil || head.Class == nil:
		return nil, p.at(0, "this is not a baseline: it has no schema or no class", restore)
	case *head.Schema != Schema:
		hint := restore
		if *head.Schema > Schema {
			hint = "it was written by a newer pawl: use that version"
		}
		return nil, p.key("schema", fmt.Sprintf("schema %d; this pawl reads and writes schema %d", *head.Schema, Schema), hint)
	case *head.Class != class:
		return nil, p.key("class", fmt.Sprintf("it is of class %q, and its name says %q", *head.Class, class),
			"a baseline is valid for one kind of device: rename the file back")
	}
	var doc document
	dec := json.NewDecoder(bytes.NewReader(p.raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, p.problem(err)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(doc.Entries)), slices.Collect(maps.Keys(doc.Removed))) {
		e, isEntry := doc.Entries[name]
		r, isRemoved := doc.Removed[name]
		if !entryName.MatchString(name) || isEntry && e == nil || isRemoved && r == nil {
			return nil, p.key(name, fmt.Sprintf("%q is not an entry", name), restore)
		}
	}
	return &doc, nil
}

var conflict = regexp.MustCompile(`(?m)^(<{7} |>{7} |={7}$)`)

// problem turns an error of encoding/json into a problem with a position.
func (p *parser) problem(err error) *diag.Problem {
	if i := conflict.FindIndex(p.raw); i != nil {
		return p.at(i[0], "a merge conflict was left in it",
			"take one side entirely, for both files of the class (git checkout --ours or --theirs), then run pawl check --update-baseline")
	}
	offset := len(p.raw)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var message string
	switch {
	case errors.As(err, &syntax):
		offset = int(syntax.Offset) - 1
		if message = "it is not JSON: " + syntax.Error(); offset+1 >= len(p.raw) {
			message = "it ends too early"
		}
	case errors.As(err, &mismatch):
		offset = int(mismatch.Offset) - 1
		message = fmt.Sprintf("%s cannot be a %s", mismatch.Field, mismatch.Value)
	default:
		message = err.Error() // names the field, but has no position
	}
	return p.at(offset, message, restore)
}

// key returns a problem at the line of a key.
func (p *parser) key(name, message, hint string) *diag.Problem {
	quoted, _ := json.Marshal(name)
	found := regexp.MustCompile(regexp.QuoteMeta(string(quoted)) + `\s*:`).FindIndex(p.raw)
	if found == nil {
		return p.at(0, message, hint)
	}
	at := p.at(found[0], message, hint)
	at.Width = len(quoted)
	return at
}

// at returns a problem at a byte of the text.
func (p *parser) at(offset int, message, hint string) *diag.Problem {
	return diag.At(p.path, string(p.raw), offset, message, hint)
}
