package calibrate

import (
	"os"
	"strings"
	"testing"

	"pawl/internal/spec"
)

// Calibrating needs only the project's gate: missing or wrong kernels do not prevent it.
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
			gate, err := ProjectGate()
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
	if gate, err := ProjectGate(); err != nil || gate != spec.DefaultGate {
		t.Errorf("without a project: %+v, %v", gate, err)
	}
}
