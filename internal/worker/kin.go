package worker

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A Python cell may start processes, because it needs compilers. Processes that compute while
// launches are timed do a kernel's work where neither the cell's clock nor its threads show it.
const (
	compiling = 2                     // requests for launches of a problem during which compilers may run
	helpFloor = 20 * time.Millisecond // CPU time that is not worth reporting: two ticks of /proc
	helpShare = 10                    // one part in this many of the time of launches
	helpTimes = 3                     // requests with help; a function that is specialised late runs a compiler in one
	lookShare = 20                    // checks take at most one part in this many of the time
	newcomers = 3                     // requests in which a new process was found
)

// kin are the processes that a cell has started, at one moment.
type kin struct {
	used   map[int]time.Duration // CPU time of the processes that exist
	reaped time.Duration         // CPU time of those that the cell has waited for
}

// help records what a cell's children have done for the launches of a problem.
type help struct {
	requests     int // for launches
	before       *kin
	given, spent time.Duration // CPU time of children, and time of the requests that were checked
	times        int           // requests that they took part in
	looked       time.Time
	cost         time.Duration // of checking

	problem int
	timing  atomic.Pointer[timed] // nil while no launches are running, and while compilers may run
}

// timed identifies launches that are running: the cell's nth problem, and the nth request for it.
type timed struct{ problem, request int }

// mayStart reports whether the cell can have children at all.
func (c *child) mayStart() bool {
	return c.kind == "python" || c.proc.Level().Seccomp == "none"
}

// watchHelp starts watching what children do during a request.
func (c *child) watchHelp(op string) {
	h := &c.help
	h.before = nil
	h.timing.Store(nil)
	switch op {
	case wire.OpPrepare:
		h.problem++
		h.requests, h.given, h.spent, h.times = 0, 0, 0, 0
	case wire.OpSample, wire.OpRun:
		h.requests++
		if !c.mayStart() || h.requests <= compiling {
			return
		}
		h.timing.Store(&timed{h.problem, h.requests})
		if h.times > 0 || time.Since(h.looked) >= lookShare*h.cost { // children that were seen once are checked every time
			begin := time.Now()
			h.before = c.house.kin(c.proc.Pid())
			h.looked = time.Now()
			h.cost = h.looked.Sub(begin)
		}
	}
}

// judgeHelp ends a cell whose children have taken part in timed work.
func (c *child) judgeHelp(took time.Duration) error {
	h := &c.help
	h.timing.Store(nil)
	if h.before == nil {
		return nil
	}
	given := h.before.until(c.house.kin(c.proc.Pid()))
	h.given, h.spent = h.given+given, h.spent+took
	if given > took/helpShare {
		h.times++
	}
	if h.times < helpTimes || h.given <= helpFloor || h.given <= h.spent/helpShare {
		return nil
	}
	return c.fail(result.Faultf(result.CauseThreads, "child processes of the cell computed for %v during launches that took %v",
		h.given.Round(time.Millisecond), h.spent.Round(time.Millisecond)).
		WithHint("a kernel must do its work in the process that is measured"))
}

// sightings are of processes that live for one launch and that nobody waits for: when the request
// is over they have ended, and have left no CPU time behind.
type sightings struct {
	during timed
	known  []int
	fresh  int  // requests in which new ones were found
	found  bool // in this one
}

// look records the processes that exist in the middle of launches.
func (s *sightings) look(during timed, members []int) *result.Fault {
	switch {
	case during.problem != s.during.problem:
		*s = sightings{known: members}
	case during.request != s.during.request:
		s.found = false
	}
	s.during = during
	if !s.found && slices.ContainsFunc(members, func(pid int) bool { return !slices.Contains(s.known, pid) }) {
		s.found = true
		s.fresh++
	}
	s.known = members
	if s.fresh < newcomers {
		return nil
	}
	return result.Faultf(result.CauseThreads, "the cell starts child processes in timed launches").
		WithHint("a kernel must do its work in the process that is measured")
}

// until returns the CPU time that children have used between two readings.
func (k *kin) until(later *kin) time.Duration {
	total := later.reaped - k.reaped
	for _, used := range k.used {
		total -= used // of one that has ended, too: it may be among the reaped
	}
	for _, used := range later.used {
		total += used
	}
	return max(0, total)
}

// household remembers the members of a cell's process group. As long as the machine has started
// nothing, nobody can have joined, and no walk over all processes is needed.
type household struct {
	mu      sync.Mutex
	newest  string    // the last process that the machine has started,
	since   time.Time // and since when it is known
	looked  time.Time
	present []int
}

const (
	birthMost    = 2 * time.Millisecond   // between a process getting its number and a walk finding it
	rememberMost = 200 * time.Millisecond // shorter than a machine takes to use all process numbers once
)

// members returns the processes of a group except its leader; some may have ended.
func (h *household) members(group int) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if newest := lastStarted(); newest != h.newest { // before the walk: a process that starts during it is looked for again
		h.newest, h.since = newest, now
	}
	if h.newest == "" || h.looked.Sub(h.since) < birthMost || now.Sub(h.looked) > rememberMost {
		h.looked, h.present = now, membersOf(group)
	}
	return h.present
}

// lastStarted returns the number of the process or thread that the machine has started last; ""
// where it is unknown.
func lastStarted() string {
	if !loadavgIsTheKernels() {
		return ""
	}
	fields := bytes.Fields(readInto("/proc/loadavg", make([]byte, 0, 128)))
	if len(fields) < 5 {
		return ""
	}
	return string(fields[4])
}

// loadavgIsTheKernels is false in containers where lxcfs replaces the file with one that is seconds
// old.
var loadavgIsTheKernels = sync.OnceValue(func() bool {
	var at unix.Statfs_t
	return unix.Statfs("/proc/loadavg", &at) == nil && at.Type == unix.PROC_SUPER_MAGIC
})

// membersOf returns the processes of a group except its leader.
func membersOf(group int) []int {
	return slices.DeleteFunc(numbersIn("/proc"), func(pid int) bool {
		its, err := unix.Getpgid(pid)
		return pid == group || err != nil || its != group
	})
}

// kin reads all processes of a cell's group, which no child can leave. So it also finds those whose
// parents have ended.
func (h *household) kin(group int) *kin {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", group))
	k := &kin{used: map[int]time.Duration{}, reaped: parseReaped(stat)}
	for _, pid := range h.members(group) {
		if used, ok := processTime(pid); ok {
			k.used[pid] = used
		}
	}
	return k
}

// parseReaped reads cutime and cstime of /proc/PID/stat, in hundredths of a second.
func parseReaped(stat []byte) time.Duration {
	const user, system, tick = 13, 14, 10 * time.Millisecond
	fields := statFields(stat)
	if len(fields) <= system {
		return 0
	}
	inUser, err := strconv.ParseInt(string(fields[user]), 10, 64)
	inSystem, bad := strconv.ParseInt(string(fields[system]), 10, 64)
	if err != nil || bad != nil {
		return 0
	}
	return time.Duration(inUser+inSystem) * tick
}

// threads counts the threads of a cell's children.
func (h *household) threads(group int) int {
	total := 0
	for _, pid := range h.members(group) {
		if usage, err := readUsage(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			total += usage.threads
		}
	}
	return total
}
