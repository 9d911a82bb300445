package lab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/worker"
)

// poolOf returns a lab with a pool of workers. Each runs a script first, in a shell where n is its number
// in the order of their starts, from 1, and dir a folder of the test.
func poolOf(t *testing.T, workers int, script string) (b *Lab, dir string) {
	t.Helper()
	dir = t.TempDir()
	b = labWithGPU(t, "")
	const count = `dir="$0"; n=1; until mkdir "$dir/$n" 2>/dev/null; do n=$((n+1)); done; `
	b.Worker = append([]string{"sh", "-c", count + script + `exec "$@"`, dir}, b.Worker...)
	b.Workers = workers
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, dir
}

// started counts the workers that a pool has started.
func started(dir string) int {
	found, _ := filepath.Glob(filepath.Join(dir, "[0-9]*"))
	return len(found)
}

// quick shortens the pause after a worker that did not start.
func quick(t *testing.T) {
	t.Helper()
	before := startPause
	startPause = time.Millisecond
	t.Cleanup(func() { startPause = before })
}

// failing returns a channel that is closed once a worker did not start.
func failing(b *Lab) <-chan struct{} {
	failed := make(chan struct{})
	once := sync.OnceFunc(func() { close(failed) })
	b.run.Listen(func(e run.Event) {
		if strings.Contains(e.Text, "did not start") {
			once()
		}
	})
	return failed
}

// Workers join whenever they are there. Those that have not started when no work is left are not
// waited for, and leave no process.
func TestCrewJoinsLate(t *testing.T) {
	b, dir := poolOf(t, 4, `echo $$ >"$dir/pid$n"; until [ $n = 1 ] || [ -e "$dir/go$n" ]; do sleep 0.01; done; `)
	queue, joined := make(chan int), make(chan int)
	done := make(chan error, 1)
	go func() {
		done <- b.Crew(t.Context(), CrewOptions{}, func(_ context.Context, lane *Lab) error {
			joined <- lane.Lane()
			for range queue {
			}
			return nil
		})
	}()
	lanes := []int{<-joined}
	if lanes[0] != 0 {
		t.Errorf("lane %d was first", lanes[0])
	}
	for _, n := range []string{"2", "3"} {
		if err := os.WriteFile(filepath.Join(dir, "go"+n), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		lanes = append(lanes, <-joined)
	}
	close(queue)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if slices.Sort(lanes); len(slices.Compact(lanes)) != 3 {
		t.Errorf("lanes %v", lanes)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "pid4")); err == nil {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(raw))); err == nil {
			t.Error("the fourth still starts")
		}
	}
	if len(b.Report.Warnings) > 0 {
		t.Errorf("%+v", b.Report.Warnings)
	}
}

