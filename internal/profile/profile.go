package profile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Profile is what is known of one launch, under names that do not depend on the architecture.
type Profile struct {
	Kernel  string           `json:"kernel"`
	CC      int              `json:"cc,omitempty"` // compute capability × 10; 0: not known
	Device  string           `json:"device,omitempty"`
	Grid    [3]int           `json:"grid"`
	Block   [3]int           `json:"block"`
	Place   string           `json:"place,omitempty"` // file and line that it was read from
	Metrics map[Metric]Value `json:"metrics"`
	Stalls  []Stall          `json:"stalls,omitempty"`  // the largest share first
	Unread  []string         `json:"unread,omitempty"`  // reasons to wait that the file says nothing of
	Limiter []string         `json:"limiter,omitempty"` // what limits occupancy: registers, shared, warps, blocks, barriers; several where they are equal
	Roof    *Roofline        `json:"roof,omitempty"`
	Rules   []Rule           `json:"rules,omitempty"` // what ncu itself says
	Repeats int              `json:"repeats,omitempty"`
}

// Stall is a reason for which warps did not issue.
type Stall struct {
	Reason string  `json:"reason"`
	Share  float64 `json:"share"`            // percent of the time between two instructions of a warp
	Cycles float64 `json:"cycles,omitempty"` // per instruction; 0: from samples of program counters
}

// Metrics that are computed from others.
const (
	DRAMBytes     Metric = "dram_bytes"
	LoadSpread    Metric = "sectors_per_load"  // request of a warp: 4 for 32-bit values side by side
	StoreSpread   Metric = "sectors_per_store" //
	LoadUsed      Metric = "load_use_pct"      // share of loaded sectors that is used
	StoreUsed     Metric = "store_use_pct"     //
	Coalescing    Metric = "coalescing_pct"    // both, weighted by their sectors
	GlobalExcess  Metric = "global_excess_pct" // sectors beyond the ideal, of all
	ConflictShare Metric = "conflict_pct"      // wavefronts of shared memory beyond the ideal, of all
	Imbalance     Metric = "imbalance"         // cycles of the busiest SM over those of the mean one
	Idle          Metric = "idle_pct"          // of all SMs' cycles in which no block was there
	LocalShare    Metric = "local_pct"         // of instructions: loads and stores of local memory
	Flops         Metric = "flops"             // without integer operations
	FlopsFloat    Metric = "flops_f32"
	FlopsDouble   Metric = "flops_f64"
	FlopsHalf     Metric = "flops_f16" // without tensor cores
	FlopsTensor   Metric = "flops_tensor"
	FlopsRate     Metric = "flops_rate"
	Busiest       Metric = "busiest_pct" // of SM and memory
	Atomics       Metric = "atomics"     // atomics and reductions on global memory
)

// CCOf reads a compute capability, as 9.0, and returns it × 10; 0: it is none.
func CCOf(text string) int {
	major, minor, found := strings.Cut(text, ".")
	a, err := strconv.Atoi(major)
	b, bad := strconv.Atoi(minor)
	if !found || err != nil || bad != nil || a < 1 || a > 99 || b < 0 || b > 9 {
		return 0
	}
	return 10*a + b
}

// Of makes a profile of a launch.
func Of(l *Launch) *Profile {
	p := &Profile{Kernel: l.Kernel, CC: CCOf(l.CC), Grid: l.Grid, Block: l.Block, Metrics: make(map[Metric]Value, len(entries)+2*len(Reasons)), Rules: l.Rules, Repeats: 1}
	if p.CC == 0 {
		major, known := l.Value("device__attribute_compute_capability_major")
		minor, both := l.Value("device__attribute_compute_capability_minor")
		if known && both {
			p.CC = int(10*major.Number + minor.Number)
		}
	}
	p.Device, _ = l.Text("device__attribute_display_name")
	for _, e := range entries {
		for _, w := range e.ways {
			if v, ok := w.value(l, p.CC); ok {
				p.Metrics[e.metric] = Value{v, e.unit}
				break
			}
		}
	}
	if _, known := p.Get(Grid); !known && l.Grid[0] > 0 {
		p.set(Grid, float64(l.Grid[0])*float64(l.Grid[1])*float64(l.Grid[2]), "block")
	}
	if _, known := p.Get(Block); !known && l.Block[0] > 0 {
		p.set(Block, float64(l.Block[0])*float64(l.Block[1])*float64(l.Block[2]), "thread")
	}
	p.absentByDesign()
	p.readStalls(l)
	p.Complete()
	return p
}

