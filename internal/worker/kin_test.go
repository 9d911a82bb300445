package worker

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// startFamily runs a shell with children, which says a word once they are there.
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

// launches asks for launches that take some milliseconds,
// until the cell is ended or so many are over.
func launches(c *child, count int) error {
	for range count {
		c.watchHelp(wire.OpSample)
		begin := time.Now()
		time.Sleep(5 * time.Millisecond)
		if err := c.judgeHelp(time.Since(begin)); err != nil {
			return err
		}
	}
	return nil
}

func TestChildrenThatComputeInLaunches(t *testing.T) {
	t.Run("busy", func(t *testing.T) {
		c := startFamily(t, busy)
		if err := launches(c, compiling); err != nil {
			t.Fatalf("while compilers may run: %v", err)
		}
		err := launches(c, 1000)
		if causeOf(err) != result.CauseThreads || !strings.Contains(err.Error(), "child processes of the cell computed for") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("orphaned", func(t *testing.T) {
		c := startFamily(t, "("+busy+")\n"+idle)
		if err := launches(c, 1000); causeOf(err) != result.CauseThreads {
			t.Errorf("got %v", err)
		}
	})
	t.Run("idle", func(t *testing.T) {
		if err := launches(startFamily(t, idle+idle), 30); err != nil {
			t.Error(err)
		}
	})
	t.Run("busy with another problem", func(t *testing.T) {
		c := startFamily(t, busy)
		for range 20 {
			c.watchHelp(wire.OpPrepare)
			if err := launches(c, compiling); err != nil {
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

func TestThreadsOfChildren(t *testing.T) {
	c := startFamily(t, idle+idle+"("+idle+")")
	pid := c.proc.Pid()
	if got := len(membersOf(pid)); got != 3 {
		t.Errorf("%d children, want 3", got)
	}
	if got := kinThreads(pid); got != 3 {
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
	look := func(s *sightings, problem int64, members ...int) bool { return s.look(problem, members) != nil }
	var s sightings
	for range 10 {
		if look(&s, 1, 4, 5) {
			t.Fatal("those that were there before are no newcomers")
		}
	}
	for i := range newcomers - 1 {
		if look(&s, 1, 4, 5, 100+i) || look(&s, 1, 4, 5) {
			t.Fatalf("accused after %d newcomers", i+1)
		}
	}
	if look(&s, 2, 4, 200) || look(&s, 2, 4, 201) || look(&s, 2, 4, 202) {
		t.Error("another problem counts anew")
	}
	if !look(&s, 2, 4, 203) {
		t.Error("newcomers in look after look are none")
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
	for b.Loop() {
		kinOf(os.Getpid())
	}
}
