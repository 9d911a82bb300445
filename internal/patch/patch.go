// Package patch writes the difference of two texts as a unified diff, which git apply and patch take.
package patch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// context is how many unchanged lines stand around a change.
const context = 3

// Unified returns the diff that makes after of before, "" where they are equal. Name is the file's path from
// the top folder of its repository.
func Unified(name, before, after string) string {
	old, now := split(before), split(after)
	hunks := group(edits(old, now))
	if len(hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", label("a", name), label("b", name))
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.old, h.oldCount), span(h.now, h.nowCount))
		for _, e := range h.edits {
			b.WriteByte(e.sign)
			b.WriteString(e.text)
			if !strings.HasSuffix(e.text, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	return b.String()
}

// split returns the lines of a text, each with what ends it.
func split(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// label names a side as git does: a path with a space is ended by a tab, one with characters that could end a
// line stands in quotes.
func label(side, name string) string {
	name = path.Join(side, strings.ReplaceAll(name, `\`, `\\`))
	plain := true
	var quoted strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == '"' || c >= 0x7f:
			plain = false
			fmt.Fprintf(&quoted, `\%03o`, c)
		default:
			quoted.WriteByte(c)
		}
	}
	switch {
	case !plain || strings.Contains(name, `\`):
		return `"` + quoted.String() + `"`
	case strings.Contains(name, " "):
		return name + "\t"
	}
	return name
}

// span writes the lines of a hunk: the first one, from 1, and how many; none are named by the line before.
func span(first, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", first)
	}
	if count == 1 {
		return fmt.Sprint(first + 1)
	}
	return fmt.Sprintf("%d,%d", first+1, count)
}

// edit is a line that stays (' '), goes ('-') or comes ('+').
type edit struct {
	sign byte
	text string
}

// hunk is a part of the edits, and the lines before it on each side.
type hunk struct {
	edits         []edit
	old, oldCount int // lines before it, and in it
	now, nowCount int
	unchanged     int // lines at its end that stay
}

// group cuts the edits into hunks with some unchanged lines around every change.
func group(all []edit) []*hunk {
	var hunks []*hunk
	var open *hunk
	old, now := 0, 0
	var before []edit // the last unchanged lines
	for _, e := range all {
		if e.sign != ' ' && open == nil {
			open = &hunk{edits: append([]edit(nil), before...), old: old - len(before), now: now - len(before)}
			open.oldCount, open.nowCount = len(before), len(before)
			hunks = append(hunks, open)
		}
		if e.sign != '+' {
			old++
		}
		if e.sign != '-' {
			now++
		}
		if open == nil {
			before = append(before, e)
			before = before[max(0, len(before)-context):]
			continue
		}
		open.add(e)
		if open.unchanged > 2*context { // the next change is too far for this hunk
			before = append([]edit(nil), open.edits[len(open.edits)-context:]...)
			open.cut()
			open = nil
		}
	}
	if open != nil {
		open.cut()
	}
	return hunks
}

func (h *hunk) add(e edit) {
	h.edits = append(h.edits, e)
	h.unchanged++
	switch e.sign {
	case '-':
		h.oldCount++
		h.unchanged = 0
	case '+':
		h.nowCount++
		h.unchanged = 0
	default:
		h.oldCount++
		h.nowCount++
	}
}

// cut drops the unchanged lines at the end that are too many.
func (h *hunk) cut() {
	extra := max(0, h.unchanged-context)
	h.edits = h.edits[:len(h.edits)-extra]
	h.oldCount -= extra
	h.nowCount -= extra
}

// edits returns a shortest way from one text to the other, by the method of Myers. Its time and memory grow with
// the number of differences, squared.
func edits(old, now []string) []edit {
	var out []edit
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		out = append(out, edit{' ', old[0]})
		old, now = old[1:], now[1:]
	}
	var tail []string
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		tail = append(tail, old[len(old)-1])
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	out = append(out, middle(old, now)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, edit{' ', tail[i]})
	}
	return out
}

// middle is edits for texts that differ in their first and in their last line.
func middle(old, now []string) []edit {
	n, m := len(old), len(now)
	// reach[k] is how far into old one gets on diagonal k, which is k lines further in old than in now.
	reach := map[int]int{1: 0}
	var steps []map[int]int
	for d := 0; d <= n+m; d++ {
		row := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && reach[k-1] < reach[k+1] {
				x = reach[k+1]
			} else {
				x = reach[k-1] + 1
			}
			y := x - k
			for x < n && y < m && y >= 0 && old[x] == now[y] {
				x, y = x+1, y+1
			}
			row[k] = x
			if x >= n && y >= m {
				return trace(old, now, steps, d)
			}
		}
		steps = append(steps, row)
		reach = row
	}
	return nil
}

// trace goes the way back that middle found.
func trace(old, now []string, steps []map[int]int, d int) []edit {
	var reversed []edit
	x, y := len(old), len(now)
	for ; d > 0; d-- {
		k, before := x-y, steps[d-1]
		from := k - 1
		if k == -d || k != d && before[k-1] < before[k+1] {
			from = k + 1
		}
		step := before[from] // where the step of d leads, in old
		if from == k-1 {
			step++
		}
		for x > step {
			x, y = x-1, y-1
			reversed = append(reversed, edit{' ', old[x]})
		}
		if from == k+1 {
			y--
			reversed = append(reversed, edit{'+', now[y]})
		} else {
			x--
			reversed = append(reversed, edit{'-', old[x]})
		}
	}
	slices.Reverse(reversed) // what is left above, both texts have in common: edits has taken it already
	return reversed
}
