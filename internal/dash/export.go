package dash

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/pattern"
)

// Pages as files, for a server that has nothing but files: they are those that visitors see, as far as
// links lead from the first one, and links between them are rewritten. Addresses that need a server, such
// as comparisons, are no links any more. Everybody may read such pages: they are those of a public server.

// marker lists the files of an export, so that the next one removes them, and nothing else.
const marker = "pawl-pages.txt"

// Export writes the pages into a folder, which must be new, empty or of an earlier export. most bounds how
// many runs have a page: the newest. It returns how many files it has written.
func Export(ctx context.Context, o Options, dir string, most int) (int, error) {
	said := ""
	o.Public, o.Token, o.Log = true, "", func(text string) { said = text }
	s, err := New(ctx, o)
	if err != nil {
		return 0, err
	}
	if err := emptied(dir); err != nil {
		return 0, err
	}
	e := &exporter{Server: s, handler: s.Handler(), names: map[string]string{}, most: most}
	for _, first := range []string{"/", "/moved", "/searches", "/runs", "/moved.atom", "/badge.svg"} {
		e.add(first)
	}
	bodies := map[string][]byte{}
	for len(e.queue) > 0 {
		address := e.queue[0]
		e.queue = e.queue[1:]
		body, err := e.fetch(ctx, address)
		if err != nil {
			return 0, fmt.Errorf("export the page %s: %w", address, because(said, err))
		}
		bodies[address] = body
	}
	var files []string
	for address, body := range bodies {
		name := e.names[address]
		if strings.HasSuffix(name, ".html") {
			body = e.rewritten(body)
		}
		files = append(files, name)
		if err := disk.Write(filepath.Join(dir, name), body); err != nil {
			return 0, fmt.Errorf("export the pages: %w", err)
		}
	}
	slices.Sort(files)
	return len(files), disk.Write(filepath.Join(dir, marker), []byte(strings.Join(files, "\n")+"\n"))
}

// emptied makes a folder ready.
func emptied(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("export the pages: %w", err)
	}
	list, err := os.ReadFile(filepath.Join(dir, marker))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 {
			return &diag.Problem{Message: fmt.Sprintf("export the pages: %s has other files", dir), Hint: "expected a new or empty folder, or one of an earlier export"}
		}
		return err
	}
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSpace(name); name == filepath.Base(name) && exported.MatchString(name) {
			_ = os.Remove(filepath.Join(dir, name))
		}
	}
	return err
}

// exported is what files of an export are called.
var exported = pattern.New(`^[a-z0-9][A-Za-z0-9._-]*\.(html|css|js|svg|json|atom)$`)

type exporter struct {
	*Server
	handler http.Handler
	names   map[string]string // of files, by addresses
	queue   []string
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

// links are the attributes that hold addresses.
var links = pattern.New(`\s(href|src|data-series|data-page)="([^"]*)"`)

// fetch makes a page, and has those written that it leads to.
func (e *exporter) fetch(ctx context.Context, address string) ([]byte, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	r.Host, r.RequestURI = "localhost", address
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("status %d", w.Code)
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		found := links.Regexp().FindAllSubmatch(w.Body.Bytes(), -1)
		for _, link := range found {
			if to := html.UnescapeString(string(link[2])); strings.HasPrefix(to, "/") {
				e.add(to)
			}
		}
	}
	return w.Body.Bytes(), nil
}

// rewritten makes a page of a server a file beside others.
func (e *exporter) rewritten(body []byte) []byte {
	body = links.Regexp().ReplaceAllFunc(body, func(found []byte) []byte {
		part := links.FindSubmatch(found)
		to := html.UnescapeString(string(part[2]))
		if !strings.HasPrefix(to, "/") {
			return found
		}
		name := e.names[to]
		if name == "" {
			return nil
		}
		return []byte(" " + string(part[1]) + `="` + name + `"`)
	})
	body = forms.Regexp().ReplaceAll(body, nil)
	policy := `<head>` + "\n" + `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'">`
	return []byte(strings.Replace(string(body), "<head>", policy, 1))
}

// forms need a server. That of a table holds the table.
var forms = pattern.New(`(?s)<form class="(?:filters|leave)".*?</form>|</?form[^>]*>|<input[^>]*>|<button>[^<]*</button>|<p class="hint">The same as .*?</p>`)

// because is why a page could not be made, where the server has said that.
func because(said string, err error) error {
	if said != "" {
		return errors.New(said)
	}
	return err
}
