package script

import (
	"os/exec"
	"testing"
)

// The stages of the GPU bundle fail when a bound is missed: figures.py is given
// made-up results on both sides of each.
func TestFigures(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("needs Python: %v", err)
	}
	if out, err := exec.Command(python, "-B", "../gpu/figures/bounds_test.py").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
