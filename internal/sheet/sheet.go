// Package sheet draws what is known of a kernel on one page: roofline, utilisation, what warps wait
// for, samples, and findings; one version, or one beside the other. It also draws a Search for better
// params: the best so far, what each param matters, and time beside energy. A page is SVG or PNG, on
// light or dark ground.
//
// A Sheet is data with final words. The same sheet gives the same bytes.
package sheet

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"pawl/internal/plot"
	"pawl/internal/unit"
)

// Sheet is all that stands on the page. Whatever is empty is left out.
type Sheet struct {
	Title    string   // the kernel
	Subtitle string   // device, config, launch
	Versions []string // one or two names, such as base and change
	Roof     *Roof
	Use      []Bar // percent of peak
	Waits    []Bar // percent of a warp's time
	Samples  [][]float64
	Facts    []Fact
	Findings []Finding
	Foot     string
}

// Roof is a roofline with the points of the versions.
type Roof struct {
	Bandwidth float64 // bytes a second
	Peak      float64 // operations a second
	Pipe      string  // whose peak that is
	Points    []Point
}

// Point is where a version stands.
type Point struct {
	Intensity float64 // operations per byte
	Rate      float64 // operations a second
}

// Bar is a value for each version; NaN where it is not known.
type Bar struct {
	Name   string
	Values []float64
}

// Fact is a number for each version, in words.
type Fact struct {
	Name   string
	Values []string
}

// Finding is what was found, in sentences.
type Finding struct{ Title, Gain, Evidence, Fix string }

// The page, in pixels of a screen.
const (
	pageWidth = 900
	pad       = 24
	gap       = 20
	column    = (pageWidth - 2*pad - gap) / 2
	chart     = 250 // height of a chart without its heading
	heading   = 26
	lineStep  = 17
	small     = 11
	normal    = 12.5
	large     = 19
	barStep   = 27
)

func (s Sheet) name() string   { return s.Title }
func (s Sheet) width() float64 { return pageWidth }

// draw puts the sheet onto a canvas, and returns the height that it took.
func (s Sheet) draw(c canvas) float64 {
	y := float64(pad)
	c.text(pad, y+large, large, bold, ink, left, fit(c, s.Title, large, pageWidth-2*pad))
	y += large + 8
	if s.Subtitle != "" {
		c.text(pad, y+normal, normal, regular, muted, left, fit(c, s.Subtitle, normal, pageWidth-2*pad))
		y += lineStep
	}
	if len(s.Versions) > 1 {
		y = s.legend(c, y+4)
	}
	y += 14
	var panels []func(x, y float64) float64
	if s.Roof != nil && s.Roof.drawable() {
		panels = append(panels, func(x, y float64) float64 { return s.roofline(c, x, y) })
	}
	if bars := known(s.Use); len(bars) > 0 {
		panels = append(panels, func(x, y float64) float64 {
			return s.bars(c, x, y, "How busy each unit was, % of its peak", bars, 100)
		})
	}
	if bars := known(s.Waits); len(bars) > 0 {
		panels = append(panels, func(x, y float64) float64 {
			return s.bars(c, x, y, "What warps waited for, % of their time", bars, most(bars))
		})
	}
	if drawable(s.Samples) {
		panels = append(panels, func(x, y float64) float64 { return s.samples(c, x, y) })
	}
	if len(s.Facts) > 0 {
		panels = append(panels, func(x, y float64) float64 { return s.facts(c, x, y) })
	}
	for pair := range slices.Chunk(panels, 2) {
		bottom := y
		for i, panel := range pair {
			bottom = math.Max(bottom, panel(pad+float64(i)*(column+gap), y))
		}
		y = bottom + 22
	}
	if len(s.Findings) > 0 {
		y = s.findings(c, y)
	}
	if s.Foot != "" {
		c.text(pad, y+small, small, regular, muted, left, fit(c, s.Foot, small, pageWidth-2*pad))
		y += lineStep
	}
	return y + pad - 6
}

