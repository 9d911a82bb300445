package sheet

import (
	"fmt"
	"image/color"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// canvas is what a page is drawn on. Coordinates are pixels of a screen, y goes down.
type canvas interface {
	rect(x, y, width, height float64, s shade)
	line(points []float64, width float64, s shade, dash []float64)
	area(points []float64, s shade) // filled, half transparent, with an outline
	circle(x, y, radius float64, s shade)
	text(x, y, size float64, w weight, s shade, a anchor, words string)
	width(words string, size float64, w weight) float64
}

// shade is a colour by its role.
type shade int

const (
	ink shade = iota
	muted
	rule
	accent
	faint
	back
	alarm
	shades
)

var shadeNames = [shades]string{"ink", "muted", "rule", "accent", "faint", "back", "alarm"}

type weight int

const (
	regular weight = iota
	bold
)

type anchor int

const (
	left anchor = iota
	middle
	right
)

// Theme is the ground of a page.
type Theme int

// The themes.
const (
	Light Theme = iota
	Dark
	Auto // of an SVG: as the reader's system has it; of a PNG: light
)

// palettes have the colours of pawl's pages.
var palettes = [2][shades]color.RGBA{
	Light: {ink: {0x1c, 0x1f, 0x24, 255}, muted: {0x64, 0x6b, 0x76, 255}, rule: {0xe2, 0xe5, 0xea, 255}, accent: {0x1f, 0x6f, 0xb5, 255}, faint: {0xa8, 0xb1, 0xbd, 255}, back: {0xff, 0xff, 0xff, 255}, alarm: {0xa8, 0x20, 0x0d, 255}},
	Dark:  {ink: {0xe8, 0xea, 0xee, 255}, muted: {0x9a, 0xa3, 0xb0, 255}, rule: {0x33, 0x39, 0x42, 255}, accent: {0x5a, 0xb0, 0xf2, 255}, faint: {0x66, 0x70, 0x7e, 255}, back: {0x16, 0x19, 0x1e, 255}, alarm: {0xff, 0x8a, 0x78, 255}},
}

func (t Theme) palette() *[shades]color.RGBA {
	if t == Dark {
		return &palettes[Dark]
	}
	return &palettes[Light]
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// faces has the fonts of one page at one scale; making them takes longer than drawing.
type faces struct {
	scale float64
	fonts [2]*opentype.Font
	made  map[[2]float64]font.Face
}

func newFaces(scale float64) (*faces, error) {
	f := &faces{scale: scale, made: map[[2]float64]font.Face{}}
	for i, raw := range [][]byte{regular: goregular.TTF, bold: gobold.TTF} {
		parsed, err := opentype.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("read the font: %w", err)
		}
		f.fonts[i] = parsed
	}
	return f, nil
}

func (f *faces) face(size float64, w weight) font.Face {
	key := [2]float64{size, float64(w)}
	if face, found := f.made[key]; found {
		return face
	}
	face, err := opentype.NewFace(f.fonts[w], &opentype.FaceOptions{Size: size * f.scale, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return nil
	}
	f.made[key] = face
	return face
}

func (f *faces) width(words string, size float64, w weight) float64 {
	face := f.face(size, w)
	if face == nil {
		return 0
	}
	return float64(font.MeasureString(face, words)) / 64 / f.scale
}

func toFixed(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }
