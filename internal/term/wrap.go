package term

import (
	"regexp"
	"slices"
	"strings"
)

var (
	colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
	indents = regexp.MustCompile("^(?: |\x1b\\[[0-9;]*m)*") // a line may begin to have a colour before its indentation
)

// shownWidth returns the number of columns that a text with colours takes.
func shownWidth(text string) int { return DisplayWidth(colours.ReplaceAllString(text, "")) }

// Wrap wraps the lines of a text at spaces, so that they fit into so many columns. What follows is
// indented by two more than its line. A word that is longer than a line stays whole: it is a path or
// a command that somebody may copy. The text may have colours. A width of 0 leaves it as it is.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if shownWidth(line) <= width {
			continue
		}
		indent := indents.FindString(line)
		body, wide := line[len(indent):], shownWidth(indent)
		hang := strings.Repeat(" ", wide) + gutter
		first := fill(body, width-wide, width-len(hang))
		lines[i] = indent + strings.Join(first, "\n"+hang)
	}
	return strings.Join(lines, "\n")
}

// Fill wraps a paragraph at spaces; there is at least one line.
func Fill(text string, width int) []string { return fill(text, width, width) }

// fill puts words into a first line and others, each as full as it gets.
func fill(text string, first, rest int) []string {
	var out []string
	line, room := "", first
	for _, word := range words(text) {
		if line != "" && shownWidth(line+strings.TrimRight(word, " ")) > room {
			out, line, room = append(out, strings.TrimRight(line, " ")), "", rest
		}
		line += word
	}
	return append(out, strings.TrimRight(line, " "))
}

// words splits a text at spaces. A quantity stays whole, and so does a change of one: "55.8 → 359 µs".
func words(text string) []string {
	var out []string
	number, arrow := false, false // the word before is one
	for _, word := range strings.SplitAfter(text, " ") {
		bare := strings.Trim(colours.ReplaceAllString(word, ""), " ,;:()")
		measure := slices.Contains(units, bare)
		if number && (measure || bare == "→") || arrow {
			out[len(out)-1] += word
		} else {
			out = append(out, word)
		}
		arrow = number && bare == "→"
		number = number && measure || bare != "" && '0' <= bare[len(bare)-1] && bare[len(bare)-1] <= '9'
	}
	return out
}

var units = []string{"ns", "µs", "ms", "s", "%", "GB/s", "TB/s", "GFLOPS", "TFLOPS"}
