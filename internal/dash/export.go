package dash

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"pawl/internal/pattern"
)

// Pages as files, for a server that has nothing but files: they are those that visitors see, as far as
// links lead from the first one, and links between them are rewritten. Addresses that need a server, such
// as comparisons, are no links any more. Everybody may read such pages: they are those of a public server.

// Export writes the pages into a folder, which must be new, empty or of an earlier export. most bounds how
// many runs have a page: the newest. progress hears how many files are written, of how many that are known so far.
// It returns how many files it has written.
func Export(ctx context.Context, o Options, dir string, most int, progress func(done, known int)) (int, error) {
	said := ""
	o.Public, o.Token, o.Log = true, "", func(text string) { said = text }
	s, err := New(ctx, o)
	if err != nil {
		return 0, err
	}
	to, err := openFolder(dir)
	if err != nil {
		return 0, err
	}
	defer to.close()
	e := &exporter{Server: s, handler: s.Handler(), names: map[string]string{}, most: most}
	for _, first := range []string{"/", "/moved", "/searches", "/runs", "/moved.atom", "/badge.svg"} {
		e.add(first)
	}
	// A page is written before the next one is made: all of a large history do not fit into memory.
	for done := 0; done < len(e.queue); done++ {
		address := e.queue[done]
		body, err := e.fetch(ctx, address)
		if err != nil {
			return 0, fmt.Errorf("export the page %s: %w", address, because(said, err))
		}
		if err := to.write(e.names[address], body); err != nil {
			return 0, err
		}
		progress(done+1, len(e.queue))
	}
	return len(e.queue), to.finish()
}

type exporter struct {
	*Server
	handler http.Handler
	names   map[string]string // of files, by addresses
	queue   []string          // addresses whose pages are written, in this order
	runs    int
	most    int
}

// nameOf returns what the file of an address is called; "": it has none.
func (e *exporter) nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	q := u.Query()
	switch {
	case u.Path == "/" && u.RawQuery == "":
		return "index.html"
	case (u.Path == "/moved" || u.Path == "/searches" || u.Path == "/runs") && u.RawQuery == "":
		return u.Path[1:] + ".html"
	case (u.Path == "/moved.atom" || u.Path == "/badge.svg") && u.RawQuery == "":
		return u.Path[1:]
	case strings.HasPrefix(u.Path, "/static/"):
		return strings.TrimPrefix(u.Path, "/static/")
	case u.Path == "/kernel" && !q.Has("from") && !q.Has("to"):
		return "kernel-" + digest(q.Encode()) + ".html"
	case u.Path == "/api/v1/line":
		return "line-" + digest(q.Encode()) + ".json"
	case strings.HasPrefix(u.Path, "/run/") && runPath.MatchString(u.Path):
		return "run-" + strings.TrimPrefix(u.Path, "/run/") + ".html"
	}
	return ""
}

var runPath = pattern.New(`^/run/[A-Za-z0-9][A-Za-z0-9._-]*$`)

// digest names an address in a few letters.
func digest(text string) string {
	return strings.Trim(pack(text, &reply{body: []byte(text)}).tag, `"`)[:12]
}

// add has a page written, once, and returns its name.
func (e *exporter) add(address string) string {
	if name, known := e.names[address]; known {
		return name
	}
	name := e.nameOf(address)
	if strings.HasPrefix(name, "run-") {
		if e.runs++; e.runs > e.most {
			name = ""
		}
	}
	e.names[address] = name
	if name != "" {
		e.queue = append(e.queue, address)
	}
	return name
}

// fetch makes a file, and has those written that it leads to.
func (e *exporter) fetch(ctx context.Context, address string) ([]byte, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	r.Host, r.RequestURI = "localhost", address
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	if ctx.Err() != nil { // a server has nothing to say to whoever has left, and that is no page
		return nil, ctx.Err()
	}
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("status %d", w.Code)
	}
	body := w.Body.Bytes()
	switch kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); kind {
	case "text/html":
		body = e.rewritten(body)
	case "application/atom+xml":
		body = e.relinked(body, e.add("/moved"))
	}
	return body, nil
}

// rewritten makes a page of a server a file beside others.
func (e *exporter) rewritten(body []byte) []byte {
	body = forms.Regexp().ReplaceAll(body, nil)
	body = e.relinked(body, "")
	policy := `<head>` + "\n" + `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'">`
	return bytes.Replace(body, []byte("<head>"), []byte(policy), 1)
}

// relinked has links lead to files. Those to what has none lead to another, or are none any more.
func (e *exporter) relinked(body []byte, other string) []byte {
	return links.Regexp().ReplaceAllFunc(body, func(found []byte) []byte {
		name, value, _ := strings.Cut(string(found), `"`)
		to := html.UnescapeString(strings.TrimSuffix(value, `"`))
		if !strings.HasPrefix(to, "/") {
			return found
		}
		file := cmp.Or(e.add(to), other)
		if file == "" {
			return nil
		}
		return []byte(" " + strings.TrimSpace(name) + `"` + file + `"`)
	})
}

// links are the attributes that hold addresses.
var links = pattern.New(`\s(?:href|src|data-series|data-page)="[^"]*"`)

// forms need a server. That of a table holds the table.
var forms = pattern.New(`(?s)<form class="(?:filters|leave)".*?</form>|</?form[^>]*>|<input[^>]*>|<button>[^<]*</button>|<p class="hint">The same as .*?</p>`)

// because is why a page could not be made, where the server has said that.
func because(said string, err error) error {
	if said != "" {
		return errors.New(said)
	}
	return err
}
