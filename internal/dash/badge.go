package dash

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"unicode/utf8"

	"pawl/internal/result"
	"pawl/internal/unit"
)

// badge is a small picture for a README: what the last check said of a kernel, a config or all of them.
// It has its colours in itself: a page of somebody else's shows it.
func (s *Server) badge(r *http.Request) (*reply, error) {
	q := r.URL.Query()
	tiles, err := s.tiles(r.Context())
	if err != nil {
		return nil, err
	}
	label, counts, shown := "pawl", map[result.Verdict]int{}, 0
	var last tile
	for _, t := range tiles {
		if q.Has("kernel") && q.Get("kernel") != t.Series.Kernel || q.Has("config") && q.Get("config") != t.Series.Config || q.Has("class") && q.Get("class") != t.Series.Class {
			continue
		}
		shown++
		counts[t.Point.Verdict]++
		last = t
	}
	if q.Has("kernel") {
		label = q.Get("kernel")
		if q.Has("config") {
			label += "/" + q.Get("config")
		}
	}
	text, colour := "nothing measured", "#68717a"
	switch {
	case shown == 1:
		text = last.Mark.Word
		if last.Change != nil {
			text += " " + unit.Percent(last.Change.Median)
		}
		colour = badgeColours[last.Mark.Class]
	case shown > 1:
		text, colour = badgeText(counts)
	}
	return &reply{status: http.StatusOK, kind: "image/svg+xml", body: []byte(badgeSVG(shorten(label, 40), text, colour))}, nil
}

// badgeText returns what a badge says of several configs, and its colour: the worst verdict, and without a
// bad one, of how many a check has found that they are no slower.
func badgeText(counts map[result.Verdict]int) (text, colour string) {
	for _, verdict := range verdicts[:slices.Index(verdicts, result.Improvement)] {
		if n := counts[verdict]; n > 0 {
			return unit.Count(n) + " " + markOf(verdict).Word, badgeColours[markOf(verdict).Class]
		}
	}
	all, judged := 0, counts[result.Improvement]+counts[result.Maintained]+counts[result.Unchanged]
	for _, n := range counts {
		all += n
	}
	configs := unit.Plural(all, "config", "configs")
	switch judged {
	case 0:
		return "not judged yet", badgeColours["measured"]
	case all:
		return configs + ", none slower", badgeColours["faster"]
	}
	return fmt.Sprintf("%s, %s judged, none slower", configs, unit.Count(judged)), badgeColours["faster"]
}

// The colours have a contrast with white of at least 4.5 to 1.
var badgeColours = map[string]string{
	"slower": "#b8500c", "faster": "#0068a8", "even": "#2c6e49", "fresh": "#6a3fb5", "unsure": "#7a5900", "wrong": "#a8200d", "measured": "#565e66",
}

func badgeSVG(label, text, colour string) string {
	const letter, free = 7, 12 // pixels of a letter and beside a text
	a, b := utf8.RuneCountInString(label)*letter+free, utf8.RuneCountInString(text)*letter+free
	label, text = html.EscapeString(label), html.EscapeString(text)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="%s: %s">`+
		`<clipPath id="r"><rect width="%d" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="%d" height="20" fill="#3b4147"/><rect x="%d" width="%d" height="20" fill="%s"/></g>`+
		`<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14" textLength="%d">%s</text><text x="%d" y="14" textLength="%d">%s</text></g></svg>`+"\n",
		a+b, label, text, a+b, a, a, b, colour, a/2, a-free, label, a+b/2, b-free, text)
}