// legend names the versions by their looks.
func (s Sheet) legend(c canvas, y float64) float64 {
	x := float64(pad)
	for i, name := range s.Versions[:min(2, len(s.Versions))] {
		c.rect(x, y+3, 14, 9, look(i, len(s.Versions)))
		x += 20
		name = fit(c, name, normal, pageWidth/3)
		c.text(x, y+normal-1, normal, regular, ink, left, name)
		x += c.width(name, normal, regular) + 24
	}
	return y + lineStep
}

// look is the colour of a version: what is looked at has the accent, what it is compared with stands back.
func look(version, of int) shade {
	if of > 1 && version == 0 {
		return faint
	}
	return accent
}

func title(c canvas, x, y float64, words string) float64 {
	c.text(x, y+normal, normal, bold, ink, left, words)
	return y + heading
}

func (r *Roof) drawable() bool {
	return r.Bandwidth > 0 && r.Peak > 0 && !math.IsInf(r.Peak/r.Bandwidth, 0) && len(r.Points) > 0
}

func (s Sheet) roofline(c canvas, x, y float64) float64 {
	y = title(c, x, y, "Roofline: "+unit.Bandwidth(s.Roof.Bandwidth/1e9)+", "+unit.GFLOPS(s.Roof.Peak/1e9)+" "+s.Roof.Pipe)
	const inset = 54
	ridge := s.Roof.Peak / s.Roof.Bandwidth
	low, high := ridge/50, ridge*20
	bottom := s.Roof.Peak / 2000
	for _, p := range s.Roof.Points {
		if p.Intensity > 0 && p.Rate > 0 {
			low, high = math.Min(low, p.Intensity/3), math.Max(high, p.Intensity*3)
			bottom = math.Min(bottom, p.Rate/3)
		}
	}
	across, up := plot.Log(low, high), plot.Log(bottom, s.Roof.Peak*2.5)
	left0, width, height := x+inset, float64(column-inset), float64(chart-22)
	at := func(intensity, rate float64) (float64, float64) {
		return left0 + width*across.At(intensity), y + height*(1-up.At(rate))
	}
	for _, tick := range across.Ticks(6) {
		px, _ := at(tick, bottom)
		c.line([]float64{px, y, px, y + height}, 1, rule, nil)
		c.text(px, y+height+14, small, regular, muted, middle, brief(tick))
	}
	for _, tick := range up.Ticks(6) {
		_, py := at(low, tick)
		c.line([]float64{left0, py, left0 + width, py}, 1, rule, nil)
		c.text(left0-6, py+4, small, regular, muted, right, rate(tick))
	}
	c.text(left0+width, y+height-6, small, regular, muted, right, "FLOP per byte of DRAM →")
	sx, sy := at(math.Max(low, bottom/s.Roof.Bandwidth), math.Max(low*s.Roof.Bandwidth, bottom))
	rx, ry := at(ridge, s.Roof.Peak)
	ex, ey := at(high, s.Roof.Peak)
	c.line([]float64{sx, sy, rx, ry, ex, ey}, 2, ink, nil)
	var last [2]float64
	for i, p := range s.Roof.Points {
		if p.Intensity <= 0 || p.Rate <= 0 {
			continue
		}
		px, py := at(p.Intensity, p.Rate)
		roof := math.Min(s.Roof.Peak, p.Intensity*s.Roof.Bandwidth)
		_, top := at(p.Intensity, roof)
		c.line([]float64{px, py, px, top}, 1, look(i, len(s.Roof.Points)), []float64{3, 3})
		c.circle(px, py, 5, look(i, len(s.Roof.Points)))
		words := fmt.Sprintf("%.0f%% of the roof", 100*p.Rate/roof)
		side, dx := left, 9.0
		if px > left0+width-110 {
			side, dx = right, -9
		}
		dy := 4.0
		if i > 0 && math.Abs(px-last[0]) < 120 && math.Abs(py-last[1]) < 14 {
			dy = 18
			if py < last[1] {
				dy = -10
			}
		}
		last = [2]float64{px, py}
		c.text(px+dx, py+dy, small, regular, ink, side, words)
	}
	return y + chart
}

