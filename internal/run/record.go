package run

import (
	"context"
	"slices"
	"time"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/store"
)

// recorded are the kinds of runs that the history has.
var recorded = []result.Kind{result.KindBench, result.KindCheck, result.KindFuzz, result.KindProfile, result.KindTune}

// recordPatience is how long a run waits for its history: nobody wants to wait for a server that is
// not there, after a measurement.
const recordPatience = 20 * time.Second

// record adds the run to the history. The context of the run may have ended: what it has measured
// counts all the same.
func (r *Run) record(report *result.Report) error {
	if r.Dir == "" || !slices.Contains(recorded, report.Kind) || onlyPlanned(report) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordPatience)
	defer cancel()
	place := store.In(r.home, r.Database)
	var refused error
	if place.URL != "" && (r.Fork || report.Origin != nil && report.Origin.Fork) {
		refused = &diag.Problem{
			Message: "the database of PAWL_DB is not opened: this job runs a stranger's code", Hint: "the run is in .pawl/history.db; a job that runs only your own code adds its report to the database: pawl history import REPORT",
		}
		place = store.In(r.home, "")
	}
	db, err := store.Open(ctx, place, store.Create)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Add(ctx, store.Entry{Report: report}); err != nil {
		return err
	}
	return refused
}

// onlyPlanned reports whether a check has only said what it would do: rows that it measured, or could
// not, have a verdict.
func onlyPlanned(report *result.Report) bool {
	return report.Kind == result.KindCheck && !slices.ContainsFunc(report.Rows, func(row *result.Row) bool { return row.Verdict != "" })
}
