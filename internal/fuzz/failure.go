package fuzz

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/formula"
	"pawl/internal/pattern"
	"pawl/internal/spec"
	"pawl/internal/trial"
)

// Failure is a trial that a kernel failed, as it is stored.
type Failure struct {
	trial.Trial // Stored is the path of its file, "" before it has one

	Kernel string
	Reason string // why it failed, in words
	Fixed  bool   // it passed when it was last tried
	First  time.Time
	Commit string // where it was first seen; "" outside git
}

const (
	ending     = ".json"
	fileSchema = 1
	mostRuns   = 1000
)

// document is the file's JSON form. Variables are an object whose order does not matter: the
// kernel's config gives the order.
type document struct {
	Schema  int            `json:"schema"`
	Kernel  string         `json:"kernel"`
	Vars    map[string]any `json:"vars"`
	Fill    string         `json:"fill,omitempty"`
	Exact   bool           `json:"exact,omitempty"`
	Repeats int            `json:"repeats"`
	Seed    uint64         `json:"seed"`
	Batch   int            `json:"batch"`
	Lane    string         `json:"lane"`
	Reason  string         `json:"reason,omitempty"`
	Fixed   bool           `json:"fixed"`
	First   time.Time      `json:"first_seen"`
	Commit  string         `json:"commit,omitempty"`
}

// name identifies a failure by what fails, not by the data it was found with: the same bug found
// twice is one file. A distribution is tried at one size, and how small that size can be made
// depends on the drawn data, so the size is not part of the name. Equal numbers are not drawn, and
// Shrink uses them to show where a shape fails.
func (f *Failure) name() string {
	vars := slices.Clone(f.Vars)
	if f.Fill != "" && f.Fill != "equal" {
		vars = nil
	}
	slices.SortFunc(vars, func(a, b spec.Var) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	fmt.Fprintf(h, "pawl failure 1\n%q\n%q %t %t\n", f.Kernel, f.Fill, f.Exact, f.Repeats > 1)
	for _, v := range vars {
		fmt.Fprintf(h, "%s %s %s\n", v.Name, v.Value.Kind(), v.Value)
	}
	return f.Kernel + "-" + hex.EncodeToString(h.Sum(nil))[:8] + ending
}

func (f *Failure) encode() ([]byte, error) {
	d := document{
		Schema: fileSchema, Kernel: f.Kernel, Vars: map[string]any{}, Fill: f.Fill, Exact: f.Exact, Repeats: f.Repeats,
		Seed: f.Seed, Batch: f.Batch, Lane: f.Lane, Reason: f.Reason, Fixed: f.Fixed, First: f.First, Commit: f.Commit,
	}
	for _, v := range f.Vars {
		d.Vars[v.Name] = encodeValue(v.Value)
	}
	return disk.JSON(d)
}

// encodeValue keeps the difference between 2 and 2.0.
func encodeValue(v formula.Value) any {
	if i, ok := v.Int(); ok {
		return i
	}
	if b, ok := v.Bool(); ok {
		return b
	}
	f, ok := v.Float()
	if !ok {
		return v.String()
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

func decodeValue(value any) (formula.Value, error) {
	switch v := value.(type) {
	case bool:
		return formula.Bool(v), nil
	case string:
		return formula.String(v), nil
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return formula.Int(n), nil
		}
		f, err := v.Float64()
		if err != nil || !strings.ContainsAny(v.String(), ".eE") {
			return formula.Value{}, fmt.Errorf("%s is not a valid number for a config", v)
		}
		return formula.Float(f), nil
	}
	return formula.Value{}, errors.New("a variable is a number, a boolean or a word")
}

var (
	kernelName = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	variable   = pattern.New(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	conflict   = pattern.New(`(?m)^(<{7} |>{7} |={7}$)`)
)

// parse reads a file. It trusts nothing in it: anybody who may open a pull request may have written
// it.
func parse(raw []byte) (*Failure, error) {
	if conflict.Match(raw) {
		return nil, errors.New("a merge conflict was left in it")
	}
	var head struct {
		Schema *int `json:"schema"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	switch {
	case head.Schema == nil:
		return nil, errors.New("it has no schema, so pawl did not write it")
	case *head.Schema > fileSchema:
		return nil, fmt.Errorf("schema %d: it was written by a newer pawl, and this one reads schema %d", *head.Schema, fileSchema)
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is data after the failure")
	}
	return d.failure()
}

func (d *document) failure() (*Failure, error) {
	switch {
	case d.Schema != fileSchema:
		return nil, fmt.Errorf("schema %d is not known", d.Schema)
	case !kernelName.MatchString(d.Kernel):
		return nil, fmt.Errorf("%q is not the name of a kernel", d.Kernel)
	case !slices.Contains(trial.Lanes, d.Lane):
		return nil, fmt.Errorf("lane %q is not known", d.Lane)
	case d.Fill != "" && !slices.Contains(trial.Fills, d.Fill):
		return nil, fmt.Errorf("fill %q is not known", d.Fill)
	case d.Exact && d.Fill != "integers":
		return nil, errors.New("only integers are exact")
	case d.Repeats < 1 || d.Repeats > mostRuns:
		return nil, fmt.Errorf("%d repeats, expected 1 to %d", d.Repeats, mostRuns)
	case d.Batch < 0:
		return nil, fmt.Errorf("batch %d is negative", d.Batch)
	}
	f := &Failure{Kernel: d.Kernel, Reason: d.Reason, Fixed: d.Fixed, First: d.First, Commit: d.Commit}
	f.Trial = trial.Trial{Lane: d.Lane, Fill: d.Fill, Exact: d.Exact, Repeats: d.Repeats, Seed: d.Seed, Batch: d.Batch}
	for name, raw := range d.Vars {
		if !variable.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a variable", name)
		}
		value, err := decodeValue(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.Vars = append(f.Vars, spec.Var{Name: name, Value: value})
	}
	slices.SortFunc(f.Vars, func(a, b spec.Var) int { return strings.Compare(a.Name, b.Name) })
	return f, nil
}

// replay turns the failure into a trial of the kernel in its present form.
func (f *Failure) replay(k *spec.Kernel) (trial.Trial, error) {
	t := f.Trial
	t.Vars = k.Configs[0].Vars
	for _, v := range f.Vars {
		if _, ok := t.Lookup(v.Name); !ok {
			return trial.Trial{}, fmt.Errorf("%s is no longer a variable of config %s of %s; delete the file if the case no longer exists", v.Name, k.Configs[0].Name, k.Name)
		}
		t = t.With(v.Name, v.Value)
	}
	return t, nil
}
