package draft

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/csource"
	"pawl/internal/pattern"
	"pawl/internal/spec"
)

// config writes the config: its name, its variables, and whether they are guessed.
func (d *draft) config() string {
	parts := make([]string, len(d.plan.sizes))
	name, note := "main", "" // as the host code runs it
	for i, s := range d.plan.sizes {
		parts[i] = fmt.Sprintf("%s: %d", yamlText(s.name), s.value)
		if s.guessed {
			name, note = "small", " # TODO: choose sizes"
		}
	}
	return name + ": {" + strings.Join(parts, ", ") + "}" + note
}

// product returns the formula of the product of all variables.
func (d *draft) product() string {
	var names []string
	for _, s := range d.plan.sizes {
		names = append(names, s.name)
	}
	if len(names) == 0 {
		return "1"
	}
	return strings.Join(names, " * ")
}

// dimensions lists the dimensions of a buffer, without that of vector types.
func (d *draft) dimensions(i int) []string {
	count, row := d.plan.args[i].count, d.plan.args[i].row
	n, constant := count.constant()
	switch {
	case count != nil && constant && row > 1 && n%row == 0 && n > row:
		return []string{fmt.Sprint(n / row), fmt.Sprint(row)}
	case count == nil && len(d.plan.sizes) <= 7:
		return strings.Split(d.product(), " * ")
	case count == nil:
		return []string{d.product()}
	case len(count) == 1 && count[0].factor == 1 && len(count[0].names) <= 7 && len(count[0].names) > 0:
		return count[0].names
	case len(count) == 1 && len(count[0].names) > 0 && len(count[0].names) < 7:
		return append([]string{fmt.Sprint(count[0].factor)}, count[0].names...)
	}
	return []string{count.String()}
}

// shape writes the dimensions of a buffer.
func (d *draft) shape(i int) string {
	var dimensions []string
	for _, name := range d.dimensions(i) {
		dimensions = append(dimensions, yamlText(name))
	}
	if width := d.Params[i].Width; width > 1 {
		dimensions = append(dimensions, fmt.Sprint(width))
	}
	return "[" + strings.Join(dimensions, ", ") + "]"
}

// writeMacros writes macros as params with one value.
func writeMacros(b *strings.Builder, macros []Macro) {
	for _, m := range macros {
		fmt.Fprintf(b, "      %s: [%s]", yamlText(m.Name), m.Value)
		if m.Others != "" {
			fmt.Fprintf(b, " # the host code tries %s, too", m.Others)
		}
		if m.Guessed {
			b.WriteString(" # TODO: nothing defines this macro; choose its value")
		}
		b.WriteString("\n")
	}
}

func (d *draft) write(b *strings.Builder, own bool) {
	cuda := spec.CellOf(d.Source) == spec.CellCUDA
	where := "in a header of the source"
	if d.Line > 0 {
		where = fmt.Sprintf("line %d of the source", d.Line)
	}
	fmt.Fprintf(b, "  %s: # %s\n", yamlText(d.kernel), where)
	fmt.Fprintf(b, "    source: %s\n", yamlText(d.Source))
	d.writeEntry(b)
	macros := slices.DeleteFunc(slices.Concat(d.Macros, d.plan.params), func(m Macro) bool { return d.described.has(m.Name) })
	switch {
	case d.described != nil:
		d.described.write(b, macros)
	case len(macros) > 0:
		b.WriteString("    params: # macros; list more values to try them, the first is the default\n")
		writeMacros(b, macros)
	}
	if cuda {
		d.writeLaunch(b)
	}
	b.WriteString("    args: # in the order of the function's parameters\n")
	for i := range d.Params {
		d.writeArg(b, i, cuda)
	}
	if cuda && d.addsAtomically() {
		b.WriteString("    deterministic: false # atomic additions come in any order\n")
	}
	if d.oracle != "" {
		fmt.Fprintf(b, "    oracle: %s\n", d.oracle)
	} else {
		b.WriteString("    # oracle: where right answers come from, for example {kernel: name}; without one, answers are compared with the base's\n")
	}
	d.writeWork(b)
	if own {
		fmt.Fprintf(b, "    configs: # the sizes to run at; add those you care about\n      %s\n", d.config())
	}
	b.WriteString("\n")
}

// addsAtomically reports whether the order of additions can change the result.
func (d *draft) addsAtomically() bool {
	for i, p := range d.Params {
		if a := d.plan.args[i]; a.role == spec.RoleInOut && p.DType.Float() && a.atomic {
			return true
		}
	}
	for i := range max(0, len(d.body)-2) {
		if d.body[i].Is("__shared__") && csource.Has(d.body[i+1:i+2], "float", "double") && atomically(d.body, d.body[i+2].Text) {
			return true
		}
	}
	return false
}

