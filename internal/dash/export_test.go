package dash

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Every link of every file leads to a file, and what only a server can answer is no link.
func TestExport(t *testing.T) {
	s := serve(t, nil)
	dir := filepath.Join(t.TempDir(), "pages")
	const most = 7
	n, err := Export(t.Context(), s.Options, dir, most, unheard)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != n+1 {
		t.Fatalf("%d files of %d, %v", len(files), n, err)
	}
	runs, feeds := 0, 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file, "/run-") {
			runs++
		}
		if strings.HasSuffix(file, ".atom") {
			feeds++
		} else if !strings.HasSuffix(file, ".html") {
			continue
		}
		body := string(raw)
		for _, link := range regexp.MustCompile(`(?:href|src|data-series|data-page)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			to := link[1]
			if strings.HasPrefix(to, "https://forge.example.org/") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "data:") {
				continue
			}
			if _, err := os.Stat(filepath.Join(dir, to)); err != nil || strings.Contains(to, "/") {
				t.Errorf("%s leads to %s", filepath.Base(file), to)
			}
		}
		if strings.HasSuffix(file, ".atom") {
			if !strings.Contains(body, `<link href="run-`) {
				t.Errorf("no entry of the feed leads to a run: %s", body)
			}
			continue
		}
		if strings.Contains(body, "<form") || strings.Contains(body, "--update-baseline") || !strings.Contains(body, "http-equiv=\"Content-Security-Policy\"") {
			t.Errorf("%s has a form, a command or no policy", filepath.Base(file))
		}
	}
	if feeds != 1 {
		t.Errorf("%d feeds", feeds)
	}
	if runs != most {
		t.Errorf("%d runs have a page, want %d", runs, most)
	}
	// The next one replaces the files of the last one, and nothing else.
	own := filepath.Join(dir, "CNAME")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(t.Context(), s.Options, dir, 0, unheard); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(left) > 0 {
		t.Errorf("files of the last export are left: %s", left)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
	feed, err := os.ReadFile(filepath.Join(dir, "moved.atom"))
	if err != nil {
		t.Fatal(err)
	}
	if entries := strings.Count(string(feed), "<entry>"); entries == 0 || strings.Count(string(feed), `<link href="moved.html"`) != entries+1 || !strings.Contains(string(feed), `rel="self" href="moved.atom"`) {
		t.Errorf("without pages of runs the feed does not lead to what moved: %s", feed)
	}
	if _, err := Export(t.Context(), s.Options, s.Root, 1, unheard); err == nil || !strings.Contains(err.Error(), "has other files") {
		t.Errorf("into a folder of somebody else's: %v", err)
	}
}

// A file of somebody else's is not overwritten, whatever it is called; what a stopped export has left is.
func TestExportIntoForeignFolder(t *testing.T) {
	root := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 2, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, root, nil)
	page := func(dir, name string) string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "index.html"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(t.Context(), s.Options, foreign, 0, unheard); err == nil || !strings.Contains(err.Error(), "has other files, such as index.html") || page(foreign, "index.html") != "mine" {
		t.Errorf("%v, and the page is %.20q", err, page(foreign, "index.html"))
	}
	dir := t.TempDir()
	if _, err := Export(t.Context(), s.Options, dir, 0, unheard); err != nil {
		t.Fatal(err)
	}
	first := page(dir, marker)
	ctx, stop := context.WithCancel(t.Context())
	if _, err := Export(ctx, s.Options, dir, 300, func(done, _ int) {
		if strings.Contains(page(dir, marker), "run-") {
			stop()
		}
	}); err == nil {
		t.Fatal("it went on after it was stopped")
	}
	if !strings.HasPrefix(page(dir, marker), first) {
		t.Error("an export that was stopped has forgotten files of the one before it")
	}
	if _, err := Export(t.Context(), s.Options, dir, 0, unheard); err != nil {
		t.Errorf("after one that was stopped: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(left) > 0 {
		t.Errorf("files of the stopped export are left: %s", left)
	}
	const other = "moved.html"
	list := strings.Replace(page(dir, marker), other+"\n", "../"+other+"\n", 1)
	for name, text := range map[string]string{other: "mine", marker: list} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Export(t.Context(), s.Options, dir, 0, unheard); err == nil || !strings.Contains(err.Error(), "no export of pawl has written it") || page(dir, other) != "mine" {
		t.Errorf("%v, and the page is %.20q", err, page(dir, other))
	}
}

func unheard(int, int) {}

// What moves is told once, also after another start, and again only if it was not heard.
func TestHook(t *testing.T) {
	dir := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 4, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, nil)
	var heard []hookMessage
	status := http.StatusOK
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m hookMessage
		if err := json.Unmarshal(raw, &m); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, raw, err)
		}
		heard = append(heard, m)
		w.WriteHeader(status)
	}))
	defer other.Close()
	h := Hook{Address: other.URL + "/secret", File: filepath.Join(dir, ".pawl", "told.json"), Every: time.Hour}
	tell := func(want int) {
		t.Helper()
		told, err := h.told()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.tell(t.Context(), h, told)
		if (err == nil) != (status == http.StatusOK) || len(heard) != want {
			t.Fatalf("%v; heard %d times, want %d", err, len(heard), want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the address: %v", err)
		}
	}
	tell(0) // what moved before is no news
	report, err := s.db().Report(t.Context(), newest(s))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.db().Runs(t.Context(), store.Filter{Scope: store.Main, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	report.ID, report.Origin, report.Commit.SHA = "20261119T115900Z-000000000001", &result.Origin{Branch: "main"}, runs[0].Commit
	report.Rows = report.Rows[:1]
	report.Rows[0].Verdict = result.Regression
	if _, err := s.db().Add(t.Context(), store.Entry{Report: report}); err != nil {
		t.Fatal(err)
	}
	status = http.StatusInternalServerError
	tell(1)
	status = http.StatusOK
	tell(2)
	tell(2)
	if m := heard[1]; len(m.Moved) != 1 || m.Moved[0].Run != report.ID || !strings.Contains(m.Text, "1 slower, 0 faster") || m.Project != "kernels" {
		t.Errorf("%+v", m)
	}
	for _, address := range []string{"", "ftp://example.org", "https://", "file:///etc/passwd", "example.org"} {
		if err := s.Tell(t.Context(), Hook{Address: address, Every: time.Hour}); err == nil {
			t.Errorf("the address %q is taken", address)
		}
	}
}
