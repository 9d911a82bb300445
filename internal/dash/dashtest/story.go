// Package dashtest makes, for tests, a project with a long history: commits, checks of them with every
// verdict, searches, pull requests, notes, and a search that is still going on. The reports are as pawl
// writes them, and the numbers are drawn: the same seed makes the same history.
package dashtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/history"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Story says how much history there is.
type Story struct {
	Commits  int
	Kernels  []Kernel
	Seed     uint64
	End      time.Time // of the last run
	Searches int
}

// Kernel is one of them, with its configs.
type Kernel struct {
	Name    string
	Configs []string
	BaseS   float64
}

// Usual is a project of nine kernels. The last has a name that would run a script, were it not text.
func Usual(end time.Time) Story {
	return Story{Commits: 90, Seed: 7, End: end, Searches: 2, Kernels: []Kernel{
		{"attention", []string{"training_512", "training_2k", "inference_4k", "long_16k"}, 52e-6},
		{"cross_entropy", []string{"vocab_32k", "vocab_128k"}, 110e-6},
		{"gemm", []string{"square", "projection", "skinny", "batch_64"}, 410e-6},
		{"layernorm", []string{"rows_1k", "rows_16k"}, 9.4e-6},
		{"quantize", []string{"int8_4k", "fp8_4k"}, 14e-6},
		{"reduction", []string{"n_4m", "n_64m"}, 21e-6},
		{"rope", []string{"decode", "prefill"}, 5.1e-6},
		{"softmax", []string{"rows_4k", "logits_128k"}, 33e-6},
		{Hostile, []string{"a&b;c", "x"}, 77e-6},
	}}
}

// Hostile is a name that does harm where it is taken for anything else than text.
const Hostile = `"><script>window.harmed=1</script><img src=x onerror="window.harmed=1">`

// Class is the device class of all runs.
const Class = "nvidia-h200"

// Write makes the project in a folder, which must be empty.
func (s Story) Write(ctx context.Context, dir string) error {
	if err := s.project(ctx, dir); err != nil {
		return err
	}
	h, err := history.Open(ctx, dir, "", store.Create)
	if err != nil {
		return err
	}
	defer h.Close()
	line, err := h.Line(ctx, "")
	if err != nil {
		return err
	}
	t := &teller{Story: s, random: rand.New(rand.NewPCG(s.Seed, 1)), commits: line.Commits, level: map[string]*level{}}
	for n := range t.commits {
		if _, err := h.Add(ctx, store.Entry{Report: t.check(n)}); err != nil {
			return err
		}
	}
	for n := range s.Searches {
		if _, err := h.Add(ctx, store.Entry{Report: t.search(n, 140)}); err != nil {
			return err
		}
	}
	pull := t.check(len(t.commits) - 1)
	pull.ID, pull.Origin = t.id(s.End.Add(time.Minute)), &result.Origin{Branch: "faster-rope", Pull: 12}
	if _, err := h.Add(ctx, store.Entry{Report: pull}); err != nil {
		return err
	}
	for _, n := range t.notes {
		if _, err := h.AddNote(ctx, n); err != nil {
			return err
		}
	}
	return t.live(dir)
}

// project makes the repository.
func (s Story) project(ctx context.Context, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "pawl.yaml"), []byte("version: 1\n"), 0o644); err != nil {
		return err
	}
	var script strings.Builder
	fmt.Fprintf(&script, "blob\nmark :1\ndata 11\nversion: 1\n\n")
	for n := range s.Commits {
		at := s.at(n).Unix()
		subject := subjects[n%len(subjects)]
		fmt.Fprintf(&script, "commit refs/heads/main\nmark :%d\nauthor Ada <ada@example.org> %d +0000\ncommitter Ada <ada@example.org> %d +0000\ndata %d\n%s\n", n+2, at, at, len(subject), subject)
		if n == 0 {
			fmt.Fprint(&script, "M 644 :1 pawl.yaml\n")
		}
		fmt.Fprint(&script, "\n")
	}
	for _, step := range []struct {
		input string
		args  []string
	}{
		{"", []string{"init", "--quiet", "--initial-branch=main"}},
		{script.String(), []string{"fast-import", "--quiet"}},
		{"", []string{"reset", "--quiet", "--hard", "main"}},
		{"", []string{"remote", "add", "origin", "https://forge.example.org/kernels/fast.git"}},
	} {
		git := exec.CommandContext(ctx, "git", step.args...)
		git.Dir, git.Stdin = dir, strings.NewReader(step.input)
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", step.args[0], err, out)
		}
	}
	return nil
}