// writeLaunch writes grid, block and shared memory; dimensions of 1 at the end are left out.
func (d *draft) writeLaunch(b *strings.Builder) {
	l := d.plan.launch
	list := func(dims [3]sum) string {
		var parts []string
		for _, s := range dims {
			parts = append(parts, yamlText(s.String()))
		}
		for len(parts) > 1 && parts[len(parts)-1] == "1" {
			parts = parts[:len(parts)-1]
		}
		return strings.Join(parts, ", ")
	}
	fmt.Fprintf(b, "    launch: {grid: [%s], block: [%s]", list(l.grid), list(l.block))
	if len(l.shared) > 0 {
		fmt.Fprintf(b, ", shared: %s", yamlText(l.shared.String()))
	}
	if l.cooperative {
		b.WriteString(", cooperative: true")
	}
	b.WriteString("}")
	if d.plan.guess != "" {
		fmt.Fprintf(b, " # TODO: check the %s", d.plan.guess)
	}
	b.WriteString("\n")
}

func (d *draft) writeEntry(b *strings.Builder) {
	entry, note := d.Name, ""
	if d.Space != "" && spec.CellOf(d.Source) == spec.CellCUDA {
		entry = d.Space + "::" + d.Name
	}
	if d.template != nil {
		var values []string
		for _, a := range d.template {
			values = append(values, a.value)
		}
		entry += "<" + strings.Join(values, ", ") + ">"
		if d.templateGuessed {
			note = " # TODO: choose the template's arguments"
		}
	}
	if d.Static {
		note = " # TODO: drop static from the function, or it cannot be found by name"
	}
	if d.Mangled {
		note = ` # TODO: declare the function extern "C", or it cannot be found by name`
	}
	fmt.Fprintf(b, "    entry: %s%s\n", yamlText(entry), note)
}

func (d *draft) writeArg(b *strings.Builder, i int, cuda bool) {
	p, a := d.Params[i], d.plan.args[i]
	notes := slices.Clone(a.notes)
	kind := p.DType
	if !p.Pointer {
		if kind = p.scalarType(cuda); kind != p.DType && p.Width == 1 {
			notes = append(notes, fmt.Sprintf("a host cell cannot pass %s by value", p.DType))
		}
	}
	if !p.Known {
		notes = append(notes, fmt.Sprintf("check the dtype, %s is not known", commentText(p.Type)))
	}
	line := fmt.Sprintf("      - {name: %s, dtype: %s", yamlText(p.Name), kind)
	if p.Pointer {
		line += fmt.Sprintf(", shape: %s, role: %s", d.shape(i), a.role)
		if a.init != "" {
			line += ", init: " + a.init
		}
	} else {
		line += ", value: " + yamlText(a.value)
	}
	if p.Symbol {
		line += ", symbol: " + yamlText(p.Name)
	}
	line += "}"
	if len(notes) > 0 {
		line += " # TODO: " + strings.Join(notes, "; ")
	} else if a.usual {
		line += " # usual for this name; yours may differ"
	}
	b.WriteString(line + "\n")
}

// writeWork writes how many bytes a launch must move at least: all buffers but scratch, once. Where
// a buffer's size is guessed there is nothing to say.
func (d *draft) writeWork(b *strings.Builder) {
	var bytes sum
	for i, a := range d.plan.args {
		p := d.Params[i]
		if !p.Pointer || a.role == spec.RoleScratch {
			continue
		}
		if a.count == nil {
			return
		}
		times := int64(p.Width * p.DType.Size())
		if a.role == spec.RoleInOut {
			times *= 2
		}
		if a.moved == nil {
			a.moved = a.count
		}
		bytes = bytes.plus(a.moved, times)
	}
	flops := ""
	if d.oracle == "gemm" {
		var out, in int
		for i, a := range d.plan.args {
			switch a.role {
			case spec.RoleIn:
				in = i
			case spec.RoleOut, spec.RoleInOut:
				out = i
			}
		}
		m, inner := d.dimensions(out), d.dimensions(in)
		k := inner[0]
		if k == m[1] {
			k = inner[1]
		}
		flops = ", flops: " + yamlText("2 * "+strings.Join(m, " * ")+" * "+k)
	}
	fmt.Fprintf(b, "    work: {bytes: %s%s}\n", yamlText(bytes.String()), flops)
}

var (
	plainText    = pattern.New(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	numeric      = pattern.New(`^[0-9.]+$`)
	templateText = pattern.New(`[^A-Za-z0-9_:]`)
	yamlWords    = strings.Fields("null Null NULL true True TRUE false False FALSE")
)

// yamlText writes text so that YAML reads it back as the same text; numbers
// stay numbers.
func yamlText(text string) string {
	if plainText.MatchString(text) && !slices.Contains(yamlWords, text) || numeric.MatchString(text) {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b) // a JSON string is a YAML string
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	// JSON leaves two characters as they are that YAML does not allow.
	return strings.NewReplacer("\x7f", `\u007f`, "\ufeff", `\ufeff`).Replace(strings.TrimSpace(b.String()))
}

// commentText makes text safe and short enough for a comment.
func commentText(text string) string {
	r := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfeff || r == '�' {
			return '?'
		}
		return r
	}, text))
	return string(r[:min(len(r), 60)])
}
