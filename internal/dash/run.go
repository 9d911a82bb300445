package dash

import (
	"net/http"

	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/store"
)

type runPage struct {
	frame
	Run    *store.Run
	Rows   []runRow
	Notes  []store.Note
	Report report.Fragment
	States []stateRow
}

// runRow is a row of a run, with where its series is.
type runRow struct {
	*store.Row
	Mark    mark
	Address string
}

// stateRow is the state of the machine at one moment of a row.
type stateRow struct {
	Row string
	result.State
}

// run shows one run: its report, and what the report does not have.
func (s *Server) run(r *http.Request) (*reply, error) {
	ctx := r.Context()
	id := r.PathValue("id")
	run, rows, err := s.db().Run(ctx, id)
	if err != nil {
		return nil, err
	}
	full, err := s.db().Report(ctx, id)
	if err != nil {
		return nil, err
	}
	p := runPage{frame: s.frame(string(run.Kind)+" "+shortSHA(run.Commit), "runs"), Run: run}
	if p.Notes, err = s.db().Notes(ctx, id); err != nil {
		return nil, err
	}
	for _, row := range rows {
		p.Rows = append(p.Rows, runRow{row, markOf(row.Verdict), p.Links.Series(store.Series{Kernel: row.Kernel, Config: row.Config, Class: row.Class})})
	}
	for _, row := range full.Rows {
		if row != nil && row.Timing != nil {
			for _, state := range row.Timing.State {
				p.States = append(p.States, stateRow{row.Name(), state})
			}
		}
	}
	if p.Report, err = report.Fragments(full); err != nil {
		return nil, err
	}
	return page("run", p)
}

type runsPage struct {
	frame
	Runs  []*store.Run
	Next  string
	Query map[string]string
}

const runsShown = 50

// runs lists runs, the newest first.
func (s *Server) runs(r *http.Request) (*reply, error) {
	q := r.URL.Query()
	f := store.Filter{Limit: runsShown + 1, Before: q.Get("before"), Commit: q.Get("commit"), Branch: q.Get("branch"), Class: q.Get("class"), Outcome: result.Ending(q.Get("outcome"))}
	if kind := q.Get("kind"); kind != "" {
		f.Kinds = []result.Kind{result.Kind(kind)}
	}
	found, err := s.db().Runs(r.Context(), f)
	if err != nil {
		return nil, err
	}
	p := runsPage{frame: s.frame("Runs", "runs"), Runs: found, Query: map[string]string{}}
	for _, name := range []string{"kind", "commit", "branch", "class", "outcome"} {
		p.Query[name] = q.Get(name)
	}
	if len(found) > runsShown {
		p.Runs = found[:runsShown]
		q.Set("before", p.Runs[runsShown-1].ID)
		p.Next = "/runs?" + q.Encode()
	}
	return page("runs", p)
}
