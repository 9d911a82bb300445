package system

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/native/nvml/nvmltest"
	"pawl/internal/result"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// cudaWorker starts a worker with two GPUs that do not exist.
func cudaWorker(t *testing.T, notes chan string, env ...string) *worker.Client {
	t.Helper()
	binary, err := fakeGPU()
	if err != nil {
		t.Skip(err)
	}
	client, err := worker.Start(t.Context(), worker.Options{
		Command: slices.Concat([]string{"env", "XDG_CACHE_HOME=" + cache}, env, []string{binary, "worker"}),
		OnNote:  func(text string) { notes <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// uploaded returns the hash of the kernels, which the worker then has.
func uploaded(t *testing.T, client *worker.Client) string {
	t.Helper()
	source, err := os.ReadFile("testdata/fake.cu")
	if err != nil {
		t.Fatal(err)
	}
	hash, err := client.Upload(t.Context(), cudafake.Cubin(t, string(source)))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// cudaCell opens a cell with kernels loaded and one prepared.
func cudaCell(t *testing.T, client *worker.Client, open wire.Open, entry string) *worker.Cell {
	t.Helper()
	hash := uploaded(t, client)
	open.Cell, open.Memory, open.Threads = "cuda", 1<<30, 64
	cell, err := client.Open(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.Load(t.Context(), wire.Load{SHA256: hash}); err != nil {
		t.Fatal(err)
	}
	_, err = cell.Prepare(t.Context(), wire.Prepare{
		Args: []wire.Arg{
			{Name: "x", DType: "f32", Buffer: true, Count: 4096, Role: "in"},
			{Name: "y", DType: "f32", Buffer: true, Count: 4096, Role: "out"},
			{Name: "n", DType: "i32", Value: "4096"},
		},
		Launches: []wire.Launch{{Entry: entry, Args: []int{0, 1, 2}, Grid: [3]uint32{16}, Block: [3]uint32{256}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// Cells of one worker on both devices: each has its own, and a context that one of
// them loses is no other's.
func TestCUDACellsOfBothDevices(t *testing.T) {
	t.Parallel()
	notes := make(chan string, 10)
	log := filepath.Join(t.TempDir(), "log")
	locks := "PAWL_LOCK_DIR=" + t.TempDir()
	client := cudaWorker(t, notes, locks, "LD_LIBRARY_PATH="+filepath.Dir(nvmltest.Build(t)), nvmltest.LogVariable+"="+log, nvmltest.ProcessesVariable+"=4")
	hello := client.Hello()
	if len(hello.Devices) != 2 || hello.Devices[1].UUID != cudafake.UUID1 || hello.Devices[1].MaxGHz != 1.98 || hello.NoState != "" {
		t.Fatalf("%+v, %s", hello.Devices, hello.NoState)
	}
	first := cudaCell(t, client, wire.Open{}, "scale")
	second := cudaCell(t, client, wire.Open{Device: 1, LockMHz: 1500}, "scale")
	for _, cell := range []*worker.Cell{first, second} {
		batch, err := cell.Sample(t.Context(), wire.Sample{Count: 10, Repeat: 1, Cache: "cold", Keep: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range batch.Seconds {
			if s < 301e-6 || s > 303e-6 {
				t.Errorf("sample %d takes %g s", i, s)
			}
		}
		if batch.PeakBytes == 0 || len(batch.Kept) != 1 || batch.Kept[0].SHA256 == "" || batch.WorkerS < 10*300e-6 {
			t.Errorf("%+v", batch)
		}
		if batch.State == nil || batch.State.Processes == nil || *batch.State.Processes != 3 || batch.State.GHz == nil { // of four, one is ours
			t.Errorf("state %+v", batch.State)
		} else if want := map[*worker.Cell]float64{first: 1.83, second: 1.5}[cell]; *batch.State.GHz != want {
			t.Errorf("clock %g GHz, want %g", *batch.State.GHz, want)
		}
		run, err := cell.Run(t.Context(), wire.Run{Launches: 5, State: true})
		if err != nil || run.EnergyJ == nil || *run.EnergyJ <= 0 || run.CellS < 5*300e-6 || run.WorkerS < run.CellS {
			t.Errorf("%+v, %v", run, err)
		}
	}
	lost := cudaCell(t, client, wire.Open{}, "illegal_address")
	if _, err := lost.Run(t.Context(), wire.Run{Launches: 1}); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("an illegal address: %v", err)
	}
	if _, err := lost.Run(t.Context(), wire.Run{Launches: 1}); err == nil {
		t.Error("a lost context goes on")
	}
	hung := cudaCell(t, client, wire.Open{}, "endless")
	_, err := hung.Run(t.Context(), wire.Run{Launches: 1, DeadlineS: 0.5})
	if fault := (*result.Fault)(nil); !errors.As(err, &fault) || fault.Cause != result.CauseTimeout {
		t.Errorf("a kernel that never ends: %v", err)
	}
	for _, cell := range []*worker.Cell{first, second} {
		if _, err := cell.Run(t.Context(), wire.Run{Launches: 2}); err != nil {
			t.Errorf("the other cells: %v", err)
		}
		if closed, err := cell.Close(t.Context()); err != nil || closed.PeakMemory == 0 {
			t.Errorf("%+v, %v", closed, err)
		}
	}
	if _, err := client.Open(t.Context(), wire.Open{Cell: "cuda", Device: 2}); err == nil || !strings.Contains(err.Error(), "no GPU 2; this machine has 2") {
		t.Errorf("a third device: %v", err)
	}

	// Another run waits for the device that this one has used, and gets it at its end.
	other := cudaWorker(t, notes, locks)
	if reason := other.Hello().NoState; !strings.Contains(reason, "no NVML") {
		t.Errorf("without NVML: %q", reason)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := other.Open(t.Context(), wire.Open{Cell: "cuda", Device: 1, Memory: 1 << 30, Threads: 64})
		opened <- err
	}()
	if note := receive(t, notes); !strings.HasPrefix(note, "another pawl is measuring on GPU 1; waiting for it (process ") {
		t.Errorf("note %q", note)
	}
	client.Close()
	if err := receive(t, opened); err != nil {
		t.Error(err)
	}
	want := "lock " + nvmltest.UUID1 + " 1500 1500\nreset " + nvmltest.UUID1 + "\n"
	if raw, err := os.ReadFile(log); string(raw) != want {
		t.Errorf("clocks: %q, %v; want %q", raw, err, want)
	}
}

// The versions in a cell may have other arguments, and so other outputs: each has its own.
func TestCUDASidesOfOtherArguments(t *testing.T) {
	t.Parallel()
	client := cudaWorker(t, make(chan string, 10), "PAWL_LOCK_DIR="+t.TempDir())
	cell := cudaCell(t, client, wire.Open{}, "scale")
	if _, err := cell.Load(t.Context(), wire.Load{SHA256: uploaded(t, client), Side: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := cell.Prepare(t.Context(), wire.Prepare{
		Side: 1,
		Args: []wire.Arg{
			{Name: "x", DType: "f32", Buffer: true, Count: 4096, Role: "in"},
			{Name: "stage", DType: "f32", Buffer: true, Count: 64, Role: "scratch"},
			{Name: "y", DType: "f32", Buffer: true, Count: 4096, Role: "out"},
			{Name: "n", DType: "i32", Value: "4096"},
		},
		Launches: []wire.Launch{{Entry: "staged_scale", Args: []int{0, 1, 2, 3}, Grid: [3]uint32{16}, Block: [3]uint32{256}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for side, output := range []int{1, 2} {
		for _, m := range []wire.Sample{{Side: side, Keep: 1}, {Order: []int{0, 1}, Keep: 3 + side}, {Order: []int{1, 0}, Keep: 2 - side}} {
			m.Count, m.Repeat, m.Cache = 4, 1, "cold"
			sampled, err := cell.Sample(t.Context(), m)
			if err != nil || len(sampled.Kept) != 1 || sampled.Kept[0].Arg != output {
				t.Errorf("side %d keeps %+v, want argument %d: %v", side, sampled, output, err)
			}
		}
		produced, err := cell.Produce(t.Context(), wire.Produce{Side: side})
		if err != nil || len(produced.Outputs) != 1 || produced.Outputs[0].Arg != output {
			t.Errorf("side %d leaves %+v, want argument %d: %v", side, produced, output, err)
		}
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(deadline):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}
