package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pawl/internal/result"
)

// pulled is one config of one kernel, with another as its oracle.
const pulled = `version: 1
kernels:
  scale:
    source: scale.c
    entry: scale
    flags: [-DTILE=8, -DSTEP=1]
    oracle: {kernel: slow}
    args:
      - {name: in, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
  slow:
    source: slow.c
    entry: slow
    flags: [-DTILE=8, -DSTEP=1]
    args:
      - {name: in, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
configs: {small: {N: 1000}}
`

// forgeOf answers as GitHub does for one open pull request, and counts comments.
func forgeOf(b *testing.B, sha string) (url string, comments *atomic.Int64) {
	b.Helper()
	comments = &atomic.Int64{}
	pull := fmt.Sprintf(`{"number":7,"state":"open","changed_files":1,"head":{"sha":%q,"repo":{"full_name":"o/r"}},"base":{"repo":{"full_name":"o/r"}}}`, sha)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := "{}"
		switch path := strings.TrimPrefix(r.URL.Path, "/repos/o/r"); {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			if strings.HasSuffix(path, "/comments") {
				comments.Add(1)
			}
			answer = `{"id":1}`
		case strings.HasSuffix(path, "/files"):
			answer = `[{"filename":"scale.c","status":"modified"}]`
		case strings.HasSuffix(path, "/comments"):
			answer = "[]"
		case strings.HasSuffix(path, "/check-runs"):
			answer = `{"total_count":0,"check_runs":[]}`
		case path == "/pulls/7":
			answer = pull
		case strings.HasSuffix(path, "/pulls"):
			answer = "[" + pull + "]"
		case path == "/user":
			answer = `{"login":"bot"}`
		default:
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(answer))
	}))
	b.Cleanup(server.Close)
	return server.URL, comments
}

// BenchmarkPullRequest is everything from the checkout of a pull request to its comment: clone, scope,
// check and post. The base is built before. own-s is what neither building, verifying nor measuring takes.
func BenchmarkPullRequest(b *testing.B) {
	bin := pawl(b)
	p := newProject(b)
	p.env = append(p.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@example.com",
		"GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@example.com", "PAWL_FORGE_TOKEN=token")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	write("pawl.yaml", pulled)
	commit := func(message string) string {
		p.run(b, "git", "add", "-A")
		p.run(b, "git", "commit", "--quiet", "-m", message)
		sha, _ := p.run(b, "git", "rev-parse", "HEAD")
		return strings.TrimSpace(string(sha))
	}
	p.run(b, "git", "init", "--quiet", "--initial-branch=main")
	write("slow.c", strings.Replace(kernel, "void scale(", "void slow(", 1))
	commit("base")
	p.run(b, "git", "checkout", "--quiet", "-b", "change")
	write("scale.c", strings.Replace(kernel, "    for (long i = 0", "    if (n == 123456789) out[0] = 1;\n    for (long i = 0", 1))
	sha := commit("change")
	p.run(b, "git", "checkout", "--quiet", "main")
	url, comments := forgeOf(b, sha)
	var whole, own float64
	for i := range b.N + 1 { // the first has the builds
		began := time.Now()
		change := &project{filepath.Join(b.TempDir(), fmt.Sprint("change", i)), p.env}
		p.run(b, "git", "clone", "--quiet", "--branch", "change", p.dir, change.dir)
		change.run(b, bin, "ci", "scope", "--base", "origin/main")
		report := filepath.Join(change.dir, "..", "report.json")
		check := exec.Command(bin, "check", "--base", "origin/main", "scale", "-o", report)
		check.Dir, check.Env = change.dir, p.env
		if out, err := check.CombinedOutput(); check.ProcessState.ExitCode() > 1 { // slower by noise is a result, too
			b.Fatalf("%v\n%s", err, out)
		}
		post := exec.Command(bin, "ci", "post", "--forge", "github", "--api", url, "--repo", "o/r", "--sha", sha, "--report", report, "--trust", "own")
		post.Dir, post.Env = p.dir, p.env
		if out, err := post.CombinedOutput(); post.ProcessState.ExitCode() > 1 {
			b.Fatalf("%v\n%s", err, out)
		}
		took := time.Since(began).Seconds()
		if comments.Load() != int64(i+1) {
			b.Fatalf("%d comments of %d runs", comments.Load(), i+1)
		}
		if i == 0 {
			continue
		}
		raw, err := os.ReadFile(report)
		if err != nil {
			b.Fatal(err)
		}
		var r result.Report
		if err := json.Unmarshal(raw, &r); err != nil {
			b.Fatal(err)
		}
		whole += took
		own += took
		for _, s := range r.Cost.Stages {
			if s.Name == "build" || s.Name == "verify" || s.Name == "measure" {
				own -= s.Seconds
			}
		}
	}
	b.ReportMetric(whole/float64(b.N), "whole-s")
	b.ReportMetric(own/float64(b.N), "own-s")
	b.ReportMetric(0, "ns/op")
}
