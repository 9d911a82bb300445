package soak

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pawl/internal/dtype"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
	"pawl/test/system/fakegpu/linked"
)

// number returns a setting of the soak. `make soak` gives the large ones; without them the
// tests are short, and still see a sample that leaves two kilobytes behind.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

const (
	few = 20_000 // samples
	// Elements of an input: more than a short soak changes, so that what is remembered
	// of each change shows; and few, where requests fill them anew.
	many  = 1 << 18
	small = 1 << 10
)

// fakeGPU is a pawl with the fake driver, which TestMain removes.
var fakeGPU = sync.OnceValues(func() (string, error) {
	return filepath.Join(built, "fakegpu"), linked.Build(filepath.Join(built, "fakegpu"))
})

var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "pawl-soak"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

func newWorker(t *testing.T, kind string) *worker.Client {
	t.Helper()
	pawl := os.Getenv("PAWL_BIN")
	if pawl == "" {
		t.Fatal("PAWL_BIN names no binary: run `make soak`, or `make system`")
	}
	if kind == Fake {
		var err error
		if pawl, err = fakeGPU(); err != nil {
			t.Skip(err)
		}
		t.Setenv("NVCC", cudafake.Compiler(t))
	}
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	client, err := worker.Start(t.Context(), worker.Options{Command: []string{pawl, "worker"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// open skips what this machine cannot run.
func open(t *testing.T, client *worker.Client, s Subject) *worker.Cell {
	t.Helper()
	cell, err := s.Open(t.Context(), client, t.TempDir())
	var fault *result.Fault
	if errors.As(err, &fault) && fault.Cause == result.CauseUnsupported {
		t.Skipf("%s %s: %s", s.Kind, s.DType, fault.Message)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// Every kind of cell takes samples with every type of argument.
func TestSamplesLeaveNothingBehind(t *testing.T) {
	samples, types := number(t, "PAWL_SOAK_SAMPLES", few), dtype.All
	if samples <= few {
		types = []dtype.Type{dtype.F64, dtype.I8}
	}
	if testing.Short() {
		types = types[:1]
	}
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			for _, typ := range types {
				t.Run(string(typ), func(t *testing.T) {
					client := newWorker(t, kind)
					cell := open(t, client, Subject{kind, typ, many})
					if err := Flat(t.Context(), client, cell, samples, Sampling(cell, 512), t.Logf); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// An oracle cell compares what another cell has made, again and again.
func TestJudgingLeavesNothingBehind(t *testing.T) {
	client := newWorker(t, "host")
	made := open(t, client, Subject{"host", dtype.I32, small})
	judge, err := client.Open(t.Context(), wire.Open{Cell: "oracle", Sandbox: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	work := func(ctx context.Context, n int) (int, error) {
		got, err := made.Produce(ctx, wire.Produce{Batch: n % 100})
		if err != nil {
			return 0, err
		}
		want := slices.Clone(got.Outputs)
		args := []wire.Arg{
			{Name: "a", DType: "i32", Buffer: true, Count: small, Role: "in"},
			{Name: "b", DType: "i32", Buffer: true, Count: 16, Role: "inout"},
			{Name: "c", DType: "i32", Buffer: true, Count: 16, Role: "out"},
			{Name: "s", DType: "i32", Value: "1"},
		}
		for i := range want {
			want[i].DType = "i32"
		}
		_, err = judge.Judge(ctx, wire.Judge{Args: args, Seed: 7, Batch: n % 100, Got: got.Outputs, Want: want})
		return 1, err
	}
	if err := Flat(t.Context(), client, judge, number(t, "PAWL_SOAK_SAMPLES", few)/200, work, t.Logf); err != nil {
		t.Error(err)
	}
}

// Requests of every kind, one after the other.
func TestRequestsLeaveNothingBehind(t *testing.T) {
	requests := number(t, "PAWL_SOAK_SAMPLES", few) / 50
	for _, kind := range Kinds {
		t.Run(kind, func(t *testing.T) {
			client := newWorker(t, kind)
			cell := open(t, client, Subject{kind, dtype.I32, small})
			work := func(ctx context.Context, n int) (int, error) {
				_, err := cell.Sample(ctx, wire.Sample{Batch: n / 100, Count: 2, Repeat: 1, Cache: "cold", Step: n%50 + 1, Keep: 1})
				if err == nil {
					_, err = cell.Run(ctx, wire.Run{Launches: 2, State: true})
				}
				if err == nil {
					_, err = cell.Produce(ctx, wire.Produce{Batch: n % 3, Steps: n % 2})
				}
				return 1, err
			}
			if err := Flat(t.Context(), client, cell, requests, work, t.Logf); err != nil {
				t.Error(err)
			}
		})
	}
}
