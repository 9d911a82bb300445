package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/search"
)

// values are what flags of these names take, wherever they are.
var values = map[string][]string{
	"cache":    {"cold", "hot"},
	"forge":    ci.Forges,
	"trust":    {"claimed", "approved", "own"},
	"strategy": search.Names(), "objective": {"time", "energy", "both"}, "over": {"mean", "worst"},
}

// complete tells shells what may follow each command: names of pawl.yaml, the values of flags, or
// nothing. Where it says nothing, shells offer files. A command's Use says what it takes.
func complete(cmd *cobra.Command) {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	switch first, _, _ := strings.Cut(takes, " "); {
	case takes == "" || strings.HasPrefix(first, "--"):
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	case strings.Contains(first, "|"):
		cmd.ValidArgs = strings.Split(first, "|")
	case strings.Contains(takes, "kernel"):
		files := 0
		if first == strings.ToUpper(first) {
			files = 1 // such as REPORT
		}
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) < files {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return kernelNames(cmd, args, begun), cobra.ShellCompDirectiveNoFileComp
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if known := values[f.Name]; known != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
		}
	})
	for _, sub := range cmd.Commands() {
		complete(sub)
	}
}

// kernelNames returns the kernels of pawl.yaml that begin so, and the configs of the one kernel that
// does. A file with mistakes has none: a shell has no place to show them.
func kernelNames(cmd *cobra.Command, args []string, begun string) []cobra.Completion {
	project := projectOptions{}
	if f := cmd.Flag("file"); f != nil {
		project.file = f.Value.String()
	}
	s, err := project.load()
	if err != nil {
		return nil
	}
	all, err := s.Select(nil)
	if err != nil {
		return nil
	}
	var names, configs []string
	for _, selection := range all {
		kernel := selection.Kernel.Name
		if !strings.HasPrefix(kernel+"/", begun) && !strings.HasPrefix(begun, kernel+"/") {
			continue
		}
		names, configs = append(names, kernel), nil
		for _, config := range selection.Configs {
			configs = append(configs, kernel+"/"+config.Name)
		}
		if strings.HasPrefix(begun, kernel+"/") {
			names = nil
			break
		}
	}
	if len(names) <= 1 {
		names = append(names, configs...)
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
	})
}
