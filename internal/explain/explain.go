// Package explain answers why a kernel takes the time it takes: findings by their promise, and how two
// versions differ. Its evidence is files that profilers and disassemblers wrote, or what a lab shows of
// the kernels of a run: a profile by Nsight Compute, the compiled code, counters of the processor, time
// and declared work. The answer is part of a Report, and feeds no verdict.
package explain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"

	"pawl/internal/advice"
	"pawl/internal/diag"
	"pawl/internal/profile"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/unit"
)

// Options say what is wanted of the files.
type Options struct {
	Tool    result.Tool
	Command []string
	Kernel  string     // a glob over names of kernels, without their arguments; "": all
	SASS    string     // a file with machine code of the kernels; of a diff: of the version before
	After   string     // the same of the version after
	Spec    *spec.Spec // whose findings are judged by beside pawl's own; nil: none
}

// kernel is one kernel at one size, whatever number of times it was profiled.
type kernel struct {
	name    string
	profile *profile.Profile // medians over its launches
	mix     *profile.Mix
	repeats []*profile.Profile
	gpu     string // that it ran on, where the file has several kinds; else ""
}

func (k kernel) label() string {
	if k.gpu != "" {
		return label(k.name, k.profile) + " on " + k.gpu
	}
	return label(k.name, k.profile)
}

// evidence is what the files say of a kernel.
func (k kernel) evidence() advice.Evidence { return advice.Evidence{Profile: k.profile, Mix: k.mix} }

// File reads one file. Its report has a row for each kernel.
func File(ctx context.Context, file string, opts Options) (*result.Report, error) {
	report, catalogue, err := opts.begin(file)
	if err != nil {
		return nil, err
	}
	kernels, err := read(ctx, file, opts.SASS, opts)
	if err != nil {
		return nil, err
	}
	for _, k := range kernels {
		why := &result.Why{Kernel: k.name, Versions: []result.ExplainedSide{judged(catalogue, "", k)}}
		report.Rows = append(report.Rows, &result.Row{Kernel: k.name, Cell: "cuda", Why: []*result.Why{why}})
	}
	finish(ctx, report)
	return report, nil
}

// Compare reads two files, of the version before and the version after. Its report has a row for each
// kernel that is in both.
func Compare(ctx context.Context, before, after string, opts Options) (*result.Report, error) {
	report, catalogue, err := opts.begin(before, after)
	if err != nil {
		return nil, err
	}
	x, err := read(ctx, before, opts.SASS, opts)
	if err != nil {
		return nil, err
	}
	y, err := read(ctx, after, opts.After, opts)
	if err != nil {
		return nil, err
	}
	b := x[0].profile
	for _, k := range slices.Concat(x, y) {
		if c := k.profile; otherGPU(b, c) {
			return nil, &diag.Problem{
				Message: fmt.Sprintf("the files are of different GPUs: %s and %s", device(b), device(c)),
				Hint:    "profile both versions on one GPU: counters of two kinds of GPU do not compare",
			}
		}
	}
	found := pairs(x, y)
	if len(found) == 0 {
		return nil, &diag.Problem{
			Message: fmt.Sprintf("no kernel is in both %s and %s", before, after),
			Hint:    fmt.Sprintf("the first has %s, the second %s; --kernel picks one of each", few(x), few(y)),
		}
	}
	for _, pair := range found {
		cause := catalogue.Explain(side(pair[0]), side(pair[1]), 0)
		why := differ(pair[1].name, cause)
		why.Versions = []result.ExplainedSide{judged(catalogue, "before", pair[0]), judged(catalogue, "after", pair[1])}
		report.Rows = append(report.Rows, &result.Row{Kernel: pair[1].name, Cell: "cuda", Why: []*result.Why{why}})
	}
	if alone := left(x, y, found); len(alone) > 0 {
		report.Warnings = append(report.Warnings, result.Warning{Code: "unpaired", Message: "only in one of the files: " + unit.Few(alone, 4)})
	}
	finish(ctx, report)
	return report, nil
}

// begin begins the report about files, and returns the catalogue that they are judged by.
func (o Options) begin(files ...string) (*result.Report, *advice.Catalogue, error) {
	report := &result.Report{Schema: result.Schema, Kind: result.KindProfile, Tool: o.Tool, Command: o.Command, Started: time.Now().UTC()}
	for _, file := range files {
		report.Inputs = append(report.Inputs, result.Input{File: file, Format: "ncu"})
	}
	catalogue, err := advice.Of(o.Spec)
	if err == nil && o.Spec != nil {
		report.Spec = result.SpecRef{File: o.Spec.File, SHA256: o.Spec.SHA256}
		report.OwnFindings = Own(o.Spec)
	}
	return report, catalogue, err
}

// Own returns the ids of a project's own findings.
func Own(s *spec.Spec) (ids []string) {
	for _, f := range s.Findings {
		ids = append(ids, f.ID)
	}
	return ids
}

