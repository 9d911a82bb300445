package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/disk"
	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/unit"
)

const importHelp = `import adds runs that were measured elsewhere, or before: reports, the folders of runs
(.pawl/runs), zips that a CI job kept, lines of JSON that export wrote, and files of nvbench,
Google Benchmark, go test -bench and others, which do not say their commit (--commit).
A run that is there already is not added again, so anything can be imported twice.

--baseline adds the moves of the baseline, from .pawl/baseline and its history in git.
--branch adds the runs of a branch that pawl ci record writes, as this clone has it;
other commands of pawl history read origin/pawl-history by themselves.`

type historyImportOptions struct {
	historyOptions
	history.ImportOptions
	baseline bool
	branch   string
	time     string
}

func (o *historyImportOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	f.StringVar(&o.Commit, "commit", "", "the commit that other tools' files were measured at")
	f.StringVar(&o.Class, "class", "", "the class of devices that other tools' files were measured on")
	f.StringVar(&o.time, "time", "", "when other tools' files were measured (default: when the file was written)")
	f.Int64Var(&o.Pull, "pull", 0, "the runs are of the pull request of this number")
	f.BoolVar(&o.baseline, "baseline", false, "add the moves of the baseline")
	f.StringVar(&o.branch, "branch", "", "add the runs of this branch of segments")
}

func newHistoryImport(e *env) *cobra.Command {
	opts := &historyImportOptions{}
	return withFlags(&cobra.Command{
		Use: "import [FILE|FOLDER]…", Short: "add runs from reports, artifacts, branches and other tools' files", Long: importHelp,
		Example: "  pawl history import .pawl/runs\n  pawl history import artifact.zip --pull 12\n  pawl history import bench.txt --commit 3fa9c2b --class nvidia-h200\n  pawl history import --baseline",
		RunE:    func(cmd *cobra.Command, args []string) error { return runHistoryImport(cmd.Context(), e, opts, args) },
	}, opts)
}

func runHistoryImport(ctx context.Context, e *env, opts *historyImportOptions, paths []string) error {
	if len(paths) == 0 && !opts.baseline && opts.branch == "" {
		return usage("name what to import: a file, a folder, --baseline or --branch (see pawl history import --help)")
	}
	if opts.time != "" {
		var err error
		if opts.Time, err = since(opts.time, e.started); err != nil {
			return usage("--time %s: expected a day such as 2026-11-10, or a time such as 2026-11-10T14:22:33Z", opts.time)
		}
	}
	h, err := opts.open(ctx, e, store.Create)
	if err != nil {
		return err
	}
	defer h.Close()
	var problems []error
	add := func(what string, made *history.Imported, err error) {
		if err == nil || made != nil && *made != (history.Imported{}) {
			e.print("%s: %s\n", what, made)
		}
		problems = append(problems, err)
	}
	for _, path := range paths {
		made, err := h.Import(ctx, path, opts.ImportOptions)
		add(path, made, err)
	}
	if opts.baseline {
		made, err := h.ImportBaseline(ctx)
		add("baseline", made, err)
	}
	if opts.branch != "" {
		made, err := h.ImportBranch(ctx, opts.branch)
		add(opts.branch, made, err)
	}
	return errors.Join(problems...)
}

type historyExportOptions struct {
	historyOptions
	historyFilter
	output string
}

func (o *historyExportOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	o.historyFilter.AddFlags(f)
	f.StringVarP(&o.output, "output", "o", "", "the file: .jsonl has whole reports, which import reads; .csv a line for each row; a folder, DIR/, the pages of pawl serve (default: lines of JSON on stdout)")
}

func newHistoryExport(e *env) *cobra.Command {
	opts := &historyExportOptions{}
	return withFlags(&cobra.Command{
		Use: "export [kernel[/config]]", Short: "write runs as lines of JSON, rows as CSV, or the pages of pawl serve", Args: cobra.MaximumNArgs(1),
		Example: "  pawl history export -o all.jsonl\n  pawl history export 'attention/*' --since 90d -o attention.csv\n  pawl history export -o pages/",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHistoryExport(cmd.Context(), e, opts, strings.Join(args, ""))
		},
	}, opts)
}

func runHistoryExport(ctx context.Context, e *env, opts *historyExportOptions, selector string) error {
	f, err := opts.filter(e.started, selector)
	if err != nil {
		return err
	}
	if info, err := os.Stat(opts.output); err == nil && info.IsDir() || strings.HasSuffix(opts.output, "/") {
		return exportPages(ctx, e, opts, selector)
	}
	ending := filepath.Ext(opts.output)
	if ending != "" && ending != ".jsonl" && ending != ".csv" || ending == "" && opts.output != "" {
		return usage("-o %s: expected a name that ends in .jsonl or .csv, or a folder: DIR/", opts.output)
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	write, one, many := h.ExportLines, "run", "runs"
	if ending == ".csv" {
		write, one, many = h.ExportCSV, "row", "rows"
	}
	shown := newLater(e)
	defer shown.Done()
	if opts.output == "" {
		_, err := write(ctx, shown.counted(e.stdout, "exporting", "line", "lines"), f)
		return err
	}
	n := 0
	if err := disk.Stream(opts.output, func(w io.Writer) error {
		n, err = write(ctx, shown.counted(w, "exporting", "line", "lines"), f)
		return err
	}); err != nil {
		return err
	}
	shown.Done()
	e.print("%s: %s\n", opts.output, unit.Plural(n, one, many))
	return nil
}

type historyPruneOptions struct {
	historyOptions
	keep string
}

func (o *historyPruneOptions) AddFlags(f *pflag.FlagSet) {
	o.historyOptions.AddFlags(f)
	f.StringVar(&o.keep, "keep", "", "what stays: the newest so many runs (1000), or those of so long (90d) (required)")
}

func newHistoryPrune(e *env) *cobra.Command {
	opts := &historyPruneOptions{}
	return withFlags(&cobra.Command{
		Use: "prune --keep NUMBER|TIME", Short: "remove old runs", Args: cobra.NoArgs,
		Long:    "prune removes old runs from the history, with their reports and samples. Runs with notes stay.",
		Example: "  pawl history prune --keep 10000\n  pawl history prune --keep 365d",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runHistoryPrune(cmd.Context(), e, opts) },
	}, opts)
}

func runHistoryPrune(ctx context.Context, e *env, opts *historyPruneOptions) error {
	var keep store.Keep
	if n, err := strconv.Atoi(opts.keep); err == nil && n > 0 {
		keep.Runs = n
	} else if at, err := since(opts.keep, e.started); err == nil && opts.keep != "" && at.Before(e.started) {
		keep.Since = at
	} else {
		return usage("--keep %s: expected a number of runs such as 1000, or a time such as 90d", opts.keep)
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	n, err := h.Prune(ctx, keep)
	if n > 0 || err == nil {
		e.print("removed %s\n", unit.Plural(n, "run", "runs"))
	}
	return err
}
