package cli

import (
	"strings"
	"testing"

	"pawl/internal/term"
)

// The help of every command fits 80 columns, and says the same as without them.
func TestHelpFits(t *testing.T) {
	help := func(width int, args ...string) string {
		var out strings.Builder
		root := newRoot(&env{stdout: &out, stderr: &out})
		setHelpWidth(width)
		root.SetOut(&out)
		root.SetArgs(append(args, "--help"))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, command := range []string{"", "check", "bench", "fuzz", "compare", "profile", "baseline", "calibrate", "selftest", "demo", "build", "doctor", "init", "ci", "ci verify"} {
		args := strings.Fields(command)
		narrow, wide := help(80, args...), help(0, args...)
		if !strings.Contains(narrow, "Exit codes:") {
			t.Errorf("the help of %q: %s", command, narrow)
		}
		for line := range strings.Lines(narrow) {
			if n := term.DisplayWidth(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", command, n, line)
			}
		}
		if got, want := strings.Fields(narrow), strings.Fields(wide); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: the words differ", command)
		}
	}
}
