package dash

import (
	"bufio"
	"container/list"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
)

// end is when the last run of the tests' history ended.
var end = time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)

// made is a project for all tests that do not change it.
var made = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pawl-dash-")
	if err != nil {
		return "", err
	}
	s := dashtest.Usual(end)
	s.Commits, s.Searches = 30, 1
	return dir, s.Write(context.Background(), dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := made(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// site is a server of the history, and what it has logged.
type tested struct {
	*testing.T
	*Server
	handler http.Handler
	logged  *strings.Builder
}

func serve(t *testing.T, change func(*Options)) *tested {
	t.Helper()
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return serveIn(t, dir, change)
}

func serveIn(t *testing.T, dir string, change func(*Options)) *tested {
	t.Helper()
	h, err := history.Open(t.Context(), dir, "", store.Create)
	if err != nil {
		t.Fatal(err)
	}
	return serveHistory(t, h, dir, change)
}

func serveHistory(t *testing.T, h *history.History, dir string, change func(*Options)) *tested {
	t.Helper()
	t.Cleanup(h.Close)
	var logged strings.Builder
	o := Options{History: h, Root: dir, Project: "kernels", Tool: "0.1.0", Now: func() time.Time { return end.Add(time.Hour) }, Log: func(text string) { logged.WriteString(text + "\n") }}
	if change != nil {
		change(&o)
	}
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return &tested{t, s, s.Handler(), &logged}
}

// get asks for an address; change may alter the request.
func (t *tested) get(address string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Host = "127.0.0.1:8770"
	r.Header.Set("Accept", "text/html")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	return w
}

func (t *tested) page(address string) string {
	t.Helper()
	w := t.get(address, nil)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", address, w.Code, w.Body)
	}
	return w.Body.String()
}

func (t *tested) json(address string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(t.page(address)), v); err != nil {
		t.Fatalf("%s: %v", address, err)
	}
}

// Nothing in a page runs or styles but what the server has as files, and all of that is its own.
func TestPagesHoldNoScriptOrStyle(t *testing.T) {
	s := serve(t, nil)
	hostile := url.QueryEscape(dashtest.Hostile)
	var runs struct{ Runs []store.Run }
	s.json("/api/v1/runs?limit=40", &runs)
	addresses := []string{
		"/", "/?q=" + hostile, "/?choose=1&class=" + hostile, "/moved?days=90&q=" + hostile + "&machine=" + hostile, "/moved?way=slower&class=" + hostile, "/runs?branch=" + hostile, "/searches", "/live/" + dashtest.LiveRun,
		"/kernel?name=" + hostile, "/kernel?name=" + hostile + "&config=x", "/kernel?name=softmax&config=rows_4k",
		"/compare?a=" + runs.Runs[9].ID + "&b=" + runs.Runs[2].ID + "&kernel=" + hostile + "&config=x",
	}
	for _, run := range runs.Runs[:4] {
		addresses = append(addresses, "/run/"+run.ID)
	}
	inline := regexp.MustCompile(`(?i)<script(?: type="module" src="/static/[^"]*")?>|<style|\sstyle=|\son[a-z]+=|javascript:`)
	allowed := regexp.MustCompile(`^<script type="module" src="/static/dash.js\?v=[0-9a-f]+">$`)
	for _, address := range addresses {
		w := s.get(address, nil)
		body := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s: status %d", address, w.Code)
		}
		if got := w.Header().Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", address, got)
		}
		text := regexp.MustCompile(`&lt;script|onerror=&#34;`).ReplaceAllString(body, "")
		for _, found := range inline.FindAllString(text, -1) {
			if !allowed.MatchString(found) {
				t.Errorf("%s has %s", address, found)
			}
		}
		for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if to := link[1]; !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "#") && !strings.HasPrefix(to, "data:image/svg+xml;base64,") && !strings.HasPrefix(to, "https://forge.example.org/kernels/fast/commit/") {
				t.Errorf("%s leads to %s", address, to)
			}
		}
	}
}