// rate writes operations a second at an axis: 10 T.
func rate(v float64) string {
	for _, step := range []struct {
		size float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if v >= step.size {
			return brief(v/step.size) + " " + step.name
		}
	}
	return brief(v)
}

// brief writes a tick of an axis without needless digits.
func brief(v float64) string {
	text := fmt.Sprintf("%.3g", v)
	if strings.Contains(text, "e+0") {
		return fmt.Sprintf("%.0f", v)
	}
	return text
}

// known leaves bars out of which no value is known.
func known(bars []Bar) []Bar {
	return slices.DeleteFunc(slices.Clone(bars), func(b Bar) bool {
		return !slices.ContainsFunc(b.Values, func(v float64) bool { return !math.IsNaN(v) })
	})
}

// most returns a round top for the scale of bars.
func most(bars []Bar) float64 {
	top := 10.0
	for _, b := range bars {
		for _, v := range b.Values {
			if v > top {
				top = v
			}
		}
	}
	return math.Min(100, 10*math.Ceil(top/10))
}

func (s Sheet) bars(c canvas, x, y float64, words string, bars []Bar, top float64) float64 {
	y = title(c, x, y, words)
	const inset, room = 128, 40
	left0, width := x+inset, float64(column-inset-room)
	step := math.Min(barStep, float64(chart)/float64(len(bars)))
	for _, tick := range plot.Linear(0, top).Ticks(5) {
		px := left0 + width*tick/top
		c.line([]float64{px, y, px, y + step*float64(len(bars))}, 1, rule, nil)
	}
	for i, b := range bars {
		py := y + step*float64(i)
		c.text(left0-8, py+step/2+4, small, regular, ink, right, fit(c, b.Name, small, inset-12))
		thick := (step - 7) / float64(max(1, len(b.Values)))
		for j, v := range b.Values {
			by := py + 3.5 + thick*float64(j)
			if math.IsNaN(v) {
				c.text(left0+4, by+thick/2+4, small, regular, muted, left, "not measured")
				continue
			}
			length := width * math.Min(math.Max(v, 0), top) / top
			c.rect(left0, by, math.Max(length, 1), thick-1, look(j, len(b.Values)))
			if len(b.Values) == 1 || step/2 >= small {
				c.text(left0+length+5, by+thick/2+3.5, small, regular, ink, left, fmt.Sprintf("%.0f", v))
			}
		}
	}
	return y + step*float64(len(bars))
}

func drawable(samples [][]float64) bool {
	return slices.ContainsFunc(samples, func(list []float64) bool { return len(list) > 1 })
}

