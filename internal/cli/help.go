package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/term"
)

// fitHelp makes a command's help as wide as the terminal. Elsewhere nothing is wrapped.
func fitHelp(root *cobra.Command, width int) {
	setHelpWidth(width)
	root.SetUsageTemplate(strings.ReplaceAll(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages", "flags .LocalFlags"), ".InheritedFlags.FlagUsages", "flags .InheritedFlags"))
	root.SetHelpTemplate(strings.Replace(root.HelpTemplate(), ". | trimTrailingWhitespaces", "fit . | trimTrailingWhitespaces", 1))
}

func setHelpWidth(width int) {
	cobra.AddTemplateFunc("fit", func(text string) string { return fit(text, width) })
	cobra.AddTemplateFunc("flags", func(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(width) })
}

// fit fills the paragraphs of a text anew, for so many columns. Lines that are indented stay lines.
func fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, term.Fill(strings.Join(paragraph, " "), width)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			end()
			out = append(out, term.Wrap(line, width))
			continue
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}