// A name can be made to mean this machine by whoever owns it. An address cannot, whatever is its own: behind a
// proxy, a forwarded port or the door of a container, this machine does not know by which it is reached.
func TestForeignHost(t *testing.T) {
	s := serve(t, func(o *Options) { o.Hosts = []string{"dash.example.org"} })
	for host, want := range map[string]int{
		"127.0.0.1:8770": 200, "localhost:8770": 200, "[::1]:8770": 200, "192.0.2.7": 200, "192.0.2.7:80": 200, "[2001:db8::7]:8770": 200, "dash.example.org": 200, "DASH.example.org:443": 200,
		"evil.example.org": 421, "localhost.evil.example.org": 421, "127.0.0.1.evil.example.org:8770": 421, "": 421, "dash.example.org.evil": 421,
		"192.0.2": 421, "3221225991": 421, "192.0.2.7.nip.io": 421, "[::1].evil.example.org": 421, // names, whatever they look like
	} {
		if got := s.get("/", func(r *http.Request) { r.Host = host }).Code; got != want {
			t.Errorf("Host %q: status %d, want %d", host, got, want)
		}
	}
}

const token = "correct horse battery staple"

func TestToken(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	bearer := func(given string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+given) }
	}
	for _, c := range []struct {
		name, address string
		change        func(*http.Request)
		want          int
	}{
		{"nothing", "/", nil, 401},
		{"nothing, for a program", "/api/v1/runs", nil, 401},
		{"figures", "/metrics", nil, 401},
		{"events", "/live/" + dashtest.LiveRun + "/events", nil, 401},
		{"the token", "/api/v1/runs", bearer(token), 200},
		{"a wrong token", "/api/v1/runs", bearer(token + "x"), 401},
		{"an empty token", "/api/v1/runs", bearer(""), 401},
		{"in the address", "/?token=" + url.QueryEscape(token), nil, 401},
		{"a made-up cookie", "/", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: "99999999999.AAAA"})
		}, 401},
		{"a cookie", "/", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: s.logins.begin(s.Now().Add(time.Hour))})
		}, 200},
		{"an old cookie", "/", func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: s.logins.begin(s.Now())})
		}, 401},
		{"a file of pages", s.frame("", "").Links.Asset("dash.css"), nil, 200},
	} {
		w := s.get(c.address, c.change)
		if w.Code != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.want)
		}
		if w.Code == 401 && strings.Contains(w.Body.String(), "attention") {
			t.Errorf("%s: a refused visitor sees the history", c.name)
		}
	}
	if strings.Contains(s.logged.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestLoginForm(t *testing.T) {
	s := serve(t, func(o *Options) { o.Token = token })
	post := func(address string, form url.Values, change func(*http.Request)) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if change != nil {
			change(r)
		}
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return w
	}
	w := post("/login", url.Values{"token": {token + "\n"}, "next": {"/kernel?name=gemm"}}, nil)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/kernel?name=gemm" || len(cookies) != 1 {
		t.Fatalf("status %d, to %s, cookies %v", w.Code, w.Header().Get("Location"), cookies)
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || strings.Contains(c.Value, token) {
		t.Errorf("the cookie is %+v", c)
	}
	if got := s.get("/", func(r *http.Request) { r.AddCookie(cookies[0]) }).Code; got != 200 {
		t.Errorf("with the cookie: status %d", got)
	}
	w = post("/login", url.Values{"token": {token}}, func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") })
	if !w.Result().Cookies()[0].Secure {
		t.Error("behind a proxy with TLS the cookie is not secure")
	}
	for next, want := range map[string]string{"//evil.example.org": "/", "https://evil.example.org": "/", `/\evil.example.org`: "/", "": "/", "/moved": "/moved"} {
		if got := post("/login", url.Values{"token": {token}, "next": {next}}, nil).Header().Get("Location"); got != want {
			t.Errorf("next=%s leads to %s, want %s", next, got, want)
		}
	}
	if w := post("/login", url.Values{"token": {"wrong"}}, nil); w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 {
		t.Errorf("a wrong token: status %d, cookies %v", w.Code, w.Result().Cookies())
	}
	if w := post("/login?token="+url.QueryEscape(token), nil, nil); w.Code == http.StatusSeeOther {
		t.Error("a token in the address logs in")
	}
	if w := post("/login", url.Values{"token": {token}, "next": {strings.Repeat("x", 1<<20)}}, nil); w.Code == http.StatusSeeOther {
		t.Error("a huge body logs in")
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	s := serve(t, nil)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, "TRACE"} {
		r := httptest.NewRequest(method, "/run/x", strings.NewReader(strings.Repeat("x", 1<<20)))
		r.Host = "localhost"
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, w.Code)
		}
	}
}

