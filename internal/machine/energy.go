package machine

import "strings"

// energyDomain is one processor package's energy counter.
type energyDomain struct {
	name string
	uj   int64 // counts up, and from zero again after most
	most int64
}

// EnergyJoules returns what the processor packages have used since some moment in
// the past. It is there on bare metal only, and often for root only. The
// counter starts again from zero every few minutes to hours: use a Meter for
// differences.
func EnergyJoules() (float64, bool) {
	var joules float64
	domains := live.energy()
	for _, d := range domains {
		joules += float64(d.uj) / 1e6
	}
	return joules, len(domains) > 0
}

// energy reads the package domains. Those inside a package (cores, memory)
// would be counted twice, and psys covers the whole board.
func (h host) energy() []energyDomain {
	var domains []energyDomain
	for _, folder := range h.glob("sys/class/powercap/intel-rapl:*") {
		if !strings.HasPrefix(h.text(folder+"/name"), "package") {
			continue
		}
		uj, ok := h.integer(folder + "/energy_uj")
		if !ok {
			continue
		}
		most, _ := h.integer(folder + "/max_energy_range_uj")
		domains = append(domains, energyDomain{name: folder, uj: uj, most: most})
	}
	return domains
}

// energyBetween returns the energy used from one reading to the next, in joules.
func energyBetween(before, after []energyDomain) (float64, bool) {
	if len(after) == 0 || len(before) != len(after) {
		return 0, false
	}
	var uj int64
	for i, a := range after {
		b := before[i]
		if a.name != b.name {
			return 0, false
		}
		used := a.uj - b.uj
		if used < 0 {
			used += a.most
		}
		if used < 0 {
			return 0, false
		}
		uj += used
	}
	return float64(uj) / 1e6, true
}