var subjects = []string{
	"attention: keep the running maximum in registers", "gemm: a tile less for the epilogue", "update the toolchain", "rope: read cos and sin together",
	"layernorm: two rows for each block", "comments", "softmax: one pass for short rows", "tests of small shapes", "reduction: shuffle instead of shared memory",
	`quantize: "><script>window.harmed=1</script>`,
}

// at is when a commit was checked.
func (s Story) at(n int) time.Time {
	return s.End.Add(-time.Duration(s.Commits-1-n) * 7 * time.Hour).UTC().Truncate(time.Millisecond)
}

// level is how fast a series is.
type level struct {
	index, best float64
	bestCommit  string
	identity    int
}

// teller makes reports.
type teller struct {
	Story
	random  *rand.Rand
	commits []string
	level   map[string]*level
	notes   []store.Note
}

func (t *teller) id(at time.Time) string {
	return fmt.Sprintf("%s-%012x", at.UTC().Format("20060102T150405Z"), t.random.Uint64()>>16)
}

func (t *teller) head(kind result.Kind, at time.Time, command ...string) *result.Report {
	return &result.Report{
		Schema: result.Schema, Kind: kind, ID: t.id(at), Tool: result.Tool{Version: "0.1.0"}, Command: append([]string{"pawl"}, command...),
		Started: at.Add(-3 * time.Minute), Finished: at, DeviceClass: Class, Spec: result.SpecRef{File: "pawl.yaml", SHA256: strings.Repeat("0", 64)},
		Machine: result.Fingerprint{
			OS: "Debian GNU/Linux 12", Kernel: "6.1.0", Arch: "amd64", CPU: result.CPU{Model: "AMD EPYC 9554", Cores: 16, Threads: 2},
			GPU: &result.GPU{Name: "NVIDIA H200", Arch: "sm_90a", Driver: "570.86.15", CUDA: "12.8", SMs: 132, MemoryBytes: 150e9, L2Bytes: 60e6, PowerLimitW: 700},
		},
		Method: result.Method{Cache: "cold", BudgetS: 10, MinSamples: 20, HalfWidth: 0.005, Seed: 42},
		Origin: &result.Origin{Branch: "main"}, Cost: &result.Cost{WallS: 180, DeviceS: 95},
	}
}

