package worker

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// startFamily runs a shell with children, which prints a word once they exist.
func startFamily(t *testing.T, script string) *child {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	proc, err := sandbox.Start(sandbox.Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", script + "\necho ready\nwait"}, Dir: t.TempDir(), Env: []string{"PATH=/usr/bin:/bin"},
		Stdout: write, Mode: sandbox.Off,
	})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{kind: "python", proc: proc, log: &boundedLog{}, exited: make(chan struct{})}
	go func() {
		c.state, _ = proc.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = proc.Kill()
		<-c.exited
	})
	if line, err := bufio.NewReader(read).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

const (
	idle = "sleep 600 >/dev/null &"
	busy = "(while :; do :; done) >/dev/null &"
)

// requestSpan is the pretended time of requests, however busy the machine is.
const requestSpan = 20 * time.Millisecond

// request asks for launches and calls during meanwhile.
func request(c *child, during func()) error {
	c.watchHelp(wire.OpSample)
	during()
	return c.judgeHelp(requestSpan)
}

// requests asks for launches until the cell is ended, or this many times.
func requests(c *child, count int, during func()) error {
	for range count {
		if err := request(c, during); err != nil {
			return err
		}
	}
	return nil
}

func nothing() { time.Sleep(time.Millisecond) }

// helping waits until the cell's children have computed for a while.
func helping(c *child) func() {
	return func() {
		pid := c.proc.Pid()
		for before := c.house.kin(pid); before.until(c.house.kin(pid)) < requestSpan/2; {
			time.Sleep(time.Millisecond)
		}
	}
}

// halted is a cell's only child, which computes when it is told to.
type halted int

func halt(t *testing.T, c *child) halted {
	t.Helper()
	members := membersOf(c.proc.Pid())
	if len(members) != 1 {
		t.Fatalf("children %v", members)
	}
	h := halted(members[0])
	h.stop(t)
	return h
}