func TestPathsStayInside(t *testing.T) {
	s := serve(t, nil)
	for _, address := range []string{
		"/static/../dash.go", "/static/..%2f..%2fdash.go", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/frame.tmpl", "/live/..", "/live/%2e%2e%2f%2e%2e", "/live/..%2fruns", "/run/..%2f..%2fpawl.yaml",
		"/run/" + strings.Repeat("x", 4000), "/live/" + dashtest.LiveRun + "%00", "/live/.", "/run/%00", "/" + strings.Repeat("x", maxAddress),
	} {
		if w := s.get(address, nil); w.Code < 300 || w.Code >= 500 || strings.Contains(w.Body.String(), "package dash") || strings.Contains(w.Body.String(), "root:") {
			t.Errorf("%s: status %d", address, w.Code)
		}
	}
}

// A reader of a public server learns nothing of commands, folders and logs.
func TestPublic(t *testing.T) {
	s, private := serve(t, func(o *Options) { o.Public = true }), serve(t, nil)
	var runs struct{ Runs []store.Run }
	s.json("/api/v1/runs?kind=check&limit=1", &runs)
	address := "/run/" + runs.Runs[0].ID
	for _, text := range []string{"--update-baseline", "6.1.0"} { // the command, the kernel of the machine
		if !strings.Contains(private.page(address), text) {
			t.Errorf("nobody sees %s", text)
		}
		if strings.Contains(s.page(address), text) {
			t.Errorf("strangers see %s", text)
		}
	}
	for _, hidden := range []string{address + "/report.json", "/live/" + dashtest.LiveRun, "/live/" + dashtest.LiveRun + "/events"} {
		if got := s.get(hidden, nil).Code; got != http.StatusForbidden && got != http.StatusNotFound {
			t.Errorf("%s: status %d", hidden, got)
		}
	}
	const system = "Debian GNU/Linux 12"
	if runs.Runs[0].Machine != "" {
		t.Error("strangers see which machine a run was on")
	}
	private.json("/api/v1/runs?kind=check&limit=1", &runs)
	machine := runs.Runs[0].Machine
	if machine == "" || !strings.Contains(private.page(address), system) {
		t.Error("nobody sees the machine")
	}
	for _, where := range []string{address, "/runs", "/compare?a=" + runs.Runs[0].ID + "&b=latest", "/api/v1/runs", "/api/v1/runs/" + runs.Runs[0].ID, "/api/v1/series", "/api/v1/points?kernel=gemm&config=square", "/api/v1/moved?days=90", "/moved.atom"} {
		if page := s.page(where); strings.Contains(page, machine) || strings.Contains(page, system) {
			t.Errorf("%s: strangers see the machine", where)
		}
	}
	if strings.Contains(s.page("/searches"), dashtest.LiveRun) {
		t.Error("strangers see runs that go on")
	}
}

func TestViewInAddress(t *testing.T) {
	s := serve(t, nil)
	tiles := func(page string) int { return strings.Count(page, `<li class="tile `) }
	all := tiles(s.page("/"))
	if all != 22 {
		t.Errorf("%d tiles, want 22", all)
	}
	if got := tiles(s.page("/?q=gemm+s")); got != 2 {
		t.Errorf("a search shows %d tiles, want 2: skinny and square", got)
	}
	var list struct{ Series []apiSeries }
	s.json("/api/v1/series", &list)
	codes := map[string]bool{}
	for _, one := range list.Series {
		codes[one.Code] = true
	}
	if len(codes) != all {
		t.Errorf("%d codes of %d series", len(codes), all)
	}
	hidden := s.page("/?hide=" + list.Series[3].Code + list.Series[5].Code)
	if got := tiles(hidden); got != all-2 || !strings.Contains(hidden, "2 hidden") {
		t.Errorf("%d tiles with two hidden", got)
	}
	if v, err := viewOf(url.Values{"hide": {"abc"}}); err != nil || v.Hide != nil {
		t.Errorf("half a code hides %q, %v", v.Hide, err)
	}
}

