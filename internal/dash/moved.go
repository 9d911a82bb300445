package dash

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
)

// move is a point at which a series became slower or faster, by the judgement of its check.
type move struct {
	Series  store.Series
	Point   *history.Point
	Mark    mark
	Slower  bool
	Address string // of the run
	Where   string // of the series
	Size    float64
}

type moveFilter struct {
	Since   time.Time
	Way     string // slower, faster; "": both
	Class   string
	Machine string // digest of a fingerprint
	View    view
}

// moves lists what moved, the newest first.
func (s *Server) moves(ctx context.Context, f moveFilter) ([]move, error) {
	var points []store.Point
	for _, verdict := range []result.Verdict{result.Regression, result.Improvement} {
		if f.Way == "slower" && verdict != result.Regression || f.Way == "faster" && verdict != result.Improvement {
			continue
		}
		found, err := s.db().Points(ctx, store.Filter{Scope: store.Main, Since: f.Since, Verdict: verdict, Class: f.Class, Kinds: history.OnLine})
		if err != nil {
			return nil, err
		}
		points = append(points, found...)
	}
	on, err := s.onLine(ctx, points)
	if err != nil {
		return nil, err
	}
	links := site{versions: s.sheets}
	var made []move
	for i := range on {
		p := &on[i]
		of := store.Series{Kernel: p.Kernel, Config: p.Config, Class: p.Class}
		if !f.View.matches(of) || f.Machine != "" && f.Machine != p.Run.Machine {
			continue
		}
		m := move{Series: of, Point: p, Mark: markOf(p.Verdict), Slower: p.Verdict == result.Regression, Address: links.Run(p.Run.ID), Where: links.Series(of)}
		if p.Base != nil {
			m.Size = p.Base.Median
		} else if p.Best != nil {
			m.Size = p.Best.Median
		}
		made = append(made, m)
	}
	slices.SortStableFunc(made, func(a, b move) int {
		return cmp.Or(b.Point.Run.Started.Compare(a.Point.Run.Started), a.Series.Compare(b.Series))
	})
	return made, nil
}

type movedPage struct {
	frame
	View    view
	Way     string
	Machine string
	Spans   []option
	Moved   []move
	Query   string // of the address, with its question mark
}

// spans are how many days a page offers to look back.
var spans = []int{1, 7, 30, 90, 365}

// mostDays is how far back a page looks at most.
const mostDays = 365

// movesAsked reads which moves are asked for, and of how many days.
func (s *Server) movesAsked(q url.Values, usual int) (f moveFilter, days int, err error) {
	days = usual
	if text := q.Get("days"); text != "" {
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > mostDays {
			return f, 0, &failure{http.StatusBadRequest, fmt.Sprintf("days=%.20s: expected a number from 1 to %d", text, mostDays), ""}
		}
	}
	way, err := oneOf(q, "way", []string{"slower", "faster"})
	if err != nil {
		return f, 0, err
	}
	v, err := viewOf(q)
	if err != nil {
		return f, 0, err
	}
	return moveFilter{Since: s.Now().UTC().AddDate(0, 0, -days), Way: way, Class: v.Class, Machine: q.Get("machine"), View: v}, days, nil
}

func (s *Server) moved(r *http.Request) (*reply, error) {
	q := r.URL.Query()
	f, days, err := s.movesAsked(q, 30)
	if err != nil {
		return nil, err
	}
	p := movedPage{frame: s.frame("What moved", "moved"), View: f.View, Way: f.Way, Machine: f.Machine}
	choices := slices.Clone(spans)
	if !slices.Contains(choices, days) {
		choices = append(choices, days)
		slices.Sort(choices)
	}
	for _, n := range choices {
		p.Spans = append(p.Spans, option{itoa(n), itoa(n), n == days})
	}
	if r.URL.RawQuery != "" {
		p.Query = "?" + q.Encode()
	}
	if p.Moved, err = s.moves(r.Context(), f); err != nil {
		return nil, err
	}
	return page("moved", p)
}
