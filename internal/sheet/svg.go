package sheet

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
)

// SVG returns the page as a picture that stands alone.
func (s Sheet) SVG(theme Theme) (string, error) { return writeSVG(s, theme) }

func writeSVG(s page, theme Theme) (string, error) {
	fonts, err := newFaces(1)
	if err != nil {
		return "", err
	}
	c := &vectors{faces: fonts}
	title := escaped(fit(c, s.name(), large, 4*pageWidth)) // for who cannot see it, and has no use for thousands of letters
	height := s.draw(c)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-label="%s" font-family="Go, 'Helvetica Neue', Arial, sans-serif">`,
		decimal(s.width()), decimal(height), decimal(s.width()), decimal(height), title)
	b.WriteString("<title>" + title + "</title><style>")
	b.WriteString(rules(theme))
	if theme == Auto {
		b.WriteString("@media (prefers-color-scheme: dark){" + rules(Dark) + "}")
	}
	b.WriteString(`</style><rect width="100%" height="100%" class="back"/>`)
	b.WriteString(c.String())
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// escaped returns a text as XML takes it, which has no place for control characters.
func escaped(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, text))
}

func rules(theme Theme) string {
	var b strings.Builder
	for i, colour := range theme.palette() {
		fmt.Fprintf(&b, ".%s{fill:%s}.s-%s{stroke:%s;fill:none}", shadeNames[i], hex(colour), shadeNames[i], hex(colour))
	}
	return b.String()
}

// vectors is a canvas of SVG.
type vectors struct {
	strings.Builder
	*faces
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 32) }

func rounded(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(text, ".0")
}

func (c *vectors) rect(x, y, width, height float64, s shade) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" class="%s"/>`, rounded(x), rounded(y), rounded(width), rounded(height), shadeNames[s])
}

func path(points []float64) string {
	var b strings.Builder
	for i := 0; i+1 < len(points); i += 2 {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + rounded(points[i]) + " " + rounded(points[i+1]))
	}
	return b.String()
}

func (c *vectors) line(points []float64, width float64, s shade, dash []float64) {
	fmt.Fprintf(c, `<path d="%s" class="s-%s" stroke-width="%s"`, path(points), shadeNames[s], rounded(width))
	if dash != nil {
		fmt.Fprintf(c, ` stroke-dasharray="%s %s"`, rounded(dash[0]), rounded(dash[1]))
	}
	c.WriteString("/>")
}

func (c *vectors) area(points []float64, s shade) {
	fmt.Fprintf(c, `<path d="%sZ" class="%s" fill-opacity=".35"/><path d="%s" class="s-%s" stroke-width="1.2"/>`, path(points), shadeNames[s], path(points), shadeNames[s])
}

func (c *vectors) circle(x, y, radius float64, s shade) {
	fmt.Fprintf(c, `<circle cx="%s" cy="%s" r="%s" class="%s"/>`, rounded(x), rounded(y), rounded(radius), shadeNames[s])
}

func (c *vectors) text(x, y, size float64, w weight, s shade, a anchor, words string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="%s" class="%s"`, rounded(x), rounded(y), rounded(size), shadeNames[s])
	if w == bold {
		c.WriteString(` font-weight="bold"`)
	}
	if a != left {
		c.WriteString(` text-anchor="` + [...]string{middle: "middle", right: "end"}[a] + `"`)
	}
	c.WriteString(">" + escaped(clean(words)) + "</text>")
}

// clean replaces characters that XML does not have.
func clean(words string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0xfffe && r <= 0xffff || r >= 0xd800 && r < 0xe000 {
			return ' '
		}
		return r
	}, words)
}
