// Package explain answers why a kernel takes the time it takes, from files that profilers and
// disassemblers wrote: what they say, findings by their promise, and how two versions differ. The
// answer is data for programs, a view for people, and a picture.
package explain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"pawl/internal/advice"
	"pawl/internal/diag"
	"pawl/internal/profile"
	"pawl/internal/spec"
)

// Schema is the version of the answer's JSON form.
const Schema = 1

// Options say what is wanted of the files.
type Options struct {
	Tool   string     // pawl's version
	Kernel string     // a glob over names of kernels, without their arguments; "": all
	SASS   string     // a file with machine code of the kernels; of a diff: of the version before
	After  string     // the same of the version after
	Spec   *spec.Spec // whose findings are judged by beside pawl's own; nil: none
}

// Answer is what the files say.
type Answer struct {
	Schema  int      `json:"schema"`
	Kind    string   `json:"kind"` // profile, or diff
	Tool    string   `json:"tool"`
	Files   []string `json:"files"`
	Device  string   `json:"device,omitempty"`
	Kernels []Kernel `json:"kernels,omitempty"`
	Diffs   []Diff   `json:"diffs,omitempty"`
	Left    []string `json:"left,omitempty"` // kernels that only one of two files has
	Own     *Own     `json:"own,omitempty"`  // the user's findings that were judged by
}

// Own are findings of the user.
type Own struct {
	File     string   `json:"file"`
	Findings []string `json:"findings"` // their ids
}

// Kernel is one kernel at one size, whatever number of times it was profiled.
type Kernel struct {
	Name    string             `json:"name"`
	Profile *profile.Profile   `json:"profile"` // medians over its launches
	Mix     *profile.Mix       `json:"code,omitempty"`
	Advice  *advice.Advice     `json:"advice"`
	repeats []*profile.Profile //
}

// Diff is a kernel in two versions.
type Diff struct {
	Name   string        `json:"name"`
	Cause  *advice.Cause `json:"cause"`
	before Kernel
	after  Kernel
}

// File reads one file.
func File(ctx context.Context, file string, opts Options) (*Answer, error) {
	catalogue, own, err := opts.catalogue()
	if err != nil {
		return nil, err
	}
	a := &Answer{Schema: Schema, Kind: "profile", Tool: opts.Tool, Files: []string{file}, Own: own}
	kernels, err := read(ctx, file, opts.SASS, opts)
	if err != nil {
		return nil, err
	}
	for _, k := range kernels {
		k.Advice = catalogue.Judge(advice.Gather(advice.Evidence{Profile: k.Profile, Mix: k.Mix}))
		a.Kernels = append(a.Kernels, k)
	}
	a.Device = kernels[0].Profile.Device
	return a, nil
}

// Compare reads two files, of the version before and the version after.
func Compare(ctx context.Context, before, after string, opts Options) (*Answer, error) {
	catalogue, own, err := opts.catalogue()
	if err != nil {
		return nil, err
	}
	a := &Answer{Schema: Schema, Kind: "diff", Tool: opts.Tool, Files: []string{before, after}, Own: own}
	x, err := read(ctx, before, opts.SASS, opts)
	if err != nil {
		return nil, err
	}
	y, err := read(ctx, after, opts.After, opts)
	if err != nil {
		return nil, err
	}
	if b, c := x[0].Profile, y[0].Profile; b.CC != c.CC || b.Device != c.Device && b.Device != "" && c.Device != "" {
		return nil, &diag.Problem{
			Message: fmt.Sprintf("the files are of different GPUs: %s and %s", device(b), device(c)),
			Hint:    "profile both versions on one GPU: counters of two kinds of GPU do not compare",
		}
	}
	a.Device = y[0].Profile.Device
	for _, pair := range pairs(x, y) {
		cause := catalogue.Explain(side(pair[0]), side(pair[1]), 0)
		a.Diffs = append(a.Diffs, Diff{pair[1].Name, cause, pair[0], pair[1]})
	}
	if len(a.Diffs) == 0 {
		return nil, &diag.Problem{
			Message: fmt.Sprintf("no kernel is in both %s and %s", before, after),
			Hint:    fmt.Sprintf("the first has %s, the second %s; --kernel picks one of each", few(x), few(y)),
		}
	}
	a.Left = left(x, y, a.Diffs)
	return a, nil
}

func device(p *profile.Profile) string {
	if p.Device != "" {
		return p.Device
	}
	return fmt.Sprintf("compute capability %d.%d", p.CC/10, p.CC%10)
}

func side(k Kernel) advice.Side {
	return advice.Side{Evidence: advice.Evidence{Mix: k.Mix}, Repeats: k.repeats}
}

