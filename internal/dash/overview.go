package dash

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
	"pawl/internal/trend"
)

// sparkPoints is how many points of each series the overview draws.
const sparkPoints = 24

// tile is one series on the overview.
type tile struct {
	Series  store.Series
	Code    string
	Address string
	Mark    mark
	Point   *history.Point // the newest that says something
	Spark   template.HTML
	Says    string // for those who cannot see it
	Change  *store.Change
	Debt    *trend.Estimate // behind the best-known, if clearly so
	Noted   bool
	Same    bool // the commits after Point have the same code
	Index   *trend.Estimate
	Class   string // where tiles of several classes stand beside each other
}

// rowOfTiles is a kernel.
type rowOfTiles struct {
	Kernel, Address string
	Tiles           []tile
}

type overviewPage struct {
	frame
	Rows    []rowOfTiles
	View    view
	Classes []option
	Counts  []verdictCount
	Shown   int
	All     int
	Hidden  int
	Moved   []move
	Since   time.Time
	Empty   bool // the history has no run at all
}

type option struct {
	Value, Text string
	Chosen      bool
}

type verdictCount struct {
	Mark    mark
	Count   int
	Address string
	Chosen  bool
}

func (s *Server) overview(r *http.Request) (*reply, error) {
	ctx := r.Context()
	v, err := viewOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	p := overviewPage{frame: s.frame("Kernels", "kernels"), View: v}
	tiles, err := s.tiles(ctx)
	if err != nil {
		return nil, err
	}
	p.All, p.Empty = len(tiles), len(tiles) == 0
	classes := map[string]int{}
	for _, t := range tiles {
		classes[t.Series.Class]++
	}
	for _, class := range slices.Sorted(mapsKeys(classes)) {
		p.Classes = append(p.Classes, option{class, class, class == v.Class})
	}
	counts := map[result.Verdict]int{}
	by := map[string]*rowOfTiles{}
	for _, t := range tiles {
		if !v.matches(t.Series) {
			continue
		}
		if slices.Contains(v.Hide, t.Code) {
			p.Hidden++
			continue
		}
		counts[t.Point.Verdict]++
		if v.Verdict != "" && v.Verdict != t.Point.Verdict {
			continue
		}
		if len(classes) > 1 && v.Class == "" {
			t.Class = t.Series.Class
		}
		row := by[t.Series.Kernel]
		if row == nil {
			p.Rows = append(p.Rows, rowOfTiles{Kernel: t.Series.Kernel, Address: p.Links.Kernel(t.Series.Kernel)})
			by[t.Series.Kernel] = &rowOfTiles{}
			row = by[t.Series.Kernel]
		}
		row.Tiles = append(row.Tiles, t)
		p.Shown++
	}
	for i := range p.Rows {
		p.Rows[i].Tiles = by[p.Rows[i].Kernel].Tiles
	}
	for _, verdict := range verdicts {
		if n := counts[verdict]; n > 0 || verdict != "" && verdict == v.Verdict {
			next := v
			if next.Verdict = verdict; v.Verdict == verdict {
				next.Verdict = ""
			}
			p.Counts = append(p.Counts, verdictCount{markOf(verdict), n, "/" + next.Query(), verdict != "" && v.Verdict == verdict})
		}
	}
	p.Since = s.Now().UTC().AddDate(0, 0, -7).Truncate(time.Hour)
	if p.Moved, err = s.moves(ctx, moveFilter{Since: p.Since, Class: v.Class, View: v}); err != nil {
		return nil, err
	}
	return page("overview", p)
}

// verdicts are all, and that of rows that were only measured.
var verdicts = append(slices.Clone(result.Verdicts), "")

