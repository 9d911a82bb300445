package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	pictures = flag.String("pictures", "", "write the README's pictures into this folder")
	shots    = flag.String("shots", "", "write a picture of every page into this folder")
)

// shared are a project with a long history and a browser, for all tests.
var shared struct {
	dir, base, axe string
	browser        context.Context
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := prepared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		code = 1
	}
	os.Exit(code)
}

func prepared(m *testing.M) (int, error) {
	for _, name := range []string{"PAWL_BIN", "PAWL_AXE"} {
		if os.Getenv(name) == "" {
			return 0, fmt.Errorf("%s is not set: run `make browser`", name)
		}
	}
	axe, err := os.ReadFile(os.Getenv("PAWL_AXE"))
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "pawl-browser-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	shared.dir, shared.axe = filepath.Join(dir, "fast-kernels"), string(axe)
	if err := os.Mkdir(shared.dir, 0o755); err != nil {
		return 0, err
	}
	write := exec.Command("go", "run", "-trimpath", "./test/story", shared.dir) // as `make build` does, whose packages are compiled then
	write.Dir = "../.."
	if out, err := write.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("make a history: %w: %s", err, out)
	}
	base, stop, err := serve(shared.dir)
	if err != nil {
		return 0, err
	}
	defer stop()
	shared.base = base

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("force-prefers-reduced-motion", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if err := chromedp.Run(browser); err != nil {
		return 0, fmt.Errorf("start Chromium: %w", err)
	}
	shared.browser = browser
	return m.Run(), nil
}

var address = regexp.MustCompile(`http://\S+`)

// serve starts pawl serve on a free port, for the project in a folder.
func serve(dir string, args ...string) (base string, stop func(), err error) {
	cmd := exec.Command(os.Getenv("PAWL_BIN"), append([]string{"serve", "-f", filepath.Join(dir, "pawl.yaml"), "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if base = address.FindString(line); base == "" {
		stop()
		return "", nil, fmt.Errorf("pawl serve has printed %q: %w", line, err)
	}
	return base, stop, nil
}

// tab is a page of the browser that hears what goes wrong in it.
type tab struct {
	testing.TB
	ctx  context.Context
	mu   sync.Mutex
	said []string // errors of scripts, of the policy, and of the network
	to   []string // addresses of requests
}

// open opens a tab that is so wide.
func open(t testing.TB, width, height int64, scheme string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(shared.browser)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 6*time.Minute)
	t.Cleanup(stop)
	b := &tab{TB: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	b.run(network.Enable(), log.Enable(), runtime.Enable())
	b.look(width, height, scheme)
	return b
}

// look makes the screen so wide, and light or dark.
func (b *tab) look(width, height int64, scheme string) {
	b.Helper()
	b.run(emulation.SetDeviceMetricsOverride(width, height, 1, width < 500),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			b.said = append(b.said, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.said = append(b.said, fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		b.to = append(b.to, e.Request.URL)
	case *page.EventJavascriptDialogOpening:
		b.said = append(b.said, "dialog: "+e.Message)
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.Fatalf("%v (the page said %q)", err, b.said)
	}
}

// visit opens an address and waits until it is drawn.
func (b *tab) visit(url string) {
	b.Helper()
	b.run(chromedp.Navigate(url), chromedp.WaitReady("footer"))
}

// ask evaluates an expression in the page.
func ask[V any](b *tab, expression string) (v V) {
	b.Helper()
	b.run(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return v
}

// leave does something that leads to another page, and waits for that.
func (b *tab) leave(do func()) {
	b.Helper()
	b.run(chromedp.Evaluate(`window.old = true`, nil))
	do()
	for range 200 {
		var there bool
		// In between there is no page to ask.
		if chromedp.Run(b.ctx, chromedp.Evaluate(`!window.old && document.readyState === "complete"`, &there)) == nil && there {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.Fatal("nothing led to another page")
}

// quiet makes sure that nothing has gone wrong, and that nothing was asked for elsewhere.
func (b *tab) quiet(base string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.said {
		b.Errorf("the browser says: %s", text)
	}
	for _, to := range b.to {
		if !strings.HasPrefix(to, base) && !strings.HasPrefix(to, "data:") && !strings.HasPrefix(to, "about:") {
			b.Errorf("a request to %s", to)
		}
	}
	b.said, b.to = nil, nil
}

// picture writes a picture of the page.
func (b *tab) picture(file string, whole bool) {
	b.Helper()
	var png []byte
	action := chromedp.CaptureScreenshot(&png)
	if whole {
		action = chromedp.FullScreenshot(&png, 100)
	}
	b.run(action)
	if err := os.WriteFile(file, png, 0o644); err != nil {
		b.Fatal(err)
	}
}