// check makes the report of a check of a commit.
func (t *teller) check(n int) *result.Report {
	r := t.head(result.KindCheck, t.at(n), "check", "--update-baseline")
	r.Commit = &result.Commit{SHA: t.commits[n]}
	if n > 0 {
		r.Base = &result.BaseRef{Ref: "HEAD~1", SHA: t.commits[n-1]}
	}
	r.Gate = &result.Gate{Regression: 0.03, Improvement: 0.05}
	r.Outcome = &result.Outcome{Result: result.Passed, Verdicts: map[result.Verdict]int{}}
	for k, kernel := range t.Kernels {
		for c, config := range kernel.Configs {
			row := t.row(r, n, k, c, kernel, config)
			r.Outcome.Verdicts[row.Verdict]++
			switch row.Verdict {
			case result.Regression, result.Incorrect, result.Broken:
				r.Outcome.Result = result.Failed
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return r
}

// step is what a commit does to a series: most do nothing.
func (t *teller) step(n, k, c int) (size float64, touched bool) {
	switch {
	case n == 0:
		return 0, true
	case n == t.Commits*2/5 && k == 0:
		return 0.052 + 0.01*float64(c), true
	case n == t.Commits*3/5 && k == 0:
		return -0.11, true
	case n == t.Commits-6 && k == 2 && c < 2:
		return 0.041, true
	case n == t.Commits-3 && k == 7:
		return -0.124, true
	case n%23 == 7*k%23:
		return 0.008, true // creep
	}
	return 0, (n*7+k*3)%10 < 4
}

func (t *teller) row(r *result.Report, n, k, c int, kernel Kernel, config string) *result.Row {
	key := kernel.Name + "/" + config
	l := t.level[key]
	if l == nil {
		l = &level{index: 1, best: 1, bestCommit: t.commits[n]}
		t.level[key] = l
	}
	row := &result.Row{
		Kernel: kernel.Name, Config: config, Cell: "cuda", Class: Class, Vars: map[string]string{"N": "4096"},
		Params: map[string]string{"BLOCK": "128", "STAGES": "3"}, Build: &result.Build{Compiler: "nvcc 12.8", Seconds: 4.2, Resources: []result.Resources{{Entry: "main", Registers: 96, Occupancy: 0.5}}},
	}
	size, touched := t.step(n, k, c)
	if touched {
		l.identity++
	}
	row.Identity = fmt.Sprintf("%064x", uint64(k)<<32|uint64(c)<<24|uint64(l.identity))
	switch {
	case n > 0 && n == t.Commits-2 && k == 4 && c == 0:
		row.Verdict = result.Incorrect
		row.Fault = &result.Fault{Stage: "verify", Cause: result.CauseWrong, Message: "3 of 4,096 elements differ by more than the tolerance", Hint: "pawl fuzz " + key + " finds the smallest case"}
		return row
	case n == t.Commits-1 && k == 5 && c == 1:
		row.Verdict = result.Broken
		row.Fault = &result.Fault{Stage: "build", Cause: result.CauseCompile, Message: `reduction.cu(41): error: identifier "lane" is undefined`}
		return row
	case !touched:
		row.Verdict = result.Unchanged
		return row
	}
	l.index *= 1 + size
	wander := math.Exp(0.12 * t.random.NormFloat64())
	row.Timing = t.timing(kernel.BaseS*float64(1+c)*l.index*wander, 60)
	if n == 0 {
		row.Verdict, row.Moved = result.New, &result.Moved{Done: true, ToS: row.Timing.Stats.Median}
		return row
	}
	wide := 0.004
	if t.random.IntN(40) == 0 {
		wide, row.Verdict = 0.04, result.Inconclusive
	}
	base := t.side(result.Base, t.commits[n-1], size, wide, row)
	best := t.side(result.Best, l.bestCommit, l.index/l.best-1, wide, row)
	row.Sides = []*result.Side{base, best}
	t.judge(r, row, l, n, base.Change)
	return row
}

func (t *teller) judge(r *result.Report, row *result.Row, l *level, n int, change *result.Change) {
	switch {
	case row.Verdict != "":
	case change.Median > 0.03:
		row.Verdict = result.Regression
		row.Why = why(row)
		t.notes = append(t.notes, store.Note{Run: r.ID, Kernel: row.Kernel, Config: row.Config, Kind: store.Acknowledged, At: r.Finished.Add(time.Hour), Author: "Ada", Text: "known: the new mask costs registers, issue 41"})
	case change.Median < -0.05:
		row.Verdict = result.Improvement
		row.Moved = &result.Moved{Done: true, From: l.bestCommit, ToS: row.Timing.Stats.Median}
		l.best, l.bestCommit = l.index, t.commits[n]
	default:
		row.Verdict = result.Maintained
		if l.index/l.best > 1.03 {
			row.Reasons = append(row.Reasons, result.Creep)
		}
	}
	if n == t.Commits/2 && row.Kernel == "softmax" {
		t.notes = append(t.notes, store.Note{Run: r.ID, Kernel: row.Kernel, Kind: store.Invalid, At: r.Finished, Author: "Grace", Text: "another job was on the GPU " + Hostile})
	}
}
