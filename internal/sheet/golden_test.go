package sheet

import (
	"flag"
	"image"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file again")

// The page as SVG, element by element.
func TestGolden(t *testing.T) {
	text, err := example().SVG(Auto)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "><", ">\n<")
	const golden = "testdata/example.svg.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("go test ./internal/sheet -run TestGolden -update\n%s", d)
	}
}

// drawn returns the box, in pixels of a screen, that something covers, and how much of the box.
func drawn(t *testing.T, draw func(c *pixels)) (box image.Rectangle, share float64) {
	t.Helper()
	fonts, err := newFaces(sharpness)
	if err != nil {
		t.Fatal(err)
	}
	c := &pixels{faces: fonts, palette: Light.palette(), image: image.NewRGBA(image.Rect(0, 0, 200*sharpness, 100*sharpness))}
	draw(c)
	covered := 0
	for y := range c.image.Bounds().Dy() {
		for x := range c.image.Bounds().Dx() {
			if _, _, _, a := c.image.At(x, y).RGBA(); a > 0 {
				covered++
				box = box.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if covered > 0 {
		share = float64(covered) / float64(box.Dx()*box.Dy())
	}
	return image.Rect(box.Min.X/sharpness, box.Min.Y/sharpness, (box.Max.X+1)/sharpness, (box.Max.Y+1)/sharpness), share
}

// Shapes are where they should be on an image.
func TestPixels(t *testing.T) {
	for name, test := range map[string]struct {
		draw      func(c *pixels)
		box       image.Rectangle
		low, high float64
	}{
		"a rectangle":     {func(c *pixels) { c.rect(10, 20, 30, 40, ink) }, image.Rect(10, 20, 40, 60), 1, 1},
		"a circle":        {func(c *pixels) { c.circle(50, 50, 10, ink) }, image.Rect(40, 40, 60, 60), 0.75, 0.85},
		"a flat line":     {func(c *pixels) { c.line([]float64{10, 50, 60, 50}, 2, ink, nil) }, image.Rect(10, 49, 60, 51), 1, 1},
		"an upright line": {func(c *pixels) { c.line([]float64{10, 20, 10, 60}, 2, ink, nil) }, image.Rect(9, 20, 11, 60), 1, 1},
		"a dashed line":   {func(c *pixels) { c.line([]float64{10, 50, 60, 50}, 2, ink, []float64{5, 5}) }, image.Rect(10, 49, 55, 51), 0.5, 0.6},
		"two lines":       {func(c *pixels) { c.line([]float64{10, 20, 30, 20, 30, 40}, 2, ink, nil) }, image.Rect(10, 19, 31, 40), 0.1, 0.3},
		"an area":         {func(c *pixels) { c.area([]float64{10, 20, 30, 20, 30, 40, 10, 40}, ink) }, image.Rect(10, 19, 31, 41), 0.9, 1},
		"outside":         {func(c *pixels) { c.rect(-500, -500, 30, 40, ink) }, image.Rectangle{}, 0, 0},
		"half outside":    {func(c *pixels) { c.rect(-10, -10, 30, 40, ink) }, image.Rect(0, 0, 20, 30), 1, 1},
		"a point":         {func(c *pixels) { c.line([]float64{10, 20, 10, 20}, 2, ink, nil) }, image.Rectangle{}, 0, 0},
	} {
		box, share := drawn(t, test.draw)
		if box != test.box || share < test.low || share > test.high {
			t.Errorf("%s: %v, %.2f of it covered; expected %v", name, box, share, test.box)
		}
	}
	for name, test := range map[string]struct {
		anchor    anchor
		low, high int // where it begins and ends
	}{"left": {left, 100, 0}, "right": {right, 0, 100}} {
		box, _ := drawn(t, func(c *pixels) { c.text(100, 50, 12, regular, ink, test.anchor, "MMMM") })
		if test.low != 0 && (box.Min.X < test.low || box.Min.X > test.low+3) || test.high != 0 && (box.Max.X > test.high+1 || box.Max.X < test.high-3) || box.Max.Y > 51 || box.Min.Y < 38 {
			t.Errorf("%s: %v", name, box)
		}
	}
	box, _ := drawn(t, func(c *pixels) { c.text(100, 50, 12, regular, ink, middle, "MMMM") })
	if around := box.Min.X + box.Max.X; around < 198 || around > 202 {
		t.Errorf("the middle: %v", box)
	}
}
