package view

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"pawl/internal/unit"
)

// Counted writes a number of things, thousands apart: "1,200 rows".
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return unit.Count(n) + " " + noun + "s"
}

// Count is Counted for numbers that are never that large.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Shorten cuts a text to so many characters.
func Shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return text
}

// Flat is a text in one line.
func Flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// Printable drops control characters: what a kernel prints must not steer the
// terminal it is shown on.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// Short drops the zeros at the end of a decimal.
func Short(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// Percent writes a change in as few digits as it takes.
func Percent(v float64) string {
	if math.Abs(v) < 1e-9 {
		return "0"
	}
	text := Short(fmt.Sprintf("%.2f", math.Abs(100*v))) + "%"
	if v < 0 {
		return "−" + text
	}
	return "+" + text
}
