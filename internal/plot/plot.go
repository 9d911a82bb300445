// Package plot draws small pictures of measurements as SVG, made to stand inside
// an HTML page: dots with their intervals on a shared scale, histograms, strips,
// and samples in the order they were taken.
//
// Positions along the width are percentages, so a picture is as wide as its place
// in the page while its text and strokes keep their size: one page serves a wide
// screen, a phone and paper. Colours and sizes are classes that Style defines in
// terms of the page's --ink, --muted, --rule, --accent, --warn and --back.
//
// The same input gives the same bytes. Numbers that are not finite are left out,
// and every text is escaped.
package plot

import (
	_ "embed"
	"html"
	"math"
	"strconv"
	"strings"
)

// Style is the style sheet of the pictures.
//
//go:embed style.css
var Style string

// Numbers further out than these are no measurements, and would only overflow.
const (
	huge = 1e300
	tiny = 1e-290
)

// usable reports whether a number can be placed.
func usable(v float64) bool { return math.Abs(v) <= huge }

// percent writes a position between 0 and 1.
func percent(at float64) string { return decimal(100*at) + "%" }

// decimal writes a coordinate to a hundredth, in as few bytes as it takes.
func decimal(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

// open begins a picture of the page's whole width. The title is what a reader
// hears instead of the picture, or sees under the pointer.
func open(b *strings.Builder, class string, height int, title string) {
	b.WriteString(`<svg class="plot`)
	if class != "" {
		b.WriteString(" " + html.EscapeString(class))
	}
	b.WriteString(`" width="100%" height="` + strconv.Itoa(height) + `"`)
	if title == "" {
		b.WriteString(` aria-hidden="true">`)
		return
	}
	title = html.EscapeString(title)
	b.WriteString(` role="img" aria-label="` + title + `"><title>` + title + `</title>`)
}

// stretch begins a part whose own coordinates fill the picture.
func stretch(b *strings.Builder, width, height int) {
	b.WriteString(`<svg viewBox="0 0 ` + strconv.Itoa(width) + " " + strconv.Itoa(height) + `" width="100%" height="100%" preserveAspectRatio="none">`)
}

// upright draws a line from top to bottom.
func upright(b *strings.Builder, class string, at float64, title string) {
	x := percent(at)
	b.WriteString(`<line class="` + html.EscapeString(class) + `" x1="` + x + `" x2="` + x + `" y1="0" y2="100%"`)
	if title == "" {
		b.WriteString(`/>`)
		return
	}
	b.WriteString(`><title>` + html.EscapeString(title) + `</title></line>`)
}