// The workers of one crew serve the next.
func TestCrewKeepsItsWorkers(t *testing.T) {
	b, dir := poolOf(t, 3, "")
	for range 3 {
		var all sync.WaitGroup
		all.Add(3)
		if err := b.Crew(t.Context(), CrewOptions{}, func(context.Context, *Lab) error {
			all.Done()
			all.Wait()
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if n := started(dir); n != 3 {
		t.Errorf("%d workers were started", n)
	}
	lanes := b.shared.recall()
	if len(lanes) != 3 {
		t.Fatalf("%d lanes", len(lanes))
	}
	b.shared.idle = lanes
	b.Close()
	for _, lane := range lanes {
		if lane.manned() {
			t.Errorf("lane %d still has a worker", lane.Lane())
		}
	}
}

// A worker that waits for a device does not wait for one that has nothing to do: both may be on one
// machine.
func TestCrewWhoseWorkersShareADevice(t *testing.T) {
	b, _ := poolOf(t, 2, "")
	if err := b.Crew(t.Context(), CrewOptions{}, func(context.Context, *Lab) error { return nil }); err != nil {
		t.Fatal(err)
	}
	parked := slices.Clone(b.shared.idle)
	b.shared.hear("another pawl is measuring on the GPU" + worker.Waiting)
	for _, lane := range parked {
		for lane.manned() {
			time.Sleep(time.Millisecond)
		}
	}
	other := b.another(0)
	if err := other.replace(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.shared.park(other); other.manned() || len(b.shared.idle) > 0 {
		t.Error("it is kept")
	}
}

// A lost worker is replaced, so often and no more.
func TestCrewReplacesWorkers(t *testing.T) {
	quick(t)
	b, dir := poolOf(t, 2, "")
	err := b.Crew(t.Context(), CrewOptions{}, func(ctx context.Context, lane *Lab) error {
		client, err := lane.Client(ctx)
		if err != nil {
			return err
		}
		client.Close()
		if _, again := lane.Client(ctx); again == nil {
			t.Error("the lane has started a worker by itself")
		}
		return lane.Lost()
	})
	if lost := (*worker.Lost)(nil); !errors.As(err, &lost) {
		t.Errorf("got %v", err)
	}
	if n := started(dir); n != 1+2*startsPerWorker {
		t.Errorf("%d workers were started", n)
	}
	want := fmt.Sprintf("%d workers of the pool were lost", started(dir))
	if w := b.Report.Warnings; len(w) != 1 || w[0].Code != "pool" || !strings.Contains(w[0].Message, want) {
		t.Errorf("%+v, want %q", w, want)
	}
	if _, err := b.Client(t.Context()); err != nil {
		t.Errorf("after the crew: %v", err)
	}
}

// Those that are there do the work of workers that do not start, and the report says why, once.
func TestCrewWithWorkersMissing(t *testing.T) {
	quick(t)
	b, _ := poolOf(t, 5, `[ $n -lt 3 ] || { echo none is free >&2; exit 1; }; `)
	failed := failing(b)
	var pulled sync.WaitGroup
	pulled.Add(2)
	if err := b.Crew(t.Context(), CrewOptions{}, func(_ context.Context, lane *Lab) error {
		pulled.Done()
		pulled.Wait()
		<-failed
		return nil
	}); err != nil {
		t.Error(err)
	}
	w := b.Report.Warnings
	if len(w) != 1 || !strings.Contains(w[0].Message, "2 of the pool's 5 workers took part: ") || !strings.Contains(w[0].Message, "none is free") {
		t.Errorf("%+v", w)
	}
}

// A worker on another device is refused, unless whoever measures keeps the kinds apart. Code for
// another architecture is refused in any case.
func TestCrewOfOneKind(t *testing.T) {
	quick(t)
	const other = `[ $n = 1 ] || export PAWL_TEST_HELLO='{"devices": [{"name": "Other GPU", "arch": "%s"}]}'; `
	for _, test := range []struct {
		arch    string
		mixed   bool
		refused string
	}{
		{"sm_90a", false, "a worker has Other GPU, but the run began on Some GPU; numbers of different devices are not mixed"},
		{"sm_90a", true, ""},
		{"sm_80", true, "a worker has a CPU, sm_80, but the run is compiled for a CPU, sm_90a"},
	} {
		b, _ := poolOf(t, 2, fmt.Sprintf(other, test.arch))
		b.adopt(twoVersions(t))
		failed := failing(b)
		var mu sync.Mutex
		kinds, enough := map[string]bool{}, make(chan struct{})
		err := b.Crew(t.Context(), CrewOptions{Mixed: test.mixed}, func(_ context.Context, lane *Lab) error {
			mu.Lock()
			kinds[lane.Kind()] = true
			if len(kinds) == 2 {
				close(enough)
			}
			mu.Unlock()
			if test.refused == "" {
				<-enough
			} else {
				<-failed
			}
			return nil
		})
		w := b.Report.Warnings
		w = slices.DeleteFunc(w, func(one result.Warning) bool { return one.Code != "pool" })
		if err != nil || len(kinds) != map[bool]int{true: 2, false: 1}[test.refused == ""] {
			t.Errorf("%s: %v, kinds %v", test.arch, err, kinds)
		}
		if test.refused == "" && len(w) > 0 || test.refused != "" && (len(w) != 1 || !strings.Contains(w[0].Message, test.refused) || w[0].Hint == "") {
			t.Errorf("%s: %+v", test.arch, w)
		}
	}
}

// An interrupt ends the crew, and what has not started.
func TestCrewInterrupted(t *testing.T) {
	b, _ := poolOf(t, 3, `[ $n = 1 ] || exec sleep 600; `)
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Crew(ctx, CrewOptions{}, func(ctx context.Context, _ *Lab) error {
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || len(b.Report.Warnings) > 0 {
		t.Errorf("%v, %+v", err, b.Report.Warnings)
	}
}

// Every piece is done, whichever workers are lost: once, or once more where its worker was lost.
func TestShareLosesNothing(t *testing.T) {
	quick(t)
	rapid.Check(t, func(r *rapid.T) {
		pieces := rapid.IntRange(0, 9).Draw(r, "pieces")
		fatal := rapid.SliceOfN(rapid.IntRange(0, 2), pieces, pieces).Draw(r, "workers that each piece ends")
		b, _ := poolOf(t, rapid.IntRange(1, 3).Draw(r, "workers"), "")
		defer b.Close()
		var mu sync.Mutex
		did, fails := make([]int, pieces), make([]string, pieces)
		err := b.Share(t.Context(), Work{Pieces: pieces}, func(lane *Lab, some iter.Seq[Piece]) {
			for p := range some {
				client, err := lane.Client(t.Context())
				mu.Lock()
				if did[p.N]++; p.Again != (did[p.N] > 1) {
					r.Errorf("piece %d, time %d: again %t", p.N, did[p.N], p.Again)
				}
				ends := did[p.N] <= fatal[p.N]
				mu.Unlock()
				if err == nil && ends {
					client.Close()
					err = lane.Lost()
				}
				if err != nil {
					fault := p.Explain(lane, (&Job{}).FaultOf("measure", err))
					fails[p.N] = fault.Message
				} else {
					fails[p.N] = ""
				}
			}
		})
		if err != nil {
			r.Error(err)
		}
		for n, times := range did {
			gone := strings.Contains(fails[n], "no worker of the pool is left")
			if want := min(fatal[n], 1) + 1; times != want && !gone {
				r.Errorf("piece %d was done %d times, not %d", n, times, want)
			}
			if want := fatal[n] == 2; !gone && want != strings.Contains(fails[n], "two workers were lost with it; the second: the worker ended") {
				r.Errorf("piece %d: %q", n, fails[n])
			}
		}
	})
}

// Pieces that nobody is left for fail, each for that reason.
func TestShareWithoutWorkers(t *testing.T) {
	quick(t)
	b, _ := poolOf(t, 2, `[ $n = 1 ] || { echo none is free >&2; exit 1; }; `)
	var fails []string
	err := b.Share(t.Context(), Work{Pieces: 4}, func(lane *Lab, some iter.Seq[Piece]) {
		for p := range some {
			client, err := lane.Client(t.Context())
			if err == nil {
				client.Close()
				continue
			}
			fails = append(fails, strconv.Itoa(p.N)+": "+p.Explain(lane, (&Job{}).FaultOf("load", err)).Message)
		}
	})
	if err != nil || len(fails) != 4 {
		t.Errorf("%v, %q", err, fails)
	}
	for _, text := range fails {
		if !strings.Contains(text, "no worker of the pool is left; the last: the worker ended") {
			t.Error(text)
		}
	}
}

// GPUs of one machine share rows, except those that need its CPU.
func TestShareOverGPUs(t *testing.T) {
	b := labWithGPU(t, "")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.adopt(twoVersions(t))
	var mu sync.Mutex
	by := map[int]int{}
	work := Work{Pieces: 6, Anywhere: func(n int) bool { return n%2 == 0 }}
	err := b.Share(t.Context(), work, func(lane *Lab, some iter.Seq[Piece]) {
		if !lane.InCrew() {
			t.Error("it is alone")
		}
		for p := range some {
			mu.Lock()
			by[p.N] = lane.Lane()
			mu.Unlock()
		}
	})
	if err != nil || len(by) != 6 || by[1]+by[3]+by[5] != 0 {
		t.Errorf("%v, %v", err, by)
	}
	if err := b.Share(t.Context(), Work{Pieces: 2, Devices: []int{0, 7}}, nil); err == nil || !strings.Contains(err.Error(), "there is no GPU 7") {
		t.Errorf("got %v", err)
	}
}
