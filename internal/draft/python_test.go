package draft

import (
	"os"
	"strings"
	"testing"

	"pawl/internal/spec"
)

// A line that a terminal breaks is no YAML any more.
func TestPythonExampleFitsATerminal(t *testing.T) {
	for line := range strings.Lines(PythonExample) {
		if width := len(strings.TrimRight(line, "\n")); width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}

// The examples that a newcomer copies are complete: those of the hint and the first of the manual.
func TestPythonExamples(t *testing.T) {
	manual, err := os.ReadFile("../../docs/python.md")
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(string(manual), "```yaml\n")
	first, _, _ = strings.Cut(first, "```")
	for name, text := range map[string]string{"hint": PythonExample, "docs/python.md": first} {
		s, err := spec.Parse("pawl.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if k := s.Kernels[0]; k.Python == "" || k.Oracle == nil || len(k.Args) < 2 || len(k.Configs) == 0 {
			t.Errorf("%s: %+v", name, k)
		}
	}
}
