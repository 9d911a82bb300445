package cli

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pawl/internal/calibrate"
	"pawl/internal/result"
)

// A duet that was played for this question reports the scatter of its cells, as one from a report
// does.
func TestPowerOfADuet(t *testing.T) {
	p := calibrate.PowerOfDuet("k/c", []result.CellChange{{Median: 0.01}, {Median: -0.01}, {Median: 0.01}, {Median: -0.01}}, 0.03)
	if !p.Duet || p.Had != 4 || p.Need < 4 || math.Abs(p.Noise-0.0115) > 1e-4 {
		t.Errorf("%+v", p)
	}
	for json, want := range map[bool]string{true: `"noise": 0.0115`, false: "cells of a duet   1.2%  between cells"} {
		var out bytes.Buffer
		if err := showPower(&env{stdout: &out}, &calibrateOptions{json: json}, 0.03, []calibrate.Power{p}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v\n%s\nshould contain %s", err, out.String(), want)
		}
	}
}
