package baseline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/unit"
)

// Acceptance says which results somebody wants as the baseline, slower or not.
type Acceptance struct {
	Patterns []string            // none: regressions, and rows that only unproven answers kept from moving
	Reason   string              // stored in the baseline
	From     string              // the report with the results; "": that of the last check
	Warn     func(problem error) // called for unreadable reports; may be nil
}

// Acceptances is what an Accept came to.
type Acceptances struct {
	Made   []Accepted
	Left   []*result.Row // failed the check, and were not accepted
	Folder string        // that has changed
}

// Accept makes results of a check of the current commit the baseline, and records who wanted that
// and why. It returns what has been written, even if a disk then failed.
func Accept(ctx context.Context, w Where, a Acceptance) (out Acceptances, err error) {
	if strings.TrimSpace(a.Reason) == "" {
		return out, errors.New("--reason: say why these results should become the baseline")
	}
	dir, err := w.folder()
	if err != nil {
		return out, err
	}
	report, err := a.report(dir, w.Class)
	if err != nil {
		return out, err
	}
	if err := current(ctx, dir, report); err != nil {
		return out, err
	}
	rows, err := acceptable(report, w.Class, a.Patterns)
	if err != nil {
		return out, err
	}
	store := ratchet.Open(dir)
	out.Made, err = acceptance{store: store, report: report, who: ratchet.Who(ctx, dir), reason: a.Reason}.all(ctx, rows)
	out.Left, out.Folder = left(report, w.Class, rows), filepath.Dir(store.Path(report.DeviceClass))
	return out, err
}

// left returns the rows of a class that fail the check and are not among those that were accepted.
func left(report *result.Report, class string, accepted []*result.Row) []*result.Row {
	failing := []result.Verdict{result.Regression, result.Incorrect, result.Rejected, result.Broken}
	return slices.DeleteFunc(slices.Clone(report.Rows), func(row *result.Row) bool {
		return !slices.Contains(failing, row.Verdict) || slices.Contains(accepted, row) || class != "" && class != classOf(report, row)
	})
}

// report returns the report that the user named, or that of the last check.
func (a Acceptance) report(dir, class string) (*result.Report, error) {
	path := a.From
	var report *result.Report
	var err error
	if path != "" {
		report, err = run.ReadReport(path)
	} else {
		path, report, err = a.lastCheck(dir)
	}
	switch {
	case err != nil:
		return nil, err
	case report.Kind != result.KindCheck:
		return nil, &diag.Problem{
			Message: fmt.Sprintf("%s is the report of a %s; only results of a check can become the baseline", path, report.Kind), Hint: "run pawl check first",
		}
	}
	if classes := classesOf(report); class != "" && !slices.Contains(classes, class) {
		return nil, &diag.Problem{Message: fmt.Sprintf("%s was measured on %s, not on %s", path, strings.Join(classes, " and "), class)}
	}
	return report, nil
}

// classOf returns the device class whose baseline a row belongs to.
func classOf(report *result.Report, row *result.Row) string {
	return cmp.Or(row.Class, report.DeviceClass)
}

// classesOf returns the device classes of a report's rows.
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

// lastCheck finds the newest report of a check among the runs. The names of runs begin with their
// time to the second; among runs of the same second, the reports themselves say which was the last.
func (a Acceptance) lastCheck(dir string) (string, *result.Report, error) {
	runs, err := run.List(dir)
	if err != nil {
		return "", nil, fmt.Errorf("look for the last check: %w", err)
	}
	var found *result.Report
	var where, second string
	for _, past := range runs {
		if found != nil && !strings.HasPrefix(past.ID, second) {
			break
		}
		report, err := past.Report()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil && a.Warn == nil:
		case err != nil:
			a.Warn(fmt.Errorf("skipped: %w", err))
		case report.Kind != result.KindCheck || onlyPlanned(report):
		case found == nil || report.Started.After(found.Started):
			found, where = report, past.Path()
			second, _, _ = strings.Cut(past.ID, "-")
		}
	}
	if found == nil {
		return "", nil, &diag.Problem{Message: "no report of a check was found here", Hint: "run pawl check first, or name a report with --from"}
	}
	return disk.Shown(where), found, nil
}

// onlyPlanned reports whether a check only planned, and did nothing.
func onlyPlanned(r *result.Report) bool {
	return slices.ContainsFunc(r.Rows, func(row *result.Row) bool { return row.Verdict == "" && row.Fault == nil })
}

// current refuses a report that is not of the checked-out commit: the entry names the commit to
// build it from.
func current(ctx context.Context, dir string, report *result.Report) error {
	head, ok, err := git.Head(ctx, dir)
	if err != nil {
		return err
	}
	again := "commit, then run pawl check again"
	switch {
	case !ok:
		return &diag.Problem{Message: "there is no git commit to rebuild the results from", Hint: "put the project under git and commit it"}
	case head.Dirty:
		return &diag.Problem{Message: "files have changed since the last commit", Hint: again}
	case report.Commit == nil:
		return &diag.Problem{Message: "the last check ran without a commit", Hint: again}
	case report.Commit.Dirty:
		return &diag.Problem{Message: "the last check was of files that were not committed", Hint: again}
	case report.Commit.SHA != head.SHA && !sameSources(ctx, dir, report.Commit.SHA, head.SHA):
		return &diag.Problem{
			Message: fmt.Sprintf("the last check was of commit %s, and %s is checked out", git.Short(report.Commit.SHA), git.Short(head.SHA)),
			Hint:    "run pawl check again",
		}
	}
	return nil
}