func TestKernelPage(t *testing.T) {
	s := serve(t, nil)
	page := s.page("/kernel?name=attention&config=training_2k")
	for _, want := range []string{"attention/training_2k", `class="band"`, `class="times"`, "Where the level moved", "https://forge.example.org/kernels/fast/commit/", "before and after", `class="step"`, "acknowledged", "of the roofline"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if got := strings.Count(page, "<circle"); got != 30 {
		t.Errorf("%d commits are drawn, want 30", got)
	}
	if !strings.Contains(page, `aria-label="30 commits, 2026-11-11 to 2026-11-19: `) {
		t.Error("the search of an earlier day is on the line")
	}
	var points struct {
		Places  []apiPlace
		Changes []apiChange
	}
	s.json("/api/v1/points?kernel=attention&config=training_2k", &points)
	if len(points.Places) != 30 || len(points.Changes) == 0 {
		t.Fatalf("%d places and %d changes", len(points.Places), len(points.Changes))
	}
	var paged struct {
		Places []apiPlace
		Next   string
	}
	s.json("/api/v1/points?kernel=attention&config=training_2k&limit=12", &paged)
	seen := len(paged.Places)
	for paged.Next != "" {
		address := paged.Next
		paged.Next, paged.Places = "", nil
		s.json(address, &paged)
		seen += len(paged.Places)
	}
	if seen != 30 {
		t.Errorf("pages of 12 have %d places in all, want 30", seen)
	}
	var line apiLine
	s.json("/api/v1/line?kernel=attention&config=training_2k", &line)
	if len(line.Commit) != 30 || len(line.Run) != 30 || len(line.Index) != 30 || len(line.Base) != 30 || len(line.Debt) != 30 || len(line.At) != 30 || len(line.Verdict) != 30 {
		t.Errorf("%+v", line)
	}
	part := s.page("/kernel?name=attention&config=training_2k&from=" + points.Places[10].Commit[:9] + "&to=" + points.Places[14].Commit[:9])
	if got := strings.Count(part, "<circle"); got != 5 {
		t.Errorf("%d commits of a part are drawn, want 5", got)
	}
	if got := s.get("/kernel?name=nothing", nil).Code; got != 404 {
		t.Errorf("a kernel that is not there: status %d", got)
	}
	if got := s.get("/kernel?name=*", nil).Code; got != 404 {
		t.Errorf("a pattern names kernels: status %d", got)
	}
}

func TestFeedAndDigest(t *testing.T) {
	s := serve(t, nil)
	var feed atomFeed
	if err := xml.Unmarshal([]byte(s.page("/moved.atom")), &feed); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.page("/moved.atom?days=90&q=gemm"), "; acknowledged: known") {
		t.Error("a note is not in the feed")
	}
	if len(feed.Entries) < 5 || feed.Updated < "2026-11" {
		t.Errorf("%d entries, updated %s", len(feed.Entries), feed.Updated)
	}
	slower, faster := s.page("/moved.txt?days=30&way=slower"), s.page("/moved.txt?days=30&way=faster")
	if !strings.Contains(slower, "gemm/square regression +4.") || strings.Contains(slower, "improvement") || !strings.Contains(faster, "softmax/rows_4k improvement −12.") {
		t.Errorf("%s\n%s", slower, faster)
	}
	if !strings.Contains(slower, "; acknowledged: known: the new mask") {
		t.Error("a note is not where its point is")
	}
	var moved struct{ Moved []apiMove }
	s.json("/api/v1/moved?q=gemm&way=slower", &moved)
	if len(moved.Moved) != 2 || moved.Moved[0].Verdict != result.Regression {
		t.Errorf("%+v", moved.Moved)
	}
}

