package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl: kernels are really compiled, and run in cells
// of a worker as the shipped one runs them.
func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "worker":
		err = worker.Serve(context.Background(), os.Stdin, os.Stdout, worker.ServeOptions{Tool: result.Tool{Version: "test"}})
	case len(os.Args) > 2 && os.Args[1] == "cell":
		err = cell.Serve(os.Args[2], os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
	default:
		os.Exit(runTests(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// workshop is shared by all tests: starting it takes longer than the tests.
type workshop struct {
	client  *worker.Client
	builder *build.Builder
}

var (
	workshopFolder string
	openWorkshop   = sync.OnceValues(func() (*workshop, error) {
		w := &workshop{}
		var err error
		if w.client, err = startWorker(); err != nil {
			return nil, err
		}
		w.builder, err = build.New(build.Options{CacheDir: filepath.Join(workshopFolder, "cache"), NoCcache: true})
		return w, err
	})
)

func startWorker() (*worker.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// Its own locks: nothing is measured here, and others need not wait.
	command := []string{"env", "PAWL_LOCK_DIR=" + workshopFolder, "GORACE=atexit_sleep_ms=0", self, "worker"}
	return worker.Start(context.Background(), worker.Options{Command: command})
}

func runTests(m *testing.M) int {
	var err error
	if workshopFolder, err = os.MkdirTemp("", "verify"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(workshopFolder)
	return m.Run()
}

// Each kernel has its source in a file of its own name.
const realYAML = `version: 1
kernels:
  k: &k
    source: k.c
    entry: k
    args: &args
      - {name: x, dtype: f32, shape: [N], init: {uniform: [1, 2]}}
      - {name: y, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
    configs: {c: {N: 256}, next: {N: 257}, huge: {N: 4_000_000_000_000}}
  precise:
    <<: *k
    source: precise.c
    entry: precise
    args:
      - {name: n, dtype: i64, value: N}
      - {name: spare, dtype: f32, shape: [2], role: scratch}
      - {name: y, dtype: f64, shape: [N], role: out}
      - {name: x, dtype: f32, shape: [N]}
  rough: {<<: *k, source: rough.c, entry: rough}
  most: &most
    source: most.c
    entry: most
    args:
      - {name: y, dtype: i32, shape: [1], role: out}
      - {name: x, dtype: i32, shape: [N], init: {integers: [0, 10]}}
      - {name: n, dtype: i64, value: N}
    configs: {c: {N: 4096}}
  greatest: {<<: *most, source: greatest.c, entry: greatest}
  pair: &pair
    source: pair.c
    entry: pair
    args:
      - {name: x, dtype: f32, shape: [N], init: {uniform: [1, 2]}}
      - {name: u, dtype: f32, shape: [N], role: out}
      - {name: v, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
    configs: {c: {N: 256}}
  pairs: {<<: *pair, source: pairs.c, entry: pairs}
  update: &update
    source: update.c
    entry: update
    args:
      - {name: x, dtype: f32, shape: [N], role: inout, init: {uniform: [1, 2]}}
      - {name: s, dtype: f32, shape: [1], role: out}
      - {name: n, dtype: i64, value: N}
    configs: {c: {N: 256}}
  updates: {<<: *update, source: updates.c, entry: updates}
  indexed: &indexed
    source: indexed.c
    entry: indexed
    args:
      - {name: at, dtype: i32, shape: [N], role: inout, init: {integers: [0, 3]}}
      - {name: x, dtype: f32, shape: [N], role: inout, init: {uniform: [1, 2]}}
      - {name: n, dtype: i64, value: N}
    configs: {c: {N: 256}}
  indices: {<<: *indexed, source: indices.c, entry: indices}
  first:
    <<: *pair
    args:
      - {name: x, dtype: f32, shape: [N]}
      - {name: u, dtype: f32, shape: [N], role: out}
  rounded: {<<: *pair, source: rounded.c, entry: rounded}
`

// C declarations of the kernels' arguments.
var declared = map[string]string{
	"k": "const float *x, float *y, long n", "rough": "const float *x, float *y, long n",
	"precise": "long n, float *spare, double *y, const float *x",
	"most":    "int *y, const int *x, long n", "greatest": "int *y, const int *x, long n",
	"update": "float *x, float *s, long n", "updates": "float *x, float *s, long n",
	"indexed": "int *at, float *x, long n", "indices": "int *at, float *x, long n",
	"pair": "const float *x, float *u, float *v, long n", "pairs": "const float *x, float *u, float *v, long n", "rounded": "const float *x, float *u, float *v, long n",
}

// scene is the kernels of one test.
type scene struct {
	*workshop
	t    *testing.T
	dir  string
	spec *spec.Spec
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	s := &scene{t: t, dir: t.TempDir()}
	var err error
	if s.spec, err = spec.Parse(filepath.Join(s.dir, "pawl.yaml"), []byte(realYAML)); err != nil {
		t.Fatal(err)
	}
	if s.workshop, err = openWorkshop(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *scene) instance(kernel, config string) *spec.Instance {
	s.t.Helper()
	for _, k := range s.spec.Kernels {
		for _, c := range k.Configs {
			if k.Name == kernel && c.Name == config {
				in, err := k.Default().At(c)
				if err != nil {
					s.t.Fatal(err)
				}
				return in
			}
		}
	}
	s.t.Fatalf("no %s/%s", kernel, config)
	return nil
}

// side returns a kernel with this body, loaded into a cell of its own.
func (s *scene) side(kernel, body string) Side {
	s.t.Helper()
	text := fmt.Sprintf("#include <stdlib.h>\n#include <string.h>\n#include <time.h>\nvoid %s(%s) { %s }\n", kernel, declared[kernel], body)
	if err := os.WriteFile(filepath.Join(s.dir, kernel+".c"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	in := s.instance(kernel, "c")
	made := s.builder.Build(s.t.Context(), []build.Request{{Dir: s.dir, Variant: in.Variant}})[0]
	if made.Fault != nil {
		s.t.Fatal(made.Fault, made.Output)
	}
	object, err := made.Artifact.Read()
	if err != nil {
		s.t.Fatal(err)
	}
	sha, err := s.client.Upload(s.t.Context(), object)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := s.client.Open(s.t.Context(), wire.Open{Cell: "host", Sandbox: "auto", Untimed: true, Memory: 2 << 30, Threads: 64})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Load(s.t.Context(), wire.Load{SHA256: sha}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _, _ = c.Close(context.Background()) }) // it may be gone
	return Side{Cell: c, Instance: in, Symbols: made.Artifact.Symbols}
}

// bench returns a bench for a kernel with this body.
func (s *scene) bench(kernel, body string, right Oracle) *Bench {
	s.t.Helper()
	judge, err := s.client.Open(s.t.Context(), wire.Open{Cell: "oracle", Sandbox: "auto", Memory: 4 << 30, Threads: 80})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _, _ = judge.Close(context.Background()) })
	return &Bench{
		Candidate: s.side(kernel, body), Oracle: right, Judge: judge, Seed: 5, Timeout: 2 * time.Second,
		Tolerance: oracle.Tolerance{Rel: 1e-5, Abs: 1e-6},
	}
}

const (
	double  = "for (long i = 0; i < n; i++) y[i] = 2 * x[i] + 1;"
	crashes = "*(volatile int *)0 = 1;"
)

var formulaOfDouble = Oracle{Elementwise: "2 * x + 1"}

// tried returns a case after a trial.
func tried(t *testing.T, b *Bench, trial Trial) (*result.Case, []result.Finding) {
	t.Helper()
	c := &result.Case{Batch: 7}
	found, err := b.Try(t.Context(), c, trial)
	if err != nil {
		t.Fatal(err)
	}
	return c, found
}

// says reports whether there is exactly one such finding.
func says(found []result.Finding, exploit string, severity result.Integrity, message string) bool {
	return len(found) == 1 && found[0].Exploit == exploit && found[0].Severity == severity && strings.Contains(found[0].Message, message)
}
