package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/sandbox"
	"pawl/internal/spec"
)

// TestMain lets the test binary stand in for a second pawl.
func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	if dir := os.Getenv("BUILD_TEST_OTHER_PROCESS"); dir != "" {
		otherProcess(dir, os.Getenv("BUILD_TEST_CACHE"))
		return
	}
	_, _ = os.Unsetenv("CC"), os.Unsetenv("CXX") // messages name the default compilers
	var err error
	if answers, err = os.MkdirTemp("", "pawl-compilers-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(answers)
	os.Exit(code)
}

// answers is the folder of what compilers say of themselves, which all builders of newBuilder share.
var answers string

// otherProcess builds a project and prints the hash of every artifact.
func otherProcess(dir, cacheDir string) {
	s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		panic(err)
	}
	b, err := New(Options{CacheDir: cacheDir, NoCcache: true})
	if err != nil {
		panic(err)
	}
	for _, o := range b.Build(context.Background(), everyVariant(s)) {
		if o.Fault != nil || len(o.Notes) > 0 {
			panic(fmt.Sprint(o.Fault, o.Notes))
		}
		fmt.Println(o.Artifact.Key, o.Artifact.Code)
	}
}

func everyVariant(s *spec.Spec) []Request {
	var requests []Request
	for _, k := range s.Kernels {
		for v := range k.Variants() {
			requests = append(requests, Request{Dir: s.Dir, Variant: v})
		}
	}
	return requests
}

// project is a folder with a spec and its sources.
type project struct {
	t   testing.TB
	dir string
}

// newProject writes files, by name. Where there is no pawl.yaml among them, a
// kernel k with the entry run is assumed to be in k.c.
func newProject(t testing.TB, files map[string]string) *project {
	p := &project{t: t, dir: t.TempDir()}
	if _, ok := files["pawl.yaml"]; !ok {
		p.write("pawl.yaml", yaml("k.c", "entry: run"))
	}
	for name, text := range files {
		p.write(name, text)
	}
	return p
}

// yaml returns a spec of one kernel with one buffer and one scalar.
func yaml(source string, lines ...string) string {
	return "version: 1\nkernels:\n  k:\n    source: " + source + "\n    " + strings.Join(lines, "\n    ") + `
    args:
      - {name: x, dtype: f32, shape: [N], role: inout}
      - {name: n, dtype: i64, value: N}
configs:
  small: {N: 16}
`
}

const plainSource = `#include <stdint.h>
void run(float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] *= 2;
}
`

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) requests() []Request {
	p.t.Helper()
	path := filepath.Join(p.dir, "pawl.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := spec.Parse(path, text) // Load would check the sources as well
	if err != nil {
		p.t.Fatal(err)
	}
	return everyVariant(s)
}

// newBuilder makes a builder with an empty cache of its own, but for what compilers say of themselves:
// a builder asks them twenty times, which takes longer than most builds.
func newBuilder(t testing.TB) *Builder {
	t.Helper()
	b, err := New(Options{CacheDir: t.TempDir(), NoCcache: true})
	if err == nil {
		err = os.Symlink(answers, filepath.Join(b.cache.dir, "compilers"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unheld makes a builder whose compilers may write anywhere, for scripts in their place.
func unheld(t testing.TB) *Builder {
	b := newBuilder(t)
	b.sandbox = sandbox.Off
	return b
}

// one builds the project's only variant.
func (p *project) one(b *Builder) Outcome {
	p.t.Helper()
	requests := p.requests()
	if len(requests) != 1 {
		p.t.Fatalf("%d variants, expected one", len(requests))
	}
	return b.Build(context.Background(), requests)[0]
}

// artifact returns one that must succeed without notes.
func (p *project) artifact(b *Builder) *Artifact {
	p.t.Helper()
	o := p.one(b)
	if o.Fault != nil {
		p.t.Fatalf("build failed: %s\n%s", o.Fault.Message, o.Output)
	}
	if len(o.Notes) > 0 {
		p.t.Fatalf("unexpected notes: %q", o.Notes)
	}
	return o.Artifact
}

// script writes an executable shell script and returns its path. Tests that
// call it must not run in parallel: a script cannot be started while a child
// that was just forked still has it open for writing.
func script(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
