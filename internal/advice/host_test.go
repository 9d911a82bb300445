package advice

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// steady is a kernel of 100 µs on a core of 3 GHz that misses nothing. No kernel was recorded: this
// has the proportions that processors show.
func steady(change map[string]float64) Evidence {
	p := &Processor{Threads: 1, RoofPct: 40, Memory: true, Counters: map[string]float64{
		"cycles": 300e3, "instructions": 540e3, "branches": 60e3, "branch-misses": 60, "cache-references": 2000, "cache-misses": 200, "L1-dcache-loads": 150e3, "L1-dcache-load-misses": 3000,
		"dTLB-load-misses": 20, "task-clock": 100e-6, "page-faults": 0, "major-faults": 0, "context-switches": 0, "cpu-migrations": 0,
	}}
	e := Evidence{Processor: p, Seconds: 100e-6, Flops: 1e6, Bytes: 1e5, Bandwidth: 12e9}
	for name, v := range change {
		switch name {
		case "seconds":
			e.Seconds = v
		case "flops":
			e.Flops = v
		case "bytes":
			e.Bytes = v
		case "bandwidth":
			e.Bandwidth = v
		case "threads":
			p.Threads = int(v)
		case "roof":
			p.RoofPct = v
		case "debug":
			e.Debug = true
		default:
			if p.Counters[name] = v; v < 0 {
				delete(p.Counters, name) // not counted
			}
		}
	}
	return e
}

// uncounted is a machine that has no hardware counters.
var uncounted = map[string]float64{
	"cycles": -1, "instructions": -1, "branches": -1, "branch-misses": -1, "cache-references": -1, "cache-misses": -1, "L1-dcache-loads": -1, "L1-dcache-load-misses": -1, "dTLB-load-misses": -1,
}

type changes = map[string]float64