func TestBadge(t *testing.T) {
	s := serve(t, nil)
	for address, want := range map[string]string{
		"/badge.svg": "1 incorrect", "/badge.svg?kernel=softmax": "2 configs, none slower", "/badge.svg?kernel=nothing": "nothing measured", "/badge.svg?kernel=reduction&config=n_64m": "broken",
		"/badge.svg?kernel=%3Cscript%3E": "&lt;script&gt;",
	} {
		w := s.get(address, nil)
		if body := w.Body.String(); !strings.Contains(body, want) || w.Header().Get("Content-Type") != "image/svg+xml" {
			t.Errorf("%s: %s", address, body)
		}
		if err := xml.Unmarshal(w.Body.Bytes(), new(struct{ XMLName xml.Name })); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Every line is one that Prometheus reads.
func TestMetrics(t *testing.T) {
	text := serve(t, nil).page("/metrics")
	line := regexp.MustCompile(`^(# (HELP|TYPE) pawl_[a-z_]+ .+|pawl_[a-z_]+\{kernel="([^"\\]|\\.)*",config="([^"\\]|\\.)*",device_class="([^"\\]|\\.)*"(,verdict="[a-z]+")?\} [-+.e0-9]+)$`)
	for _, one := range strings.Split(strings.TrimSpace(text), "\n") {
		if !line.MatchString(one) {
			t.Errorf("%s", one)
		}
	}
	if !strings.Contains(text, `pawl_verdict{kernel="reduction",config="n_64m",device_class="nvidia-h200",verdict="broken"} 1`) {
		t.Error("a verdict is missing")
	}
}

// newest returns the ID of the newest run.
func newest(s *tested) string {
	runs, err := s.db().Runs(s.Context(), store.Filter{Limit: 1})
	if err != nil || len(runs) == 0 {
		s.Fatal(err)
	}
	return runs[0].ID
}

// An answer is made once, and anew as soon as the history has changed, whoever changed it.
func TestAnswersAreKept(t *testing.T) {
	dir := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 4, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, nil)
	first := s.get("/", nil)
	tag := first.Header().Get("ETag")
	if again := s.get("/", func(r *http.Request) { r.Header.Set("If-None-Match", tag) }); again.Code != http.StatusNotModified {
		t.Errorf("nothing has changed: status %d", again.Code)
	}
	run := "/run/" + newest(s)
	if before := s.page(run); strings.Contains(before, "written meanwhile") || len(s.pages.by) != 2 {
		t.Errorf("%d answers are kept", len(s.pages.by))
	}
	other, err := history.Open(t.Context(), dir, "", store.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.AddNote(t.Context(), store.Note{Run: newest(s), Kind: store.Remark, At: end, Text: "written meanwhile"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.page(run), "written meanwhile") {
		t.Error("the note is not shown")
	}
	if n := len(s.pages.by); n != 3 {
		t.Errorf("%d answers are kept, want those of before and the new one", n)
	}
}

func TestKeptAnswersAreBounded(t *testing.T) {
	var p pages
	p.by = map[string]*list.Element{}
	for n := range 200 {
		p.keep(&kept{key: itoa(n), reply: &reply{body: make([]byte, 1<<20)}})
	}
	if p.size > mostKept || len(p.by) != p.order.Len() || len(p.by) < 20 {
		t.Errorf("%d bytes in %d answers", p.size, len(p.by))
	}
	if p.by["199"] == nil || p.by["0"] != nil {
		t.Error("not the last ones are kept")
	}
}

// A visitor who sends nothing is sent away, and does not keep others out.
func TestSlowVisitor(t *testing.T) {
	s := serve(t, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.HTTP()
	server.ReadHeaderTimeout = 200 * time.Millisecond
	go func() { _ = server.Serve(Limit(listener)) }()
	defer server.Close()
	slow, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	_, _ = io.WriteString(slow, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	answer, err := http.Get("http://" + listener.Addr().String() + "/metrics")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("another visitor: %v, %v", answer, err)
	}
	answer.Body.Close()
	_ = slow.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadAll(slow); err != nil {
		t.Errorf("the slow visitor was not sent away: %v", err)
	}
}

// The events of a run that goes on are sent as they come, and the end is told.
func TestFollowsLiveRun(t *testing.T) {
	dir := t.TempDir()
	story := dashtest.Usual(end)
	story.Commits, story.Searches, story.Kernels = 2, 0, story.Kernels[:1]
	if err := story.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, nil)
	server := httptest.NewServer(s.handler)
	defer server.Close()
	answer, err := http.Get(server.URL + "/live/" + dashtest.LiveRun + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("the type is %s", got)
	}
	lines := bufio.NewScanner(answer.Body)
	next := func() string {
		for lines.Scan() {
			if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return event
			}
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
		return "nothing"
	}
	if got := next(); got != "changed" {
		t.Errorf("first %s", got)
	}
	folder := filepath.Join(dir, ".pawl", "runs", dashtest.LiveRun)
	file, err := os.OpenFile(filepath.Join(folder, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString("{}\n")
	file.Close()
	if got := next(); got != "changed" {
		t.Errorf("after an event %s", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "report.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := next(); got != "ended" {
		t.Errorf("at the end %s", got)
	}
	if got := next(); got != "nothing" {
		t.Errorf("after the end %s", got)
	}
}

// What a database says of an error stays with whoever started the server.
func TestErrorsStayInside(t *testing.T) {
	s := serve(t, nil)
	s.History.Close()
	w := s.get("/", nil)
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "sql") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if !strings.Contains(s.logged.String(), "history.db") {
		t.Errorf("logged %q", s.logged)
	}
}
