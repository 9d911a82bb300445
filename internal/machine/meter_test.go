package machine

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stage is a machine whose clock and counters a test turns.
type stage struct {
	host
	t    *testing.T
	time time.Time
	tick int64 // of /proc
}

func newStage(t *testing.T) *stage {
	s := &stage{host: host{root: t.TempDir()}, t: t, time: time.Unix(1e9, 0), tick: 100_000}
	s.cpu(0, 0, 0)
	return s
}

func (s *stage) now() time.Time { return s.time }

func (s *stage) wait(d time.Duration) {
	s.time = s.time.Add(d)
	s.tick += int64(d / (10 * time.Millisecond))
}

func (s *stage) cpu(busy, idle, steal int) {
	s.write(s.t, "proc/stat", fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 %d 0 0\ncpu0 ignored\n", busy, idle, steal))
}

func (s *stage) process(pid, parent int, start int64, ticks, waited int) {
	s.write(s.t, fmt.Sprintf("proc/%d/stat", pid),
		fmt.Sprintf("%d (a (b) c) S %d 0 0 0 -1 0 0 0 0 0 %d 0 %d 0 20 0 1 0 %d 0 0\n", pid, parent, ticks, waited, start))
}

func (s *stage) end(pid int) {
	if err := os.RemoveAll(s.path(fmt.Sprintf("proc/%d", pid))); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) energy(package0, package1 int64) {
	for i, uj := range []int64{package0, package1} {
		folder := fmt.Sprintf("sys/class/powercap/intel-rapl:%d/", i)
		s.write(s.t, folder+"name", fmt.Sprintf("package-%d\n", i))
		s.write(s.t, folder+"energy_uj", fmt.Sprintln(uj))
		s.write(s.t, folder+"max_energy_range_uj", "262143328850\n")
	}
}

func check(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s is absent, want %v", name, want)
	} else if math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s = %v, want %v", name, *got, want)
	}
}

func TestMeterRates(t *testing.T) {
	s := newStage(t)
	s.process(10, 1, 500, 40, 0)
	s.energy(262_143_000_000, 5_000_000)
	m := newMeter(s.host, s.now, 10)

	s.wait(2 * time.Second)
	s.cpu(300, 60, 40) // four cores: 400 ticks
	s.process(10, 1, 500, 40+150, 0)
	s.energy(9_671_150, 15_000_000) // the first has wrapped after 328 850 µJ
	state := m.Read("during")
	check(t, "steal", state.StealPct, 10)
	check(t, "foreign", state.Busy, 0.75)
	check(t, "power", state.PowerW, 10)
	if state.When != "during" {
		t.Errorf("when = %q", state.When)
	}

	// The next reading covers only what came after.
	s.wait(time.Second)
	s.cpu(300, 260, 40)
	s.energy(9_671_150, 15_000_000)
	state = m.Read("after")
	check(t, "steal", state.StealPct, 0)
	check(t, "foreign", state.Busy, 0)
	check(t, "power", state.PowerW, 0)
}

func TestMeterNeedsTime(t *testing.T) {
	s := newStage(t)
	m := newMeter(s.host, s.now)
	s.wait(shortest / 2)
	s.cpu(1, 1, 0)
	state := m.Read("before")
	if state.StealPct != nil || state.Busy != nil || state.PowerW != nil {
		t.Errorf("rates from too short a time: %+v", state)
	}
	s.wait(shortest / 2)
	s.cpu(5, 5, 0)
	check(t, "foreign, over both stretches", m.Read("during").Busy, 0.5)
}

func TestMeterWithoutCounters(t *testing.T) {
	s := newStage(t)
	m := newMeter(s.host, s.now)
	s.wait(time.Second) // and /proc/stat does not move
	if state := m.Read("during"); state.StealPct != nil || state.Busy != nil {
		t.Errorf("rates from a clock that stands: %+v", state)
	}
	s.write(t, "proc/stat", "nonsense\n")
	s.wait(time.Second)
	if state := m.Read("after"); state.StealPct != nil || state.Busy != nil {
		t.Errorf("rates from nonsense: %+v", state)
	}
}

// A child's time must not be lost or counted twice when it ends and is waited for
// between readings.
func TestMeterFollowsChildren(t *testing.T) {
	s := newStage(t)
	s.process(10, 1, 500, 100, 0)
	s.process(20, 10, 600, 0, 0)
	m := newMeter(s.host, s.now, 10, 20)

	s.wait(time.Second)
	s.cpu(80, 20, 0)
	s.process(20, 10, 600, 50, 0)
	check(t, "foreign with a child", m.Read("during").Busy, 0.3)

	s.wait(time.Second)
	s.cpu(80+60, 20+40, 0)
	s.end(20)
	s.process(10, 1, 500, 100, 50+10) // ten more ticks before it ended
	check(t, "foreign after the child has ended", m.Read("during").Busy, 0.5)

	// Its pid comes back as a stranger's.
	s.wait(time.Second)
	s.cpu(140+70, 60+30, 0)
	s.process(20, 1, s.tick-10, 70, 0)
	check(t, "foreign with a stranger", m.Read("after").Busy, 0.7)
}

func TestMeterKnowsStrangersByTheirStart(t *testing.T) {
	s := newStage(t)
	s.process(10, 1, 500, 100, 0)
	s.process(20, 10, 600, 30, 0)
	m := newMeter(s.host, s.now, 10, 20)

	// 20 ends after five ticks more, and its pid is taken at once.
	s.wait(time.Second)
	s.cpu(85, 15, 0)
	s.process(10, 1, 500, 100, 35)
	s.process(20, 1, s.tick-10, 80, 0)
	check(t, "foreign", m.Read("during").Busy, 0.8)

	s.wait(time.Second)
	s.cpu(85+40, 15+60, 0)
	s.process(20, 1, s.tick-110, 80+40, 0)
	check(t, "foreign, still", m.Read("after").Busy, 0.4)
}

func TestMeterOnThisMachine(t *testing.T) {
	m := NewMeter()
	before := live.processes([]int{os.Getpid()})[os.Getpid()]
	spend(t, 300*time.Millisecond)
	child := exec.Command("true")
	if err := child.Run(); err != nil {
		t.Skip("cannot start a process: ", err)
	}
	after := live.processes([]int{os.Getpid()})[os.Getpid()]
	if used := after.ticks - before.ticks; used < 25 {
		t.Errorf("300 ms of CPU time count as %d ticks", used)
	}
	state := m.Read("during")
	if state.StealPct == nil || *state.StealPct < 0 || *state.StealPct > 100 {
		t.Errorf("steal = %v", state.StealPct)
	}
	if state.Busy == nil || *state.Busy < 0 {
		t.Errorf("foreign = %v", state.Busy)
	}
}

// spend uses CPU time, however long that takes.
func spend(t *testing.T, amount time.Duration) {
	t.Helper()
	used := func() time.Duration {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for end := used() + amount; used() < end; {
	}
}

func TestReadingsOfThisMachine(t *testing.T) {
	if bytes, ok := MemoryAvailable(); !ok || bytes <= 0 || bytes > Fingerprint().MemoryBytes {
		t.Errorf("memory available = %d, %v", bytes, ok)
	}
	if joules, ok := EnergyJoules(); ok && joules < 0 {
		t.Errorf("energy = %v J", joules)
	}
	if state := live.state("before"); state.When != "before" || state.Load1 == nil {
		t.Errorf("state = %+v", state)
	}
}
