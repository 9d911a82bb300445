package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/lab"
	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/term"
)

// runOptions are the options of all commands that run a project's kernels.
type runOptions struct {
	project projectOptions
	output  outputOptions
	sandbox sandboxOptions
	seed    uint64
	pool    string
	flags   *pflag.FlagSet // all of the command's
}

func (o *runOptions) AddFlags(f *pflag.FlagSet) {
	o.flags = f
	o.project.AddFlags(f)
	o.output.AddFlags(f)
	o.sandbox.AddFlags(f)
}

// prepare makes a run of the project, as far as its rules allow, and sets where its kernels run.
func (o *runOptions) prepare(e *env, kind result.Kind, patterns []string, seed *uint64, where *lab.Options) (*run.Run, *follower, error) {
	live := newFollower(e)
	r, err := o.project.prepare(kind, e.request(patterns, seed, live))
	if err != nil {
		return nil, nil, err
	}
	if where.Sandbox, err = o.sandbox.mode(); err != nil {
		return nil, nil, err
	}
	pool, err := namedPool(r.Spec, o.pool)
	if err != nil {
		return nil, nil, err
	}
	where.Worker, where.Workers = pool.Launch, pool.Workers
	where.Pool = lab.Pool{Name: pool.Name, Cleanup: pool.Cleanup}
	o.ignored(e, r)
	return r, live, nil
}

// gpuFlags do something where a kernel runs on a GPU.
var gpuFlags = []string{"device", "lock-clocks", "sanitize", "full", "clock", "replay", "repeats"}

// ignored says which of the given flags do nothing in a run.
func (o *runOptions) ignored(e *env, r *run.Run) {
	if slices.ContainsFunc(r.Selections, func(s spec.Selection) bool { return s.Kernel.Cell != spec.CellHost && s.Kernel.Framework != "numpy" }) {
		return
	}
	for _, name := range gpuFlags {
		if f := o.flags.Lookup(name); f != nil && f.Changed {
			text := "--" + name
			if f.Value.Type() != "bool" {
				text += " " + f.Value.String()
			}
			e.warn("%s is ignored: none of these kernels runs on a GPU", text)
		}
	}
}

// namedPool returns the pool of a name; an empty one for this machine.
func namedPool(s *spec.Spec, name string) (*spec.Pool, error) {
	if name == "" {
		return &spec.Pool{}, nil
	}
	var names []string
	for _, pool := range s.Pools {
		if pool.Name == name {
			return pool, nil
		}
		names = append(names, pool.Name)
	}
	if len(names) == 0 {
		return nil, usage("--pool %s: %s has no pools", name, s.File)
	}
	return nil, usage("--pool %s: no such pool (%s)", name, diag.Meant(name, names))
}

// sandboxOptions say how candidate code is sandboxed.
type sandboxOptions struct{ require, off bool }

func (o *sandboxOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.require, "require-sandbox", false, "refuse to run where the Linux kernel does not support the full sandbox")
	f.BoolVar(&o.off, "no-sandbox", false, "compile and run candidate code unconfined; only for code you trust")
}

func (o *sandboxOptions) mode() (string, error) {
	switch {
	case o.require && o.off:
		return "", usage("--require-sandbox and --no-sandbox exclude each other")
	case o.require:
		return "require", nil
	case o.off:
		return "off", nil
	}
	return "auto", nil
}

// projectOptions say where the spec is.
type projectOptions struct{ file string }

func (o *projectOptions) AddFlags(f *pflag.FlagSet) { addFileFlag(f, &o.file) }

func addFileFlag(f *pflag.FlagSet, file *string) {
	f.StringVarP(file, "file", "f", "", "the spec (default: pawl.yaml here or in a folder above)")
}

// specFile returns the named spec, or the one of this folder or of one above.
func specFile(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	return spec.Find(".")
}

func (o *projectOptions) load() (*spec.Spec, error) {
	file := o.file
	if file == "" {
		var err error
		if file, err = spec.Find("."); err != nil {
			return nil, err
		}
		file = relative(file)
	}
	switch info, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: no such file", file), Hint: "without -f it is pawl.yaml, here or in a folder above; pawl init drafts one"}
	case err == nil && info.IsDir():
		return nil, &diag.Problem{Message: fmt.Sprintf("-f %s: this is a folder", file), Hint: "name the file in it: -f " + filepath.Join(file, spec.FileName)}
	}
	return spec.Load(file)
}

// prepare makes a run of the project, as far as its rules allow.
func (o *projectOptions) prepare(kind result.Kind, q run.Request) (_ *run.Run, err error) {
	if q.Spec, err = o.load(); err != nil {
		return nil, err
	}
	return run.Prepare(kind, q)
}

// request returns the request that every command makes for a run.
func (e *env) request(patterns []string, seed *uint64, live *follower) run.Request {
	return run.Request{
		Tool: e.tool(), Command: e.command(), Started: e.started, Patterns: patterns, Seed: seed, Follow: live.follow, Database: e.database,
	}
}

// given returns the seed of a flag whose 0 means none.
func given(seed uint64) *uint64 {
	if seed == 0 {
		return nil
	}
	return &seed
}

// outputOptions say where the report goes besides the run folder.
type outputOptions struct {
	json    bool
	verbose bool
	brief   bool // the rows alone; no flag
	files   []string

	pictures bool // a report may be written as a picture, too
	dark     bool // on dark ground
}

// endings are those of the files that a report may be written to.
func (o *outputOptions) endings() []string {
	if o.pictures {
		return slices.Concat(report.Endings, report.Pictures)
	}
	return report.Endings
}

