package compare

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/foreign"
	"pawl/internal/judge"
	"pawl/internal/machine"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/unit"
)

// class returns the device class of a file's results, "" where it does not name one.
func class(r *result.Report) string {
	switch {
	case r.DeviceClass != "":
		return r.DeviceClass
	case r.Machine.GPU != nil:
		return machine.Slug(r.Machine.GPU.Name)
	case r.Machine.CPU.Model != "":
		return machine.Class(r.Machine)
	}
	return ""
}

// difference lists how the machines and tools of two files differ.
type difference struct {
	class bool // another device: their times cannot be compared
	texts []string
}

func differences(before, after *result.Report) difference {
	var d difference
	// A missing value is no contradiction.
	add := func(what, was, is string) bool {
		if was == "" || is == "" || was == is {
			return false
		}
		if text := fmt.Sprintf("%s %s → %s", what, was, is); !slices.Contains(d.texts, text) {
			d.texts = append(d.texts, text)
		}
		return true
	}
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return unit.Count(n)
	}
	a, b := before.Machine, after.Machine
	d.class = add("device", class(before), class(after))
	add("CPU", a.CPU.Model, b.CPU.Model)
	add("cores", count(a.CPU.Cores), count(b.CPU.Cores))
	add("governor", a.CPU.Governor, b.CPU.Governor)
	add("system", strings.ToLower(a.OS), strings.ToLower(b.OS))
	add("Linux", a.Kernel, b.Kernel)
	if a.GPU != nil && b.GPU != nil {
		add("driver", a.GPU.Driver, b.GPU.Driver)
		add("power limit (W)", count(int(a.GPU.PowerLimitW)), count(int(b.GPU.PowerLimitW)))
		if a.GPU.Name == b.GPU.Name {
			add("GPU", a.GPU.UUID, b.GPU.UUID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Compilers)) {
		add(name, a.Compilers[name], b.Compilers[name])
	}
	add("cache", before.Method.Cache, after.Method.Cache)
	for _, p := range match(before.Rows, after.Rows, false) {
		if p.before != nil && p.after != nil {
			add("flush", p.before.Flush, p.after.Flush)
		}
	}
	return d
}

// warnings returns the doubts about the whole comparison.
func (c *comparison) warnings(rows []*result.Row) []result.Warning {
	var out []result.Warning
	if len(c.differ.texts) > 0 {
		w := result.Warning{Code: "machine", Message: "not measured under the same conditions: " + strings.Join(c.differ.texts, "; ")}
		if c.differ.class && !c.opts.Force {
			w.Hint = "measure both on one device, or force a verdict with --force"
		}
		out = append(out, w)
	}
	for _, f := range []*foreign.File{c.before, c.after} {
		if f.Format == foreign.Pawl {
			continue // reported when it was measured
		}
		for _, w := range f.Report.Warnings {
			w.File, w.Message = f.Path, f.Path+": "+w.Message
			out = append(out, w)
		}
	}
	if !c.opts.Paired && slices.ContainsFunc(rows, differs) {
		out = append(out, result.Warning{
			Code:    "apart",
			Message: "measured at different times: the difference includes what the machine did in between",
			Hint:    "pawl check measures in turns; use --paired for lists that were measured in turns",
		})
	}
	return out
}

// differs reports whether a row's times differ by more than the gate, whatever that shows.
func differs(r *result.Row) bool {
	return judge.Confirm(r.Verdict) || slices.Contains(r.Reasons, result.SameCode) || slices.Contains(r.Reasons, result.TooCoarse)
}

// labelled returns the warnings of a file's row, with the file's name: its last part, or two where
// both files have the same.
func (c *comparison) labelled(path string, warnings []result.Warning) []result.Warning {
	file := filepath.Base(path)
	if file == filepath.Base(c.before.Path) && file == filepath.Base(c.after.Path) { // the reports of two runs
		file = filepath.Join(filepath.Base(filepath.Dir(path)), file)
	}
	out := slices.Clone(warnings)
	for i := range out {
		out[i].File, out[i].Message = file, file+": "+out[i].Message
	}
	return out
}

// doubts returns the warnings of a row: those of both files, and those that only the comparison
// shows.
func (c *comparison) doubts(was, is *result.Row) []result.Warning {
	var out []result.Warning
	for _, side := range []struct {
		file string
		row  *result.Row
	}{{c.before.Path, was}, {c.after.Path, is}} {
		own := side.row.Warnings
		known := slices.ContainsFunc(own, func(w result.Warning) bool { return w.Code == "cv" })
		if cv := side.row.Timing.Stats.CV; cv > c.opts.Gate.CV && !known {
			message, hint := measure.Variation(side.row.Timing.Stats, side.row.Timing.Samples.Kept(), c.opts.Gate.CV)
			own = append(slices.Clip(own), result.Warning{Code: "cv", Message: message, Hint: cmp.Or(hint, "a quieter machine")})
		}
		out = append(out, c.labelled(side.file, own)...)
		side.row.Warnings = nil
	}
	switch {
	case slices.Contains(is.Reasons, result.SameCode):
		out = append(out, result.Warning{Code: "identity", Message: "the code is the same in both files: its times differ because the machine did other things", Hint: "pawl check would not measure it"})
	case sameCode(was, is) && judge.Confirm(is.Verdict):
		out = append(out, result.Warning{Code: "identity", Message: "the code is the same in both files: what differs is how it was built or measured"})
	}
	if changed := changes(was.Params, is.Params); changed != "" {
		out = append(out, result.Warning{Code: "params", Message: "other params: " + changed})
	}
	return out
}

// sameCode reports whether two rows have the same identity, whichever version of pawl computed it.
func sameCode(a, b *result.Row) bool { return a.Is(b.Identity) || b.Is(a.Identity) }

// alike reports whether two rows have the same code, from the same compiler, measured under the same conditions. Where their
// times differ all the same, the machine did other work: that is no regression. The compiler, or the framework of a Python
// function, is asked for by itself, because an identity does not have the framework's version.
func (c *comparison) alike(was, is *result.Row) bool {
	return sameCode(was, is) && len(c.differ.texts) == 0 && !c.differ.class && maker(was) == maker(is)
}

func maker(r *result.Row) string {
	if r.Build == nil {
		return ""
	}
	return r.Build.Compiler
}

// changes lists the params that differ, with those that were added or removed.
func changes(was, is map[string]string) string {
	if was == nil || is == nil || maps.Equal(was, is) {
		return ""
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if was[name] != is[name] {
			out = append(out, fmt.Sprintf("%s %s → %s", name, cmp.Or(was[name], "none"), cmp.Or(is[name], "none")))
		}
	}
	return strings.Join(out, ", ")
}
