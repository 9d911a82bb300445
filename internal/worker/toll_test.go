package worker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// fakeProc has the files that tolls are read from.
type fakeProc struct {
	t      *testing.T
	folder string
}

func (p fakeProc) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// stolen sets the ticks of cores 0, 1, 2 and so on.
func (p fakeProc) stolen(ticks ...int) {
	text := "cpu  1 2 3 4 5 6 7 999999 9 10\n"
	for core, n := range ticks {
		text += fmt.Sprintf("cpu%d 123456789 2 123456789 1234567890 5 6 12345678 %d 9 10\n", core, n)
	}
	p.write("stat", text+"intr 1 2 3\n")
}

func (p fakeProc) thread(tid int, ran, waited time.Duration, switches int) {
	p.write(fmt.Sprintf("7/task/%d/schedstat", tid), fmt.Sprintf("%d %d 5\n", ran.Nanoseconds(), waited.Nanoseconds()))
	p.write(fmt.Sprintf("7/task/%d/status", tid), fmt.Sprintf("Name:\tpawl\nvoluntary_ctxt_switches:\t77\nnonvoluntary_ctxt_switches:\t%d\n", switches))
}

func TestToll(t *testing.T) {
	const ms = time.Millisecond
	p := fakeProc{t, t.TempDir()}
	w := witness{proc: p.folder}
	p.stolen(5, 100, 7)
	p.thread(7, 10*ms, 20*ms, 3)
	p.thread(8, ms, 500*ms, 40)
	before, all := w.look(7, []int{0, 2}, nil), w.look(7, nil, nil)
	p.stolen(6, 200, 9, 5000) // the last core was not there before
	p.thread(7, 110*ms, 75*ms, 8)
	p.thread(8, 6*ms, 505*ms, 41)
	p.thread(9, 0, ms, 1) // a new one
	if got, want := before.until(w.look(7, []int{0, 2}, &before), 2), (toll{switches: 5, waited: 50 * ms, stolen: 30 * ms}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Threads that are pinned to no core lose at most what as many cores lose.
	for threads, want := range []time.Duration{1000 * ms, 1000 * ms, 1020 * ms, 1030 * ms, 1030 * ms} {
		if got := all.until(w.look(7, nil, &before), threads); got.stolen != want {
			t.Errorf("of %d threads %v were stolen, want %v", threads, got.stolen, want)
		}
	}
	// Threads that make each other wait have waited for nobody else.
	p.thread(9, 400*ms, 400*ms, 1)
	p.thread(7, 510*ms, 475*ms, 8)
	if got := before.until(w.look(7, nil, &before), 1); got.waited != 50*ms {
		t.Errorf("%v of waiting for its own threads excuse a cell", got.waited)
	}
	// Nor for one that has ended since.
	later := w.look(7, nil, &before)
	later.busy = before.busy + 1400*ms
	if got := before.until(later, 1); got.waited != 0 {
		t.Errorf("%v of waiting for a thread that has ended excuse a cell", got.waited)
	}
	if got := (witness{proc: filepath.Join(p.folder, "nothing")}).look(7, nil, nil); len(got.stolen) != 0 || len(got.threads) != 0 {
		t.Errorf("without /proc: %+v", got)
	}
}

// On a large guest a little of every core is stolen, and an unpinned cell has lost one core's share
// of it.
func TestStolenOfManyCores(t *testing.T) {
	c, p := sleeping(t)
	s := &server{witness: c.witness}
	ticks := make([]int, 100)
	p.stolen(ticks...)
	before := s.look(c)
	for core := range ticks {
		ticks[core] = 1
	}
	p.stolen(ticks...)
	for threads, want := range map[int]float64{1: 0.01, 3: 0.03} {
		c.threads = threads
		if got := s.tollSince(c, before).StolenS; got != want {
			t.Errorf("of %d threads %g s were stolen, want %g", threads, got, want)
		}
	}
}

// Of a thousand cores the last one's time is read as well.
func TestStolenOfTheLastCore(t *testing.T) {
	c, p := sleeping(t)
	s := &server{witness: c.witness}
	ticks := make([]int, 1000)
	p.stolen(ticks...)
	before := s.look(c)
	ticks[999] = 5
	p.stolen(ticks...)
	if got := s.tollSince(c, before).StolenS; got != 0.05 {
		t.Errorf("%g s were stolen, want 0.05", got)
	}
}

// A user may be in thousands of groups, which stand before the switches.
func TestSwitchesAfterManyGroups(t *testing.T) {
	p := fakeProc{t, t.TempDir()}
	p.write("7/task/7/status", "Name:\tpawl\nGroups:\t"+strings.Repeat("1234567 ", 2000)+"\nnonvoluntary_ctxt_switches:\t41\n")
	if got := (witness{proc: p.folder}).look(7, nil, nil).threads[7].switches; got != 41 {
		t.Errorf("%d switches, want 41", got)
	}
}

// A cell's own report of its disturbances is ignored.
func TestTollIsTheWorkers(t *testing.T) {
	c := connect(t)
	cell := openLying(t, c, "preempted")
	got, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Preempted > 1000 || got.WaitedS > 100 || got.StolenS > 100 {
		t.Errorf("%+v", got.Toll)
	}
}

// A cell that shares its core with others is preempted and waits, and the worker sees it.
func TestSharedCore(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skipf("this kernel does not tell who waited: %v", err)
	}
	c := connect(t)
	cell := openLying(t, c, "works")
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		t.Fatal(err)
	}
	core := 0
	for !mine.IsSet(core) {
		core++
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cell.Info.PID))
	if err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	one.Set(core)
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		_ = unix.SchedSetaffinity(tid, &one)
	}
	for range 2 {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = loop.Process.Kill(); _ = loop.Wait() })
		if err := unix.SchedSetaffinity(loop.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
	}
	got, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got.Preempted == 0 || got.WaitedS == 0 {
		t.Errorf("300 ms of work beside two loops: %+v", got.Toll)
	}
}

