package cli

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// A duet that was played for the question says by what its cells scattered, as one
// from a report does.
func TestPowerOfADuet(t *testing.T) {
	p := duetPower("k/c", []result.CellChange{{Median: 0.01}, {Median: -0.01}, {Median: 0.01}, {Median: -0.01}}, 0.03)
	if !p.Duet || p.Had != 4 || p.Need < 4 || math.Abs(p.Noise-0.0115) > 1e-4 {
		t.Errorf("%+v", p)
	}
	for json, want := range map[bool]string{true: `"noise": 0.0115`, false: "cells of a duet   1.2%  between cells"} {
		var out bytes.Buffer
		if err := showPower(&env{stdout: &out}, &calibrateOptions{json: json}, 0.03, []power{p}); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v\n%s\nshould contain %s", err, out.String(), want)
		}
	}
}

// Calibrating needs the project's gate alone: kernels that are not there, or are not
// what the file says, keep nobody from it.
func TestProjectGate(t *testing.T) {
	const kernels = `
kernels:
  k:
    source: k.c
    entry: k
    args: [{name: y, role: out, dtype: f32, shape: [N]}]
configs:
  small: {N: 16}
`
	for name, test := range map[string]struct {
		text, source string
		want         float64
		err          string
	}{
		"no source":    {"version: 1\ngate: {regression: 7%}" + kernels, "", 0.07, ""},
		"another one":  {"version: 1\ngate: {regression: 7%}" + kernels, "void k(const double *x, int n, int m) {}\n", 0.07, ""},
		"no such gate": {"version: 1\ngate: {regression: quite}" + kernels, "", 0, "quite"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile(spec.FileName, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.source != "" {
				if err := os.WriteFile("k.c", []byte(test.source), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			gate, err := projectGate()
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v should say %s", err, test.err)
				}
				return
			}
			if err != nil || gate.Regression != test.want {
				t.Errorf("%+v, %v", gate, err)
			}
		})
	}
	t.Chdir(t.TempDir())
	if gate, err := projectGate(); err != nil || gate != spec.DefaultGate {
		t.Errorf("without a project: %+v, %v", gate, err)
	}
}
