package profile

import (
	"cmp"
	"math"
	"slices"
)

// Move is one counter that differs between two versions of a kernel.
type Move struct {
	Metric Metric  `json:"metric"`
	Words  string  `json:"words"`
	Unit   string  `json:"unit,omitempty"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Noise  float64 `json:"noise"`              // as Change: how much repeats of one version differ
	Change float64 `json:"change"`             // logarithm of the ratio, or for percentages the difference over 100
	Beyond float64 `json:"beyond"`             // the change in units of noise, less one; what is at most zero is noise
	Limit  bool    `json:"limiting,omitempty"` // it belongs to what limits the slower version
	Shows  bool    `json:"shows,omitempty"`    // it is work that grew or shrank about as much as the time
	Rank   float64 `json:"rank"`
}

// Group is a resource that a counter belongs to.
type Group string

// The groups.
const (
	GroupDRAM      Group = "dram"
	GroupL2        Group = "l2"
	GroupL1        Group = "l1"
	GroupShared    Group = "shared"
	GroupIssue     Group = "issue" // arithmetic and instructions
	GroupLatency   Group = "latency"
	GroupOccupancy Group = "occupancy"
	GroupLaunch    Group = "launch"
	GroupAccess    Group = "access" // how memory is accessed: whichever level of it is the limit
)

// concerns reports whether a group has to do with a limit.
func (g Group) concerns(limit Group) bool {
	return g == limit || g == GroupAccess && (limit == GroupDRAM || limit == GroupL2 || limit == GroupL1 || limit == GroupLatency)
}

// memory reports whether a group is a level of memory, or how memory is accessed.
func (g Group) memory() bool {
	return g == GroupDRAM || g == GroupL2 || g == GroupL1 || g == GroupAccess
}

// loads reports whether work of a group takes time where a limit is: what passes one level of memory passes others.
func (g Group) loads(limit Group) bool {
	return g.concerns(limit) || g.memory() && (limit.memory() || limit == GroupLatency)
}

// work are the counters of what a launch has done. Other counters say how, or how fast.
var work = []Metric{
	Instructions, FlopsFloat, FlopsDouble, FlopsTensor, LocalLoads, LocalStores, SpillRequests, LoadRequests, StoreRequests, LoadSectors, StoreSectors, L2Sectors,
	DRAMRead, DRAMWritten, DRAMBytes, SharedWaves, SharedAtomics, AtomicSectors, ReduceSectors, GlobalReduces, GlobalAtomics, TMABytes, WarpGroupMMA,
}

// moving are the counters that are compared: causes before their consequences. Weight says how much
// a counter explains by itself; utilisations follow from the others.
// Operations in f16 are not among them: compilers use HFMA2 to move constants.
var moving = []struct {
	metric Metric
	group  Group
	weight float64
}{
	{Registers, GroupOccupancy, 1},
	{SharedStatic, GroupOccupancy, 1},
	{SharedDynamic, GroupOccupancy, 1},
	{Theoretical, GroupOccupancy, 1},
	{Occupancy, GroupOccupancy, 0.6},
	{Grid, GroupLaunch, 1},
	{Block, GroupLaunch, 0.8},
	{Waves, GroupLaunch, 0.6},
	{Idle, GroupLaunch, 0.7},
	{Imbalance, GroupLaunch, 0.7},
	{Instructions, GroupIssue, 1},
	{FlopsFloat, GroupIssue, 0.8},
	{FlopsDouble, GroupIssue, 1},
	{FlopsTensor, GroupIssue, 1},
	{ActiveThreads, GroupIssue, 1},
	{UnmaskedThreads, GroupIssue, 0.7},
	{LocalLoads, GroupAccess, 1},
	{LocalStores, GroupAccess, 1},
	{LocalShare, GroupAccess, 1},
	{SpillRequests, GroupAccess, 0.9},
	{LoadRequests, GroupL1, 0.8},
	{StoreRequests, GroupL1, 0.8},
	{LoadSectors, GroupL2, 0.8},
	{StoreSectors, GroupL2, 0.8},
	{LoadSpread, GroupAccess, 1},
	{StoreSpread, GroupAccess, 1},
	{LoadUsed, GroupAccess, 1},
	{StoreUsed, GroupAccess, 1},
	{L2Sectors, GroupL2, 0.6},
	{L2Hit, GroupL2, 0.4},
	{L1Hit, GroupL1, 0.4},
	{DRAMRead, GroupDRAM, 0.7},
	{DRAMWritten, GroupDRAM, 0.7},
	{DRAMBytes, GroupDRAM, 0.8},
	{SharedWaves, GroupShared, 0.9},
	{ConflictShare, GroupShared, 1},
	{SharedConflicts, GroupShared, 0.9},
	{SharedAtomics, GroupShared, 1},
	{AtomicSectors, GroupL2, 1},
	{ReduceSectors, GroupL2, 1},
	{GlobalReduces, GroupL2, 0.9},
	{GlobalAtomics, GroupL2, 0.9},
	{AtomicHot, GroupL2, 0.8},
	{InstructionMiss, GroupIssue, 0.7},
	{TMABytes, GroupL2, 0.8},
	{WarpGroupMMA, GroupIssue, 0.8},
	{SMPercent, GroupIssue, 0.3},
	{MemoryPercent, GroupDRAM, 0.3},
	{DRAMPercent, GroupDRAM, 0.3},
	{L2Percent, GroupL2, 0.3},
	{L1Percent, GroupL1, 0.3},
	{TensorPercent, GroupIssue, 0.5},
	{FMAPercent, GroupIssue, 0.2},
	{FP64Percent, GroupIssue, 0.5},
	{XUPercent, GroupIssue, 0.5},
	{IssuePercent, GroupIssue, 0.3},
	{DRAMRate, GroupDRAM, 0.2},
	{"stall_long_scoreboard", GroupLatency, 0.5},
	{"stall_short_scoreboard", GroupShared, 0.5},
	{"stall_barrier", GroupLatency, 0.7},
	{"stall_mio_throttle", GroupShared, 0.5},
	{"stall_lg_throttle", GroupL1, 0.5},
	{"stall_wait", GroupIssue, 0.3},
	{"stall_math_pipe_throttle", GroupIssue, 0.4},
	{"stall_no_instruction", GroupIssue, 0.7},
	{"stall_gmma", GroupIssue, 0.5},
	{"stall_drain", GroupLatency, 0.4},
}

const (
	leastNoise  = 0.01 // repeats that agree exactly are luck: counters of one launch vary by this much
	leastChange = 0.03 // a smaller change, or fewer points of a percentage, explain no regression that a gate of 3% notices
	manyTimes   = 4    // logarithms beyond this rank alike
)

// Diff is how two versions of a kernel differ.
type Diff struct {
	Before   *Profile `json:"before"`
	After    *Profile `json:"after"`
	Slowdown float64  `json:"slowdown"` // time after over time before, under ncu; 0: not known
	Limit    Group    `json:"limit"`    // what limits the slower one
	Repeats  [2]int   `json:"repeats"`
	Moves    []Move   `json:"moves"` // beyond noise, the most telling first
}

// Mean returns one profile of several repeats of a launch: the medians of their readings. A reading that
// one of them lacks is left out.
func Mean(repeats []*Profile) *Profile {
	if len(repeats) == 0 {
		return nil
	}
	p := *repeats[0]
	p.Metrics = map[Metric]Value{}
	p.Repeats = len(repeats)
	for m, first := range repeats[0].Metrics {
		if values, ok := readings(repeats, m); ok {
			p.Metrics[m] = Value{median(values), first.Unit}
		}
	}
	for i := range p.Stalls {
		if v, ok := p.Get(Metric("stall_" + p.Stalls[i].Reason)); ok {
			p.Stalls[i].Share = v
		}
	}
	return &p
}

func readings(repeats []*Profile, m Metric) (values []float64, ok bool) {
	for _, p := range repeats {
		v, known := p.Get(m)
		if !known {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Compare says which counters moved between two versions, each profiled several times on the same
// problem. What repeats of one version differ by is noise, and is taken off.
func Compare(before, after []*Profile) *Diff {
	d := &Diff{Before: Mean(before), After: Mean(after), Repeats: [2]int{len(before), len(after)}}
	if d.Before == nil || d.After == nil {
		return d
	}
	slower := d.After
	if a, known := d.Before.Get(Duration); known && a > 0 {
		if b, known := d.After.Get(Duration); known {
			d.Slowdown = b / a
			if b < a {
				slower = d.Before
			}
		}
	}
	d.Limit = slower.limit()
	for _, counter := range moving {
		x, ok := readings(before, counter.metric)
		y, both := readings(after, counter.metric)
		if !ok || !both {
			continue
		}
		words, unit := counter.metric.Describe()
		m := Move{Metric: counter.metric, Words: words, Unit: unit, Before: median(x), After: median(y), Limit: counter.group.concerns(d.Limit)}
		m.Change = change(m.Before, m.After, unit)
		m.Noise = math.Max(spread(x, unit), spread(y, unit))
		m.Noise = math.Max(m.Noise, leastNoise)
		m.Beyond = math.Abs(m.Change)/m.Noise - 1
		if m.Beyond <= 0 || math.Abs(m.Change) < leastChange {
			continue
		}
		m.Rank = counter.weight * math.Min(math.Abs(m.Change), manyTimes) * m.Beyond / (1 + m.Beyond)
		if unit == "%" {
			m.Rank *= 3 // a third of all is as telling as a factor of e
		}
		if m.Limit {
			m.Rank *= 2
		}
		d.Moves = append(d.Moves, m)
	}
	d.Weigh(d.Slowdown)
	return d
}

// Weigh orders the moves of versions whose time differs by a factor: first the work that changed about as much as the
// time, where the slower version is limited or, if nothing did there, anywhere. That more work takes more time needs no
// further reason; what moved further than the time can have cost no more than a part of it.
func (d *Diff) Weigh(slowdown float64) {
	group := map[Metric]Group{}
	for _, counter := range moving {
		group[counter.metric] = counter.group
	}
	shows := func(at func(Group) bool) (found bool) {
		for i := range d.Moves {
			m := &d.Moves[i]
			m.Shows = slices.Contains(work, m.Metric) && at(group[m.Metric]) && Proportional(m.Change, slowdown, 1.5)
			found = found || m.Shows
		}
		return found
	}
	if !shows(func(g Group) bool { return g.loads(d.Limit) }) {
		shows(func(Group) bool { return true })
	}
	slices.SortStableFunc(d.Moves, func(a, b Move) int {
		switch {
		case a.Shows && !b.Shows:
			return -1
		case b.Shows && !a.Shows:
			return 1
		}
		return cmp.Compare(b.Rank, a.Rank)
	})
}

// Proportional reports whether a change, a logarithm, is about as large as that of the time: at most so many times as large,
// and no less than that part of it.
func Proportional(change, slowdown, times float64) bool {
	if slowdown <= 0 || math.Abs(math.Log(slowdown)) < leastNoise {
		return false
	}
	part := change / math.Log(slowdown)
	return part >= 1/times && part <= times
}

// change compares two readings: percentages by their difference, counts by their ratio. What comes from
// nothing has moved as far as can be.
func change(a, b float64, unit string) float64 {
	if unit == "%" {
		return (b - a) / 100
	}
	switch {
	case a == b:
		return 0
	case a <= 0:
		return manyTimes
	case b <= 0:
		return -manyTimes
	}
	return math.Log(b) - math.Log(a)
}

// spread is how far repeats lie apart, as a change.
func spread(values []float64, unit string) float64 {
	low, high := slices.Min(values), slices.Max(values)
	return math.Abs(change(low, high, unit))
}

// limit names the resource that a profile is limited by: the busiest, or latency where none is busy.
func (p *Profile) limit() Group {
	best, most := GroupLatency, 50.0
	for _, unit := range []struct {
		metric Metric
		group  Group
	}{{DRAMPercent, GroupDRAM}, {L2Percent, GroupL2}, {SharedPercent, GroupShared}, {L1Percent, GroupL1}, {SMPercent, GroupIssue}} {
		if v, known := p.Get(unit.metric); known && v > most {
			best, most = unit.group, v
		}
	}
	if idle, known := p.Get(Idle); known && idle > 30 && most < 60 {
		return GroupLaunch
	}
	return best
}

// Describe returns what people call a metric, also one that is computed, and its unit.
func (m Metric) Describe() (words, unit string) {
	if c, found := computed[m]; found {
		return c[0], c[1]
	}
	return m.Words()
}

var computed = map[Metric][2]string{
	DRAMBytes: {"bytes through DRAM", "B"}, LoadSpread: {"sectors per global load", "sector"}, StoreSpread: {"sectors per global store", "sector"},
	LoadUsed: {"use of loaded sectors", "%"}, StoreUsed: {"use of stored sectors", "%"}, Coalescing: {"coalescing", "%"}, GlobalExcess: {"excess sectors", "%"}, ConflictShare: {"bank conflicts", "%"},
	Imbalance: {"busiest SM over the mean", ""}, Idle: {"SMs idle", "%"}, LocalShare: {"instructions on local memory", "%"}, Flops: {"operations", ""}, FlopsFloat: {"operations in f32", ""},
	FlopsDouble: {"operations in f64", ""}, FlopsHalf: {"operations in f16", ""}, FlopsTensor: {"operations of tensor cores", ""}, FlopsRate: {"operations a second", ""}, Busiest: {"busiest unit", "%"}, Atomics: {"atomics", ""},
}