func (h halted) stop(t *testing.T) {
	t.Helper()
	if err := unix.Kill(int(h), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(stat, []byte(") T ")) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// compute uses this much CPU time, however long that takes.
func (h halted) compute(t *testing.T, span time.Duration) {
	t.Helper()
	before, _ := processTime(int(h))
	if err := unix.Kill(int(h), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for now := before; now < before+span; now, _ = processTime(int(h)) {
		time.Sleep(time.Millisecond)
	}
	h.stop(t)
}

// A function that is specialised late runs a compiler in the middle of a row.
func TestChildrenThatComputeNowAndThen(t *testing.T) {
	t.Run("in a row", func(t *testing.T) {
		c := startFamily(t, busy)
		child := halt(t, c)
		if err := requests(c, compiling, nothing); err != nil {
			t.Fatal(err)
		}
		for i := range helpTimes - 1 {
			if err := request(c, func() { child.compute(t, 3*requestSpan) }); err != nil {
				t.Fatalf("by compiler %d: %v", i+1, err)
			}
			if err := requests(c, 10, nothing); err != nil {
				t.Fatalf("after compiler %d: %v", i+1, err)
			}
		}
		if err := request(c, func() { child.compute(t, 3*requestSpan) }); causeOf(err) != result.CauseThreads {
			t.Errorf("compilers in %d requests: %v", helpTimes, err)
		}
	})
	t.Run("of several problems", func(t *testing.T) {
		c := startFamily(t, busy)
		child := halt(t, c)
		for range 2 * helpTimes {
			c.watchHelp(wire.OpPrepare)
			if err := requests(c, compiling, nothing); err != nil {
				t.Fatal(err)
			}
			if err := requests(c, helpTimes-1, func() { child.compute(t, 2*requestSpan) }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestChildrenThatComputeInLaunches(t *testing.T) {
	t.Run("busy", func(t *testing.T) {
		c := startFamily(t, busy)
		if err := requests(c, compiling, helping(c)); err != nil {
			t.Fatalf("while compilers may run: %v", err)
		}
		err := requests(c, 100, helping(c))
		if causeOf(err) != result.CauseThreads || !strings.Contains(err.Error(), "child processes of the cell computed for") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("orphaned", func(t *testing.T) {
		c := startFamily(t, "("+busy+")\n"+idle)
		if err := requests(c, 100, helping(c)); causeOf(err) != result.CauseThreads {
			t.Errorf("got %v", err)
		}
	})
	t.Run("idle", func(t *testing.T) {
		if err := requests(startFamily(t, idle+idle), 30, nothing); err != nil {
			t.Error(err)
		}
	})
	t.Run("busy with another problem", func(t *testing.T) {
		c := startFamily(t, busy)
		for range 20 {
			c.watchHelp(wire.OpPrepare)
			if err := requests(c, compiling, helping(c)); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("no cell of that kind", func(t *testing.T) {
		c := startFamily(t, idle)
		c.kind = "host"
		if !c.mayStart() {
			t.Error("without a sandbox every cell has children if it wants")
		}
	})
}

// New processes are found, and known ones are not looked for again while nobody can have joined.
func TestHouseholdFindsNewcomers(t *testing.T) {
	c := startFamily(t, "(while :; do sleep 0.02 & sleep 0.01; done) & ")
	pid := c.proc.Pid()
	overlooked := 0
	for range 300 {
		before := membersOf(pid)
		got := c.house.members(pid)
		after := membersOf(pid)
		for _, there := range before {
			if slices.Contains(after, there) && !slices.Contains(got, there) {
				overlooked++
			}
		}
		time.Sleep(time.Millisecond)
	}
	if overlooked > 10 { // a few were held up while they were born, for longer than birthMost
		t.Errorf("%d were overlooked", overlooked)
	}
	if lastStarted() == "" {
		t.Skip("this /proc/loadavg is not the kernel's")
	}
	var h household
	remembered := false
	for try := 0; try < 100 && !remembered; try++ { // something may be started at any moment
		h = household{newest: lastStarted(), since: time.Now().Add(-time.Second), looked: time.Now(), present: []int{7}}
		remembered = slices.Equal(h.members(pid), []int{7})
	}
	if !remembered {
		t.Errorf("always looked again: %v", h.present)
	}
	h.looked = time.Now().Add(-2 * rememberMost)
	if got := h.members(pid); slices.Contains(got, 7) {
		t.Errorf("remembered for too long: %v", got)
	}
	h.since, h.present = h.looked, []int{7}
	if got := h.members(pid); slices.Contains(got, 7) {
		t.Errorf("one that was just being started would have been overlooked: %v", got)
	}
}

func TestThreadsOfChildren(t *testing.T) {
	c := startFamily(t, idle+idle+"("+idle+")")
	pid := c.proc.Pid()
	if got := len(membersOf(pid)); got != 3 {
		t.Errorf("%d children, want 3", got)
	}
	if got := c.house.threads(pid); got != 3 {
		t.Errorf("%d threads, want 3", got)
	}
	c.limits.threads = 3
	go c.watch()
	<-c.exited
	if err := c.story(); causeOf(err) != result.CauseThreads || err.Error() != "the cell and its child processes run 4 threads; its limit is 3" {
		t.Errorf("got %v", err)
	}
	if got := tooManyThreads(9, 0, 8).Message; got != "the cell runs 9 threads; its limit is 8" {
		t.Errorf("alone: %s", got)
	}
}

func TestKinUntil(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		before, after kin
		want          time.Duration
	}{
		"nobody":       {kin{}, kin{}, 0},
		"one works":    {kin{used: map[int]time.Duration{7: 5 * ms}}, kin{used: map[int]time.Duration{7: 9 * ms}}, 4 * ms},
		"one comes":    {kin{}, kin{used: map[int]time.Duration{7: 9 * ms}}, 9 * ms},
		"one ends":     {kin{used: map[int]time.Duration{7: 50 * ms}}, kin{reaped: 60 * ms}, 10 * ms},
		"one vanishes": {kin{used: map[int]time.Duration{7: 50 * ms}}, kin{}, 0},
		"come and gone": {
			kin{reaped: 20 * ms}, kin{reaped: 50 * ms}, 30 * ms,
		},
	} {
		if got := tc.before.until(&tc.after); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestSightings(t *testing.T) {
	var s sightings
	request := 0
	look := func(problem int, members ...int) bool {
		request++
		return s.look(timed{problem, request}, members) != nil
	}
	for range 10 {
		if look(1, 4, 5) {
			t.Fatal("those that were there before are no newcomers")
		}
	}
	for i := range 10 { // a compiler driver and what it starts
		if s.look(timed{1, request}, []int{4, 5, 50 + i}) != nil {
			t.Fatal("one request is enough to be accused")
		}
	}
	for i := range newcomers - 2 {
		if look(1, 4, 5, 100+i) || look(1, 4, 5) {
			t.Fatalf("accused after %d newcomers", i+2)
		}
	}
	if look(2, 4, 200) || look(2, 4, 201) || look(2, 4, 202) {
		t.Error("another problem counts anew")
	}
	if !look(2, 4, 203) {
		t.Error("newcomers in request after request are none")
	}
}

func TestParseReaped(t *testing.T) {
	const numbers = " S 1 2 2 0 -1 4194304 100 200 0 0 11 12 13 14 20 0 1 0 99"
	for stat, want := range map[string]time.Duration{
		"2 (sh)" + numbers:             270 * time.Millisecond,
		"2 (a ) name 7 (x))" + numbers: 270 * time.Millisecond,
		"2 (sh) S 1":                   0,
		"":                             0,
	} {
		if got := parseReaped([]byte(stat)); got != want {
			t.Errorf("%q: %v, want %v", stat, got, want)
		}
	}
}

func BenchmarkKin(b *testing.B) {
	var h household
	for b.Loop() {
		h.kin(os.Getpid())
	}
}
