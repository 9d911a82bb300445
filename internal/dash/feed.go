package dash

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pawl/internal/unit"
)

// atomFeed is a feed as readers of feeds take it (RFC 4287).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	Title   string      `xml:"title"`
	ID      string      `xml:"id"`
	Updated string      `xml:"updated"`
	Link    []atomLink  `xml:"link"`
	Author  atomAuthor  `xml:"author"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomEntry struct {
	Title   string   `xml:"title"`
	ID      string   `xml:"id"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary"`
}

// words say what moved, in one line.
func (m *move) words() string {
	text := m.Series.Kernel
	if m.Series.Config != "" {
		text += "/" + m.Series.Config
	}
	text += " " + m.Mark.Word
	if m.Point.Base != nil {
		text += " " + changeText(m.Point.Base.Median, m.Point.Base.Low, m.Point.Base.High)
	}
	return strings.Map(printable, text)
}

// printable drops characters that no XML and no terminal takes.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == 0xfffe || r == 0xffff || r >= 0x80 && r < 0xa0 {
		return -1
	}
	return r
}

// feed is what moved, for readers of feeds. It takes the filters of the page.
func (s *Server) feed(r *http.Request) (*reply, error) {
	q := r.URL.Query()
	f, _, err := s.movesAsked(q, 90)
	if err != nil {
		return nil, err
	}
	moves, err := s.moves(r.Context(), f)
	if err != nil {
		return nil, err
	}
	self := "/moved.atom"
	if len(q) > 0 {
		self += "?" + q.Encode()
	}
	// Links are relative: the answer is kept for visitors who name other hosts, and behind a proxy with TLS.
	feed := atomFeed{
		Title: "pawl: what moved in " + s.Project, ID: "tag:pawl,2026:moved/" + s.Project, Author: atomAuthor{"pawl " + s.Tool},
		Link: []atomLink{{"self", self}, {"", "/moved"}}, Updated: time.Unix(0, 0).UTC().Format(time.RFC3339),
	}
	for i, m := range moves[:min(len(moves), 200)] {
		at := m.Point.Run.Finished.UTC().Format(time.RFC3339)
		if i == 0 {
			feed.Updated = at
		}
		feed.Entries = append(feed.Entries, atomEntry{
			Title: m.words(), ID: fmt.Sprintf("tag:pawl,2026:run/%s/%d", m.Point.Run.ID, m.Point.N), Updated: at, Link: atomLink{Href: m.Address},
			Summary: fmt.Sprintf("commit %s on %s%s", shortSHA(m.Point.Run.Commit), m.Series.Class, notesText(m.Point.Notes)),
		})
	}
	body, err := xml.MarshalIndent(feed, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the feed: %w", err)
	}
	return &reply{status: http.StatusOK, kind: "application/atom+xml; charset=utf-8", body: append([]byte(xml.Header), body...)}, nil
}

// digest is what moved, as text: for a mail, a chat, a terminal.
func (s *Server) digest(r *http.Request) (*reply, error) {
	f, days, err := s.movesAsked(r.URL.Query(), 7)
	if err != nil {
		return nil, err
	}
	moves, err := s.moves(r.Context(), f)
	if err != nil {
		return nil, err
	}
	return &reply{status: http.StatusOK, kind: "text/plain; charset=utf-8", body: []byte(digestOf(s.Project, days, moves))}, nil
}

func digestOf(project string, days int, moves []move) string {
	var b strings.Builder
	slower := 0
	for _, m := range moves {
		if m.Slower {
			slower++
		}
	}
	fmt.Fprintf(&b, "pawl · %s · last %s: %s slower, %s faster\n", strings.Map(printable, project), unit.Plural(days, "day", "days"), unit.Count(slower), unit.Count(len(moves)-slower))
	for _, m := range moves {
		fmt.Fprintf(&b, "\n%s\n  commit %s, %s, on %s%s\n", m.words(), shortSHA(m.Point.Run.Commit), m.Point.Run.Started.UTC().Format("2006-01-02 15:04"), m.Series.Class, notesText(m.Point.Notes))
	}
	return b.String()
}
