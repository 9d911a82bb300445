package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/ci"
	"pawl/internal/spec"
)

type ciScopeOptions struct {
	file, base, head, append string
}

func (o *ciScopeOptions) AddFlags(f *pflag.FlagSet) {
	addFileFlag(f, &o.file)
	f.StringVar(&o.base, "base", "origin/main", "the commit or branch that the change leaves")
	f.StringVar(&o.head, "head", "HEAD", "the last commit of the change")
	f.StringVar(&o.append, "append", "", "also append measure=true or measure=false to this file, as $GITHUB_OUTPUT wants it")
}

func newCIScope(e *env) *cobra.Command {
	opts := &ciScopeOptions{}
	return withFlags(&cobra.Command{
		Use: "scope", Short: "say whether a change can affect what is measured", Args: cobra.NoArgs,
		Long: `scope compares the files of a change with the inputs of pawl.yaml: the file itself, the
sources, and the files that these mention. It prints JSON. No compiler runs and nothing is
built, so a cheap machine can ask before an expensive one measures.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCIScope(cmd.Context(), e, opts) },
	}, opts)
}

func runCIScope(ctx context.Context, e *env, opts *ciScopeOptions) error {
	file := opts.file
	if file == "" {
		found, err := spec.Find(".")
		if err != nil {
			return err
		}
		file = found
	}
	scope, err := ci.FindScope(ctx, file, opts.base, opts.head)
	if err != nil {
		return err
	}
	if opts.append != "" {
		out, err := os.OpenFile(opts.append, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "measure=%t\n", scope.Measure); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return printJSON(e, scope)
}
