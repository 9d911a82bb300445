package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/pattern"
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

// item matches the beginning of a line of a list: a term, and spaces up to the column of its text.
var item = pattern.New(`^ +\S+(?: \S+)* {2,}`)

// fit fills the paragraphs of a text anew, for so many columns, and the texts of lists in their column.
// Other lines that are indented stay lines.
func fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out, paragraph []string
	label, column := "", 0 // of the list's item that the paragraph is of
	end := func() {
		if len(paragraph) > 0 {
			filled := term.Fill(strings.Join(paragraph, " "), width-column)
			for i, line := range filled {
				filled[i] = strings.Repeat(" ", column) + line
			}
			filled[0] = label + filled[0][column:]
			out = append(out, filled...)
		}
		paragraph, label, column = nil, "", 0
	}
	for line := range strings.SplitSeq(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		begins := item.FindString(line)
		switch {
		case column > 0 && indent == column && begins == "": // goes on
			paragraph = append(paragraph, line[indent:])
		case begins != "" && utf8.RuneCountInString(begins) < width/2:
			end()
			label, column = begins, utf8.RuneCountInString(begins)
			paragraph = append(paragraph, line[len(begins):])
		case indent > 0 || line == "":
			end()
			out = append(out, term.Wrap(line, width))
		default:
			if column > 0 {
				end()
			}
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}