// tiles returns all series, by kernel and config.
func (s *Server) tiles(ctx context.Context) ([]tile, error) {
	points, err := s.db().Latest(ctx, store.Filter{Scope: store.Main, Kinds: history.OnLine}, sparkPoints)
	if err != nil {
		return nil, err
	}
	on, err := s.onLine(ctx, points)
	if err != nil {
		return nil, err
	}
	by := map[store.Series][]history.Point{}
	for _, p := range on {
		of := store.Series{Kernel: p.Kernel, Config: p.Config, Class: p.Class}
		by[of] = append(by[of], p)
	}
	tiles := make([]tile, 0, len(by))
	links := site{versions: s.sheets}
	commits, _, err := s.commits(ctx)
	if err != nil {
		return nil, err
	}
	for of, points := range by {
		line := chain(points, commits)
		if len(line) == 0 {
			continue
		}
		last, same := judged(line)
		t := tile{Same: same, Series: of, Code: codeOf(of), Address: links.Series(of), Mark: markOf(last.Verdict), Point: last, Spark: spark(line), Change: last.Base, Noted: len(last.Notes) > 0, Index: line[len(line)-1].Index}
		if d := line[len(line)-1].Debt; d != nil && d.Low > 1 {
			t.Debt = d
		}
		tiles = append(tiles, t)
	}
	slices.SortFunc(tiles, func(a, b tile) int { return a.Series.Compare(b.Series) })
	return tiles, nil
}

// judged returns the newest point of a line that says something: of commits whose code is that of their
// base, nothing new is known. same: there are such commits after it.
func judged(line []place) (last *history.Point, same bool) {
	for i := len(line) - 1; i >= 0; i-- {
		if p := line[i].Last(); p.Verdict != result.Unchanged {
			return p, i < len(line)-1
		}
	}
	return line[len(line)-1].Last(), false
}

// view is what of the history somebody looks at. It stands in the address whole, so that it can be shared.
type view struct {
	Search  string
	Class   string
	Verdict result.Verdict
	Hide    []string // codes of series
	Choose  bool     // tiles have links that hide them
}

func viewOf(q url.Values) (view, error) {
	verdict, err := oneOf(q, "verdict", result.Verdicts)
	v := view{Search: strings.TrimSpace(q.Get("q")), Class: q.Get("class"), Verdict: verdict, Choose: q.Get("choose") == "1"}
	for codes := q.Get("hide"); len(codes) >= codeLength; codes = codes[codeLength:] {
		v.Hide = append(v.Hide, codes[:codeLength])
	}
	return v, err
}

// oneOf reads a parameter that has one of some values; "": it is not there.
func oneOf[T ~string](q url.Values, name string, known []T) (T, error) {
	given := T(q.Get(name))
	if given == "" || slices.Contains(known, given) {
		return given, nil
	}
	words := make([]string, len(known))
	for i, one := range known {
		words[i] = string(one)
	}
	return "", &failure{http.StatusBadRequest, fmt.Sprintf("%s=%.40s: expected one of %s", name, given, strings.Join(words, ", ")), ""}
}

// Query returns the view as the end of an address.
func (v view) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"q": v.Search, "class": v.Class, "verdict": string(v.Verdict), "hide": strings.Join(v.Hide, "")} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if v.Choose {
		q.Set("choose", "1")
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// HideText is the hidden series as they stand in the address.
func (v view) HideText() string { return strings.Join(v.Hide, "") }

// WithAll returns the address of the view with nothing hidden.
func (v view) WithAll() string {
	v.Hide = nil
	return "/" + v.Query()
}

// Toggled returns the address of the view in which tiles can be hidden, or no longer.
func (v view) Toggled() string {
	v.Choose = !v.Choose
	return "/" + v.Query()
}

// Without returns the address of the view with one more series hidden.
func (v view) Without(code string) string {
	v.Hide = append(slices.Clone(v.Hide), code)
	return "/" + v.Query()
}

// matches reports whether a series is looked at: each word is a part of its name.
func (v view) matches(s store.Series) bool {
	if v.Class != "" && v.Class != s.Class {
		return false
	}
	name := strings.ToLower(s.Kernel + "/" + s.Config)
	for _, word := range strings.Fields(strings.ToLower(v.Search)) {
		if !strings.Contains(name, word) {
			return false
		}
	}
	return true
}
