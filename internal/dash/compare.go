package dash

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/term"
	"pawl/internal/trend"
)

// comparePage sets two runs beside each other.
type comparePage struct {
	frame
	A, B     *store.Run
	Rows     []comparedRow
	Notes    []comparedNote
	Steps    []step
	Left     int    // commits that are not listed
	NoRange  string // why no commits are listed; "": they are
	Machines bool   // they were measured on different machines, or with other tools
	Index    *trend.Estimate
	Selector string
	Bisect   string // command lines
	Check    string
	Swap     string
}

// comparedRow is a kernel and config of both runs.
type comparedRow struct {
	Name   string
	Where  string
	A, B   *store.Row
	MarkA  mark
	MarkB  mark
	Change *float64 // of the times of separate runs: no judgement
	Same   bool     // the code is identical
}

// comparedNote is what somebody noted about one of the runs.
type comparedNote struct {
	store.Note
	Which string // of the two
}

// notesOf returns what was noted about the two runs, as far as they are compared.
func (s *Server) notesOf(ctx context.Context, p *comparePage) (found []comparedNote, err error) {
	for _, one := range []struct {
		which string
		run   *store.Run
	}{{"first", p.A}, {"second", p.B}} {
		notes, err := s.db().Notes(ctx, one.run.ID)
		if err != nil {
			return nil, err
		}
		for _, n := range notes {
			if slices.ContainsFunc(p.Rows, func(r comparedRow) bool { return n.About(r.B) }) {
				found = append(found, comparedNote{n, one.which})
			}
		}
	}
	return found, nil
}

// step is a commit of the range.
type step struct {
	history.Step
	Address string
}

const stepsShown = 200

// compare shows two runs, the commits between them, and the commands that tell more.
func (s *Server) compare(r *http.Request) (*reply, error) {
	ctx, q := r.Context(), r.URL.Query()
	var p comparePage
	p.frame = s.frame("Comparison", "runs")
	var rowsA, rowsB []*store.Row
	var err error
	if p.A, rowsA, err = s.named(ctx, q.Get("a")); err != nil {
		return nil, err
	}
	if p.B, rowsB, err = s.named(ctx, q.Get("b")); err != nil {
		return nil, err
	}
	kernel, config := q.Get("kernel"), q.Get("config")
	one := q.Has("kernel")
	by := map[string]*store.Row{}
	for _, row := range rowsA {
		by[row.Kernel+"\x00"+row.Config+"\x00"+row.Class] = row
	}
	for _, b := range rowsB {
		a := by[b.Kernel+"\x00"+b.Config+"\x00"+b.Class]
		if a == nil || one && (b.Kernel != kernel || b.Config != config) {
			continue
		}
		c := comparedRow{Name: b.Name(), Where: p.Links.Series(store.Series{Kernel: b.Kernel, Config: b.Config, Class: b.Class}), A: a, B: b, MarkA: markOf(a.Verdict), MarkB: markOf(b.Verdict)}
		c.Same = a.Identity != "" && a.Identity == b.Identity
		if a.MedianS > 0 && b.MedianS > 0 {
			change := b.MedianS/a.MedianS - 1
			c.Change = &change
		}
		p.Rows = append(p.Rows, c)
	}
	if p.Notes, err = s.notesOf(ctx, &p); err != nil {
		return nil, err
	}
	p.Machines = p.A.Machine != p.B.Machine || p.A.Class != p.B.Class
	swapped := url.Values{"a": {p.B.ID}, "b": {p.A.ID}}
	if one {
		p.Selector = kernel
		if config != "" {
			p.Selector += "/" + config
		}
		swapped.Set("kernel", kernel)
		swapped.Set("config", config)
		if p.Index, err = s.between(ctx, p); err != nil {
			return nil, err
		}
	}
	p.Swap = "/compare?" + swapped.Encode()
	p.commands()
	s.steps(ctx, &p)
	return page("compare", p)
}

// named returns the run that an address names; "latest" is the newest.
func (s *Server) named(ctx context.Context, id string) (*store.Run, []*store.Row, error) {
	if id == "" {
		return nil, nil, &failure{http.StatusBadRequest, "two runs are needed: ?a=RUN&b=RUN", "the list of runs has a box for each"}
	}
	if id == "latest" {
		found, err := s.db().Find(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		id = found
	}
	return s.db().Run(ctx, id)
}

// between returns the change of a series' index from one run to the other: what duets say, where runs
// measured separately only say how they differ.
func (s *Server) between(ctx context.Context, p comparePage) (*trend.Estimate, error) {
	if len(p.Rows) != 1 {
		return nil, nil
	}
	t, err := s.track(ctx, store.Series{Kernel: p.Rows[0].B.Kernel, Config: p.Rows[0].B.Config, Class: p.Rows[0].B.Class})
	if err != nil {
		return nil, err
	}
	a, b := t.find(p.A.ID), t.find(p.B.ID)
	if a == nil || b == nil || a.Index == nil || b.Index == nil || a == b || a.Stretch != b.Stretch {
		return nil, nil
	}
	// The earlier one's uncertainty is part of the later one's; with the whole of both the interval
	// is rather too wide.
	half := (math.Log(b.Index.High/b.Index.Low) + math.Log(a.Index.High/a.Index.Low)) / 2
	ratio := b.Index.Value / a.Index.Value
	return &trend.Estimate{Value: ratio - 1, Low: ratio*math.Exp(-half) - 1, High: ratio*math.Exp(half) - 1}, nil
}

func (t *track) find(run string) *place {
	for i := range t.Line {
		for _, p := range t.Line[i].Points {
			if p.Run.ID == run {
				return &t.Line[i]
			}
		}
	}
	return nil
}

// commands are those that tell more about the difference, as a shell takes them.
func (p *comparePage) commands() {
	if p.A.Commit == "" || p.B.Commit == "" || p.A.Commit == p.B.Commit {
		return
	}
	good, bad := p.A.Commit, p.B.Commit
	selector := []string{}
	if p.Selector != "" {
		selector = append(selector, p.Selector)
		p.Bisect = term.ShellLine(append([]string{"pawl", "bisect"}, append(selector, "--good", good, "--bad", bad)...)...)
	}
	if !slices.ContainsFunc(p.Rows, func(c comparedRow) bool { return !c.Same }) {
		return // pawl check measures no equal code
	}
	p.Check = term.ShellLine("git", "switch", "--detach", bad) + " && " + term.ShellLine(append(append([]string{"pawl", "check"}, selector...), "--base", good)...)
}

// steps lists the commits between the runs.
func (s *Server) steps(ctx context.Context, p *comparePage) {
	if p.A.Commit == "" || p.B.Commit == "" {
		p.NoRange = "one of the runs has no commit"
		return
	}
	if p.A.Commit == p.B.Commit {
		p.NoRange = "both are of the same commit"
		return
	}
	forge := s.forge(ctx)
	steps, err := s.History.Between(ctx, p.A.Commit, p.B.Commit)
	if err != nil {
		if steps, err = s.History.Between(ctx, p.B.Commit, p.A.Commit); err != nil {
			p.NoRange = "neither of the commits has grown from the other, or this clone does not have them"
			return
		}
		p.NoRange = "the first run is of a later commit than the second"
	}
	p.Left = max(0, len(steps)-stepsShown)
	for _, one := range steps[p.Left:] {
		one.Subject = shorten(strings.TrimSpace(one.Subject), 200)
		p.Steps = append(p.Steps, step{one, forge.Commit(one.SHA)})
	}
}