// sameSources reports whether a commit has descended from another, and nothing but pawl's own files has
// changed since: the first baseline is committed, and the rest of the same check accepted after that.
func sameSources(ctx context.Context, dir, from, to string) bool {
	if base, err := git.MergeBase(ctx, dir, from, to); err != nil || base != from {
		return false
	}
	changed, err := git.Changed(ctx, dir, from, to)
	return err == nil && !slices.ContainsFunc(changed, func(file string) bool { return !strings.Contains("/"+file, "/.pawl/") })
}

// acceptable returns the rows that the user named, or those that failed as regressions or are
// unproven; only those of a class, unless it is "".
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
		return nil, &diag.Problem{Message: fmt.Sprintf("run %s has no regression to accept", report.ID), Hint: "name the kernels to accept anyway"}
	}
	return rows, nil
}

// unproven reports whether a row would have moved the baseline if its answers were known: a kernel
// without an oracle, for example. A row that was not measured against the best-known version may be
// slower than that, and must be named.
func unproven(row *result.Row) bool {
	if row.Moved == nil || row.Moved.Done || row.Moved.Refused == "" || row.Verification == nil {
		return false
	}
	return row.Verdict != result.Incomparable && !slices.ContainsFunc(row.Sides, func(s *result.Side) bool {
		return s.Role == result.Best && s.Change == nil
	})
}

// acceptance makes rows of a report the baseline, for a reason.
type acceptance struct {
	store  *ratchet.Store
	report *result.Report
	who    string
	reason string
}

// Accepted is a row that has become the baseline.
type Accepted struct {
	Entry    *Entry
	opponent *result.Side // the side it was measured against; nil: none
}

// all accepts the rows of all device classes or, where one is refused, none. It returns what has
// been written, even if a disk then failed.
func (a acceptance) all(ctx context.Context, rows []*result.Row) ([]Accepted, error) {
	byClass := map[string][]*result.Row{}
	for _, row := range rows {
		class := classOf(a.report, row)
		byClass[class] = append(byClass[class], row)
	}
	classes := slices.Sorted(maps.Keys(byClass))
	if err := a.try(classes, byClass); err != nil {
		return nil, err
	}
	var out []Accepted
	for _, class := range classes {
		var here []Accepted
		err := a.store.Update(ctx, class, func(f *ratchet.File) error {
			var problems diag.Errors
			if here, problems = a.in(f, byClass[class]); problems != nil {
				return problems
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		out = append(out, here...)
	}
	return out, nil
}

// try finds out what would be refused. Each class has its own file, and the first is written before
// the second is checked.
func (a acceptance) try(classes []string, rows map[string][]*result.Row) error {
	var problems diag.Errors
	var damaged error
	for _, class := range classes {
		f, err := a.store.Read(class)
		if err != nil {
			return err
		}
		_, refused := a.in(f, rows[class])
		problems = append(problems, refused...)
		if damaged == nil {
			damaged = f.Damaged()
		}
	}
	if problems != nil {
		return problems
	}
	return damaged
}

// in accepts rows in the file of their class, which is not written yet.
func (a acceptance) in(f *ratchet.File, rows []*result.Row) ([]Accepted, diag.Errors) {
	var out []Accepted
	var problems diag.Errors
	for _, row := range rows {
		candidate := ratchet.CandidateOf(a.report, row, f.Entry(row.Kernel, row.Config), a.who)
		entry, err := f.Accept(candidate, a.reason)
		if err != nil {
			problems = append(problems, refusal(err))
			continue
		}
		made := Accepted{Entry: entry}
		for _, side := range row.Sides {
			if side.Change != nil && side.Change == candidate.Change {
				made.opponent = side
			}
		}
		out = append(out, made)
	}
	return out, problems
}

// String says what the entry replaces. It shows the opponent's time in the duet: the stored time is
// of another day, and may contradict the change.
func (a Accepted) String() string {
	m := a.Entry.Moved()
	now := unit.Duration(m.MedianMS / 1e3)
	switch {
	case m.From == nil:
		return now + ", the first of its kind"
	case m.By == ratchet.ByAnchor:
		return fmt.Sprintf("bound to commit %s instead of %s; its time stays %s", git.Short(m.Commit), git.Short(m.From.Commit), now)
	case m.Change == nil:
		return unit.Pair(m.From.MedianMS/1e3, m.MedianMS/1e3) + ", not measured against each other"
	}
	if a.opponent != nil && a.opponent.Row != nil && a.opponent.Row.Timing != nil && a.opponent.Row.Timing.Stats.Median > 0 {
		now = unit.Pair(a.opponent.Row.Timing.Stats.Median, m.MedianMS/1e3)
	}
	return fmt.Sprintf("%s [%s, %s] against commit %s, %s", unit.Percent(m.Change.Median),
		unit.Percent(m.Change.Low), unit.Percent(m.Change.High), git.Short(m.From.Commit), now)
}

// refusal turns an error of the ratchet into a problem with its hint.
func refusal(err error) *diag.Problem {
	if r, ok := errors.AsType[*ratchet.Refusal](err); ok {
		return &diag.Problem{Message: r.Error(), Hint: r.Hint}
	}
	return &diag.Problem{Message: err.Error()}
}
