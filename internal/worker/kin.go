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

// A python cell may start processes, because compilers are some. Those that compute
// while launches are timed do a kernel's work where neither the cell's clock nor its
// threads show it.
const (
	compiling = 2                     // requests for launches of a problem in which compilers may run
	helpFloor = 20 * time.Millisecond // processor time that is not worth a word: two ticks of /proc
	helpShare = 10                    // of the time of launches, a part in this many
	helpTimes = 3                     // requests with help; a function that is specialised late has a compiler run in one
	lookShare = 20                    // looking takes a part in this many of the time, at most
	newcomers = 3                     // requests in which a process was found that was not there before
)

// kin are the processes that a cell has started, at one moment.
type kin struct {
	used   map[int]time.Duration // processor time of those that there are
	reaped time.Duration         // of those that the cell has waited for
}

// help is what a cell's children have done for the launches of a problem.
type help struct {
	requests     int // for launches
	before       *kin
	given, spent time.Duration // processor time of children, and time of the requests that were looked at
	times        int           // requests that they took part in
	looked       time.Time
	cost         time.Duration // of looking

	problem int
	timing  atomic.Pointer[timed] // nil while no launches are under way, and while compilers may run
}

// timed are launches that are under way: of a cell's nth problem, in the nth request
// for them.
type timed struct{ problem, request int }

// mayStart reports whether the cell can have children at all.
func (c *child) mayStart() bool {
	return c.kind == "python" || c.proc.Level().Seccomp == "none"
}

// watchHelp begins to look at what children do in a request.
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
		if h.times > 0 || time.Since(h.looked) >= lookShare*h.cost { // who was seen once is not let out of sight
			begin := time.Now()
			h.before = c.house.kin(c.proc.Pid())
			h.looked = time.Now()
			h.cost = h.looked.Sub(begin)
		}
	}
}

// judgeHelp ends a cell whose children have taken part in what was timed.
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
	return c.fail(&result.Fault{
		Cause: result.CauseThreads,
		Message: fmt.Sprintf("child processes of the cell computed for %v during launches that took %v",
			h.given.Round(time.Millisecond), h.spent.Round(time.Millisecond)),
		Hint: "a kernel does its work in the process that it is measured in",
	})
}

// sightings are of processes that live for one launch, and that nobody waits for:
// they are gone when the request is over, and have left no time behind.
type sightings struct {
	during timed
	known  []int
	fresh  int  // requests in which others were found
	found  bool // in this one
}

// look takes what there is in the middle of launches.
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
	return &result.Fault{
		Cause: result.CauseThreads, Message: "the cell starts child processes in launches that are timed",
		Hint: "a kernel does its work in the process that it is measured in",
	}
}

// until is the processor time that children have used between two looks.
func (k *kin) until(later *kin) time.Duration {
	total := later.reaped - k.reaped
	for pid, used := range k.used {
		if now, there := later.used[pid]; there {
			total += now - used
		} else {
			total -= used // it may have been waited for; that was of before
		}
	}
	for pid, used := range later.used {
		if _, there := k.used[pid]; !there {
			total += used
		}
	}
	return max(0, total)
}

// household remembers who was in a cell's group. As long as the machine has started
// nothing, nobody can have come, and there is no need for a walk over all processes.
type household struct {
	mu      sync.Mutex
	newest  string    // what the machine has started last,
	since   time.Time // and since when that was known
	looked  time.Time
	present []int
}

const (
	birthMost    = 2 * time.Millisecond   // between a process's number and its being found by a walk
	rememberMost = 200 * time.Millisecond // shorter than a machine takes to hand out all numbers once
)

// members are the processes of a group but for its leader; some may have ended.
func (h *household) members(group int) []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if newest := lastStarted(); newest != h.newest { // before the walk: who comes during it is looked for again
		h.newest, h.since = newest, now
	}
	if h.newest == "" || h.looked.Sub(h.since) < birthMost || now.Sub(h.looked) > rememberMost {
		h.looked, h.present = now, membersOf(group)
	}
	return h.present
}

// lastStarted is the number of the process or thread that the machine has started last;
// "" where that cannot be known.
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

// loadavgIsTheKernels is false in containers that have a file of lxcfs in its place,
// which is seconds old.
var loadavgIsTheKernels = sync.OnceValue(func() bool {
	var at unix.Statfs_t
	return unix.Statfs("/proc/loadavg", &at) == nil && at.Type == unix.PROC_SUPER_MAGIC
})

// membersOf are the processes of a group but for its leader.
func membersOf(group int) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var found []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == group {
			continue
		}
		if its, err := unix.Getpgid(pid); err == nil && its == group {
			found = append(found, pid)
		}
	}
	return found
}

// kin looks at all processes of a cell's group, which no child can leave. That
// finds those as well whose parents are gone.
func (h *household) kin(group int) *kin {
	k := &kin{used: map[int]time.Duration{}, reaped: reapedTime(group)}
	for _, pid := range h.members(group) {
		if used, ok := processTime(pid); ok {
			k.used[pid] = used
		}
	}
	return k
}

func reapedTime(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseReaped(raw)
}

// parseReaped reads cutime and cstime of /proc/PID/stat, in hundredths of a second.
func parseReaped(stat []byte) time.Duration {
	const user, system, tick = 13, 14, 10 * time.Millisecond
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may have spaces
	if len(fields) <= system {
		return 0
	}
	ticks := time.Duration(0)
	for _, field := range []int{user, system} {
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil {
			return 0
		}
		ticks += time.Duration(n)
	}
	return ticks * tick
}

// threads counts those of a cell's children.
func (h *household) threads(group int) int {
	total := 0
	for _, pid := range h.members(group) {
		if usage, err := readUsage(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
			total += usage.threads
		}
	}
	return total
}