// absentByDesign sets counters to zero that a chip lacks because it lacks what they count.
func (p *Profile) absentByDesign() {
	if p.CC == 0 || p.CC >= hopper {
		return
	}
	for _, m := range []Metric{TMALoads, TMAStores, TMABytes, WarpGroupMMA, ClusterSize} {
		if _, known := p.Get(m); !known {
			p.set(m, 0, "")
		}
	}
}

// Get returns a reading; ok is false where there is none.
func (p *Profile) Get(m Metric) (v float64, ok bool) {
	value, ok := p.Metrics[m]
	return value.Number, ok
}

func (p *Profile) set(m Metric, v float64, unit string) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		p.Metrics[m] = Value{v, unit}
	}
}

// all returns several readings; ok is false if one is missing.
func (p *Profile) all(metrics ...Metric) (values []float64, ok bool) {
	for _, m := range metrics {
		v, ok := p.Get(m)
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// readStalls reads what warps waited for. The sum of all reasons is the time between two instructions.
func (p *Profile) readStalls(l *Launch) {
	cycles, total := map[string]float64{}, 0.0
	for _, reason := range Reasons {
		if v, ok := l.Value(stallNames[reason]); ok {
			cycles[reason], total = v.Number, total+v.Number
		}
	}
	sampled := len(cycles) == 0
	if sampled {
		for _, reason := range Reasons {
			if v, ok := l.Value(sampledNames[reason]); ok {
				cycles[reason], total = v.Number, total+v.Number
			}
		}
	}
	if len(cycles) == 0 {
		return
	}
	// With all reasons there, their sum is the whole; where some are missing, ncu's own total is.
	if whole, known := p.Get(CyclesPerIssue); known && !sampled && whole > total {
		total = whole
	}
	for _, reason := range Reasons {
		v, read := cycles[reason]
		if !read {
			if limits, some := only[reason]; !some || p.CC == 0 || p.CC >= limits[0] && (limits[1] == 0 || p.CC < limits[1]) {
				p.Unread = append(p.Unread, reason)
			}
			continue
		}
		s := Stall{Reason: reason}
		if total > 0 {
			s.Share = 100 * v / total
		}
		if !sampled {
			s.Cycles = v
		}
		p.Stalls = append(p.Stalls, s)
		p.set(stallMetrics[reason], s.Share, "%")
	}
	if p.CC >= blackwell || p.CC > 0 && p.CC < hopper { // what the chip does not have, nobody waits for
		if _, known := p.Get("stall_gmma"); !known {
			p.set("stall_gmma", 0, "%")
		}
	}
	slices.SortStableFunc(p.Stalls, func(a, b Stall) int {
		switch {
		case a.Share > b.Share:
			return -1
		case a.Share < b.Share:
			return 1
		}
		return 0
	})
}

// Complete computes what follows from the readings. Who adds readings calls it again.
func (p *Profile) Complete() {
	if v, ok := p.all(DRAMRead, DRAMWritten); ok {
		p.set(DRAMBytes, v[0]+v[1], "B")
	} else if v, ok := p.all(DRAMRate, Duration); ok {
		p.set(DRAMBytes, v[0]*v[1], "B")
	}
	if _, known := p.Get(DRAMRate); !known {
		p.ratio(DRAMRate, DRAMBytes, Duration, 1, "B/s")
	}
	p.ratio(LoadSpread, LoadSectors, LoadRequests, 1, "sector")
	p.ratio(StoreSpread, StoreSectors, StoreRequests, 1, "sector")
	p.use(LoadUsed, LoadUse, LoadSectors)
	p.use(StoreUsed, StoreUse, StoreSectors)
	p.coalescing()
	if v, ok := p.all(GlobalSectors, GlobalIdeal); ok && v[0] > 0 {
		p.set(GlobalExcess, 100*math.Max(0, v[0]-v[1])/v[0], "%")
	}
	if v, ok := p.all(SharedWaves, SharedIdeal); ok && v[0] > 0 {
		p.set(ConflictShare, 100*math.Max(0, v[0]-v[1])/v[0], "%")
	} else if ok {
		p.set(ConflictShare, 0, "%")
	} else if v, ok := p.all(SharedWaves, SharedConflicts); ok {
		p.set(ConflictShare, 100*math.Min(v[1], v[0])/math.Max(v[0], 1), "%")
	}
	p.ratio(Imbalance, SMActiveMax, SMActiveAvg, 1, "")
	if v, ok := p.all(SMActiveAvg, SMElapsed); ok && v[1] > 0 {
		p.set(Idle, 100*math.Max(0, 1-v[0]/v[1]), "%")
	}
	if v, ok := p.all(LocalLoads, LocalStores, Instructions); ok && v[2] > 0 {
		p.set(LocalShare, 100*(v[0]+v[1])/v[2], "%")
	} else if v, ok := p.all(LocalLoads, LocalStores); ok && v[0]+v[1] == 0 {
		p.set(LocalShare, 0, "%")
	}
	if v, ok := p.all(GlobalAtomics, GlobalReduces); ok {
		p.set(Atomics, v[0]+v[1], "")
	}
	if v, ok := p.all(SMPercent, MemoryPercent); ok {
		p.set(Busiest, math.Max(v[0], v[1]), "%")
	}
	p.flops()
	p.limiter()
	p.Roof = p.roofline()
}

func (p *Profile) ratio(to, above, below Metric, factor float64, unit string) {
	if v, ok := p.all(above, below); ok && v[1] > 0 {
		p.set(to, factor*v[0]/v[1], unit)
	}
}

// use is the share of sectors that is used; without any sector there is nothing to say.
func (p *Profile) use(to, bytes, sectors Metric) {
	v, ok := p.Get(bytes)
	if n, counted := p.Get(sectors); ok && (!counted || n > 0) && v > 0 {
		p.set(to, math.Min(100, 100*v/32), "%")
	}
}

// coalescing weighs loads and stores by their sectors.
func (p *Profile) coalescing() {
	used, sectors := 0.0, 0.0
	for _, side := range [][2]Metric{{LoadUsed, LoadSectors}, {StoreUsed, StoreSectors}} {
		if v, ok := p.all(side[0], side[1]); ok {
			used, sectors = used+v[0]*v[1], sectors+v[1]
		}
	}
	if sectors > 0 {
		p.set(Coalescing, used/sectors, "%")
	}
}

func (p *Profile) flops() {
	sum := func(to Metric, weights map[Metric]float64) (float64, bool) {
		total := 0.0
		for m, weight := range weights {
			v, ok := p.Get(m)
			if !ok {
				return 0, false
			}
			total += weight * v
		}
		p.set(to, total, "")
		return total, true
	}
	all, known := 0.0, true
	for _, part := range []struct {
		to      Metric
		weights map[Metric]float64
	}{
		{FlopsFloat, map[Metric]float64{FloatAdd: 1, FloatMul: 1, FloatFMA: 2}},
		{FlopsDouble, map[Metric]float64{DoubleAdd: 1, DoubleMul: 1, DoubleFMA: 2}},
		{FlopsHalf, map[Metric]float64{HalfAdd: 2, HalfMul: 2, HalfFMA: 4}},
	} {
		v, ok := sum(part.to, part.weights)
		all, known = all+v, known && ok
	}
	tensor, read := 0.0, false
	for _, m := range []Metric{TensorHalf, TensorTF32, TensorEight, TensorDouble} {
		if v, ok := p.Get(m); ok {
			tensor, read = tensor+v, true
		}
	}
	if read {
		p.set(FlopsTensor, tensor, "")
	}
	if known && read {
		p.set(Flops, all+tensor, "")
		p.ratio(FlopsRate, Flops, Duration, 1, "")
	}
}

// limiter finds what lets the fewest blocks onto an SM.
func (p *Profile) limiter() {
	p.Limiter = nil
	least := math.Inf(1)
	for _, limit := range []struct {
		metric Metric
		name   string
	}{{LimitRegisters, "registers"}, {LimitShared, "shared"}, {LimitWarps, "warps"}, {LimitBlocks, "blocks"}, {LimitBarriers, "barriers"}} {
		v, ok := p.Get(limit.metric)
		switch {
		case !ok:
		case v < least:
			least, p.Limiter = v, []string{limit.name}
		case v == least:
			p.Limiter = append(p.Limiter, limit.name)
		}
	}
}

// Name returns what tells a profile from others of its file.
func (p *Profile) Name() string {
	if p.Grid[0] == 0 {
		return p.Kernel
	}
	return fmt.Sprintf("%s <<<%s, %s>>>", p.Kernel, size(p.Grid), size(p.Block))
}

// size writes a grid without the ones at its end.
func size(t [3]int) string {
	switch {
	case t[1] <= 1 && t[2] <= 1:
		return strconv.Itoa(t[0])
	case t[2] <= 1:
		return fmt.Sprintf("%d×%d", t[0], t[1])
	}
	return fmt.Sprintf("%d×%d×%d", t[0], t[1], t[2])
}
