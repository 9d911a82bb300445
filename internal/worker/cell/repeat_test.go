package cell

import (
	"path/filepath"
	"strings"
	"testing"
)

// A cell that cannot write down what it is asked does not start: the profiler's other runs of it would
// have nothing to do.
func TestRequestsThatCannotBeWrittenDown(t *testing.T) {
	t.Setenv(ProfilerVariable, "application")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	if _, _, _, err := fromRepeat(strings.NewReader("request"), nil); err == nil || !strings.Contains(err.Error(), "write down the requests") {
		t.Errorf("%v; want an error that says what could not be written", err)
	}
}