// judged returns a version with what the catalogue says of it.
func judged(catalogue *advice.Catalogue, version string, k kernel) result.ExplainedSide {
	facts := advice.Gather(k.evidence())
	return explained(version, k.label(), k.profile, facts, catalogue.Judge(facts))
}

// otherGPU reports whether two profiles are of different kinds of GPU, as far as they say.
func otherGPU(a, b *profile.Profile) bool {
	return a.CC != b.CC || a.Device != b.Device && a.Device != "" && b.Device != ""
}

func device(p *profile.Profile) string {
	if p.Device != "" {
		return p.Device
	}
	return fmt.Sprintf("compute capability %d.%d", p.CC/10, p.CC%10)
}

func side(k kernel) advice.Side {
	return advice.Side{Evidence: advice.Evidence{Mix: k.mix}, Repeats: k.repeats}
}

// read reads the kernels of a file.
func read(ctx context.Context, file, code string, opts Options) ([]kernel, error) {
	raw, err := load(ctx, file)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(raw, []byte("\x7fELF")) {
		return nil, &diag.Problem{Pos: diag.Pos{File: file}, Message: "this is compiled code", Hint: "list its instructions: nvdisasm -c " + file + " > " + file + ".sass"}
	}
	if listed, err := profile.ReadSASS(file, string(raw)); err == nil {
		return alone(file, listed, opts)
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
	var kernels []kernel
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
		// The same kernel at the same size with other shared memory, or on another kind of GPU, is another
		// launch.
		key := p.Name() + "\x00" + fmt.Sprint(p.Metrics[profile.SharedDynamic].Number, p.CC, p.Device)
		at, known := index[key]
		if !known {
			at = len(kernels)
			index[key] = at
			kernels = append(kernels, kernel{name: name, mix: mix(functions, name)})
		}
		kernels[at].repeats = append(kernels[at].repeats, p)
	}
	if len(kernels) == 0 {
		return nil, noKernel(file, opts.Kernel, names)
	}
	for i := range kernels {
		k := &kernels[i]
		k.profile = profile.Mean(k.repeats)
		k.profile.Complete()
	}
	if slices.ContainsFunc(kernels, func(k kernel) bool { return otherGPU(k.profile, kernels[0].profile) }) {
		for i := range kernels {
			kernels[i].gpu = device(kernels[i].profile)
		}
	}
	return kernels, nil
}

// alone returns the kernels of a listing, of which nothing but the instructions is known.
func alone(file string, listed []*profile.Function, opts Options) (kernels []kernel, err error) {
	var all []string
	for _, f := range listed {
		name := plain(f.Name)
		all = append(all, name)
		if match, err := path.Match(opts.Kernel, name); opts.Kernel == "" || err == nil && match {
			kernels = append(kernels, kernel{name: name, mix: f.Mix(), profile: &profile.Profile{Kernel: name, Metrics: map[profile.Metric]profile.Value{}}})
		}
	}
	if len(kernels) == 0 {
		return nil, noKernel(file, opts.Kernel, all)
	}
	return kernels, nil
}

func noKernel(file, wanted string, names []string) error {
	return &diag.Problem{Pos: diag.Pos{File: file}, Message: fmt.Sprintf("no kernel is called %s", wanted), Hint: diag.Meant(wanted, names)}
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
func pairs(x, y []kernel) (found [][2]kernel) {
	if len(x) == 1 && len(y) == 1 {
		return [][2]kernel{{x[0], y[0]}}
	}
	taken := map[int]bool{}
	for _, same := range []func(a, b kernel) bool{
		func(a, b kernel) bool { return a.name == b.name && a.profile.Name() == b.profile.Name() },
		func(a, b kernel) bool { return a.name == b.name },
	} {
		for _, b := range y {
			if slices.ContainsFunc(found, func(p [2]kernel) bool { return p[1].profile == b.profile }) {
				continue
			}
			for i, a := range x {
				if !taken[i] && same(a, b) {
					taken[i] = true
					found = append(found, [2]kernel{a, b})
					break
				}
			}
		}
	}
	return found
}

// left returns the kernels that have no partner.
func left(x, y []kernel, found [][2]kernel) (alone []string) {
	for _, k := range slices.Concat(x, y) {
		if !slices.ContainsFunc(found, func(p [2]kernel) bool { return p[0].profile == k.profile || p[1].profile == k.profile }) {
			alone = append(alone, k.profile.Name())
		}
	}
	return alone
}

func few(kernels []kernel) string {
	all := names(kernels)
	if len(all) > 4 {
		return strings.Join(all[:4], ", ") + " and others"
	}
	return strings.Join(all, ", ")
}

// finish completes a report about files. Reading them costs nothing worth a line.
func finish(ctx context.Context, report *result.Report) {
	run.Finish(ctx, report)
	report.Cost = nil
}
