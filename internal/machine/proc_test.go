package machine

import (
	"maps"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestParseStat(t *testing.T) {
	got, ok := parseStat("cpu  10 1 5 100 4 2 3 7 9 0\ncpu0 1 2 3\n")
	if want := (cpuTimes{busy: 21, steal: 7, total: 132}); got != want || !ok {
		t.Errorf("parseStat = %+v, %v, want %+v", got, ok, want)
	}
	for _, text := range []string{"", "cpu", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "cpu 1 2 3 4 5 6 7 -8"} {
		if got, ok := parseStat(text); ok {
			t.Errorf("parseStat(%q) = %+v, want nothing", text, got)
		}
	}
}

func TestParseProcStatOfThisProcess(t *testing.T) {
	got, ok := parseProcStat(live.text("proc/self/stat"))
	if !ok || got.parent != os.Getppid() || got.start <= 0 {
		t.Errorf("parseProcStat = %+v, %v; the parent is %d", got, ok, os.Getppid())
	}
}

// However processes work, end and are waited for, the time that a sequence of
// readings finds is the time that was spent.
func TestTicksBetweenFindsAllTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		processes := map[int]procTimes{1: {parent: 0, start: 1, ticks: 7}}
		for pid := range rapid.IntRange(0, 8).Draw(t, "children") {
			processes[pid+2] = procTimes{parent: rapid.IntRange(1, pid+1).Draw(t, "parent"), start: int64(pid + 2)}
		}
		for range rapid.IntRange(1, 4).Draw(t, "readings") {
			before := maps.Clone(processes)
			var spent int64
			for range rapid.IntRange(0, 12).Draw(t, "events") {
				pids := slices.Sorted(maps.Keys(processes))
				pid := rapid.SampledFrom(pids).Draw(t, "pid")
				p := processes[pid]
				switch rapid.SampledFrom([]string{"work", "end"}).Draw(t, "event") {
				case "work":
					n := rapid.Int64Range(0, 50).Draw(t, "ticks")
					p.ticks += n
					spent += n
					processes[pid] = p
				case "end":
					if pid == 1 || hasChildren(processes, pid) {
						continue
					}
					delete(processes, pid)
					parent := processes[p.parent]
					parent.ticks += p.ticks
					processes[p.parent] = parent
				}
			}
			if got := ticksBetween(before, processes); got != spent {
				t.Fatalf("found %d of %d ticks", got, spent)
			}
		}
	})
}

func hasChildren(processes map[int]procTimes, pid int) bool {
	for _, p := range processes {
		if p.parent == pid {
			return true
		}
	}
	return false
}

func FuzzParseProcStat(f *testing.F) {
	f.Add("1 (init) S 0 1 1 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5 0 0")
	f.Add("7 (a) (b) R 1 ) 2")
	f.Add("cpu  10 1 5 100 4 2 3 7 9 0")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := parseProcStat(text); ok && p.ticks < 0 {
			t.Errorf("%q has used %d ticks", text, p.ticks)
		}
		if c, ok := parseStat(text); ok && (c.busy < 0 || c.steal < 0 || c.total < c.busy+c.steal) {
			t.Errorf("%q gives %+v", text, c)
		}
	})
}
