package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/disk"
)

// newManual is how a release gets its manual pages: they say what --help says.
func newManual(e *env) *cobra.Command {
	date := ""
	cmd := &cobra.Command{
		Use: "manual FOLDER", Short: "write a manual page for every command", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runManual(e, cmd.Root(), args[0], date) },
	}
	cmd.Flags().StringVar(&date, "date", "", "the day that the pages name, such as 2026-01-31")
	return cmd
}

func runManual(e *env, root *cobra.Command, folder, date string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	for _, cmd := range documented(root) {
		name := filepath.Join(folder, pageName(cmd)+".1")
		if err := disk.Write(name, []byte(manualPage(cmd, date))); err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "wrote %s\n", name)
	}
	return nil
}

// documented returns a command and those below it that users see.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns the page of a command, in the language of man(7).
func manualPage(cmd *cobra.Command, date string) string {
	var b strings.Builder
	name := pageName(cmd)
	fmt.Fprintf(&b, ".TH %s 1 %q %q %q\n", roff(strings.ToUpper(name)), date, "pawl "+version, "Manual of pawl")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(cmp.Or(cmd.Long, cmd.Short)))
	related := []string{}
	if cmd.HasParent() {
		related = append(related, pageName(cmd.Parent()))
	}
	if below := documented(cmd)[1:]; len(below) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range below {
			if sub.Parent() == cmd {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.CommandPath()), roff(sub.Short))
				related = append(related, pageName(sub))
			}
		}
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		flags.VisitAll(func(f *pflag.Flag) { b.WriteString(option(f)) })
	}
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + verbatim(cmd.Example))
	}
	exits := cmp.Or(exitsOf(cmd), "  See the description.\n")
	b.WriteString(".SH EXIT STATUS\n" + verbatim(strings.TrimPrefix(exits, "\nExit codes:\n")))
	if len(related) > 0 {
		for i, page := range related {
			related[i] = ".BR " + roff(page) + " (1)"
		}
		b.WriteString(".SH SEE ALSO\n" + strings.Join(related, ",\n") + "\n")
	}
	return b.String()
}

// option describes a flag.
func option(f *pflag.Flag) string {
	if f.Hidden {
		return ""
	}
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	takes, words := pflag.UnquoteUsage(f)
	if takes != "" {
		name += " " + takes
	}
	switch f.DefValue {
	case "", "false", "0", "0s", "[]":
	default:
		words += " (default " + f.DefValue + ")"
	}
	return fmt.Sprintf(".TP\n.B %s\n%s\n", roff(name), roff(words))
}

// paragraphs returns a text whose lines may be filled, except for those that are indented.
func paragraphs(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		var indented []string
		for line := range strings.SplitSeq(part, "\n") {
			if strings.HasPrefix(line, " ") {
				indented = append(indented, line)
				continue
			}
			b.WriteString(verbatim(strings.Join(indented, "\n")) + roff(line) + "\n")
			indented = nil
		}
		b.WriteString(verbatim(strings.Join(indented, "\n")))
	}
	return b.String()
}

// verbatim returns lines that stay as they are.
func verbatim(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	return ".RS 2\n.nf\n" + b.String() + ".fi\n.RE\n"
}

// roff escapes a line: no character of it is a command, and dashes can be copied.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
