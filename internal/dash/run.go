package dash

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"pawl/internal/pattern"
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
	Hunt   *hunt  // of a search
	Before string // the run before it of the same branch, to compare with; "": none
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
	if full.Tuning != nil {
		p.Hunt = huntOf(full.Tuning.Space, full.Tuning.Trials, len(full.Tuning.Configs))
	}
	if run.Base != "" {
		if before, err := s.db().Runs(ctx, store.Filter{Commit: run.Base, Class: run.Class, Before: run.ID, Limit: 1}); err == nil && len(before) == 1 {
			p.Before = p.Links.Compare(before[0].ID, run.ID)
		}
	}
	if s.Public {
		hide(full)
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
	f, err := runFilter(q, runsShown)
	if err != nil {
		return nil, err
	}
	f.Limit++
	found, err := s.db().Runs(r.Context(), f)
	if err != nil {
		return nil, err
	}
	p := runsPage{frame: s.frame("Runs", "runs"), Runs: found, Query: map[string]string{}}
	for _, name := range []string{"kind", "commit", "branch", "class", "outcome"} {
		p.Query[name] = q.Get(name)
	}
	if most := f.Limit - 1; len(found) > most {
		p.Runs = found[:most]
		q.Set("before", p.Runs[most-1].ID)
		p.Next = "/runs?" + q.Encode()
	}
	return page("runs", p)
}

// commitStart is what the SHA of a commit may begin with.
var commitStart = pattern.New(`^[0-9a-fA-F]{1,64}$`)

// runFilter reads which runs are asked for.
func runFilter(q url.Values, usual int) (store.Filter, error) {
	f := store.Filter{
		Before: q.Get("before"), Commit: q.Get("commit"), Branch: q.Get("branch"), Class: q.Get("class"), Kernel: q.Get("kernel"), Config: q.Get("config"),
	}
	kind, err := oneOf(q, "kind", result.Kinds)
	if err != nil {
		return f, err
	}
	if kind != "" {
		f.Kinds = []result.Kind{kind}
	}
	if f.Outcome, err = oneOf(q, "outcome", result.Endings); err != nil {
		return f, err
	}
	if f.Verdict, err = oneOf(q, "verdict", result.Verdicts); err != nil {
		return f, err
	}
	if pull := q.Get("pull"); pull != "" {
		if f.Pull, err = strconv.ParseInt(pull, 10, 64); err != nil {
			return f, &failure{http.StatusBadRequest, "pull: expected the number of a pull request", ""}
		}
	}
	if f.Commit != "" && !commitStart.MatchString(f.Commit) {
		return f, &failure{http.StatusBadRequest, fmt.Sprintf("commit=%.64s: expected how a commit's SHA begins", f.Commit), ""}
	}
	f.Limit, err = limitOf(q.Get("limit"), usual)
	return f, err
}

// shown returns a run as visitors may see it: strangers do not learn on which machine it was.
func (s *Server) shown(r *store.Run) *store.Run {
	if !s.Public {
		return r
	}
	public := *r
	public.Machine = ""
	return &public
}

// hide takes out of a report what strangers need not know: how it was called, where files lie, what the
// kernels wrote, and what the machine is besides its device.
func hide(r *result.Report) {
	r.Command, r.Spec = nil, result.SpecRef{}
	r.Machine = result.Fingerprint{CPU: result.CPU{Model: r.Machine.CPU.Model, Cores: r.Machine.CPU.Cores}, GPU: r.Machine.GPU}
	if r.Machine.GPU != nil {
		gpu := *r.Machine.GPU
		gpu.UUID = ""
		r.Machine.GPU = &gpu
	}
	var rows func(row *result.Row)
	rows = func(row *result.Row) {
		if row == nil {
			return
		}
		row.Log, row.Device, row.Sandbox = "", "", nil
		if row.Build != nil {
			row.Build.Output, row.Build.Flags, row.Build.Sandbox = "", nil, nil
		}
		for _, side := range row.Sides {
			rows(side.Row)
		}
		for _, rival := range row.Rivals {
			rows(rival.Row)
		}
	}
	for _, row := range r.Rows {
		rows(row)
	}
}
