package dash

import (
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"pawl/internal/history"
	"pawl/internal/store"
	"pawl/internal/trend"
)

func itoa(n int) string { return strconv.Itoa(n) }

func mapsKeys[V any](m map[string]V) func(func(string) bool) { return maps.Keys(m) }

// panel is one series on the page of a kernel.
type panel struct {
	Series  store.Series
	Address string
	Last    *place
	Mark    mark
	Chart   template.HTML
	Roof    template.HTML // percent of the roofline
	Debt    template.HTML // creep
	Changes []changeRow
	Times   []timesChange
	Flips   int
	Zooms   []option
	Span    span
	Rows    []placeRow // the last of them
	More    int        // that the table leaves out
	Off     int
}

// placeRow is a commit in the table of a series.
type placeRow struct {
	*place
	Address string
	Commit  string // address of the commit's page
	Mark    mark
}

// changeRow is a change of the level.
type changeRow struct {
	*trend.LineChange
	Place   *place
	Before  string // address of the comparison across it
	Commit  string
	Address string
	Slower  bool
}

type kernelPage struct {
	frame
	Query     url.Values
	Kernel    string
	Panels    []panel
	Reference string // row whose times tell the machine from the kernel, where duets do not; "": none
	Whole     bool   // one series, with all that is known of it
	Branch    string
}

const tableRows = 50

// kernel shows all configs of a kernel side by side, or one of them whole.
func (s *Server) kernel(r *http.Request) (*reply, error) {
	ctx, q := r.Context(), r.URL.Query()
	name := q.Get("name")
	all, err := s.db().Series(ctx, store.Filter{Kernel: literal(name)})
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(all, func(one store.Series) bool {
		return one.Kernel != name || q.Has("config") && q.Get("config") != one.Config || q.Has("class") && q.Get("class") != one.Class
	})
	if len(of) == 0 {
		return nil, &failure{http.StatusNotFound, "the history has no such kernel or config", "the first page lists all"}
	}
	title := name
	if len(of) == 1 && q.Has("config") {
		title = name + "/" + of[0].Config
	}
	p := kernelPage{frame: s.frame(title, "kernels"), Kernel: name, Reference: q.Get("reference"), Whole: len(of) == 1}
	if line, _, err := s.commits(ctx); err == nil {
		p.Branch = line.Branch
	}
	forge := s.forge(ctx)
	for _, one := range of {
		t, err := s.track(ctx, one)
		if err != nil {
			return nil, err
		}
		one = t.Series
		made := panel{Series: one, Address: p.Links.Series(one), Off: t.Off}
		if len(t.Line) > 0 {
			if made.Span, err = spanOf(t.Line, q); err != nil {
				return nil, err
			}
			made.Chart = trendChart(p.Links, t.Line, made.Span, p.Whole)
			made.Last = &t.Line[len(t.Line)-1]
			made.Mark = markOf(made.Last.Last().Verdict)
			if p.Whole {
				made.Rows, made.More = rowsOf(p.Links, forge, t.Line[made.Span.From:made.Span.To])
				made.Changes = changesOf(p.Links, forge, one, t.Line)
				beside, err := s.reference(ctx, q.Get("reference"), one.Class)
				if err != nil {
					return nil, err
				}
				times := timesOf(t.Line, beside)
				made.Times, made.Flips = timesRows(p.Links, t.Line, times), times.Flips
				made.Roof, made.Debt = roofChart(t.Line, made.Span), debtChart(t.Line, made.Span)
				made.Zooms = zooms(p.Links.Series(one), t.Line, made.Span)
			}
		}
		p.Panels = append(p.Panels, made)
	}
	return page("kernel", p)
}

// rowsOf lists the last places, the newest first.
func rowsOf(links site, forge history.Forge, line []place) (rows []placeRow, more int) {
	from := max(0, len(line)-tableRows)
	for i := len(line) - 1; i >= from; i-- {
		last := line[i].Last()
		rows = append(rows, placeRow{&line[i], links.Run(last.Run.ID), forge.Commit(last.Run.Commit), markOf(last.Verdict)})
	}
	return rows, from
}

// changesOf lists where the level moved, the newest first.
func changesOf(links site, forge history.Forge, of store.Series, line []place) (rows []changeRow) {
	for i := len(line) - 1; i > 0; i-- {
		c := line[i].Change
		if c == nil {
			continue
		}
		last := line[i].Last()
		rows = append(rows, changeRow{
			LineChange: c, Place: &line[i], Commit: forge.Commit(last.Run.Commit), Address: links.Run(last.Run.ID), Slower: c.Size > 0,
			Before: links.Across(of, line[i-1].Last().Run.ID, last.Run.ID),
		})
	}
	return rows
}

// zooms are parts of the line to look at.
func zooms(address string, line []place, s span) (list []option) {
	for _, n := range []int{30, 100, 300, 1000} {
		if n < len(line) {
			from := line[len(line)-n].Points[0].Run.Commit
			list = append(list, option{address + "&from=" + shortSHA(from), "last " + itoa(n), s.To == s.All && s.From == s.All-n})
		}
	}
	if len(list) > 0 {
		list = append(list, option{address, "all " + itoa(len(line)), !s.Part()})
	}
	return list
}
