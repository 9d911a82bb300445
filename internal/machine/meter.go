package machine

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"pawl/internal/result"
)

// shortest is the least time between two readings from which rates are made:
// the kernel counts CPU time in hundredths of a second.
const shortest = 100 * time.Millisecond

// Meter tells what the machine did between readings: power, steal time, and
// the CPU time that others used. It may be used from several goroutines.
type Meter struct {
	host host
	now  func() time.Time

	mu   sync.Mutex
	own  []int
	last reading
}

type reading struct {
	at     time.Time
	cpu    cpuTimes
	cpuOK  bool
	own    map[int]procTimes
	energy []energyDomain
}

// NewMeter starts a meter. The CPU time of this process, of the children it
// has waited for, and of the given processes is not foreign.
func NewMeter(pids ...int) *Meter {
	return newMeter(live, time.Now, append(pids, os.Getpid())...)
}

func newMeter(h host, now func() time.Time, pids ...int) *Meter {
	m := &Meter{host: h, now: now, own: pids}
	m.last = m.take()
	return m
}

// Read returns the state of the machine now, with the rates since the previous
// reading. Where that was too short a time ago to tell, the rates are absent
// and the next reading covers this time too.
func (m *Meter) Read(when string) result.State {
	state := m.host.state(when)

	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.take()
	elapsed := current.at.Sub(m.last.at)
	if elapsed < shortest {
		return state
	}
	before := m.last
	dropStrangers(before.own, current.own)
	m.last = current
	// The pids of processes that have ended may come back as somebody else's.
	m.own = slices.Collect(maps.Keys(current.own))

	if joules, ok := energyBetween(before.energy, current.energy); ok {
		state.PowerW = known(joules/elapsed.Seconds(), true)
	}
	total := current.cpu.total - before.cpu.total
	busy := current.cpu.busy - before.cpu.busy
	steal := current.cpu.steal - before.cpu.steal
	// Some sandboxes show a /proc/stat that never moves.
	if !before.cpuOK || !current.cpuOK || total <= 0 || busy < 0 || steal < 0 {
		return state
	}
	state.StealPct = known(100*float64(steal)/float64(total), true)
	foreign := max(0, busy-ticksBetween(before.own, current.own))
	state.Busy = known(float64(foreign)/ticksPerSecond/elapsed.Seconds(), true)
	return state
}

func (m *Meter) take() reading {
	r := reading{at: m.now(), energy: m.host.energy()}
	r.cpu, r.cpuOK = parseStat(m.host.head("proc/stat", 4<<10))
	r.own = m.host.processes(m.own)
	return r
}
