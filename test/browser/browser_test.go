package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// fetch reads JSON from the server.
func fetch(t *testing.T, path string, v any) {
	t.Helper()
	answer, err := http.Get(shared.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(v); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
}

type runs struct {
	Runs []struct {
		ID, Kind string
		Outcome  string
	}
}

const (
	hostile = `"><script>window.harmed=1</script><img src=x onerror="window.harmed=1">`
	live    = "20990101T000000Z-00000000beef"
)

// pagesOf returns every page, by a name for pictures of it.
func pagesOf(t *testing.T) map[string]string {
	var checks, failed, searches runs
	fetch(t, "/api/v1/runs?kind=check&limit=9", &checks)
	fetch(t, "/api/v1/runs?kind=check&verdict=regression&kernel=gemm&limit=1", &failed)
	fetch(t, "/api/v1/runs?kind=tune&limit=1", &searches)
	name := url.QueryEscape(hostile)
	return map[string]string{
		"overview": "/", "overview-searched": "/?q=gemm&verdict=maintained", "overview-choose": "/?choose=1", "overview-nothing": "/?q=nothing+like+it",
		"kernel": "/kernel?name=attention", "config": "/kernel?name=attention&config=training_512&class=nvidia-h200", "config-reference": "/kernel?name=rope&config=decode&reference=softmax/rows_4k", "config-noted": "/kernel?name=softmax&config=rows_4k",
		"hostile": "/kernel?name=" + name, "hostile-config": "/kernel?name=" + name + "&config=x",
		"moved": "/moved?days=90", "moved-nothing": "/moved?q=nothing+like+it", "runs": "/runs", "run": "/run/" + checks.Runs[3].ID, "run-failed": "/run/" + failed.Runs[0].ID,
		"search": "/run/" + searches.Runs[0].ID, "searches": "/searches", "live": "/live/" + live,
		"compare":   "/compare?a=" + checks.Runs[8].ID + "&b=" + checks.Runs[1].ID,
		"across":    "/compare?a=" + checks.Runs[8].ID + "&b=" + checks.Runs[1].ID + "&kernel=gemm&config=square",
		"not-found": "/nowhere", "no-kernel": "/kernel?name=nothing", "login": "/login",
	}
}

// Every page, wide and narrow, light and dark: nothing goes wrong in it, nothing comes from elsewhere, no
// script of a report has run, nothing is wider than the screen, and axe-core finds nothing. A page is loaded
// once and looked at in all ways: only its style depends on them.
func TestEveryPage(t *testing.T) {
	b := open(t, 1400, 900, "light")
	for name, path := range pagesOf(t) {
		t.Run(name, func(t *testing.T) {
			b.TB = t
			b.look(1400, 900, "light")
			b.visit(shared.base + path)
			if name == "not-found" || name == "no-kernel" {
				b.said = nil // the browser remarks on the status
			}
			b.run(chromedp.Evaluate(shared.axe, nil))
			for _, look := range []struct {
				name          string
				width, height int64
				scheme, rules string
			}{{"wide", 1400, 900, "light", ""}, {"narrow", 390, 844, "light", ""}, {"dark", 1400, 900, "dark", colours}} {
				b.look(look.width, look.height, look.scheme)
				b.quiet(shared.base)
				if ask[bool](b, `window.harmed === 1`) {
					t.Error("a script of a report has run")
				}
				// A phone that has to scroll zooms out, and its window is as wide as the page.
				if over := ask[int64](b, `Math.max(document.documentElement.scrollWidth, innerWidth)`) - look.width; over > 0 {
					t.Errorf("%s: %d pixels wider than the screen: %s", look.name, over, ask[string](b, widest))
				}
				for _, found := range b.axe(look.rules) {
					t.Errorf("%s: axe-core: %s", look.name, found)
				}
				if *shots != "" {
					b.picture(filepath.Join(*shots, name+"-"+look.name+".png"), true)
				}
			}
		})
	}
}

// colours are the rules of axe-core that a scheme of colours changes.
const colours = `runOnly: ["color-contrast", "link-in-text-block"], `

// widest names the element that reaches furthest to the right.
const widest = `(() => { const e = [...document.querySelectorAll("body *")].filter(e => !e.closest(".skip, .wide, pre, svg svg")).sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0]; return e.outerHTML.slice(0, 200) })()`

// axe returns what axe-core finds, which the page has loaded; rules are an option of it.
func (b *tab) axe(rules string) []string {
	b.Helper()
	return ask[[]string](b, `axe.run(document, {`+rules+`resultTypes: ["violations"]}).then(r => r.violations.flatMap(v => v.nodes.slice(0, 3).map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + (n.any[0] ? " (" + n.any[0].message + ")" : ""))))`)
}

// The way through the pages that somebody takes who asks what has happened.
func TestClickThrough(t *testing.T) {
	b := open(t, 1400, 900, "light")
	b.visit(shared.base + "/")
	at := func(want string) {
		t.Helper()
		if got := ask[string](b, `document.querySelector("h1").textContent`); !strings.Contains(got, want) {
			t.Fatalf("the page is %q, want %q", got, want)
		}
		b.quiet(shared.base)
	}
	click := func(selector string) {
		t.Helper()
		b.leave(func() { b.run(chromedp.Click(selector, chromedp.ByQuery)) })
	}
	b.run(chromedp.SetValue(`input[type=search]`, "attention"))
	click(`.filters button`)
	if got := ask[string](b, `location.search`); !strings.Contains(got, "q=attention") {
		t.Errorf("the search is not in the address: %s", got)
	}
	if n := ask[int](b, `document.querySelectorAll(".kernelrow").length`); n != 1 {
		t.Errorf("the search shows %d kernels", n)
	}
	click(`.kernelrow h2 a`)
	at("attention")
	click(`.panelbox h2 a`)
	at("attention/inference_4k")
	click(`.trend a .dot.improvement, .trend a .dot.faster`)
	at("gate")
	b.visit(shared.base + "/kernel?name=attention&config=inference_4k")
	b.run(chromedp.Click(`tbody tr:nth-child(9) input[name=a]`), chromedp.Click(`tbody tr:nth-child(2) input[name=b]`))
	click(`.pick button`)
	at("attention/inference_4k: ")
	if text := ask[string](b, `document.querySelector("#commands").parentElement.textContent`); !strings.Contains(text, "pawl bisect attention/inference_4k --good ") || !strings.Contains(text, "pawl check attention/inference_4k --base ") {
		t.Errorf("no commands: %s", text)
	}
	if n := ask[int](b, `document.querySelectorAll(".commits li").length`); n != 7 {
		t.Errorf("%d commits between, want 7", n)
	}
	if to := ask[string](b, `document.querySelector(".commits a").href`); !strings.HasPrefix(to, "https://forge.example.org/kernels/fast/commit/") {
		t.Errorf("a commit is at %s", to)
	}
}

// A drag over the line zooms, two clicks compare, and the keyboard reaches every commit.
func TestChart(t *testing.T) {
	b := open(t, 1400, 900, "light")
	page := shared.base + "/kernel?name=attention&config=training_512&class=nvidia-h200"
	b.visit(page)
	type box struct{ X, Y, Width, Height float64 }
	where := ask[box](b, `(() => { const r = document.querySelector("svg.trend").getBoundingClientRect(); return {X: r.x, Y: r.y, Width: r.width, Height: r.height} })()`)
	point := func(x float64) (float64, float64) { return where.X + x*where.Width, where.Y + 0.8*where.Height }
	hover := func(x float64) {
		px, py := point(x)
		b.run(chromedp.MouseEvent(input.MouseMoved, px, py))
	}
	hover(0.3)
	b.run(chromedp.Poll(`document.querySelector(".reading").textContent.includes("against the first")`, nil))
	press := func(x float64) {
		px, py := point(x)
		b.run(chromedp.MouseEvent(input.MousePressed, px, py, chromedp.ButtonLeft))
	}
	release := func(x float64) {
		px, py := point(x)
		b.run(chromedp.MouseEvent(input.MouseReleased, px, py, chromedp.ButtonLeft))
	}
	b.leave(func() { press(0.3); hover(0.5); hover(0.7); release(0.7) })
	if got := ask[string](b, `location.search`); !strings.Contains(got, "from=") || !strings.Contains(got, "to=") {
		t.Errorf("the zoom is not in the address: %s", got)
	}
	if n := ask[int](b, `document.querySelectorAll("svg.trend a").length`); n < 30 || n > 45 {
		t.Errorf("the zoom shows %d commits of about 37", n)
	}
	hover(0.2)
	b.run(chromedp.Poll(`document.querySelector(".reading").textContent !== ""`, nil))
	press(0.2)
	release(0.2)
	b.run(chromedp.Poll(`document.querySelector(".picked")`, nil))
	b.leave(func() { press(0.8); release(0.8) })
	if got := ask[string](b, `location.pathname + document.querySelector("h1").textContent`); !strings.HasPrefix(got, "/compareattention/training_512: ") {
		t.Errorf("two clicks lead to %s", got)
	}
	b.visit(page)
	b.run(chromedp.Evaluate(`[...document.querySelectorAll("svg.trend a")].at(-1).focus()`, nil), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	if at := ask[int](b, `[...document.querySelectorAll("svg.trend a")].indexOf(document.activeElement)`); at != 87 {
		t.Errorf("the arrow keys lead to commit %d of 90", at)
	}
	b.leave(func() { b.run(chromedp.KeyEvent(kb.Enter)) })
	if got := ask[string](b, `location.pathname`); !strings.HasPrefix(got, "/run/") {
		t.Errorf("the return key leads to %s", got)
	}
	b.quiet(shared.base)
}

// Whoever has no scripts sees the same pictures.
func TestWithoutScripts(t *testing.T) {
	b := open(t, 1400, 900, "light")
	b.run(emulation.SetScriptExecutionDisabled(true))
	b.visit(shared.base + "/kernel?name=attention&config=training_512")
	b.run(emulation.SetScriptExecutionDisabled(false))
	if n := ask[int](b, `document.querySelectorAll("svg.trend a circle").length`); n != 90 {
		t.Errorf("%d commits are drawn, want 90", n)
	}
}

// A hidden series, a pinned view and the keyboard's way to the search.
func TestViews(t *testing.T) {
	b := open(t, 1400, 900, "light")
	b.visit(shared.base + "/?choose=1")
	before := ask[int](b, `document.querySelectorAll(".tile").length`)
	b.leave(func() { b.run(chromedp.Click(`.tile .hide`, chromedp.ByQuery)) })
	if after := ask[int](b, `document.querySelectorAll(".tile").length`); after != before-1 {
		t.Errorf("%d of %d tiles are left", after, before)
	}
	if got := ask[string](b, `location.search`); len(got) > len("?choose=1&hide=abcde") {
		t.Errorf("the address grew to %s", got)
	}
	b.run(chromedp.Click(`.pins button`, chromedp.ByQuery))
	b.visit(shared.base + "/runs")
	if got := ask[string](b, `document.querySelector(".pins a").getAttribute("href")`); !strings.Contains(got, "hide=") {
		t.Errorf("the pinned view is %s", got)
	}
	b.visit(shared.base + "/")
	b.run(chromedp.KeyEvent("/"))
	if !ask[bool](b, `document.activeElement === document.querySelector("input[type=search]")`) {
		t.Error("/ does not lead to the search")
	}
	b.quiet(shared.base)
}

// The page of a search follows its journal, and says when it has ended.
func TestLive(t *testing.T) {
	b := open(t, 1400, 900, "light")
	b.visit(shared.base + "/live/" + live)
	count := `document.querySelectorAll(".scatter .trial").length`
	if n := ask[int](b, count); n != 40 {
		t.Fatalf("%d trials are drawn, want 40", n)
	}
	folder := filepath.Join(shared.dir, ".pawl", "runs", live)
	journal, err := os.OpenFile(filepath.Join(folder, "trials.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	for n := 41; n <= 43; n++ {
		fmt.Fprintf(journal, `{"n":%d,"params":{"BLOCK_M":"64"},"status":"ok","cost":0.8%d,"at_s":200}`+"\n", n, n)
		b.run(chromedp.Poll(fmt.Sprintf(`%s === %d`, count, n), nil, chromedp.WithPollingTimeout(20*time.Second)))
	}
	if n := ask[int](b, `performance.getEntriesByType("navigation").length + Number(document.getElementById("live").dataset.renewed)`); n < 4 {
		t.Errorf("the page was loaded anew instead of renewed: %d", n)
	}
	b.quiet(shared.base)
}

// A search that runs for real is found among the searches, its page grows with it, and leads to the report.
func TestRealSearch(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"k.c": "void scale(const float *x, float *y, int n) {\n\tfor (int i = 0; i < n; i++) {\n\t\tfor (volatile int r = 0; r < WORK; r++) ;\n\t\ty[i] = 2.0f * x[i];\n\t}\n}\n",
		"pawl.yaml": `version: 1
kernels:
  scale:
    source: k.c
    entry: scale
    params: {WORK: [40, 1, 2, 3, 5, 8, 13, 21, 80, 160]}
    args:
      - {name: x, dtype: f32, shape: [N]}
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i32, value: N}
    oracle: {elementwise: {y: "2 * x"}}
configs: {small: {N: 1024}}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base, stop, err := serve(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	search := exec.Command(os.Getenv("PAWL_BIN"), "tune", "scale", "--budget", "20s")
	search.Dir = dir
	var said strings.Builder
	search.Stdout, search.Stderr = &said, &said
	if err := search.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- search.Wait() }()
	defer func() { _ = search.Process.Kill() }()
	b := open(t, 1400, 900, "light")
	for {
		b.visit(base + "/searches")
		if ask[bool](b, `!!document.querySelector("a[href^='/live/']")`) {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the search has ended before it was shown: %v: %s", err, &said)
		default:
		}
	}
	b.leave(func() { b.run(chromedp.Click(`a[href^="/live/"]`, chromedp.ByQuery)) })
	count := `document.querySelectorAll(".scatter .trial").length`
	wait := chromedp.WithPollingTimeout(4 * time.Minute)
	for range 2 { // the page grows by itself
		n := ask[int](b, count)
		b.run(chromedp.Poll(fmt.Sprintf(`%s > %d`, count, n), nil, wait))
	}
	b.run(chromedp.Poll(`document.querySelector("[role=status]").textContent.includes("It has ended")`, nil, wait))
	if n := ask[int](b, `performance.getEntriesByType("navigation").length`); n != 1 {
		t.Errorf("the page was loaded %d times", n)
	}
	if err := <-ended; err != nil {
		t.Fatalf("the search: %v: %s", err, &said)
	}
	shown := ask[int](b, count)
	b.leave(func() { b.run(chromedp.Click(`[role=status] a`, chromedp.ByQuery)) })
	if n := ask[int](b, count); n != shown || n < 3 {
		t.Errorf("the report has %d trials, and the page has shown %d", n, shown)
	}
	b.quiet(base)
}

// A token is asked for in a form, and lasts in a cookie that scripts do not see.
func TestLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	const token = "a token of many characters"
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	base, stop, err := serve(shared.dir, "--token-file", file)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	b := open(t, 390, 844, "light")
	b.visit(base + "/kernel?name=gemm")
	if got := ask[string](b, `document.querySelector("h1").textContent`); got != "Log in" {
		t.Fatalf("without a token there is %q", got)
	}
	b.said = nil // the browser remarks on the status
	enter := func(text string) {
		b.run(chromedp.SendKeys("#token", text))
		b.leave(func() { b.run(chromedp.Click("form.login button")) })
	}
	enter("a wrong one of as many")
	if got := ask[string](b, `document.querySelector("[role=alert]").textContent`); got != "That is not the token." {
		t.Errorf("a wrong token: %q", got)
	}
	b.said = nil
	enter(token)
	if got := ask[string](b, `location.href`); got != base+"/kernel?name=gemm" {
		t.Errorf("after the login: %s", got)
	}
	if got := ask[string](b, `document.cookie`); got != "" {
		t.Errorf("scripts see the cookie %s", got)
	}
	b.run(chromedp.Evaluate(shared.axe, nil))
	for _, found := range b.axe("") {
		t.Errorf("axe-core: %s", found)
	}
	b.leave(func() { b.run(chromedp.Click(".leave button")) })
	b.visit(base + "/")
	if got := ask[string](b, `document.querySelector("h1").textContent`); got != "Log in" {
		t.Errorf("after the logout there is %q", got)
	}
	b.said = nil
	b.quiet(base)
}

// The first paint of pages with 100,000 runs, which BenchmarkServe of test/bench has left.
func BenchmarkFirstPaint(b *testing.B) {
	dir := filepath.Join(os.Getenv("PAWL_BENCH_SERVE"), "serve100000")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		b.Skip("PAWL_BENCH_SERVE has no history of 100,000 runs: make bench writes it")
	}
	base, stop, err := serve(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	for name, path := range map[string]string{"overview": "/", "trend_of_5000": "/kernel?name=kernel0&config=config0", "runs": "/runs"} {
		b.Run(name, func(b *testing.B) {
			worst := 0.0
			for range b.N {
				tab := open(b, 1400, 900, "light")
				tab.visit(base + path)
				worst = max(worst, ask[float64](tab, `new Promise(done => { const look = () => { const e = performance.getEntriesByName("first-contentful-paint")[0]; e ? done(e.startTime) : setTimeout(look, 20) }; look() })`))
			}
			b.ReportMetric(worst, "ms-worst")
		})
	}
}

// The README's pictures.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("make browser PICTURES=1 writes them")
	}
	var list struct {
		Series []struct{ Kernel, Code string }
	}
	fetch(t, "/api/v1/series", &list)
	hidden := ""
	for _, one := range list.Series {
		if one.Kernel == hostile {
			hidden += one.Code
		}
	}
	b := open(t, 1400, 900, "light")
	b.visit(shared.base + "/?hide=" + hidden)
	b.run(chromedp.Evaluate(`document.querySelectorAll(".pins, .hidden").forEach(e => e.remove())`, nil))
	b.picture(filepath.Join(*pictures, "overview.png"), false)
	b.visit(shared.base + "/kernel?name=attention&config=training_2k")
	b.run(chromedp.Evaluate(`document.querySelectorAll(".pins").forEach(e => e.remove())`, nil))
	b.picture(filepath.Join(*pictures, "kernel.png"), false)
}
