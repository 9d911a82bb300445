package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestManual: every command that --help lists has a page, and the page names its flags and commands.
func TestManual(t *testing.T) {
	root := newRoot(&env{})
	pages := documented(root)
	names := []string{}
	for _, cmd := range pages {
		names = append(names, pageName(cmd))
		page := manualPage(cmd, "2026-01-31")
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"} {
			if !strings.Contains(page, "\n.SH "+section+"\n") {
				t.Errorf("%s has no section %s:\n%s", pageName(cmd), section, page)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(page, roff("--"+f.Name)) {
				t.Errorf("%s does not name --%s", pageName(cmd), f.Name)
			}
		})
		for line := range strings.Lines(page) {
			macro, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if strings.HasPrefix(macro, ".") && !slices.Contains([]string{".TH", ".SH", ".TP", ".B", ".BR", ".PP", ".RS", ".RE", ".nf", ".fi"}, macro) {
				t.Errorf("%s: %q is no macro of man(7)", pageName(cmd), line)
			}
		}
	}
	for _, want := range []string{"pawl", "pawl-check", "pawl-baseline-accept", "pawl-ci-init"} {
		if !slices.Contains(names, want) {
			t.Errorf("no page %s in %q", want, names)
		}
	}
	for _, hidden := range []string{"pawl-cell", "pawl-worker", "pawl-manual", "pawl-completion"} {
		if slices.Contains(names, hidden) {
			t.Errorf("%s is hidden, and has a page", hidden)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".TH evil":       `\&.TH evil`,
		"'br":            `\&'br`,
		`a\b --flag`:     `a\eb \-\-flag`,
		"two\n.SH lines": "two .SH lines",
		"plain":          "plain",
	} {
		if got := roff(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got, want := paragraphs("one\ntwo\n\n  code\nthree"), "one\ntwo\n.PP\n.RS 2\n.nf\ncode\n.fi\n.RE\nthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEveryArgumentIsCompleted: a command either says what it takes, or takes files.
func TestEveryArgumentIsCompleted(t *testing.T) {
	files := map[string]bool{"pawl compare": true, "pawl profile": true, "pawl init": true, "pawl selftest": true, "pawl tune replay": true}
	for _, cmd := range documented(newRoot(&env{})) {
		if cmd.HasSubCommands() || files[cmd.CommandPath()] {
			continue
		}
		if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
			t.Errorf("%s: shells offer files, and it takes none", cmd.CommandPath())
		}
	}
}
