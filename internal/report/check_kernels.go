package report

import (
	"fmt"
	"strings"

	"pawl/internal/report/view"
	"pawl/internal/result"
)

// checkHeading says what was checked where, and against what.
func checkHeading(r *result.Report, rows []checked) []string {
	parts := []string{"pawl " + r.Tool.Version, machineLine(r)}
	if kernels := kernelsLine(rows); kernels != "" {
		parts = append(parts, kernels)
	}
	parts = append(parts, view.Counted(len(rows), "config"))
	if r.Base != nil {
		parts = append(parts, "against "+strings.TrimSpace(r.Base.Ref+" "+shortSHA(r.Base.SHA)))
	}
	return parts
}

// What a change does to a kernel.
const (
	changedWord   = "changed"
	newWord       = "new"
	unchangedWord = "unchanged"
	unknownWord   = "not measured"
)

// origin is what the change does to a row's code, whatever came of it.
func (c checked) origin() string {
	former := c.former()
	switch at := c.section(); {
	case at == same, former != nil && c.row.Identity != "" && former.Identity == c.row.Identity:
		return unchangedWord
	case at == fresh, len(c.row.Sides) == 0 && (at == planned || at == failed):
		return newWord
	case c.word() == unknownWord, former != nil && former.Fault != nil && !measured(c.row): // neither was built
		return unknownWord
	}
	return changedWord
}

// former is what a row was made from: the base's version or, where there is no base,
// the best-known; nil where neither is known.
func (c checked) former() *result.Row {
	for _, role := range []result.Role{result.Base, result.Best} {
		for _, side := range c.row.Sides {
			if side.Role == role {
				return side.Row
			}
		}
	}
	return nil
}

// kernelsLine counts kernels by what the change does to them: "2 kernels changed,
// 3 unchanged".
func kernelsLine(rows []checked) string {
	words := []string{changedWord, newWord, unchangedWord, unknownWord}
	state := map[string]string{}
	var names []string
	for _, c := range rows {
		word := c.origin()
		known, seen := state[c.row.Kernel]
		switch {
		case !seen:
			names = append(names, c.row.Kernel)
			state[c.row.Kernel] = word
		case known != word:
			state[c.row.Kernel] = changedWord
		}
	}
	var out []string
	for _, word := range words {
		n := 0
		for _, name := range names {
			if state[name] == word {
				n++
			}
		}
		switch {
		case n == 0:
		case len(out) == 0:
			out = append(out, view.Counted(n, "kernel")+" "+word)
		default:
			out = append(out, fmt.Sprintf("%d %s", n, word))
		}
	}
	return strings.Join(out, ", ")
}
