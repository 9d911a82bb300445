package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/spec"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// baselineOptions are what the baseline's commands share: whose, and which.
type baselineOptions struct {
	project projectOptions
	class   string
	json    bool
}

func (o *baselineOptions) AddFlags(f *pflag.FlagSet) {
	o.project.AddFlags(f)
	f.StringVar(&o.class, "class", "", "the device class, where there are several")
}

func (o *baselineOptions) addJSON(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print JSON")
}

// folder finds the project. Its spec need not be in order, nor have the kernels
// that the baseline has.
func (o *baselineOptions) folder() (string, error) {
	if o.project.file != "" {
		return filepath.Dir(o.project.file), nil
	}
	file, err := spec.Find(".")
	if err != nil {
		if _, statErr := os.Stat(filepath.Join(".pawl", "baseline")); statErr == nil {
			return ".", nil
		}
		return "", err
	}
	return filepath.Dir(file), nil
}

// pick chooses among the classes there are.
func (o *baselineOptions) pick(classes []string) ([]string, error) {
	if o.class == "" {
		return classes, nil
	}
	for _, class := range classes {
		if class == o.class {
			return []string{class}, nil
		}
	}
	return nil, &diag.Problem{Message: fmt.Sprintf("there is no baseline of %s", o.class), Hint: diag.Meant(o.class, classes)}
}

// open returns the project's baseline and the classes chosen. Without any it says so.
func (o *baselineOptions) open() (*ratchet.Store, []string, error) {
	dir, err := o.folder()
	if err != nil {
		return nil, nil, err
	}
	store := ratchet.Open(dir)
	classes, err := store.Classes()
	if err == nil && len(classes) == 0 {
		return nil, nil, noBaseline()
	}
	if err == nil {
		classes, err = o.pick(classes)
	}
	return store, classes, err
}

func noBaseline() error {
	return &diag.Problem{Message: "there is no baseline here", Hint: "pawl check --update-baseline makes one"}
}

func newBaseline(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "baseline", Short: "the best-known versions: show, history, verify, accept, reset", GroupID: groupMemory,
		Long: `The baseline holds, for each kind of device, the best-known version of every kernel
on every config. pawl check moves it forward when something is provably faster. It
goes back only with a reason, and verify finds out when it did so without.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("expected one of: show, history, verify, accept, reset (see pawl baseline --help)")
		},
	}
	cmd.AddCommand(newBaselineShow(e), newBaselineHistory(e), newBaselineVerify(e), newBaselineAccept(e), newBaselineReset(e))
	return cmd
}

func newBaselineShow(e *env) *cobra.Command {
	opts := &baselineOptions{}
	cmd := &cobra.Command{
		Use: "show [kernel[/config]…]", Short: "what the best-known versions are",
		RunE: func(_ *cobra.Command, args []string) error { return runBaselineShow(e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	opts.addJSON(cmd.Flags())
	return cmd
}

func runBaselineShow(e *env, opts *baselineOptions, patterns []string) error {
	store, classes, err := opts.open()
	if err != nil {
		return err
	}
	var files []*ratchet.File
	var names []string
	for _, class := range classes {
		f, err := store.Read(class)
		if err != nil {
			return err
		}
		files, names = append(files, f), append(names, f.Names()...)
	}
	if _, err := ratchet.Select(names, patterns); err != nil { // in any of them is enough
		return err
	}
	if opts.json {
		return showJSON(e, files, patterns)
	}
	damaged := false
	for _, f := range files {
		chosen, err := ratchet.Select(f.Names(), patterns)
		if err != nil {
			continue
		}
		showBaseline(e, store, f, chosen, len(patterns) == 0)
		if err := f.Damaged(); err != nil {
			damaged = true
			e.explain(err)
		}
	}
	if damaged {
		return &outcomeError{exitUnjudged, "the baseline was edited by hand"}
	}
	return nil
}

func showJSON(e *env, files []*ratchet.File, patterns []string) error {
	type class struct {
		Class   string                      `json:"class"`
		Entries map[string]*ratchet.Entry   `json:"entries"`
		Removed map[string]*ratchet.Removed `json:"removed,omitempty"`
	}
	var out []class
	for _, f := range files {
		c := class{Class: f.Class, Entries: map[string]*ratchet.Entry{}}
		if chosen, err := ratchet.Select(f.Names(), patterns); err == nil {
			for _, name := range chosen {
				c.Entries[name] = f.Entries[name]
			}
		}
		if len(patterns) == 0 {
			c.Removed = f.Removed
		}
		out = append(out, c)
	}
	return printJSON(e, out)
}

func printJSON(e *env, v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func showBaseline(e *env, store *ratchet.Store, f *ratchet.File, names []string, removed bool) {
	style := e.style()
	fmt.Fprintf(e.stdout, "%s · %s · %s\n", style.Bold(f.Class), unit.Plural(len(names), "entry", "entries"), relative(store.Path(f.Class)))
	table := &term.Table{Indent: 2, HeaderStyle: style.Dim, Columns: []term.Column{
		{Header: "kernel/config"},
		{Header: "median", Align: term.Right},
		{Header: "95% interval", Align: term.Right},
		{Header: "compute", Align: term.Right},
		{Header: "memory", Align: term.Right},
		{Header: "commit"},
		{Header: "measured"},
		{Header: "moved by"},
	}}
	for _, name := range names {
		entry := f.Entries[name]
		low, high, in := unit.Durations(entry.LowMS/1e3, entry.HighMS/1e3)
		table.Add(name, unit.Duration(entry.MedianMS/1e3), fmt.Sprintf("%s – %s %s", low, high, in), known(entry.GFLOPS, unit.GFLOPS),
			known(entry.GBps, unit.Bandwidth), git.Short(entry.Commit), entry.Time.Format("2006-01-02"), movedBy(entry.Moved()))
	}
	_ = table.Render(e.stdout)
	if removed {
		for _, name := range f.RemovedNames() {
			moves := f.Removed[name].Moves
			if len(moves) > 0 {
				m := moves[len(moves)-1]
				fmt.Fprintf(e.stdout, "  removed: %s, %s, by %s\n", name, m.Time.Format("2006-01-02"), movedBy(m))
			}
		}
	}
}

func known(v float64, format func(float64) string) string {
	if v == 0 {
		return ""
	}
	return format(v)
}

// movedBy says how a move came about: "check −12.4%", "accept +5.2% (ann): why".
func movedBy(m ratchet.Move) string {
	text := string(m.By)
	if m.Change != nil {
		text += " " + unit.Percent(m.Change.Median)
	}
	if m.Who != "" {
		text += " (" + m.Who + ")"
	}
	if m.Reason != "" {
		text += ": " + m.Reason
	}
	return strings.Map(func(r rune) rune { // others may have written it
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
