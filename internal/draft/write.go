package draft

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/spec"
)

// config writes the variables as a mapping.
func (d *draft) config() string {
	parts := make([]string, len(d.vars))
	for i, name := range d.vars {
		parts[i] = fmt.Sprintf("%s: %d", yamlText(name), d.sizes[i])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// product returns the formula of the product of all variables.
func (d *draft) product() string { return strings.Join(d.vars, " * ") }

// shape writes the dimensions of a buffer of vectors of width elements.
func (d *draft) shape(width int) string {
	dimensions := slices.Clone(d.vars)
	if len(dimensions) > 7 {
		dimensions = []string{d.product()}
	}
	for i, name := range dimensions {
		dimensions[i] = yamlText(name)
	}
	if width > 1 {
		dimensions = append(dimensions, fmt.Sprint(width))
	}
	return "[" + strings.Join(dimensions, ", ") + "]"
}

func (d *draft) write(b *strings.Builder, own bool) {
	cuda := spec.CellOf(d.Source) == spec.CellCUDA
	fmt.Fprintf(b, "  %s: # line %d of the source\n", yamlText(d.kernel), d.Line)
	fmt.Fprintf(b, "    source: %s\n", yamlText(d.Source))
	d.writeEntry(b)
	if len(d.macros) > 0 {
		b.WriteString("    params: # macros; list more values to try them, the first is the default\n")
		for _, m := range d.macros {
			fmt.Fprintf(b, "      %s: [%s]\n", yamlText(m.Name), m.Value)
		}
	}
	if cuda {
		block := d.block()
		fmt.Fprintf(b, "    launch: {grid: [%s], block: [%s]} # TODO: check grid, block and shared memory\n",
			yamlText(fmt.Sprintf("ceildiv(%s, %s)", d.product(), block)), block)
	}
	b.WriteString("    args: # in the order of the function's parameters\n")
	for _, a := range d.args {
		d.writeArg(b, a, cuda)
	}
	d.writeWork(b)
	if own {
		fmt.Fprintf(b, "    configs: # the sizes to run at; add those you care about\n      small: %s # TODO: choose sizes\n", d.config())
	}
	b.WriteString("\n")
}

// block returns what __launch_bounds__ promises, a number or a macro, or 256.
func (d *draft) block() string {
	value := d.Bounds
	for _, m := range d.macros {
		if m.Name == d.Bounds {
			value = m.Value
		}
	}
	m := wholeValue.FindStringSubmatch(value)
	if m == nil {
		return "256"
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > spec.MaxBlockThreads {
		return "256"
	}
	if value == d.Bounds {
		return m[1]
	}
	return d.Bounds
}

func (d *draft) writeEntry(b *strings.Builder) {
	entry, note := d.Name, ""
	if d.Space != "" && spec.CellOf(d.Source) == spec.CellCUDA {
		entry = d.Space + "::" + d.Name
	}
	if d.Template != nil {
		var values []string
		for _, p := range d.Template {
			_, value, _ := strings.Cut(p, " ")
			values = append(values, value)
		}
		entry += "<" + strings.Join(values, ", ") + ">"
		note = " # TODO: choose the template's arguments"
	}
	if d.Mangled {
		note = ` # TODO: declare the function extern "C", or it cannot be found by name`
	}
	fmt.Fprintf(b, "    entry: %s%s\n", yamlText(entry), note)
}

func (d *draft) writeArg(b *strings.Builder, a draftArg, cuda bool) {
	notes := a.notes
	kind := a.DType
	if !a.Pointer && !cuda && kind.Float() && kind.Size() < 4 {
		kind = dtype.F32
		notes = append(notes, fmt.Sprintf("a host cell cannot pass %s by value", a.DType))
	}
	if !a.Known {
		notes = append(notes, fmt.Sprintf("check the dtype, %s is not known", commentText(a.Type)))
	}
	line := fmt.Sprintf("      - {name: %s, dtype: %s", yamlText(a.Name), kind)
	if a.Pointer {
		line += fmt.Sprintf(", shape: %s, role: %s", d.shape(a.Width), a.role)
		// Integers are often indices: zeros stay inside any buffer.
		if (a.role == spec.RoleIn || a.role == spec.RoleInOut) && !kind.Float() && kind.Size() >= 4 {
			line += ", init: zero"
			notes = append(notes, "check the shape and what it is filled with")
		} else {
			notes = append(notes, "check the shape")
		}
		if !a.Const {
			notes[len(notes)-1] += " and role"
		}
	} else {
		line += ", value: " + yamlText(a.value)
	}
	line += "}"
	if len(notes) > 0 {
		line += " # TODO: " + strings.Join(notes, "; ")
	}
	b.WriteString(line + "\n")
}

// writeWork writes what is certain of the work, that all buffers but scratch
// are read or written, and asks for the rest.
func (d *draft) writeWork(b *strings.Builder) {
	bytes := 0
	for _, a := range d.args {
		if a.Pointer && a.role != spec.RoleScratch {
			times := 1
			if a.role == spec.RoleInOut {
				times = 2
			}
			bytes += times * a.Width * a.DType.Size()
		}
	}
	b.WriteString("    # TODO: say where right answers come from, for example oracle: {kernel: name of another kernel}\n")
	fmt.Fprintf(b, "    work: {bytes: %s} # TODO: check, and add flops\n", yamlText(fmt.Sprintf("%d * %s", bytes, d.product())))
}

var (
	plainText = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	numeric   = regexp.MustCompile(`^[0-9.]+$`)
	yamlWords = strings.Fields("null Null NULL true True TRUE false False FALSE")
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
