package machine

import (
	"fmt"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, the unit of CPU times in /proc. It is 100 on every
// architecture that Go runs on, whatever the kernel's own tick is.
const ticksPerSecond = 100

// cpuTimes are the CPU times of the whole machine since boot, in ticks.
type cpuTimes struct {
	busy, steal, total int64
}

// parseStat reads the first line of /proc/stat.
func parseStat(text string) (cpuTimes, bool) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return cpuTimes{}, false
	}
	ticks, ok := parseTicks(fields[1:9])
	if !ok {
		return cpuTimes{}, false
	}
	const user, nice, system, idle, iowait, irq, softirq, steal = 0, 1, 2, 3, 4, 5, 6, 7
	times := cpuTimes{
		// Guest time, which follows, is part of user time already.
		busy:  ticks[user] + ticks[nice] + ticks[system] + ticks[irq] + ticks[softirq],
		steal: ticks[steal],
	}
	times.total = times.busy + times.steal + ticks[idle] + ticks[iowait]
	return times, true
}

func parseTicks(fields []string) ([]int64, bool) {
	ticks := make([]int64, len(fields))
	for i, field := range fields {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || n < 0 || n > 1<<58 {
			return nil, false
		}
		ticks[i] = n
	}
	return ticks, true
}

// procTimes is the CPU time of one process and of the children it waited for.
type procTimes struct {
	parent int
	start  int64 // ticks after boot: with the pid, this names a process
	ticks  int64
}

// parseProcStat reads /proc/<pid>/stat. The command name, in parentheses, may
// itself hold spaces and parentheses, so fields count from the last one.
func parseProcStat(text string) (procTimes, bool) {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return procTimes{}, false
	}
	fields := strings.Fields(text[end+1:])
	// proc(5) counts from 1 and has pid and name before these.
	const parent, utime, cstime, start = 4 - 3, 14 - 3, 17 - 3, 22 - 3
	if len(fields) <= start {
		return procTimes{}, false
	}
	above, err := strconv.Atoi(fields[parent])
	began, bad := strconv.ParseInt(fields[start], 10, 64)
	ticks, ok := parseTicks(fields[utime : cstime+1])
	if err != nil || bad != nil || !ok {
		return procTimes{}, false
	}
	return procTimes{parent: above, start: began, ticks: ticks[0] + ticks[1] + ticks[2] + ticks[3]}, true
}

// processes reads the times of those pids that are still there.
func (h host) processes(pids []int) map[int]procTimes {
	found := make(map[int]procTimes, len(pids))
	for _, pid := range pids {
		if p, ok := parseProcStat(h.text(fmt.Sprintf("proc/%d/stat", pid))); ok {
			found[pid] = p
		}
	}
	return found
}

// ticksBetween returns the CPU time that the processes used from one reading to the
// next, the second taken with the same pids.
//
// A process that ended in between has handed all its time to its parent, once
// that has waited for it; what was known of it before is taken off again, or
// it would count twice.
func ticksBetween(before, after map[int]procTimes) int64 {
	var used int64
	for pid, b := range before {
		if a, lives := after[pid]; lives {
			used += a.ticks - b.ticks
		} else if inherited(b, before, after) {
			used -= b.ticks
		}
	}
	return max(0, used)
}

// inherited reports whether an ended process's time has come to one that lives: to
// its parent, or through a parent that ended too to a farther ancestor.
func inherited(p procTimes, before, after map[int]procTimes) bool {
	for range len(before) {
		if _, lives := after[p.parent]; lives {
			return true
		}
		parent, known := before[p.parent]
		if !known {
			return false
		}
		p = parent
	}
	return false
}

// dropStrangers removes from a reading the processes that have the pid of an
// earlier one and are not that.
func dropStrangers(before, after map[int]procTimes) {
	for pid, b := range before {
		if a, ok := after[pid]; ok && a.start != b.start {
			delete(after, pid)
		}
	}
}