// samples draws the distribution of each version's samples over one scale.
func (s Sheet) samples(c canvas, x, y float64) float64 {
	y = title(c, x, y, "Samples")
	var all []float64
	for _, list := range s.Samples {
		sorted := slices.Sorted(slices.Values(list))
		// One stray sample is not to squeeze the others into a single bin.
		if n := len(sorted); n > 0 {
			all = append(all, sorted[n/50], sorted[n-1-n/50])
		}
	}
	low, high := slices.Min(all), slices.Max(all)
	scale := plot.Linear(low-0.05*(high-low), high+0.05*(high-low))
	height, width := float64(chart-22), float64(column)
	const bins = 60
	for _, tick := range scale.Ticks(5) {
		px := x + width*scale.At(tick)
		c.line([]float64{px, y, px, y + height}, 1, rule, nil)
		c.text(px, y+height+14, small, regular, muted, middle, unit.Duration(tick))
	}
	top := 0
	counts := make([][bins]int, len(s.Samples))
	for i, list := range s.Samples {
		for _, v := range list {
			if v < scale.Low() || v > scale.High() {
				continue
			}
			b := min(bins-1, int(bins*scale.At(v)))
			counts[i][b]++
			top = max(top, counts[i][b])
		}
	}
	for i := range s.Samples {
		points := []float64{x, y + height}
		for b, n := range counts[i] {
			py := y + height - (height-16)*float64(n)/float64(max(top, 1))
			points = append(points, x+width*float64(b)/bins, py, x+width*float64(b+1)/bins, py)
		}
		points = append(points, x+width, y+height)
		c.area(points, look(i, len(s.Samples)))
	}
	for i, list := range s.Samples {
		if len(list) == 0 {
			continue
		}
		median := median(list)
		px := x + width*scale.At(median)
		c.line([]float64{px, y + 12*float64(i), px, y + height}, 1.5, look(i, len(s.Samples)), nil)
		side, dx := left, 4.0
		if px > x+width-90 {
			side, dx = right, -4
		}
		c.text(px+dx, y+10+12*float64(i), small, regular, ink, side, unit.Duration(median))
	}
	c.line([]float64{x, y + height, x + width, y + height}, 1, muted, nil)
	return y + chart
}

func (s Sheet) facts(c canvas, x, y float64) float64 {
	y = title(c, x, y, "Resources")
	for _, f := range s.Facts {
		c.text(x, y+normal, normal, regular, muted, left, f.Name)
		words := strings.Join(f.Values, " → ")
		if len(f.Values) == 2 && f.Values[0] == f.Values[1] {
			words = f.Values[0]
		}
		c.text(x+column, y+normal, normal, regular, ink, right, fit(c, words, normal, column-180))
		y += lineStep + 3
		c.line([]float64{x, y - 2, x + column, y - 2}, 1, rule, nil)
	}
	return y
}

func (s Sheet) findings(c canvas, y float64) float64 {
	y = title(c, pad, y, "Findings")
	for i, f := range s.Findings {
		number := fmt.Sprintf("%d.", i+1)
		c.text(pad, y+normal, normal, bold, accent, left, number)
		c.text(pageWidth-pad, y+normal, normal, regular, muted, right, fit(c, f.Gain, normal, 240))
		for _, line := range wrap(c, f.Title, normal, pageWidth-2*pad-250) {
			c.text(pad+20, y+normal, normal, bold, ink, left, line)
			y += lineStep
		}
		for _, part := range []struct {
			words string
			tone  shade
		}{{f.Evidence, muted}, {f.Fix, ink}} {
			for _, line := range wrap(c, part.words, normal, pageWidth-2*pad-20) {
				c.text(pad+20, y+normal, normal, regular, part.tone, left, line)
				y += lineStep
			}
		}
		y += 6
	}
	return y + 4
}

// mostLines is how many lines a sentence has: a page that is too high is no picture.
const mostLines = 12

// wrap breaks a sentence into lines that fit.
func wrap(c canvas, words string, size, width float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(words) {
		if line != "" && c.width(line+" "+word, size, bold) > width {
			lines = append(lines, line)
			if line = ""; len(lines) == mostLines {
				return append(lines, "…")
			}
		}
		if line != "" {
			line += " "
		}
		line += fit(c, word, size, width)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fit cuts a text that is wider than its place. Names of templates have tens of thousands of letters.
func fit(c canvas, words string, size, width float64) string {
	runes := []rune(words)
	if most := int(width); len(runes) > most { // no letter is narrower than a pixel
		runes = runes[:most]
	} else if c.width(words, size, bold) <= width {
		return words
	}
	wide := sort.Search(len(runes), func(n int) bool { return c.width(string(runes[:n+1])+"…", size, bold) > width })
	return string(runes[:wide]) + "…"
}

// median is the one that tables have beside the picture.
func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
