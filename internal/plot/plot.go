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
	"fmt"
	"html"
	"math"
	"slices"
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

// picture is an SVG on its way.
type picture struct{ strings.Builder }

// open begins a picture of the page's whole width. The title is what a reader
// hears instead of the picture, or sees under the pointer.
func open(class string, height int, title string) *picture {
	p := &picture{}
	p.begin("svg", "class", strings.TrimSpace("plot "+class), "width", "100%", "height", strconv.Itoa(height))
	if title == "" {
		p.WriteString(` aria-hidden="true">`)
	} else {
		p.WriteString(` role="img" aria-label="` + html.EscapeString(title) + `">`)
		p.title(title)
	}
	return p
}

// begin writes the beginning of an element. Its attributes are pairs of a name and a
// value.
func (p *picture) begin(name string, attributes ...string) {
	p.WriteString("<" + name)
	for pair := range slices.Chunk(attributes, 2) {
		p.WriteString(" " + pair[0] + `="` + html.EscapeString(pair[1]) + `"`)
	}
}

// end ends the picture.
func (p *picture) end() string {
	p.WriteString(`</svg>`)
	return p.String()
}

func (p *picture) title(text string) {
	if text != "" {
		p.WriteString(`<title>` + html.EscapeString(text) + `</title>`)
	}
}

// element writes an element without content but its title.
func (p *picture) element(name, title string, attributes ...string) {
	p.begin(name, attributes...)
	if title == "" {
		p.WriteString("/>")
		return
	}
	p.WriteString(">")
	p.title(title)
	p.WriteString("</" + name + ">")
}

func (p *picture) text(content string, attributes ...string) {
	p.begin("text", attributes...)
	p.WriteString(">" + html.EscapeString(content) + "</text>")
}

// paths draws paths in coordinates of their own that fill the picture: pairs of
// a class and what to draw. One without anything to draw is left out.
func (p *picture) paths(width, height int, pairs ...string) {
	p.begin("svg", "viewBox", fmt.Sprintf("0 0 %d %d", width, height), "width", "100%", "height", "100%", "preserveAspectRatio", "none")
	p.WriteString(">")
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			p.element("path", "", "class", pair[0], "d", pair[1])
		}
	}
	p.WriteString(`</svg>`)
}

// upright draws a line from top to bottom.
func (p *picture) upright(class string, at float64, title string) {
	p.element("line", title, "class", class, "x1", percent(at), "x2", percent(at), "y1", "0", "y2", "100%")
}