// catalogue returns what is judged by, and what of it is the user's.
func (o Options) catalogue() (*advice.Catalogue, *Own, error) {
	catalogue, err := advice.Of(o.Spec)
	if err != nil || o.Spec == nil || len(o.Spec.Findings) == 0 {
		return catalogue, nil, err
	}
	own := &Own{File: o.Spec.File}
	for _, f := range o.Spec.Findings {
		own.Findings = append(own.Findings, f.ID)
	}
	return catalogue, own, nil
}

// read reads the kernels of a file.
func read(ctx context.Context, file, code string, opts Options) ([]Kernel, error) {
	raw, err := load(ctx, file)
	if err != nil {
		return nil, err
	}
	f, err := profile.Read(file, raw)
	if err != nil {
		return nil, err
	}
	var functions []*profile.Function
	if code != "" {
		text, err := open(code)
		if err != nil {
			return nil, err
		}
		if functions, err = profile.ReadSASS(code, string(text)); err != nil {
			return nil, err
		}
	}
	var kernels []Kernel
	index := map[string]int{}
	var names []string
	for _, l := range f.Launches {
		p := profile.Of(l)
		p.Place = fmt.Sprintf("%s:%d", file, l.Line)
		name := base(p.Kernel)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		if opts.Kernel != "" {
			if match, err := path.Match(opts.Kernel, name); err != nil || !match {
				continue
			}
		}
		// The same kernel at the same size with other shared memory is another launch.
		key := p.Name() + "\x00" + fmt.Sprint(p.Metrics[profile.SharedDynamic].Number)
		at, known := index[key]
		if !known {
			at = len(kernels)
			index[key] = at
			kernels = append(kernels, Kernel{Name: name, Mix: mix(functions, name)})
		}
		kernels[at].repeats = append(kernels[at].repeats, p)
	}
	if len(kernels) == 0 {
		return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: fmt.Sprintf("no kernel is called %s", opts.Kernel), Hint: diag.Meant(opts.Kernel, names)}
	}
	for i := range kernels {
		k := &kernels[i]
		k.Profile = profile.Mean(k.repeats)
		k.Profile.Complete()
	}
	return kernels, nil
}

func open(file string) ([]byte, error) {
	raw, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &diag.Problem{Message: fmt.Sprintf("%s: no such file", file), Hint: "name a CSV file that ncu wrote (ncu --csv --page raw), or its .ncu-rep"}
	case err != nil:
		return nil, fmt.Errorf("read a profile: %w", err)
	}
	return raw, nil
}

// base returns the name of a kernel without its arguments and its result: what --kernel and tables have.
func base(kernel string) string {
	plain := outside(kernel)
	end := strings.IndexByte(plain, '(')
	if end < 0 {
		return kernel
	}
	return kernel[strings.LastIndexByte(plain[:end], ' ')+1 : end]
}

// outside hides what stands between angle brackets, and the name of what has none, byte by byte.
func outside(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)", "_anonymous_namespace_")
	hidden, depth := []byte(name), 0
	for i, b := range hidden {
		switch {
		case b == '<':
			depth++
		case b == '>':
			depth--
		case depth > 0:
			hidden[i] = '_'
		}
	}
	return string(hidden)
}

// mix finds the machine code of a kernel by its name.
func mix(functions []*profile.Function, name string) *profile.Mix {
	for _, f := range functions {
		if f.Name == name || base(demangle.Filter(f.Name)) == name {
			return f.Mix()
		}
	}
	return nil
}

// pairs matches the kernels of two files: by name and size, then by name, and the only two in any case.
func pairs(x, y []Kernel) (found [][2]Kernel) {
	if len(x) == 1 && len(y) == 1 {
		return [][2]Kernel{{x[0], y[0]}}
	}
	taken := map[int]bool{}
	for _, same := range []func(a, b Kernel) bool{
		func(a, b Kernel) bool { return a.Name == b.Name && a.Profile.Name() == b.Profile.Name() },
		func(a, b Kernel) bool { return a.Name == b.Name },
	} {
		for _, b := range y {
			if slices.ContainsFunc(found, func(p [2]Kernel) bool { return p[1].Profile == b.Profile }) {
				continue
			}
			for i, a := range x {
				if !taken[i] && same(a, b) {
					taken[i] = true
					found = append(found, [2]Kernel{a, b})
					break
				}
			}
		}
	}
	return found
}

func left(x, y []Kernel, diffs []Diff) (names []string) {
	for _, k := range slices.Concat(x, y) {
		if !slices.ContainsFunc(diffs, func(d Diff) bool { return d.before.Profile == k.Profile || d.after.Profile == k.Profile }) {
			names = append(names, k.Profile.Name())
		}
	}
	return names
}

func few(kernels []Kernel) string {
	var names []string
	for _, k := range kernels {
		if !slices.Contains(names, k.Name) {
			names = append(names, k.Name)
		}
	}
	if len(names) > 4 {
		return strings.Join(names[:4], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}