func and(all ...changes) changes {
	out := changes{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// hostCases show every finding about a kernel on the CPU: what has to be so, its bound, and changes
// after which it is not found.
var hostCases = []struct {
	id    string
	has   changes
	gain  float64
	stops []changes
}{
	{"measurement-invalid", changes{"roof": 200}, 1, []changes{{"roof": 120}}},
	{"at-roof", changes{"roof": 92}, 1, []changes{{"roof": 80}}},
	{"host-page-faults", changes{"page-faults": 50, "task-clock": 90e-6}, 50, []changes{{"page-faults": 0.5}, {"page-faults": 5}, {"seconds": 1}}},
	{"host-threads-idle", changes{"threads": 8, "task-clock": 200e-6}, 4, []changes{{"task-clock": 700e-6}, {"threads": 1}, {"task-clock": -1}}},
	{"host-waiting", changes{"task-clock": 25e-6, "context-switches": 1}, 4, []changes{{"task-clock": 95e-6}, {"seconds": 5e-6, "task-clock": 1e-6}}},
	{"host-branch-missing", changes{"branch-misses": 8000}, 1 / 0.6, []changes{{"branch-misses": 600}, {"branches": 6e5}}},
	{"host-redundant-memory", changes{"cache-misses": 9000, "roof": 20}, 5, []changes{{"bytes": 1e6}, {"bandwidth": 1e12}}},
	{"host-memory-bound", changes{"cache-misses": 15000, "bytes": 900e3, "instructions": 2e5}, 1.25, []changes{{"cache-misses": 9000}, {"bytes": 1e5}}},
	{"host-cache-missing", changes{"cache-misses": 6000, "instructions": 150e3, "roof": 10}, 8, []changes{{"cache-misses": 600}, {"instructions": 400e3}, {"cache-misses": 13000}}},
	{"host-cache-missing", changes{"cache-misses": 6000, "instructions": 150e3, "bandwidth": 0, "roof": 0}, 8, []changes{{"instructions": 400e3}}},
	{"host-l1-missing", changes{"L1-dcache-load-misses": 30000, "instructions": 300e3}, 2.5, []changes{{"L1-dcache-load-misses": 9000}, {"L1-dcache-loads": 4e5}, {"instructions": 500e3}}},
	{"host-tlb-missing", changes{"dTLB-load-misses": 5000}, 1 / 0.5833, []changes{{"dTLB-load-misses": 500}}},
	{"host-dependency-bound", changes{"instructions": 240e3, "roof": 10}, 5, []changes{{"instructions": 400e3}, {"cache-misses": 300}, {"branch-misses": 1500}, {"L1-dcache-load-misses": 9000}}},
	{"host-dependency-bound", changes{"instructions": 240e3, "roof": 10, "L1-dcache-loads": -1}, 5, []changes{{"cache-misses": 300}}},
	{"host-scalar", changes{"flops": 2e5, "roof": 20}, 5, []changes{{"flops": 1e6}, {"flops": 0}, {"roof": 65}, {"instructions": 400e3}, {"cache-misses": 1200}}},
	{"host-scalar", changes{"flops": 2e5, "roof": 0, "bandwidth": 0}, 0, []changes{{"flops": 1e6}}},
	{"host-memory-bound", and(uncounted, changes{"roof": 70}), 100.0 / 70, []changes{{"roof": 55}}},
	{"host-below-roof", and(uncounted, changes{"roof": 20}), 5, []changes{{"roof": 60}, {"cycles": 3e5, "instructions": 9e5}, {"seconds": 1e-7}}},
	{"wrong-target", changes{"debug": 1}, 10, nil},
}

func TestHostFindings(t *testing.T) {
	find := func(e Evidence, id string) *Finding {
		for _, x := range Builtin().Judge(Gather(e)).Findings {
			if x.ID == id {
				return &x
			}
		}
		return nil
	}
	seen := map[string]bool{}
	for i, test := range hostCases {
		seen[test.id] = true
		found := find(steady(test.has), test.id)
		switch {
		case found == nil:
			t.Errorf("case %d: no %s", i, test.id)
			continue
		case math.Abs(found.Bound-test.gain) > 0.02*test.gain:
			t.Errorf("case %d, %s: bound %v, expected %v", i, test.id, found.Bound, test.gain)
		case strings.ContainsAny(found.Evidence, "?{"):
			t.Errorf("case %d, %s: %s", i, test.id, found.Evidence)
		case slices.Contains(found.Rests, FromProfile) || strings.HasPrefix(test.id, "host-") && test.has["cycles"] >= 0 && !slices.Contains(found.Rests, FromCounters):
			t.Errorf("case %d, %s rests on %v", i, test.id, found.Rests)
		}
		for _, change := range test.stops {
			if find(steady(and(test.has, change)), test.id) != nil {
				t.Errorf("case %d: %s with %v", i, test.id, change)
			}
		}
	}
	for _, e := range onHost {
		if !e.Host || !seen[e.ID] {
			t.Errorf("%s: of the CPU: %t, and there is a case: %t", e.ID, e.Host, seen[e.ID])
		}
	}
}

// Findings about a Python function say what to do in Python: flags of compilers and intrinsics are of no use there.
func TestFindingsInPython(t *testing.T) {
	compiled := regexp.MustCompile(`-O3|-march|-f[a-z]+-|-ffast|#pragma|restrict|intrinsics|malloc|std::|__builtin|madvise|accumulators|unroll|perf record`)
	for i, test := range hostCases {
		if test.id == "host-threads-idle" || test.id == "wrong-target" {
			continue // pawl knows neither threads nor flags of a Python function
		}
		e := steady(test.has)
		e.Processor.Python = true
		found := Builtin().Judge(Gather(e)).Findings
		at := slices.IndexFunc(found, func(x Finding) bool { return x.ID == test.id })
		if at < 0 {
			t.Errorf("case %d: no %s", i, test.id)
			continue
		}
		if text := strings.Join(append(found[at].Deeper, found[at].First, found[at].Next), "; "); compiled.MatchString(text) {
			t.Errorf("%s, in Python: %s", test.id, text)
		}
	}
}

// A kernel without a fault has no finding. The second one was published: a loop over a sorted array
// on an i5-8260U, per pass.
func TestHealthyHostKernels(t *testing.T) {
	const passes = 30000
	published := Evidence{Seconds: 63.99528 / passes, Processor: &Processor{Threads: 1, Counters: map[string]float64{
		"task-clock": 63.99528 / passes, "context-switches": 1039.0 / passes, "cpu-migrations": 7.0 / passes, "page-faults": 1151.0 / passes,
		"cycles": 240342649070.0 / passes, "instructions": 473524864500.0 / passes, "branches": 63163134842.0 / passes, "branch-misses": 7402185.0 / passes,
	}}}
	for i, e := range []Evidence{steady(nil), published} {
		said := Builtin().Judge(Gather(e))
		if len(said.Findings) > 0 {
			t.Errorf("case %d: %+v", i, said.Findings)
		}
		for _, u := range said.Unseen {
			if !strings.HasPrefix(u.ID, "host-") && u.ID != "at-roof" && u.ID != "measurement-invalid" {
				t.Errorf("case %d: %s cannot be judged, of a GPU", i, u.ID)
			}
		}
	}
}

// What is said of the CPU is not said of a GPU, and the other way round; a user's entry is judged
// everywhere.
func TestWhereEntriesHold(t *testing.T) {
	short := Evidence{Seconds: 5e-6, Wall: 9e-6}
	if said := Builtin().Judge(Gather(short)); !said.Has("launch-bound") {
		t.Errorf("on a GPU: %+v", said.Findings)
	}
	short.Processor = &Processor{}
	said := Builtin().Judge(Gather(short))
	if said.Has("launch-bound") || slices.ContainsFunc(said.Remarks, func(r Remark) bool { return r.ID == "short-kernel" }) {
		t.Errorf("on the CPU: %+v, %+v", said.Findings, said.Remarks)
	}
	own, err := With([]Entry{{ID: "mine", Title: "it is slow", When: []string{"ipc < 2"}, Gain: "2", Confidence: 1, Evidence: "{ipc}"}})
	if err != nil {
		t.Fatal(err)
	}
	if said := own.Judge(Gather(steady(nil))); !said.Has("mine") {
		t.Errorf("%+v", said)
	}
	if said := Builtin().Judge(facts(map[string]float64{"ipc": 0.1, "branch_miss_pct": 50, "branch_cost_pct": 90})); len(said.Findings)+len(said.Remarks) > 0 {
		t.Errorf("%+v", said)
	}
	slow := Builtin().Judge(Gather(steady(changes{"branch-misses": 8000, "cpu-migrations": 0.5})))
	if len(slow.Findings) == 0 || len(slow.Findings[0].Also) != 1 || len(slow.Remarks) != 1 || slow.Remarks[0].ID != "migrations" {
		t.Errorf("%+v", slow)
	}
}

func TestHostFacts(t *testing.T) {
	f := Gather(steady(changes{"stalled-cycles-backend": 60e3, "stalled-cycles-frontend": 30e3}))
	for name, want := range map[string]string{
		"host": "1", "hardware_counted": "1", "ipc": "1.8", "core_clock": "3e+09Hz", "branch_miss_pct": "0.1%", "branch_cost_pct": "0.3%", "cache_miss_pct": "10%", "cache_mpki": "0.3704",
		"llc_miss_bytes": "1.28e+04B", "llc_miss_rate": "1.28e+08B/s", "llc_roof_pct": "1.067%", "l1d_miss_pct": "2%", "l1d_mpki": "5.556", "dtlb_cost_pct": "0.1667%", "backend_stall_pct": "20%",
		"frontend_stall_pct": "10%", "cores_used": "1core", "fault_cost_pct": "0%", "page_faults": "0", "flops_per_inst": "1.852", "moved_ratio": "0.128×", "host_bound": "2.222×", "roof_pct": "40%",
		"roof_of_memory": "1", "threads": "1thread", "migrations": "0", "context_switches": "0",
	} {
		if got := f.shown(name); got != want {
			t.Errorf("%s is %s, expected %s", name, got, want)
		}
	}
	for name := range f {
		if !slices.Contains(Names(), name) {
			t.Errorf("conditions cannot name %s", name)
		}
	}
	// What was not counted is not known, and never zero.
	f = Gather(steady(uncounted))
	for _, name := range []string{"ipc", "branch_miss_pct", "cache_miss_pct", "llc_miss_bytes", "llc_roof_pct", "l1d_miss_pct", "moved_ratio", "backend_stall_pct", "cpu_cycles"} {
		if got := f.shown(name); got != "none" {
			t.Errorf("%s is %s, though nothing was counted", name, got)
		}
	}
	if f.shown("hardware_counted") != "0" || f.shown("cores_used") != "1core" || f.shown("host_bound") != "2.5×" {
		t.Errorf("%v", f)
	}
	// Without a measured roof, the roof is the one that follows from the declared bytes.
	if f := Gather(steady(changes{"roof": 0})); f.shown("roof_pct") != "8.333%" || f.shown("roof_of_memory") != "none" {
		t.Errorf("%s", f.shown("roof_pct"))
	}
	if f := Gather(Evidence{Seconds: 1}); f.shown("host") != "none" {
		t.Errorf("a kernel on a GPU: %v", f)
	}
}

// hostExamples are sentences of findings about kernels on the CPU, for the catalogue.
func hostExamples() map[example]string {
	examples := map[example]string{}
	for _, test := range hostCases {
		for _, x := range Builtin().Judge(Gather(steady(test.has))).Findings {
			if key := (example{x.Title, x.Static}); examples[key] == "" && x.ID == test.id {
				examples[key] = said(x)
			}
		}
	}
	return examples
}
