package sheet

import (
	"fmt"
	"io"
	"math"
	"slices"

	"pawl/internal/plot"
	"pawl/internal/unit"
)

// Search is the picture of a search for better params. Whatever is empty is left out.
type Search struct {
	Title    string // the kernel
	Subtitle string // what was found
	Foot     string

	Unit   string  // of costs: s, J, or × of today's defaults
	Today  float64 // cost of today's defaults; 0: not known
	Trials []Try   // in their order

	Effects []Effect // the largest share first
	Trade   *Trade

	narrow bool // one column, for a narrow screen
}

// Try is one setting that was tried.
type Try struct {
	Seconds float64 // since the search began
	Cost    float64
	Failed  bool // it has no cost
	Cut     bool // it was given up early: it costs at least this
}

// Effect is what the values of a param came to.
type Effect struct {
	Param  string
	Share  float64 // of the variance of the cost
	Values []EffectValue
}

// EffectValue is what a value came to. Best and Median are 0 where nothing was measured.
type EffectValue struct {
	Value        string
	Best, Median float64
	Failed       float64 // share of its trials
	Suggested    bool
	Today        bool
}

// Trade is time and energy of every setting that was measured.
type Trade struct{ Points []TradePoint }

// TradePoint is a setting.
type TradePoint struct {
	Seconds, Joules float64
	Front           bool   // none beats it in both
	Label           string // of those that have a name
}

// Narrow returns the picture for a screen of 390 pixels.
func (s Search) Narrow() Search {
	s.narrow = true
	return s
}

// SVG returns the search as a picture that stands alone.
func (s Search) SVG(theme Theme) (string, error) { return writeSVG(s, theme) }

// PNG writes the search as pixels.
func (s Search) PNG(w io.Writer, theme Theme) error { return writePNG(w, s, theme) }

const (
	narrowWidth  = 390
	narrowPad    = 12
	mostEffects  = 12 // params that are drawn
	courseHeight = 190
	multiple     = 120 // height of the cost in a panel of a param
)

func (s Search) name() string { return s.Title }

func (s Search) width() float64 {
	if s.narrow {
		return narrowWidth
	}
	return pageWidth
}

func (s Search) pad() float64 {
	if s.narrow {
		return narrowPad
	}
	return pad
}

// draw puts the search onto a canvas, and returns the height that it took.
func (s Search) draw(c canvas) float64 {
	x, inner := s.pad(), s.width()-2*s.pad()
	y := x
	for _, line := range wrap(c, s.Title, large, inner) {
		c.text(x, y+large, large, bold, ink, left, line)
		y += large + 6
	}
	y += 2
	for _, line := range wrap(c, s.Subtitle, normal, inner) {
		c.text(x, y+normal, normal, regular, muted, left, line)
		y += lineStep
	}
	y += 14
	if len(measured(s.Trials)) > 0 {
		y = s.courses(c, x, y, inner) + 22
	}
	if len(s.Effects) > 0 {
		y = s.effects(c, x, y, inner) + 22
	}
	if s.Trade != nil && len(s.Trade.Points) > 1 {
		y = s.trade(c, x, y, inner) + 22
	}
	for _, line := range wrap(c, s.Foot, small, inner) {
		c.text(x, y+small, small, regular, muted, left, line)
		y += lineStep
	}
	return y + s.pad() - 6
}

// measured returns the costs of the trials that have one of their own.
func measured(trials []Try) (costs []float64) {
	for _, t := range trials {
		if t.placed() && !t.Cut {
			costs = append(costs, t.Cost)
		}
	}
	return costs
}

// placed reports whether a trial has a cost that can be drawn.
func (t Try) placed() bool { return !t.Failed && usable(t.Cost) }

// usable reports whether something can be the cost of a launch: a report may claim anything.
func usable(cost float64) bool { return cost > 1e-15 && cost < 1e9 }

// amount writes a cost.
func (s Search) amount(v float64) string {
	if s.Unit == "×" {
		return fmt.Sprintf("%.2f×", v) // as many digits at every tick
	}
	return unit.Quantity(v, s.Unit)
}

// key is what a legend explains: how it looks, and what that means.
type key struct {
	draw  func(x, y float64) // in a place of 12 by 12 pixels
	words string
}

// legend draws keys beside each other, as many as a line has room for.
func (s Search) legend(c canvas, x, y, room float64, keys ...key) float64 {
	at := x
	for _, k := range keys {
		wide := 18 + c.width(k.words, small, regular)
		if at > x && at+wide > x+room {
			at, y = x, y+lineStep
		}
		k.draw(at, y)
		c.text(at+17, y+10, small, regular, muted, left, k.words)
		at += wide + 14
	}
	return y + lineStep + 5
}

// plotArea is the inside of a panel with its scales.
type plotArea struct {
	x, y, width, height float64
	across, up          plot.Scale
}

func (a plotArea) at(v float64) float64    { return a.x + a.width*a.across.At(v) }
func (a plotArea) level(v float64) float64 { return a.y + a.height*(1-a.up.At(v)) }

// grid draws the ticks of both scales with their names.
func (a plotArea) grid(c canvas, across, up []float64, nameAcross, nameUp func(float64) string) {
	for _, tick := range up {
		c.line([]float64{a.x, a.level(tick), a.x + a.width, a.level(tick)}, 1, rule, nil)
		c.text(a.x-5, a.level(tick)+4, small, regular, muted, right, nameUp(tick))
	}
	for _, tick := range across {
		c.line([]float64{a.at(tick), a.y + a.height, a.at(tick), a.y + a.height + 3}, 1, muted, nil)
	}
	last := math.Inf(-1)
	for _, tick := range across {
		words := nameAcross(tick)
		half := c.width(words, small, regular) / 2
		if at := min(max(a.at(tick), a.x+half), a.x+a.width-half); at-half > last+4 {
			c.text(at, a.y+a.height+15, small, regular, muted, middle, words)
			last = at + half
		}
	}
}

// scaleOf fits a scale to costs, with room above and below.
func scaleOf(values []float64) plot.Scale {
	low, high := slices.Min(values), slices.Max(values)
	free := math.Max(math.Pow(high/low, 0.06), 1.01)
	return plot.Log(low/free, high*free)
}
