package sheet

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/vector"
)

// sharpness is how many pixels of the picture a pixel of a screen has: it stays legible when it is
// shown at its nominal width of 900 pixels on a fine screen.
const sharpness = 2

// PNG writes the page as pixels.
func (s Sheet) PNG(w io.Writer, theme Theme) error { return writePNG(w, s, theme) }

// page is what can be drawn.
type page interface {
	name() string // for those who cannot see it
	width() float64
	draw(c canvas) (height float64)
}

func writePNG(w io.Writer, s page, theme Theme) error {
	fonts, err := newFaces(sharpness)
	if err != nil {
		return err
	}
	height := s.draw(&nothing{fonts})
	palette := theme.palette()
	c := &pixels{faces: fonts, palette: palette, image: image.NewRGBA(image.Rect(0, 0, int(s.width()*sharpness), int(math.Ceil(height*sharpness))))}
	draw.Draw(c.image, c.image.Bounds(), image.NewUniform(palette[back]), image.Point{}, draw.Src)
	s.draw(c)
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(w, c.image)
}

// nothing is a canvas that only measures.
type nothing struct{ *faces }

func (*nothing) rect(_, _, _, _ float64, _ shade)                            {}
func (*nothing) line([]float64, float64, shade, []float64)                   {}
func (*nothing) area([]float64, shade)                                       {}
func (*nothing) circle(_, _, _ float64, _ shade)                             {}
func (*nothing) text(_, _, _ float64, _ weight, _ shade, _ anchor, _ string) {}

// pixels is a canvas of an image.
type pixels struct {
	*faces
	palette *[shades]color.RGBA
	image   *image.RGBA
}

// fill fills a polygon.
func (c *pixels) fill(points []float64, s shade, opacity float64) {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for i, v := range points {
		low[i%2], high[i%2] = math.Min(low[i%2], v), math.Max(high[i%2], v)
	}
	box := image.Rect(int(math.Floor(low[0]*sharpness)), int(math.Floor(low[1]*sharpness)), int(math.Ceil(high[0]*sharpness)), int(math.Ceil(high[1]*sharpness))).Intersect(c.image.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy()) // of the shape alone: a page of them would take seconds
	for i := 0; i+1 < len(points); i += 2 {
		x, y := float32(points[i]*sharpness-float64(box.Min.X)), float32(points[i+1]*sharpness-float64(box.Min.Y))
		if i == 0 {
			r.MoveTo(x, y)
		} else {
			r.LineTo(x, y)
		}
	}
	r.ClosePath()
	colour := c.palette[s]
	r.Draw(c.image, box, image.NewUniform(color.NRGBA{colour.R, colour.G, colour.B, uint8(255 * opacity)}), image.Point{})
}

func (c *pixels) rect(x, y, width, height float64, s shade) {
	c.fill([]float64{x, y, x + width, y, x + width, y + height, x, y + height}, s, 1)
}

func (c *pixels) line(points []float64, width float64, s shade, dash []float64) {
	for i := 0; i+3 < len(points); i += 2 {
		c.segment(points[i], points[i+1], points[i+2], points[i+3], width, s, dash)
	}
}

func (c *pixels) segment(x0, y0, x1, y1, width float64, s shade, dash []float64) {
	length := math.Hypot(x1-x0, y1-y0)
	if length == 0 || math.IsNaN(length) {
		return
	}
	ux, uy := (x1-x0)/length, (y1-y0)/length
	nx, ny := -uy*width/2, ux*width/2
	for at := 0.0; at < length; {
		end := length
		if dash != nil {
			end = math.Min(length, at+dash[0])
		}
		ax, ay, bx, by := x0+ux*at, y0+uy*at, x0+ux*end, y0+uy*end
		c.fill([]float64{ax + nx, ay + ny, bx + nx, by + ny, bx - nx, by - ny, ax - nx, ay - ny}, s, 1)
		if dash == nil {
			return
		}
		at = end + dash[1]
	}
}

func (c *pixels) area(points []float64, s shade) {
	c.fill(points, s, 0.35)
	c.line(points, 1.2, s, nil)
}

func (c *pixels) circle(x, y, radius float64, s shade) {
	const corners = 40
	var points []float64
	for i := range corners {
		angle := 2 * math.Pi * float64(i) / corners
		points = append(points, x+radius*math.Cos(angle), y+radius*math.Sin(angle))
	}
	c.fill(points, s, 1)
}

func (c *pixels) text(x, y, size float64, w weight, s shade, a anchor, words string) {
	face := c.face(size, w)
	if face == nil {
		return
	}
	words = clean(words)
	switch a {
	case middle:
		x -= c.width(words, size, w) / 2
	case right:
		x -= c.width(words, size, w)
	}
	d := font.Drawer{Dst: c.image, Src: image.NewUniform(c.palette[s]), Face: face}
	d.Dot.X, d.Dot.Y = toFixed(x*sharpness), toFixed(y*sharpness)
	d.DrawString(words)
}
