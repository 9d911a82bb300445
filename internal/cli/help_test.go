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
	for _, command := range []string{"", "check", "bench", "fuzz", "compare", "profile", "advise", "baseline", "calibrate", "selftest", "demo", "build", "doctor", "init", "ci", "ci verify"} {
		args := strings.Fields(command)
		narrow, wide := help(80, args...), help(0, args...)
		if !strings.Contains(narrow, "Exit code") {
			t.Errorf("the help of %q: %s", command, narrow)
		}
		for line := range strings.Lines(narrow) {
			if n := term.DisplayWidth(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", command, n, line)
			}
		}
		said := map[string]bool{}
		for paragraph := range strings.SplitSeq(wide, "\n\n") {
			words := strings.Fields(paragraph)
			opening := strings.Join(words[:min(5, len(words))], " ")
			if said[opening] {
				t.Errorf("%s: two paragraphs begin with %q", command, opening)
			}
			said[opening] = true
		}
		if got, want := strings.Fields(narrow), strings.Fields(wide); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: the words differ", command)
		}
	}
}

// The exit codes in a command's help are its own.
func TestHelpNamesItsExitCodes(t *testing.T) {
	for args, want := range map[string]string{
		"check": "a kernel is slower", "ci guard": "the job is refused", "ci": "the job is refused", "bisect": "the last commit is not slower", "ci verify": "it failed, or contradicts itself",
	} {
		var out strings.Builder
		Run(t.Context(), nil, &out, &out, append(strings.Fields(args), "--help"))
		if strings.Count(out.String(), "Exit code") != 1 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%s:\n%s", args, out.String())
		}
	}
}
