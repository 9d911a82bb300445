package advice

import "slices"

// Note is a rule of thumb. Taken alone it cries wolf: a healthy streaming kernel has a low L2 hit
// rate, a healthy attention kernel a low occupancy. So it is a remark, and stands beside a finding
// where the evidence agrees.
type Note struct {
	ID     string
	When   string
	Text   string
	Agrees []string // findings that show that it matters
	Host   bool     // it is of kernels on the CPU
}

type compiledNote struct {
	Note
	when condition
}

// rules are the rules of thumb for kernels on a GPU.
var rules = []Note{
	{"coalescing", "coalescing_pct < 80", "coalescing {coalescing_pct}, rule of thumb 80%", []string{"uncoalesced-loads", "uncoalesced-stores"}, false},
	{"sm-utilisation", "sm_pct < 60", "SM throughput {sm_pct}, rule of thumb 60%", []string{"small-grid", "tail-wave", "load-imbalance", "latency-bound", "register-occupancy", "shared-occupancy", "block-occupancy", "barrier-bound", "atomics-contention", "bank-conflicts", "register-spills", "launch-bound"}, false},
	{"l2-hits", "l2_hit_pct < 80", "L2 hit rate {l2_hit_pct}, rule of thumb 80%", []string{"redundant-dram"}, false},
	{"memory-bandwidth", "dram_pct < 70", "DRAM at {dram_pct} of its peak, rule of thumb 70%: vectorise", []string{"latency-bound", "uncoalesced-loads", "uncoalesced-stores"}, false},
	{"occupancy", "occupancy_pct < 50", "occupancy {occupancy_pct}, rule of thumb 50%: fewer registers", []string{"register-occupancy", "shared-occupancy", "block-occupancy", "small-grid", "load-imbalance"}, false},
	{"short-kernel", "seconds < 1e-5", "{seconds} a launch, rule of thumb 10 µs: bigger tiles or a graph", []string{"launch-bound"}, false},
	{"registers", "registers > 64 and theoretical_pct < 50", "{registers} registers per thread at a possible occupancy of {theoretical_pct}", []string{"register-occupancy"}, false},
}

// remark adds the rules that the facts break, to the first finding that agrees or as remarks.
func (c *Catalogue) remark(f Facts, a *Advice) {
	for _, n := range c.notes {
		if n.Host != f.onHost() {
			continue
		}
		if is, _ := n.when.holds(f); !is {
			continue
		}
		text := Fill(n.Text, f)
		at := slices.IndexFunc(a.Findings, func(x Finding) bool { return slices.Contains(n.Agrees, x.ID) })
		if at >= 0 {
			a.Findings[at].Also = append(a.Findings[at].Also, text)
		} else {
			a.Remarks = append(a.Remarks, Remark{n.ID, text + "; nothing shows that it costs time here"})
		}
	}
}
