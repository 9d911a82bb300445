package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
)

type acceptOptions struct {
	baselineOptions
	reason string
	from   string
}

func (o *acceptOptions) AddFlags(f *pflag.FlagSet) {
	o.baselineOptions.AddFlags(f)
	f.StringVar(&o.reason, "reason", "", "why; it stays in the baseline (required)")
	f.StringVar(&o.from, "from", "", "the report to take results from (default: the last check)")
}

func newBaselineAccept(e *env) *cobra.Command {
	opts := &acceptOptions{}
	cmd := &cobra.Command{
		Use: "accept [kernel[/config]…] --reason TEXT", Short: "make the last check's results the baseline, slower or not",
		Long: `accept makes results of the last check the baseline, whatever they are, and records
who wanted that and why. Without a selector it takes those that failed as regressions,
and those that only their unproven answers kept from becoming the baseline.
Commit the baseline with the change it belongs to: the report of that change shows it.`,
		Example: "  pawl baseline accept attention/training_512 --reason 'correct for masked rows'",
		RunE:    func(_ *cobra.Command, args []string) error { return runAccept(e, opts, args) },
	}
	opts.AddFlags(cmd.Flags())
	return cmd
}

func runAccept(e *env, opts *acceptOptions, patterns []string) error {
	if strings.TrimSpace(opts.reason) == "" {
		return usage("--reason: say why these results shall be the baseline")
	}
	dir, err := opts.folder()
	if err != nil {
		return err
	}
	report, err := opts.report(e, dir)
	if err != nil {
		return err
	}
	if err := current(e.ctx, dir, report); err != nil {
		return err
	}
	rows, err := acceptable(report, opts.class, patterns)
	if err != nil {
		return err
	}
	store := ratchet.Open(dir)
	accepted, err := acceptance{store: store, report: report, who: ratchet.Who(e.ctx, dir), reason: opts.reason}.all(e.ctx, rows)
	style := e.style()
	for _, a := range accepted {
		fmt.Fprintf(e.stdout, "%s %s: %s\n", style.Yellow("accepted"), style.Bold(a.entry.Name), a)
	}
	if len(accepted) > 0 {
		fmt.Fprintf(e.stdout, "reason: %s\n", accepted[0].entry.Moved().Reason)
		fmt.Fprintf(e.stdout, "next: git add %s && git commit\n", relative(filepath.Dir(store.Path(report.DeviceClass))))
	}
	return err
}

// report is the one that the user named, or that of the last check.
func (o *acceptOptions) report(e *env, dir string) (*result.Report, error) {
	path := o.from
	var report *result.Report
	var err error
	if path != "" {
		report, err = readReport(path)
	} else {
		path, report, err = lastCheck(e, dir)
	}
	switch {
	case err != nil:
		return nil, err
	case report.Kind != result.KindCheck:
		return nil, &diag.Problem{
			Message: fmt.Sprintf("%s is the report of a %s; only a check says what a result is worth", path, report.Kind), Hint: "pawl check first",
		}
	}
	if classes := classesOf(report); o.class != "" && !slices.Contains(classes, o.class) {
		return nil, &diag.Problem{Message: fmt.Sprintf("%s was measured on %s, not on %s", path, strings.Join(classes, " and "), o.class)}
	}
	return report, nil
}

// classOf is the device class whose baseline a row belongs to.
func classOf(report *result.Report, row *result.Row) string {
	return cmp.Or(row.Class, report.DeviceClass)
}

// classesOf are the device classes of a report's rows.
func classesOf(report *result.Report) []string {
	if len(report.Rows) == 0 {
		return []string{report.DeviceClass}
	}
	var classes []string
	for _, row := range report.Rows {
		classes = append(classes, classOf(report, row))
	}
	slices.Sort(classes)
	return slices.Compact(classes)
}

func readReport(path string) (*result.Report, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	report, err := result.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// lastCheck finds the newest report of a check among the runs. Their names begin
// with their time to the second; which of the same second was the last, the reports
// themselves say.
func lastCheck(e *env, dir string) (string, *result.Report, error) {
	runs := filepath.Join(dir, ".pawl", "runs")
	entries, err := os.ReadDir(runs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("look for the last check: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(b.Name(), a.Name()) })
	var found *result.Report
	var where, second string
	for _, entry := range entries {
		if found != nil && !strings.HasPrefix(entry.Name(), second) {
			break
		}
		path := filepath.Join(runs, entry.Name(), "report.json")
		report, err := readReport(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) || !entry.IsDir():
		case err != nil:
			e.warn("passed over: %v", err)
		case report.Kind != result.KindCheck || onlyPlanned(report):
		case found == nil || report.Started.After(found.Started):
			found, where = report, path
			second, _, _ = strings.Cut(entry.Name(), "-")
		}
	}
	if found == nil {
		return "", nil, &diag.Problem{Message: "there is no report of a check here", Hint: "pawl check first, or name a report with --from"}
	}
	return relative(where), found, nil
}

// onlyPlanned tells whether a check was asked what it would do, and did nothing.
func onlyPlanned(r *result.Report) bool {
	return slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return row.Verdict == "" && row.Fault == nil })
}

// current refuses a report that is not of what is checked out now: the entry names
// the commit to build it from.
func current(ctx context.Context, dir string, report *result.Report) error {
	head, ok, err := git.Head(ctx, dir)
	if err != nil {
		return err
	}
	again := "commit, then pawl check again"
	switch {
	case !ok:
		return &diag.Problem{Message: "there is no git commit to build the results from again", Hint: "put the project under git and commit it"}
	case head.Dirty:
		return &diag.Problem{Message: "files have changed since the last commit", Hint: again}
	case report.Commit == nil:
		return &diag.Problem{Message: "the last check knew of no commit", Hint: again}
	case report.Commit.Dirty:
		return &diag.Problem{Message: "the last check measured files that were not committed", Hint: again}
	case report.Commit.SHA != head.SHA:
		return &diag.Problem{
			Message: fmt.Sprintf("the last check measured commit %s, and %s is checked out", git.Short(report.Commit.SHA), git.Short(head.SHA)),
			Hint:    "pawl check again",
		}
	}
	return nil
}

// acceptable are the rows that the user named, or those that failed as regressions or
// are unproven; only those of a class, unless it is "".
func acceptable(report *result.Report, class string, patterns []string) ([]*result.Row, error) {
	var there []*result.Row
	var names []string
	for _, row := range report.Rows {
		if class == "" || class == classOf(report, row) {
			there, names = append(there, row), append(names, row.Name())
		}
	}
	chosen, err := ratchet.Select(names, patterns)
	if err != nil {
		return nil, err
	}
	var rows []*result.Row
	for _, row := range there {
		if slices.Contains(chosen, row.Name()) && (len(patterns) > 0 || row.Verdict == result.Regression || unproven(row)) {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil, &diag.Problem{Message: fmt.Sprintf("run %s has no regression to accept", report.ID), Hint: "name the kernels to accept all the same"}
	}
	return rows, nil
}

// unproven tells whether a row would have moved the baseline if its answers were
// known: a kernel without an oracle, say. One that was not measured against the
// best-known version may be slower than that, and must be named.
func unproven(row *result.Row) bool {
	if row.Moved == nil || row.Moved.Done || row.Moved.Refused == "" || row.Verification == nil {
		return false
	}
	return row.Verdict != result.Incomparable && !slices.ContainsFunc(row.Sides, func(s *result.Side) bool {
		return s.Role == result.Best && s.Change == nil
	})
}