func (o *outputOptions) AddFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show all doubts and details, not only the result")
	f.StringArrayVarP(&o.files, "output", "o", nil, "also write the report to this file: "+strings.Join(o.endings(), " ")+"; or to a folder, all that the run keeps: FOLDER/ (may be repeated)")
}

// named returns the files that were asked for: -o "$REPORT" asks for none where the variable is not
// set.
func (o *outputOptions) named() []string {
	return slices.DeleteFunc(slices.Clone(o.files), func(file string) bool { return file == "" })
}

func (o *outputOptions) check() error {
	for _, file := range o.named() {
		if isFolder(file) {
			if err := os.MkdirAll(file, 0o755); err != nil {
				return usage("-o %s: %w", file, err)
			}
			continue
		}
		if ending := report.Ending(file); !slices.Contains(o.endings(), ending) {
			return usage("-o %s: %q is not a report format (%s)", file, ending, diag.Meant(ending, o.endings()))
		}
		if err := writable(filepath.Dir(file), file); err != nil {
			return err
		}
	}
	return nil
}

// isFolder reports whether all that a run has written is to be put into a folder, and not a report into
// a file.
func isFolder(name string) bool { return strings.HasSuffix(name, "/") }

// writable refuses a file in a missing folder, before anything is measured for it.
func writable(folder, file string) error {
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return &diag.Problem{Message: fmt.Sprintf("-o %s: there is no folder %s", file, folder), Hint: "mkdir -p " + folder + " makes it"}
	case err != nil:
		return usage("-o %s: %w", file, err)
	case !info.IsDir():
		return usage("-o %s: %s is not a folder", file, folder)
	}
	return nil
}

// deliver saves the report, shows it and turns it into the command's outcome.
// A report that cannot be saved is still shown.
func (o *outputOptions) deliver(e *env, r *run.Run, made *result.Report) error {
	saved, saveErr := r.Save(made)
	path := saved.Path
	if made.Kind != result.KindBench && saveErr == nil {
		path, saveErr = savePages(path, made, false)
	}
	if err := o.print(e, made, relative(path)); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if saveErr != nil {
		e.warn("%v", saveErr)
	}
	e.explain(saved.Unrecorded)
	return gravest(e, outcomeOf(made), o.write(made, r.Dir)...)
}

// print shows the report on stdout, for people or for programs. path is the saved report's, if it
// was saved.
func (o *outputOptions) print(e *env, made *result.Report, path string) error {
	if !o.json {
		e.told = term.IsTerminal(e.stdout)
		return report.Text(e.stdout, made, report.TextOptions{Style: e.style(), Path: path, Verbose: o.verbose, Brief: o.brief})
	}
	raw, err := made.Encode()
	if err == nil {
		_, err = e.stdout.Write(raw)
	}
	return err
}

// write writes the report to all requested files, even if one of them fails. kept is the folder that has
// the profiles of the run; "": the report is not of a run of this process.
func (o *outputOptions) write(made *result.Report, kept string) []error {
	var problems []error
	for _, file := range o.named() {
		if isFolder(file) {
			problems = append(problems, putAll(file, made, kept, o.dark)...)
		} else if err := writeReport(file, made, o.dark); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// putAll puts the report in all forms, its pictures and the run's profiles into a folder.
func putAll(folder string, made *result.Report, kept string, dark bool) (problems []error) {
	clearOf(folder)
	path := filepath.Join(folder, "report.json")
	if err := report.WriteFile(path, made); err != nil {
		return []error{err}
	}
	if _, err := savePages(path, made, dark); err != nil {
		problems = append(problems, err)
	}
	for _, name := range report.Profiles(made) {
		if name = filepath.Base(name); kept == "" { // a report that somebody else has made names files of theirs
			break
		}
		raw, err := os.ReadFile(filepath.Join(kept, name))
		if err == nil {
			err = disk.Write(filepath.Join(folder, name), raw)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("-o %s: %w", folder, err))
		}
	}
	return problems
}

// clearOf removes the pictures and profiles of an earlier run from a folder, where they would be taken for
// those of this one.
func clearOf(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		for _, pattern := range []string{"why.svg", "why.png", "tune.svg", "tune.png", "suggestions.md", "profile-[0-9]*.csv", "profile-[0-9]*.ncu-rep"} {
			if is, _ := filepath.Match(pattern, entry.Name()); is {
				_ = os.Remove(filepath.Join(folder, entry.Name()))
			}
		}
	}
}

// writeReport writes a report to a file; a picture on dark ground, if it is wanted so.
func writeReport(file string, made *result.Report, dark bool) error {
	if !dark || !slices.Contains(report.Pictures, report.Ending(file)) {
		return report.WriteFile(file, made)
	}
	data, err := report.Picture(made, report.Ending(file), true)
	if err != nil {
		return err
	}
	return disk.Write(file, data)
}

// savePages writes a report for people beside the one for programs, and returns the page's path.
func savePages(path string, made *result.Report, dark bool) (string, error) {
	folder := filepath.Dir(path)
	names := []string{"report.md", "report.html"}
	switch {
	case made.Kind == result.KindTune:
		names[0] = "suggestions.md"
		if report.Searched(made) {
			names = append(names, "tune.svg", "tune.png")
		}
	case report.Explained(made):
		names = append(names, "why.svg", "why.png")
	}
	for _, name := range names {
		if err := writeReport(filepath.Join(folder, name), made, dark); err != nil {
			return path, err
		}
	}
	return filepath.Join(folder, "report.html"), nil
}
