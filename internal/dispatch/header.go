package dispatch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// Header writes the table as a C header, for C from C99 on, C++ from C++98 on with long long, and CUDA host
// code: a struct of variables and params, and a function that looks a problem up.
func (t *Table) Header() ([]byte, error) {
	taken := map[string]bool{}
	base := identifier("pawl_" + t.Kernel)
	h := header{Table: t, Base: base, Guard: strings.ToUpper(base) + "_DISPATCH_H", About: t.about()}
	for _, c := range t.Vars {
		h.Keys = append(h.Keys, member{c, memberName(c.Name, taken)})
	}
	for _, c := range t.Params {
		h.Members = append(h.Members, member{c, memberName(c.Name, taken)})
	}
	var b strings.Builder
	if err := headerForm.Execute(&b, h); err != nil {
		return nil, fmt.Errorf("write the header of %s: %w", t.Kernel, err)
	}
	return []byte(b.String()), nil
}

type header struct {
	*Table
	Base, Guard string
	About       []string
	Keys        []member // Vars under names that C takes
	Members     []member // Params so
}

type member struct {
	Column
	C string
}

// Decl is the member's declaration, and the parameter's.
func (m member) Decl() string {
	return map[Type]string{Integer: "long long ", Real: "double ", Boolean: "bool ", Text: "const char *"}[m.Type] + m.C
}

// about lists where the table is from.
func (t *Table) about() []string {
	lines := []string{fmt.Sprintf("The best params of %s by config, found by pawl %s tune.", t.Kernel, t.Tool)}
	lines = append(lines, fmt.Sprintf("Run %s on %s.", t.Run, t.Device))
	switch {
	case t.Commit != "" && t.Dirty:
		lines = append(lines, fmt.Sprintf("Commit %s, with changes that are not in it.", t.Commit))
	case t.Commit != "":
		lines = append(lines, fmt.Sprintf("Commit %s.", t.Commit))
	}
	for i, line := range lines {
		lines[i] = comment(line)
	}
	return lines
}

// comment makes a text one that a C comment can hold.
func comment(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\\' { // a backslash would join lines
			return ' '
		}
		return r
	}, text)
	return strings.NewReplacer("*/", "* /", "/*", "/ *").Replace(text)
}

// identifier makes a C identifier of a kernel's name.
func identifier(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// memberName returns a name for a variable or param that C and C++ take: those with a meaning there get an
// underscore behind.
func memberName(name string, taken map[string]bool) string {
	c := identifier(name)
	for reserved[c] || c == "config" || taken[c] {
		c += "_"
	}
	taken[c] = true
	return c
}

// reserved are the words of C and C++, and what compilers or the headers below define as macros.
var reserved = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
		char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
		decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
		inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
		register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct
		switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
		virtual void volatile wchar_t while xor xor_eq linux unix i386 NULL strcmp`) {
		words[w] = true
	}
	return words
}()

// literal writes a value as C takes it.
func literal(m member, text string) string {
	switch m.Type {
	case Integer:
		if text == "-9223372036854775808" { // no literal of C has this value
			return "(-9223372036854775807LL - 1)"
		}
		v, _ := strconv.ParseInt(text, 10, 64)
		return strconv.FormatInt(v, 10) + "LL"
	case Real:
		v, _ := strconv.ParseFloat(text, 64)
		number := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(number, ".e") {
			number += ".0"
		}
		return number
	case Boolean:
		return text
	}
	return quoted(text)
}

// zero is the value of a variable in the fallback.
func zero(m member) string {
	return map[Type]string{Integer: "0", Real: "0.0", Boolean: "false", Text: `""`}[m.Type]
}

// quoted writes a C string. A question mark is escaped too: two of them begin a trigraph.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '?' || c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// UsesText reports whether a lookup compares strings.
func (h header) UsesText() bool {
	return slices.ContainsFunc(h.Keys, func(m member) bool { return m.Type == Text })
}

// Equal is the condition that an entry has the value that is looked up.
func (m member) Equal() string {
	switch m.Type {
	case Text:
		return fmt.Sprintf("strcmp(%s, pawl_e->%s) == 0", m.C, m.C)
	case Real:
		return fmt.Sprintf("!(%s < pawl_e->%s) && !(%s > pawl_e->%s)", m.C, m.C, m.C, m.C) // == would be warned of
	}
	return fmt.Sprintf("%s == pawl_e->%s", m.C, m.C)
}

// Row writes the initializer of an entry.
func (h header) Row(e Entry) string {
	parts := []string{quoted(e.Config)}
	for i, m := range h.Keys {
		parts = append(parts, literal(m, e.Vars[i]))
	}
	return h.row(parts, e.Params)
}

// Last writes the initializer of the fallback.
func (h header) Last() string {
	parts := []string{`""`}
	for _, m := range h.Keys {
		parts = append(parts, zero(m))
	}
	return h.row(parts, h.Fallback)
}

func (h header) row(parts, params []string) string {
	for i, m := range h.Members {
		parts = append(parts, literal(m, params[i]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

var headerForm = template.Must(template.New("header").Parse(`/*{{range .About}} {{.}}
 *{{end}} Written by pawl tune: run it again in place of editing this. */
#ifndef {{.Guard}}
#define {{.Guard}}

#include <stddef.h>
{{- if .UsesText}}
#include <string.h>
{{- end}}
#ifndef __cplusplus
#include <stdbool.h>
#endif
{{range .Keys}}
#ifdef {{.C}}
#error "{{.C}} is a macro here: include this header where it is not defined"
#endif
{{- end}}
{{- range .Members}}
#ifdef {{.C}}
#error "{{.C}} is a macro here: include this header where it is not defined"
#endif
{{- end}}

/* The best params of a config. In the fallback, config is "" and the variables are zero. */
typedef struct {{.Base}}_setting {
  const char *config;
{{- range .Keys}}
  {{.Decl}};{{end}}
{{- range .Members}}
  {{.Decl}}; /* param */{{end}}
} {{.Base}}_setting;

/* Returns the best params of a problem; those that are best for all configs together where it is none of them.
 * Never NULL. */
static inline const {{.Base}}_setting *{{.Base}}_lookup(
{{- range $i, $k := .Keys}}{{if $i}}, {{end}}{{$k.Decl}}{{else}}void{{end}}) {
  static const {{.Base}}_setting pawl_table[] = {
{{- range .Entries}}
    {{$.Row .}},{{end}}
    {{.Last}}
  };
  const size_t pawl_count = sizeof pawl_table / sizeof pawl_table[0] - 1;
  size_t pawl_i;
  for (pawl_i = 0; pawl_i < pawl_count; pawl_i++) {
    const {{.Base}}_setting *pawl_e = &pawl_table[pawl_i];
    if ({{range $i, $k := .Keys}}{{if $i}} && {{end}}{{$k.Equal}}{{else}}pawl_e != NULL{{end}})
      return pawl_e;
  }
  return &pawl_table[pawl_count];
}

#endif
`))