// sleeping returns a cell that does nothing, with a fake /proc.
func sleeping(t *testing.T) (*child, fakeProc) {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	p := fakeProc{t, t.TempDir()}
	c := &child{log: &boundedLog{}, witness: witness{proc: p.folder}, frames: make(chan *wire.Frame, 1), exited: make(chan struct{})}
	if c.proc, err = sandbox.Start(sandbox.Command{Path: path, Args: []string{path, "1000"}, Mode: sandbox.Off}); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.state, _ = c.proc.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() { _ = c.proc.Kill(); <-c.exited })
	return c, p
}

// A worker that was not scheduled finds the answer and the end of its patience at once.
func TestAnswerThatWaitsIsAccepted(t *testing.T) {
	c, _ := sleeping(t)
	for range 50 {
		c.frames <- &wire.Frame{ID: 1}
		if _, _, err := c.receive(t.Context(), 1, time.Now(), -time.Second, true); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnexplainedAtTwoLooks(t *testing.T) {
	c, p := sleeping(t)
	state := func(letter string) {
		pid := c.proc.Pid()
		p.write(fmt.Sprintf("%d/task/%d/stat", pid, pid), fmt.Sprintf("%d (sleep) %s 1 2 3 4 5 4194304 7 8", pid, letter))
	}
	given := c.grace()
	for i, look := range []struct {
		letter string
		want   bool
	}{{"S", false}, {"T", false}, {"S", false}, {"S", true}} {
		state(look.letter)
		if got := given.unexplained(); got != look.want {
			t.Errorf("look %d at a cell in state %s: %t", i, look.letter, got)
		}
	}
}

// A cell that has ended has held nothing back, however late the worker notices.
func TestGoneIsExplained(t *testing.T) {
	c, _ := sleeping(t)
	given := c.grace()
	if given.unexplained(); !given.unexplained() {
		t.Error("threads that cannot be read explain that a cell is there")
	}
	given = c.grace()
	_ = c.proc.Kill()
	<-c.exited
	for range 3 {
		if given.unexplained() {
			t.Error("a cell that is gone is accused")
		}
	}
}

// A cell that goes on working on an answered request has.
func TestBusyCellIsForged(t *testing.T) {
	var closing sync.WaitGroup // side by side: the worker waits for seconds
	for _, what := range []string{"answers and works on", "answers and sleeps"} {
		cell := openLying(t, connect(t), what)
		if _, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		closing.Go(func() {
			if _, err := cell.Close(t.Context()); causeOf(err) != result.CauseForged {
				t.Errorf("%s: got %v", what, err)
			}
		})
	}
	closing.Wait()
}

func TestTaskStates(t *testing.T) {
	for text, want := range map[string]taskState{
		"12 (a b) c) R 1 2 3 4 5 4194304 7 8":  {'R', false},
		"12 (pawl) Z 1 2 3 4 5 4194308 7 8":    {'Z', true},
		"12 (pawl) T 1 2 3 4 5 1077936128 7 8": {'T', false},
	} {
		if got, ok := parseTaskState([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, text := range []string{"", "12 (pawl", "12 (pawl) R 1 2", "12 (pawl) R 1 2 3 4 5 x 7"} {
		if got, ok := parseTaskState([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func BenchmarkLook(b *testing.B) {
	w := witness{proc: "/proc"}
	var last sight
	for b.Loop() {
		last = w.look(os.Getpid(), []int{0}, &last)
	}
	b.ReportMetric(float64(len(w.tasks(os.Getpid()))), "threads")
}
