package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
)

// watchEvery is how often a cell's memory and threads are read. At this rate the cell can exceed
// its limit by what it touches in between, some 100 MB.
const watchEvery = 20 * time.Millisecond

// watchKin is the interval, in readings, at which the cell's children are also read, which takes a
// walk over all processes.
const watchKin = 10

// watch ends the cell when it takes more memory or threads than it may.
func (c *child) watch() {
	path := fmt.Sprintf("/proc/%d/status", c.proc.Pid())
	children := 0 // their threads, at the last reading
	var seen sightings
	for look := 0; ; look++ {
		select {
		case <-c.exited:
			return
		case <-time.After(watchEvery):
		}
		usage, err := readUsage(path)
		if err != nil {
			continue
		}
		c.peak.Store(max(c.peak.Load(), usage.peak))
		if look%watchKin == 0 && c.mayStart() {
			children = c.house.threads(c.proc.Pid())
		}
		if during := c.help.timing.Load(); during != nil {
			if why := seen.look(*during, c.house.members(c.proc.Pid())); why != nil {
				c.end(why)
			}
		}
		switch {
		case c.limits.memory > 0 && usage.resident > c.limits.memory:
			c.end(result.Faultf(result.CauseMemory, "the cell used %d MiB of memory; its limit is %d MiB", usage.resident>>20, c.limits.memory>>20).
				WithHint("the kernel allocates more than its arguments need, or leaks"))
		case c.limits.threads > 0 && usage.threads+children > c.limits.threads:
			c.end(tooManyThreads(usage.threads, children, c.limits.threads))
		}
	}
}

func tooManyThreads(own, children, limit int) *result.Fault {
	who := "the cell runs"
	if children > 0 {
		who = "the cell and its child processes run"
	}
	return result.Faultf(result.CauseThreads, "%s %d threads; its limit is %d", who, own+children, limit).
		WithHint("launch: {threads: N} says how many a kernel may use")
}

type usage struct {
	resident, peak int64 // bytes
	threads        int
}

func readUsage(path string) (usage, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return usage{}, err
	}
	return parseUsage(raw), nil
}

// parseUsage reads the lines it needs of /proc/PID/status.
func parseUsage(status []byte) usage {
	var u usage
	for line := range bytes.Lines(status) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "VmRSS":
			u.resident = n << 10
		case "VmHWM":
			u.peak = n << 10
		case "Threads":
			u.threads = int(n)
		}
	}
	return u
}

// processTime returns the CPU time that a process has used, over all threads. Unlike wall time it
// does not grow while the process waits its turn.
func processTime(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED: what clock_getcpuclockid(3) puts into the low bits
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
