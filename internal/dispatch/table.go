// Package dispatch writes the best setting of each config, as a search has found it, for programs that
// choose at run time: as a C header with a lookup function, and as JSON.
package dispatch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/result"
)

// Table is the best setting of each config of a kernel.
type Table struct {
	Kernel   string
	Vars     []Column // of the configs: what a program looks up by
	Params   []Column
	Entries  []Entry
	Fallback []string // parallel to Params: for problems that are no entry
	Run      string
	Commit   string // "": the sources were in no commit
	Dirty    bool   // they were not all as in Commit
	Device   string // device class
	Tool     string
}

// Column is a variable or a param: one member of every entry.
type Column struct {
	Name string
	Type Type
}

// Type is what all values of a column are.
type Type string

// The types.
const (
	Integer Type = "integer"
	Real    Type = "float"
	Boolean Type = "boolean"
	Text    Type = "string"
)

// Entry is the best setting of a config.
type Entry struct {
	Config string
	Vars   []string // parallel to Table.Vars
	Params []string // parallel to Table.Params
}

// New makes the table of a report. A config without a pick of its own has the setting that is best for all
// configs together, which is also the fallback.
func New(r *result.Report) (*Table, error) {
	if r.Tuning == nil {
		return nil, errors.New("the report has no search for better params in it: it is none of pawl tune")
	}
	t := &Table{Kernel: r.Tuning.Kernel, Run: r.ID, Device: r.DeviceClass, Tool: r.Tool.Version}
	if r.Commit != nil {
		t.Commit, t.Dirty = r.Commit.SHA, r.Commit.Dirty
	}
	all, err := best(r)
	if err != nil {
		return nil, err
	}
	names := paramNames(r.Tuning, all)
	if len(names) == 0 {
		return nil, fmt.Errorf("kernel %s has no params, so there is nothing to look up", t.Kernel)
	}
	if t.Fallback, err = values(all, names); err != nil {
		return nil, fmt.Errorf("the setting for all configs: %w", err)
	}
	vars, err := configVars(r)
	if err != nil {
		return nil, err
	}
	shared := commonNames(vars)
	for _, config := range r.Tuning.Configs {
		params := all
		for _, pick := range r.Tuning.Picks {
			if pick.Config == config {
				params = pick.Params
			}
		}
		e := Entry{Config: config}
		if e.Params, err = values(params, names); err != nil {
			return nil, fmt.Errorf("config %s: %w", config, err)
		}
		if e.Vars, err = values(vars[config], shared); err != nil {
			return nil, fmt.Errorf("config %s: %w", config, err)
		}
		t.Entries = append(t.Entries, e)
	}
	t.Vars = columns(shared, t.Entries, nil, func(e Entry) []string { return e.Vars })
	t.Params = columns(names, t.Entries, t.Fallback, func(e Entry) []string { return e.Params })
	return t, t.distinct()
}

// best returns the setting for all configs: the winner, or today's defaults where nothing beat them.
func best(r *result.Report) (map[string]string, error) {
	if f := r.Tuning.Suggested(); f != nil {
		return f.Params, nil
	}
	defaults := map[string]string{}
	for _, p := range r.Tuning.Space.Params {
		defaults[p.Name] = p.Default
	}
	if len(r.Tuning.Configs) == 0 {
		return nil, fmt.Errorf("the search for params of %s names no config", r.Tuning.Kernel)
	}
	return defaults, nil
}

// paramNames lists the params in the order of the space.
func paramNames(t *result.Tuning, all map[string]string) []string {
	var names []string
	for _, p := range t.Space.Params {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// configVars returns the values of each config, which the rows have.
func configVars(r *result.Report) (map[string]map[string]string, error) {
	vars := map[string]map[string]string{}
	for _, row := range r.Rows {
		if row.Kernel == r.Tuning.Kernel && vars[row.Config] == nil {
			vars[row.Config] = row.Vars
		}
	}
	for _, config := range r.Tuning.Configs {
		if vars[config] == nil {
			return nil, fmt.Errorf("no row of the report has the values of config %s, so nothing can be looked up by them", config)
		}
	}
	maps.DeleteFunc(vars, func(config string, _ map[string]string) bool { return !slices.Contains(r.Tuning.Configs, config) })
	return vars, nil
}

// commonNames returns the variables that all configs have, sorted.
func commonNames(vars map[string]map[string]string) []string {
	count := map[string]int{}
	for _, of := range vars {
		for name := range of {
			count[name]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n < len(vars) })
	return slices.Sorted(maps.Keys(count))
}

func values(of map[string]string, names []string) ([]string, error) {
	list := make([]string, len(names))
	for i, name := range names {
		value, ok := of[name]
		if !ok {
			return nil, fmt.Errorf("%s has no value", name)
		}
		list[i] = value
	}
	return list, nil
}

// columns finds the type of every name: the narrowest that all values have.
func columns(names []string, entries []Entry, fallback []string, of func(Entry) []string) []Column {
	list := make([]Column, len(names))
	for i, name := range names {
		var all []string
		for _, e := range entries {
			all = append(all, of(e)[i])
		}
		if fallback != nil {
			all = append(all, fallback[i])
		}
		list[i] = Column{name, typeOf(all)}
	}
	return list
}

func typeOf(all []string) Type {
	fits := func(parse func(string) error) bool {
		return !slices.ContainsFunc(all, func(text string) bool { return parse(text) != nil })
	}
	switch {
	case fits(func(s string) error { _, err := strconv.ParseInt(s, 10, 64); return err }):
		return Integer
	case fits(finite):
		return Real
	case fits(func(s string) error {
		if s != "true" && s != "false" {
			return errors.New("no boolean")
		}
		return nil
	}):
		return Boolean
	}
	return Text
}

// finite reports why a text is no finite number.
func finite(text string) error {
	if strings.ContainsAny(text, "xXpP_") {
		return errors.New("no decimal number")
	}
	if v, err := strconv.ParseFloat(text, 64); err != nil || v-v != 0 {
		return errors.New("no finite number")
	}
	return nil
}

// distinct refuses configs of the same values with different settings: a lookup could find only one.
func (t *Table) distinct() error {
	for i, a := range t.Entries {
		for _, b := range t.Entries[:i] {
			if slices.Equal(a.Vars, b.Vars) && !slices.Equal(a.Params, b.Params) {
				return fmt.Errorf("configs %s and %s have the same values of %s and different best params: give them a variable that tells them apart",
					b.Config, a.Config, strings.Join(namesOf(t.Vars), ", "))
			}
		}
	}
	return nil
}

func namesOf(list []Column) []string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}
