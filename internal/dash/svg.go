package dash

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// drawing is an SVG on its way. Places along its sides are percentages, so that it is as wide as the page
// lets it while its strokes and texts keep their size; lines lie in a picture of their own inside, which
// is stretched. Looks are classes: a page has no inline style.
type drawing struct{ strings.Builder }

// openLinks begins a picture in which points can be chosen: to those who cannot see it a group of links.
func (d *drawing) openLinks(class, label string) {
	d.WriteString(`<svg class="` + class + `" role="group" aria-label="` + html.EscapeString(label) + `">`)
}

func (d *drawing) open(class, label string) {
	d.WriteString(`<svg class="` + class + `"`)
	if label == "" {
		d.WriteString(` aria-hidden="true">`)
		return
	}
	d.WriteString(` role="img" aria-label="` + html.EscapeString(label) + `">`)
}

func (d *drawing) close() template.HTML {
	d.WriteString(`</svg>`)
	return template.HTML(d.String())
}

// paths draws pairs of a class and a path in thousandths of both sides.
func (d *drawing) paths(pairs ...string) {
	d.WriteString(`<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" width="100%" height="100%">`)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			d.WriteString(`<path class="` + pairs[i] + `" d="` + pairs[i+1] + `"/>`)
		}
	}
	d.WriteString(`</svg>`)
}

func (d *drawing) text(class string, x, y float64, anchor, text string) {
	d.WriteString(`<text class="` + class + `" x="` + share(x) + `" y="` + share(y) + `" text-anchor="` + anchor + `">` + html.EscapeString(text) + `</text>`)
}

func (d *drawing) rule(class string, x1, y1, x2, y2 float64) {
	d.WriteString(`<line class="` + class + `" x1="` + share(x1) + `" y1="` + share(y1) + `" x2="` + share(x2) + `" y2="` + share(y2) + `"/>`)
}

// dot draws a point; with an address it is a link.
func (d *drawing) dot(class string, x, y float64, radius, address, title string) {
	if address != "" {
		d.WriteString(`<a href="` + html.EscapeString(address) + `">`)
	}
	d.WriteString(`<circle class="` + class + `" cx="` + share(x) + `" cy="` + share(y) + `" r="` + radius + `">`)
	if title != "" {
		d.WriteString(`<title>` + html.EscapeString(title) + `</title>`)
	}
	d.WriteString(`</circle>`)
	if address != "" {
		d.WriteString(`</a>`)
	}
}

// share writes a position between 0 and 1.
func share(at float64) string { return short(100*at, 2) + "%" }

func short(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// pen draws a path in thousandths.
type pen struct {
	strings.Builder
	down bool
}

func (p *pen) to(x, y float64) {
	letter := "L"
	if !p.down {
		letter = "M"
	}
	p.down = true
	p.WriteString(letter + short(1000*x, 1) + " " + short(1000*y, 1))
}

func (p *pen) lift() { p.down = false }
