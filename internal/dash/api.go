package dash

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
	"pawl/internal/trend"
)

// The JSON API has what the pages are made of. docs/api.md describes it. Fields may be added to version
// 1; none goes, and none changes what it means.

func answerJSON(v any) (*reply, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	return &reply{status: http.StatusOK, kind: "application/json", body: append(body, '\n')}, nil
}

// isAPI reports whether programs read what is at an address.
func isAPI(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/run/") && strings.HasSuffix(path, "/report.json")
}

// failJSON tells a program what is wrong with its request.
func (s *Server) failJSON(w http.ResponseWriter, f *failure) {
	body, err := json.Marshal(struct {
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
	}{f.message, f.hint})
	if err != nil {
		s.log("%v", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(append(body, '\n'))
}

func (s *Server) apiRoot(*http.Request) (*reply, error) {
	return answerJSON(map[string]any{
		"version": 1, "project": s.Project, "pawl": s.Tool,
		"series": "/api/v1/series", "points": "/api/v1/points?kernel=&config=&class=", "line": "/api/v1/line?kernel=&config=&class=", "runs": "/api/v1/runs", "run": "/api/v1/runs/{id}",
		"moved": "/api/v1/moved", "notes": "/api/v1/notes",
	})
}

type apiSeries struct {
	store.Series
	Code    string          `json:"code"` // names it in addresses of pages
	Verdict result.Verdict  `json:"verdict,omitempty"`
	Index   *trend.Estimate `json:"index,omitempty"` // relative to the first of its last 24 commits
	Last    *history.Point  `json:"last"`
	Page    string          `json:"page"`
}

func (s *Server) apiSeries(r *http.Request) (*reply, error) {
	v, err := viewOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	tiles, err := s.tiles(r.Context())
	if err != nil {
		return nil, err
	}
	list := []apiSeries{}
	for _, t := range tiles {
		if v.matches(t.Series) && (v.Verdict == "" || v.Verdict == t.Point.Verdict) {
			last := *t.Point
			last.Run = s.shown(last.Run)
			list = append(list, apiSeries{t.Series, t.Code, t.Point.Verdict, t.Index, &last, t.Address})
		}
	}
	return answerJSON(map[string]any{"series": list})
}

// apiPlace is a commit of a series, with what its newest run that counts has found.
type apiPlace struct {
	trend.Place
	Run     string         `json:"run"`
	At      time.Time      `json:"at"`
	Verdict result.Verdict `json:"verdict,omitempty"`
	Base    *store.Change  `json:"base,omitempty"`
	Best    *store.Change  `json:"best,omitempty"`
	RoofPct float64        `json:"roof_pct,omitempty"`
	Notes   []store.Note   `json:"notes,omitempty"`
}

// apiChange is a change of a series' level.
type apiChange struct {
	Commit      string  `json:"commit"` // the first of the new level
	Size        float64 `json:"size"`   // 0.05 is 5% slower
	Low         float64 `json:"ci_95_low"`
	High        float64 `json:"ci_95_high"`
	Confidence  float64 `json:"confidence"`
	Provisional bool    `json:"provisional,omitempty"` // so few commits follow that it may vanish again
	Words       string  `json:"words"`
}

// seriesOf returns the one series that an address names.
func (s *Server) seriesOf(r *http.Request) (store.Series, error) {
	q := r.URL.Query()
	all, err := s.db().Series(r.Context(), store.Filter{Kernel: literal(q.Get("kernel"))})
	if err != nil {
		return store.Series{}, err
	}
	var found []store.Series
	for _, one := range all {
		if one.Kernel == q.Get("kernel") && one.Config == q.Get("config") && (!q.Has("class") || one.Class == q.Get("class")) {
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return store.Series{}, &failure{http.StatusNotFound, "the history has no such kernel and config", "/api/v1/series lists all"}
	case 1:
		return found[0], nil
	}
	return store.Series{}, &failure{http.StatusBadRequest, "it was measured on several classes of devices", "name one: &class="}
}

func (s *Server) apiPoints(r *http.Request) (*reply, error) {
	of, err := s.seriesOf(r)
	if err != nil {
		return nil, err
	}
	t, err := s.track(r.Context(), of)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	most, err := limitOf(q.Get("limit"), 200)
	if err != nil {
		return nil, err
	}
	span, err := spanAsked(t.Line, q)
	if err != nil {
		return nil, err
	}
	next := ""
	if from := span.To - most; from > span.From {
		q.Set("to", t.Line[from-1].Commit)
		span.From, next = from, "/api/v1/points?"+q.Encode()
	}
	places := make([]apiPlace, 0, span.To-span.From)
	for _, p := range t.Line[span.From:span.To] {
		last := p.Last()
		if s.Public {
			p.Machine = ""
		}
		places = append(places, apiPlace{p.Place, last.Run.ID, last.Run.Started, last.Verdict, last.Row.Base, last.Row.Best, last.RoofPct, last.Notes})
	}
	changes := []apiChange{}
	for _, p := range t.Line {
		if p.Change != nil {
			changes = append(changes, apiChange{p.Change.Commit, p.Change.Size, p.Change.Low, p.Change.High, p.Change.Confidence, p.Change.Provisional, p.Change.Words()})
		}
	}
	return answerJSON(map[string]any{"series": of, "places": places, "changes": changes, "elsewhere": t.Off, "next": next})
}

// apiLine is a whole series in columns, as a chart reads it under the pointer: one value for each commit,
// null where there is none. Numbers have six digits.
type apiLine struct {
	Commit  []string         `json:"commit"`
	Run     []string         `json:"run"`
	At      []int64          `json:"at"` // seconds since 1970
	Verdict []result.Verdict `json:"verdict"`
	Index   []*float64       `json:"index"`
	Base    []*float64       `json:"base"` // change against the base
	Debt    []*float64       `json:"debt"`
}

func (s *Server) apiLine(r *http.Request) (*reply, error) {
	of, err := s.seriesOf(r)
	if err != nil {
		return nil, err
	}
	t, err := s.track(r.Context(), of)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	span, err := spanAsked(t.Line, q)
	if err != nil {
		return nil, err
	}
	most, err := limitOf(q.Get("limit"), span.All)
	if err != nil {
		return nil, err
	}
	return answerJSON(lineColumns(t.Line[max(span.From, span.To-most):span.To]))
}

// lineColumns puts places into columns.
func lineColumns(line []place) apiLine {
	l := apiLine{[]string{}, []string{}, []int64{}, []result.Verdict{}, []*float64{}, []*float64{}, []*float64{}}
	value := func(e *trend.Estimate) *float64 {
		if e == nil {
			return nil
		}
		return rounded(e.Value)
	}
	for _, p := range line {
		last := p.Last()
		l.Commit, l.Run, l.At, l.Verdict = append(l.Commit, p.Commit), append(l.Run, last.Run.ID), append(l.At, last.Run.Started.Unix()), append(l.Verdict, last.Verdict)
		l.Index, l.Debt = append(l.Index, value(p.Index)), append(l.Debt, value(p.Debt))
		var base *float64
		if last.Row.Base != nil {
			base = rounded(last.Row.Base.Median)
		}
		l.Base = append(l.Base, base)
	}
	return l
}

// spanAsked is spanOf for programs: a commit that the line does not have is an error.
func spanAsked(line []place, q url.Values) (span, error) {
	for _, name := range []string{"from", "to"} {
		sha := q.Get(name)
		if sha != "" && findPlace(line, sha) < 0 {
			return span{}, &failure{http.StatusBadRequest, fmt.Sprintf("%s=%.64s: expected a commit of the series, or how it begins", name, sha), "without from and to, /api/v1/points lists its commits"}
		}
	}
	return spanOf(line, q)
}

func rounded(v float64) *float64 {
	v = math.Round(v*1e6) / 1e6
	return &v
}

const mostRuns = 1000

func (s *Server) apiRuns(r *http.Request) (*reply, error) {
	q := r.URL.Query()
	f, err := runFilter(q, 100)
	if err != nil {
		return nil, err
	}
	runs, err := s.db().Runs(r.Context(), f)
	if err != nil {
		return nil, err
	}
	if runs == nil {
		runs = []*store.Run{}
	}
	for i := range runs {
		runs[i] = s.shown(runs[i])
	}
	next := ""
	if len(runs) == f.Limit {
		q.Set("before", runs[len(runs)-1].ID)
		next = "/api/v1/runs?" + q.Encode()
	}
	return answerJSON(map[string]any{"runs": runs, "next": next})
}

func (s *Server) apiRun(r *http.Request) (*reply, error) {
	run, rows, err := s.db().Run(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	notes, err := s.db().Notes(r.Context(), run.ID)
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []*store.Row{}
	}
	if notes == nil {
		notes = []store.Note{}
	}
	return answerJSON(map[string]any{"run": s.shown(run), "rows": rows, "notes": notes, "report": site{}.Run(run.ID) + "/report.json"})
}

// document is the whole report of a run.
func (s *Server) document(r *http.Request) (*reply, error) {
	if s.Public {
		return nil, &failure{http.StatusForbidden, "whole reports are not public", "the page of the run shows it without commands and machine"}
	}
	id := r.PathValue("id")
	body, err := s.db().Document(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, kind: "application/json", body: body, file: id + ".json"}, nil
}

type apiMove struct {
	Kernel  string         `json:"kernel"`
	Config  string         `json:"config"`
	Class   string         `json:"class"`
	Verdict result.Verdict `json:"verdict"`
	Change  *store.Change  `json:"change,omitempty"`
	Run     string         `json:"run"`
	Commit  string         `json:"commit"`
	At      time.Time      `json:"at"`
	Notes   []store.Note   `json:"notes,omitempty"`
}

func movesJSON(moves []move) []apiMove {
	list := []apiMove{}
	for _, m := range moves {
		list = append(list, apiMove{m.Series.Kernel, m.Series.Config, m.Series.Class, m.Point.Verdict, m.Point.Base, m.Point.Run.ID, m.Point.Run.Commit, m.Point.Run.Started, m.Point.Notes})
	}
	return list
}

func (s *Server) apiMoved(r *http.Request) (*reply, error) {
	f, _, err := s.movesAsked(r.URL.Query(), 30)
	if err != nil {
		return nil, err
	}
	moves, err := s.moves(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return answerJSON(map[string]any{"moved": movesJSON(moves)})
}

func (s *Server) apiNotes(r *http.Request) (*reply, error) {
	notes, err := s.db().Notes(r.Context())
	if err != nil {
		return nil, err
	}
	if notes == nil {
		notes = []store.Note{}
	}
	return answerJSON(map[string]any{"notes": notes})
}

// limitOf reads how many things are asked for.
func limitOf(text string, usual int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostRuns {
		return 0, &failure{http.StatusBadRequest, fmt.Sprintf("limit=%.20s: expected a number from 1 to %d", text, mostRuns), ""}
	}
	return n, nil
}
