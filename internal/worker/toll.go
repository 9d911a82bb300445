package worker

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/worker/wire"
)

// A toll is the time that other work of the machine took from a cell during a request.
// The kernel counts it, so candidate code cannot forge it.
type toll struct {
	switches int64         // involuntary context switches of the most preempted thread
	waited   time.Duration // time a thread was ready to run while other processes ran
	stolen   time.Duration // time the hypervisor gave cores of the cell to other guests
}

// witness reads tolls from /proc; tests replace it by a folder of their own, or its stat by a file.
type witness struct{ proc, stat string }

// sight is one reading of a cell's counters in /proc.
type sight struct {
	stolen  map[int]time.Duration // of each core that the cell may run on
	busy    time.Duration         // processor time of the cell, with that of threads that have ended
	threads map[int]thread
}

// thread holds the counters of one thread of a cell, since the thread began.
type thread struct {
	switches    int64
	ran, waited time.Duration
}

// lookBytes of /proc/stat hold the lines of 1,300 cores, which come first in it. A thread's status
// lists all groups of its user before the switches.
const lookBytes = 128 << 10

var lookBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, 0, lookBytes)
	return &buffer
}}

// look reads the counters of a cell that is pinned to cores; with no cores, it may run
// on all of the machine. Counters that cannot be read are 0, which excuses nobody.
// last is an earlier reading, or nil: the status of threads that have not run since is
// taken from there, since most threads of a cell sleep.
func (w witness) look(pid int, cores []int, last *sight) sight {
	buffer := lookBuffers.Get().(*[]byte)
	defer lookBuffers.Put(buffer)
	raw := *buffer
	s := sight{stolen: parseStolen(readInto(cmp.Or(w.stat, filepath.Join(w.proc, "stat")), raw), cores), threads: map[int]thread{}}
	last = cmp.Or(last, &sight{})
	tasks := strconv.Itoa(pid) + "/task"
	for _, tid := range w.tasks(pid) {
		of := fmt.Sprintf("%s/%d/", tasks, tid)
		t := parseSchedstat(w.read(of+"schedstat", raw))
		if known := last.threads[tid]; t.ran == known.ran && t.ran > 0 {
			t.switches = known.switches
		} else {
			t.switches = parseSwitches(w.read(of+"status", raw))
		}
		s.threads[tid] = t
	}
	return s
}

func (w witness) read(name string, into []byte) []byte {
	return readInto(filepath.Join(w.proc, name), into)
}

// readInto is os.ReadFile without the poller and without allocating, because requests wait for it.
func readInto(path string, into []byte) []byte {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	for len(into) < cap(into) {
		n, err := unix.Read(fd, into[len(into):cap(into)])
		if n <= 0 || err != nil {
			break
		}
		into = into[:len(into)+n]
	}
	return into
}

// tasks lists the threads of a process.
func (w witness) tasks(pid int) []int {
	return numbersIn(filepath.Join(w.proc, strconv.Itoa(pid), "task"))
}

// numbersIn lists the processes or threads that a folder of /proc has entries of.
func numbersIn(folder string) []int {
	dir, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var found []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			found = append(found, n)
		}
	}
	return found
}

// until computes the toll between two readings, of the thread that lost most: the
// others mostly sleep. Time that a thread waited while other threads of its cell ran
// does not count, since a cell could let its own threads compete for its core. Stolen
// time counts on as many cores as the cell has computing threads, those that lost most:
// on the other cores nobody waited.
func (s sight) until(later sight, threads int) toll {
	out := toll{stolen: s.stolenUntil(later, threads)}
	var ran time.Duration
	for tid, now := range later.threads {
		ran += now.ran - s.threads[tid].ran
	}
	ran = max(ran, later.busy-s.busy) // ended threads are in no list
	for tid, now := range later.threads {
		before := s.threads[tid]
		others := ran - (now.ran - before.ran)
		out.switches = max(out.switches, now.switches-before.switches)
		out.waited = max(out.waited, now.waited-before.waited-others)
	}
	return out
}

// stolenUntil sums the stolen time of the cores that lost most, one for each thread.
func (s sight) stolenUntil(later sight, threads int) (sum time.Duration) {
	var lost []time.Duration
	for core, now := range later.stolen {
		if before, known := s.stolen[core]; known && now > before {
			lost = append(lost, now-before)
		}
	}
	slices.Sort(lost)
	for _, d := range lost[max(0, len(lost)-max(1, threads)):] {
		sum += d
	}
	return sum
}

// parseStolen reads the stolen time of cores in /proc/stat; with no cores, of all.
func parseStolen(stat []byte, cores []int) map[int]time.Duration {
	const steal = 8 // after the name
	stolen := map[int]time.Duration{}
	for line := range bytes.Lines(stat) {
		number, isCore := bytes.CutPrefix(line, []byte("cpu"))
		if !isCore {
			break // the cores come first
		}
		fields := bytes.Fields(number)
		if len(fields) <= steal || number[0] == ' ' { // the sum of all cores
			continue
		}
		core, err := strconv.Atoi(string(fields[0]))
		n, bad := strconv.ParseInt(string(fields[steal]), 10, 64)
		if err == nil && bad == nil && (len(cores) == 0 || slices.Contains(cores, core)) {
			stolen[core] = time.Duration(n) * wire.StealTick
		}
	}
	return stolen
}

// parseSchedstat reads nanoseconds that a thread ran and waited.
func parseSchedstat(text []byte) thread {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return thread{}
	}
	ran, err := strconv.ParseInt(string(fields[0]), 10, 64)
	waited, bad := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || bad != nil {
		return thread{}
	}
	return thread{ran: time.Duration(ran), waited: time.Duration(waited)}
}

// parseSwitches reads the last lines of a thread's status.
func parseSwitches(status []byte) int64 {
	_, rest, found := bytes.Cut(status, []byte("\nnonvoluntary_ctxt_switches:"))
	if !found {
		return 0
	}
	text, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
