package build

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"

	"pawl/internal/machine"
	"pawl/internal/result"
)

// Limits of one run of a compiler, children included. RLIMIT_NPROC counts all processes of a user,
// and cicc reserves more addresses than it touches, so usage is read from /proc.
const (
	mostProcesses = 256
	watchEvery    = 200 * time.Millisecond
	leastMemory   = 4 << 30
)

// mostMemory is three quarters of the memory that was free when the first compiler was started.
var mostMemory = sync.OnceValue(func() int64 {
	free, _ := machine.MemoryAvailable()
	return max(free/4*3, leastMemory)
})

// limits are the limits of one run.
type limits struct {
	memory    int64
	processes int
}

// watched is a run of a compiler that must keep within limits.
type watched struct {
	limits
	kill func() error
	over *result.Fault // the limit that it exceeded
}

// watcher checks all runs at once: one walk over the processes serves all of them.
type watcher struct {
	mu      sync.Mutex
	runs    map[int]*watched // by session
	looking bool
}

var watching = &watcher{runs: map[int]*watched{}}

func (w *watcher) add(session int, run *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[session] = run
	if !w.looking {
		w.looking = true
		go w.look()
	}
}

// remove ends the watch; over is then final.
func (w *watcher) remove(session int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, session)
}

func (w *watcher) look() {
	for {
		time.Sleep(watchEvery)
		used := sessions()
		w.mu.Lock()
		for session, run := range w.runs {
			run.judge(used[session])
		}
		w.looking = len(w.runs) > 0
		done := !w.looking
		w.mu.Unlock()
		if done {
			return
		}
	}
}

func (r *watched) judge(now usage) {
	switch {
	case r.over != nil:
	case now.memory > r.memory:
		r.over = newFault(result.CauseMemory, "one compiler may use three quarters of the machine's free memory: use a larger machine, or a smaller source",
			"it used %d MiB of memory; its limit is %d MiB", now.memory>>20, r.memory>>20)
	case now.processes > r.processes:
		r.over = newFault(result.CauseThreads, "", "it started %d processes; its limit is %d", now.processes, r.processes)
	}
	if r.over != nil {
		_ = r.kill() // fails when it has just ended
	}
}

// usage is what the processes of a session use together.
type usage struct {
	memory    int64 // bytes that are resident
	processes int
}

// sessions sums up all processes of the machine.
func sessions() map[int]usage {
	all := map[int]usage{}
	proc, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// The name, in parentheses, may have anything in it.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		const session, resident = 3, 21 // counted from the state
		if len(fields) <= resident {
			continue
		}
		id, _ := strconv.Atoi(string(fields[session]))
		pages, _ := strconv.ParseInt(string(fields[resident]), 10, 64)
		u := all[id]
		u.processes++
		u.memory += pages * int64(os.Getpagesize())
		all[id] = u
	}
	return all
}
