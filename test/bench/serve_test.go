package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/dash/dashtest"
	"pawl/internal/history"
	"pawl/internal/store"
)

// What 20 visitors at a time wait for whom nothing but the answer holds back, and what memory that takes,
// with 100,000 runs and 10 million samples, and with a tenth of them, which must cost a page the same: of pages that
// are there, and while a note is written every second, after which all pages are made anew. PAWL_BENCH_SERVE names a
// folder that keeps the history, PAWL_BENCH_RUNS another number of runs.
func BenchmarkServe(b *testing.B) {
	pawl := os.Getenv("PAWL_BIN")
	if pawl == "" {
		b.Skip("PAWL_BIN is not set: make bench does")
	}
	sizes := []string{"10000", "100000"}
	if other := os.Getenv("PAWL_BENCH_RUNS"); other != "" {
		sizes = []string{other}
	}
	for _, size := range sizes {
		runs, err := strconv.Atoi(size)
		if err != nil {
			b.Fatalf("PAWL_BENCH_RUNS=%s: expected a number", size)
		}
		b.Run(size, func(b *testing.B) { serveHistory(b, pawl, runs) })
	}
}

func serveHistory(b *testing.B, pawl string, runs int) {
	dir := os.Getenv("PAWL_BENCH_SERVE")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, "serve"+strconv.Itoa(runs))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	bulk := dashtest.Bulk{Runs: runs, Commits: 5000, End: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)}
	if err := bulk.Write(b.Context(), dir); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(pawl, "serve", "-f", filepath.Join(dir, "pawl.yaml"), "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	base := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || base == "" {
		b.Fatalf("%q, %v", line, err)
	}
	pages := map[string]string{"overview": "/", "trend of 5000": "/kernel?name=" + dashtest.BulkKernel + "&config=" + dashtest.BulkConfig, "line of 5000": "/api/v1/line?kernel=" + dashtest.BulkKernel + "&config=" + dashtest.BulkConfig}
	for _, name := range []string{"overview", "trend of 5000", "line of 5000"} {
		for _, changing := range []bool{false, true} {
			label := name
			if changing {
				label += "/changing"
			}
			b.Run(label, func(b *testing.B) {
				stop := func() {}
				if changing {
					stop = change(b, dir)
				}
				waits := visit(b, base+pages[name])
				stop()
				b.ReportMetric(float64(waits[len(waits)*95/100].Microseconds())/1000, "ms-p95")
				b.ReportMetric(float64(waits[len(waits)-1].Microseconds())/1000, "ms-max")
				b.ReportMetric(resident(b, cmd.Process.Pid), "MB-peak")
			})
		}
	}
}

// visit has 20 visitors ask for a page, and returns how long each answer took, sorted.
func visit(b *testing.B, address string) []time.Duration {
	b.Helper()
	const visitors = 20
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: visitors}}
	var mu sync.Mutex
	var waits []time.Duration
	var all sync.WaitGroup
	count := max(b.N, 5*visitors)
	for v := range visitors {
		all.Go(func() {
			for n := v; n < count; n += visitors {
				began := time.Now()
				answer, err := client.Get(address)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != http.StatusOK {
					b.Errorf("%s: %s, %v", address, answer.Status, err)
					return
				}
				mu.Lock()
				waits = append(waits, time.Since(began))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(waits) == 0 {
		b.Fatal("no answer")
	}
	slices.Sort(waits)
	return waits
}

// change writes a note every second, until it is stopped.
func change(b *testing.B, dir string) (stop func()) {
	b.Helper()
	h, err := history.Open(b.Context(), dir, "", store.Read)
	if err != nil {
		b.Fatal(err)
	}
	runs, err := h.Runs(b.Context(), store.Filter{Limit: 1})
	if err != nil || len(runs) == 0 {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if _, err := h.AddNote(context.Background(), store.Note{Run: runs[0].ID, Kind: store.Remark, At: time.Now(), Text: fmt.Sprint(n)}); err != nil {
				b.Error(err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
		h.Close()
	}
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`)

// resident returns the most memory that a process has had, in MB.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		b.Fatal(err)
	}
	found := peakMemory.FindStringSubmatch(strings.ToValidUTF8(string(raw), ""))
	if found == nil {
		b.Fatal("no VmHWM")
	}
	kb, _ := strconv.ParseFloat(found[1], 64)
	return kb * 1024 / 1e6
}
