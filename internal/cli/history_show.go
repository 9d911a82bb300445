package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/store"
	"pawl/internal/term"
)

type historyShowOptions struct {
	historyOptions
	output outputOptions
}

func (o *historyShowOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	o.output.AddFlags(f)
}

func newHistoryShow(e *env) *cobra.Command {
	opts := &historyShowOptions{}
	return withFlags(&cobra.Command{
		Use: "show [RUN]", ValidArgsFunction: cobra.NoFileCompletions, Short: "show the report of a run: the last one, or the one of this ID", Args: cobra.MaximumNArgs(1),
		Long: `show prints the report of a run, as the run itself did, and what people have noted about
it. A run is named by its ID, by the beginning or end of it, or by latest, which is the default.`,
		Example: "  pawl history show\n  pawl history show 7f3a9c2b1d04 -o report.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryShow(cmd.Context(), e, opts, append(args, "latest")[0])
		},
	}, opts)
}

func runHistoryShow(ctx context.Context, e *env, opts *historyShowOptions, name string) error {
	if err := opts.output.check(); err != nil {
		return err
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	id, err := h.Find(ctx, name)
	if err != nil {
		return err
	}
	made, err := h.Report(ctx, id)
	if err != nil {
		return err
	}
	if err := opts.output.print(e, made, ""); err != nil {
		return err
	}
	notes, err := h.Notes(ctx, id)
	if err != nil {
		return err
	}
	if !opts.output.json {
		for _, n := range notes {
			e.print("%s\n", term.Plain(noteText(n)))
		}
	}
	return gravest(e, nil, opts.output.write(made, "")...)
}
