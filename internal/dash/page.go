package dash

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"mime"
	"net/http"
	"path"
	"sync"
	"time"

	"pawl/internal/report"
	"pawl/internal/result"
	"pawl/internal/term"
	"pawl/internal/unit"
)

//go:embed web
var web embed.FS

// asset is a file that pages refer to. Its address has its version, so that browsers keep it for good.
type asset struct {
	kind string
	body []byte
}

// loadAssets returns what pages refer to, and the version of each.
func loadAssets() (map[string]asset, map[string]string, error) {
	style, err := report.Style()
	if err != nil {
		return nil, nil, err
	}
	all := map[string]asset{"report.css": {"text/css; charset=utf-8", []byte(style)}}
	entries, err := web.ReadDir("web")
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		ending := path.Ext(e.Name())
		if ending == ".tmpl" {
			continue
		}
		body, err := web.ReadFile("web/" + e.Name())
		if err != nil {
			return nil, nil, err
		}
		kind := mime.TypeByExtension(ending)
		if ending == ".js" {
			kind = "text/javascript; charset=utf-8"
		}
		all[e.Name()] = asset{kind, body}
	}
	versions := map[string]string{}
	for name, a := range all {
		sum := sha256.Sum256(a.body)
		versions[name] = hex.EncodeToString(sum[:6])
	}
	return all, versions, nil
}

func (s *Server) static(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("name")]
	if !ok {
		s.fail(w, r, notFound("there is no such file"))
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// templates are parsed when the first page is made: every other command, worker and cell starts without them.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"duration": unit.Duration, "percent": unit.Percent, "plain": unit.PercentPlain, "count": unit.Count, "plural": unit.Plural,
		"day": func(t time.Time) string { return t.UTC().Format("2006-01-02") },
		"at":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") },
		"iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"sha": shortSHA, "mark": markOf, "note": noteWord,
		"less": func(ratio float64) float64 { return ratio - 1 },
		"sure": func(p float64) string {
			if p > 0.999 {
				return "> 99.9%"
			}
			return unit.PercentPlain(p)
		},
		"part": func(percent float64) float64 { return percent / 100 },
	}).ParseFS(web, "web/*.tmpl"))
})

// frame is what all pages have.
type frame struct {
	Title   string
	Section string // which link of the top is the page's own; "": none
	Project string
	Tool    string
	Token   bool // visitors log in, and out
	Public  bool
	Frozen  bool // the history takes no new runs
	Links   site
}

func (s *Server) frame(title, section string) frame {
	return frame{Title: title, Section: section, Project: s.Project, Tool: s.Tool, Token: s.Token != "" && title != "Log in", Public: s.Public, Frozen: s.History.Frozen() != nil, Links: site{versions: s.sheets}}
}

// render makes a page.
func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("make the page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

const htmlKind = "text/html; charset=utf-8"

// page makes an answer of a page.
func page(name string, data any) (*reply, error) {
	body, err := render(name, data)
	return &reply{status: http.StatusOK, kind: htmlKind, body: body}, err
}

// show answers with a page that is not kept.
func (s *Server) show(w http.ResponseWriter, status int, name string, data any) {
	body, err := render(name, data)
	if err != nil {
		s.log("%v", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", htmlKind)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// shortSHA shortens a commit; other names are bounded.
func shortSHA(sha string) string {
	if len(sha) == 40 || len(sha) == 64 {
		return sha[:9]
	}
	return shorten(sha, 20)
}

func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// mark is how a verdict looks: a class for its colour, and a letter, for those who see none.
type mark struct{ Class, Letter, Word string }

var marks = map[result.Verdict]mark{
	result.Regression:   {"slower", "R", "regression"},
	result.Improvement:  {"faster", "I", "improvement"},
	result.Maintained:   {"even", "M", "maintained"},
	result.Unchanged:    {"even", "U", "unchanged"},
	result.New:          {"fresh", "N", "new"},
	result.Inconclusive: {"unsure", "?", "inconclusive"},
	result.Incomparable: {"unsure", "–", "incomparable"},
	result.Incorrect:    {"wrong", "W", "incorrect"},
	result.Broken:       {"wrong", "B", "broken"},
	result.Rejected:     {"wrong", "X", "rejected"},
}

// markOf returns how a verdict looks; what was only measured has none.
func markOf(v result.Verdict) mark {
	if m, ok := marks[v]; ok {
		return m
	}
	if v != "" {
		return mark{"unsure", "?", shorten(string(v), 20)}
	}
	return mark{"measured", "·", "measured"}
}

// log tells whoever started the server, on a line: what a visitor sent may be part of it.
func (s *Server) log(format string, args ...any) {
	if s.Log != nil {
		s.Log(term.Plain(fmt.Sprintf(format, args...)))
	}
}
