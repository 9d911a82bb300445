package sheet

import (
	"strings"
	"testing"
)

// The line of a histogram is at the median that a table says.
func TestMedianOfSamples(t *testing.T) {
	svg, err := Sheet{Title: "k", Samples: [][]float64{{1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3, 8e-3}}}.SVG(Light)
	if err != nil || !strings.Contains(svg, ">4.50 ms<") {
		t.Errorf("%v: %s", err, svg)
	}
}
