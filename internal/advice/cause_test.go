package advice

import (
	"slices"
	"strings"
	"testing"

	"pawl/internal/profile"
)

func repeats(all []*profile.Profile, kernel string, grid int) (found []*profile.Profile) {
	for _, p := range all {
		if strings.HasPrefix(p.Kernel, kernel+"(") && (grid == 0 || p.Grid[0] == grid) {
			found = append(found, p)
		}
	}
	return found
}

// The diff of a kernel and its repaired twin names what was planted, both ways.
func TestExplain(t *testing.T) {
	all := profiles(t, "h200_planted_curated.csv.gz")
	functions, err := profile.ReadSASS("planted", string(recorded(t, "h200_planted.sass.gz")))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	side := func(kernel string, grid int) Side {
		s := Side{Repeats: repeats(all, kernel, grid), Evidence: Evidence{Double: &no}}
		for _, f := range functions {
			if strings.Contains(f.Name, kernel+"P") {
				s.Mix = f.Mix()
			}
		}
		if len(s.Repeats) != 3 || s.Mix == nil {
			t.Fatalf("%s: %d repeats", kernel, len(s.Repeats))
		}
		return s
	}
	for _, test := range []struct {
		fast, slow string
		grids      [2]int
		want       string
		says       []string
	}{
		{"copy_ok", "load_bad", [2]int{}, "uncoalesced-loads", []string{"sectors per global load 4 → 32"}},
		{"copy4_ok", "store_bad", [2]int{}, "uncoalesced-stores", []string{"sectors per global store 16 → 32", "use of stored sectors 100 → 12.5%"}},
		{"bank_ok", "bank_bad", [2]int{}, "bank-conflicts", []string{"bank conflicts 0.03 → 94%", "shared-memory pipe"}},
		{"spill_ok", "spill_bad", [2]int{}, "register-spills", []string{"LDL 0 → ", "registers per thread 80 → 32"}},
		{"flt_ok", "dbl_bad", [2]int{}, "fp64-accident", []string{"f64 instructions: 0 → "}},
		{"sum_rows", "sum_rows", [2]int{2112, 16}, "small-grid", []string{"grid 2,112 → 16", "waves 2 → 0.02"}},
	} {
		fast, slow := side(test.fast, test.grids[0]), side(test.slow, test.grids[1])
		worse, better := Builtin().Explain(fast, slow, 0), Builtin().Explain(slow, fast, 0)
		for _, cause := range []*Cause{worse, better} {
			if cause.Finding == nil || cause.Finding.ID != test.want {
				t.Errorf("%s, %s: %s", test.fast, test.slow, cause.Sentence)
			}
		}
		if !strings.HasPrefix(worse.Sentence, "it is slower: ") || !strings.HasPrefix(better.Sentence, "it is faster: no more "+test.want) {
			t.Errorf("%q and %q", worse.Sentence, better.Sentence)
		}
		for _, said := range test.says {
			if !strings.Contains(worse.Sentence, said) {
				t.Errorf("%q does not say %q", worse.Sentence, said)
			}
		}
	}
}

// What explains the time comes before counts of instructions in the code, and before counters that follow from it.
func TestExplainWork(t *testing.T) {
	side := func(sectors, fetches, registers float64, loads int) Side {
		p := &profile.Profile{CC: 90, Metrics: map[profile.Metric]profile.Value{
			profile.LoadSectors: {Number: sectors, Unit: "sector"}, profile.InstructionMiss: {Number: fetches}, profile.Registers: {Number: registers, Unit: "register"},
		}}
		mix := &profile.Mix{Keys: profile.Histogram{"LDG.32": loads}, Classes: map[profile.Class]int{}}
		return Side{Evidence: Evidence{Mix: mix}, Repeats: []*profile.Profile{p}}
	}
	before, after := side(8388608, 2970, 26, 10), side(8912896, 4224, 42, 39)
	want := "it is slower: sectors of global loads 8,388,608 → 8,912,896, global loads: 10 → 39, registers per thread 26 → 42, requests for instructions beyond the SM 2,970 → 4,224"
	if cause := Builtin().Explain(before, after, 1.059); cause.Sentence != want {
		t.Error(cause.Sentence)
	}
	after.Flags = []string{"-O1"}
	if cause := Builtin().Explain(before, after, 1.059); !strings.HasPrefix(cause.Sentence, "it is slower: flag added: -O1, sectors of global loads ") {
		t.Error(cause.Sentence)
	}
	after.Flags = nil
	if cause := Builtin().Explain(before, after, 1.5); !strings.HasPrefix(cause.Sentence, "it is slower: global loads: 10 → 39, registers ") {
		t.Error(cause.Sentence)
	}
}

// Two versions at one limit differ by what goes through it, if that differs as the time does.
func TestExplainSharedLimit(t *testing.T) {
	side := func(bytes float64) Side {
		metrics := map[profile.Metric]profile.Value{}
		for m, v := range map[profile.Metric]float64{profile.DRAMPercent: 90, profile.DRAMBytes: bytes, profile.LocalShare: 0, profile.FMAPercent: 5} {
			metrics[m] = profile.Value{Number: v}
		}
		metrics[profile.DRAMBytes] = profile.Value{Number: bytes, Unit: "B"}
		return Side{Evidence: Evidence{Profile: &profile.Profile{CC: 90, Metrics: metrics}, Bytes: bytes}}
	}
	small, large := side(512<<20), side(768<<20)
	for _, test := range []struct {
		before, after Side
		slowdown      float64
		want          string
	}{
		{small, large, 1.43, "it is slower: more work at the same limit, dram-bound (bytes through DRAM 512 MiB → 768 MiB)"},
		{large, small, 0.7, "it is faster: less work at the same limit, dram-bound (bytes through DRAM 768 MiB → 512 MiB)"},
		{small, large, 3, "it is slower, and no counter shows why"},
		{small, large, 1, "it takes as long, and no counter has moved"},
		{small, large, 0.7, "it is faster, and no counter shows why"},
		{small, small, 1.43, "it is slower, and no counter shows why"},
	} {
		if cause := Builtin().Explain(test.before, test.after, test.slowdown); cause.Sentence != test.want || cause.Shared != (cause.Finding != nil) {
			t.Errorf("%g: %q, expected %q", test.slowdown, cause.Sentence, test.want)
		}
	}
}

// The same against itself has no cause.
func TestExplainSame(t *testing.T) {
	all := profiles(t, "h200_planted_curated.csv.gz")
	s := Side{Repeats: repeats(all, "spill_bad", 0), Compiler: "nvcc 13.0", Flags: []string{"-O3"}}
	cause := Builtin().Explain(s, s, 1.04)
	if cause.Finding != nil || cause.Static != nil || cause.Build != nil || cause.Sentence != "it is slower, and no counter shows why" {
		t.Errorf("%+v", cause)
	}
	other := s
	other.Compiler, other.Flags = "nvcc 12.0", []string{"-O3", "-G"}
	if cause := Builtin().Explain(s, other, 1.04); !slices.Equal(cause.Build, []string{"compiler: nvcc 13.0 → nvcc 12.0", "flag added: -G"}) || cause.Sentence != "it is slower: compiler: nvcc 13.0 → nvcc 12.0, flag added: -G" {
		t.Errorf("%+v", cause)
	}
}

// Versions that take equally long have no cause, and a finding that one of them could not be judged by
// explains nothing: its counters were not collected.
func TestExplainEqual(t *testing.T) {
	all := profiles(t, "h200_planted_curated.csv.gz")
	full := Side{Repeats: repeats(all, "load_bad", 0)}
	bare := *full.Repeats[0]
	bare.Metrics = map[profile.Metric]profile.Value{profile.Duration: bare.Metrics[profile.Duration]}
	poor := Side{Repeats: []*profile.Profile{&bare}}
	for _, slowdown := range []float64{0, 0.8, 1, 1.2} {
		if cause := Builtin().Explain(full, poor, slowdown); cause.Finding != nil {
			t.Errorf("%g: %s", slowdown, cause.Sentence)
		}
	}
	if cause := Builtin().Explain(full, full, 0); cause.Sentence != "it takes as long, and no counter has moved" {
		t.Error(cause.Sentence)
	}
	other := Side{Repeats: repeats(all, "copy_ok", 0)}
	if cause := Builtin().Explain(other, full, 1.001); cause.Finding != nil || !strings.HasPrefix(cause.Sentence, "it takes as long: ") {
		t.Error(cause.Sentence)
	}
}

// What is certain comes before what varies from run to run: flags before counters, and no context
// switches that cost nothing.
func TestExplainOnCPU(t *testing.T) {
	before, after := Side{Evidence: steady(nil)}, Side{Evidence: steady(changes{"page-faults": 1024, "seconds": 1e-3, "task-clock": 1e-3, "context-switches": 3, "cycles": 3e6, "instructions": 54e5})}
	after.Flags = []string{"-O0"}
	want := "it is slower: it touches memory for the first time in every launch (page faults 0 → 1,024, flag added: -O0"
	cause := Builtin().Explain(before, after, 5)
	if !strings.HasPrefix(cause.Sentence, want) || strings.Contains(cause.Sentence, "context") || strings.Contains(cause.Sentence, "cost") {
		t.Error(cause.Sentence)
	}
	// One thread uses one core, whatever twice its work is divided by.
	once, twice := Side{Evidence: steady(and(uncounted, changes{"task-clock": 112e-6}))}, Side{Evidence: steady(and(uncounted, changes{"seconds": 200e-6, "task-clock": 200e-6}))}
	if cause := Builtin().Explain(once, twice, 2); cause.Sentence != "it is slower, and no counter shows why" {
		t.Error(cause.Sentence)
	}
	if twice.Processor.Counters["task-clock"] = 100e-6; !strings.Contains(Builtin().Explain(once, twice, 2).Sentence, "it leaves the processor") {
		t.Error("a thread that waits")
	}
	after.Processor.Counters["context-switches"] = 300
	if cause := Builtin().Explain(before, after, 5); !slices.ContainsFunc(cause.Static, func(p Pair) bool { return p.Name == "context switches" }) {
		t.Errorf("%+v", cause.Static)
	}
}

// What settles the matter is first, and the rest becomes remarks; a bound that needs an unknown fact is
// not known.
func TestSettled(t *testing.T) {
	c, err := New([]Entry{
		{ID: "settled", Row: 1, When: []string{"dram_pct > 80"}, Confidence: 0.5, Settled: true},
		{ID: "other", Row: 1, Title: "another", Evidence: "DRAM {dram_pct}", When: []string{"dram_pct > 0"}, Gain: "5", Confidence: 1},
		{ID: "open", Row: 1, When: []string{"dram_pct > 0"}, Gain: "l2_pct", Confidence: 1},
	}, []Note{{ID: "note", When: "dram_pct > 0", Text: "DRAM {dram_pct}", Agrees: []string{"open"}}})
	if err != nil {
		t.Fatal(err)
	}
	said := c.Judge(facts(map[string]float64{"dram_pct": 90}))
	if len(said.Findings) != 1 || !slices.Equal(remarks(said), []string{"other", "open", "note"}) || said.Remarks[0].Text != "another: DRAM 90" {
		t.Errorf("%+v", said)
	}
	said = c.Judge(facts(map[string]float64{"dram_pct": 10}))
	if len(said.Findings) != 2 || said.Findings[1].ID != "open" || said.Findings[1].Bound != 0 || said.Findings[1].Headroom != unknownHeadroom || len(said.Findings[1].Also) != 1 {
		t.Errorf("%+v", said)
	}
	if c.only(facts(map[string]float64{"dram_pct": 90}), facts(map[string]float64{"dram_pct": 0})) != nil {
		t.Error("what is settled explains a slowdown")
	}
	if _, err := New(nil, []Note{{ID: "note", When: "dram > 0", Text: ""}}); err == nil {
		t.Error("a note over an unknown fact")
	}
	if _, err := New(nil, []Note{{ID: "note", When: "dram_pct > 0", Text: "{dram}"}}); err == nil {
		t.Error("a note with a hole")
	}
}

// Resources are compared where both sides know them; small differences of percentages are none.
func TestExplainResources(t *testing.T) {
	side := func(registers int, theoretical float64) Side {
		return Side{Evidence: Evidence{Resources: &profile.Resources{Registers: registers}, Residency: &profile.Residency{Percent: theoretical, Limits: map[string]int{}}}}
	}
	cause := Builtin().Explain(side(32, 100), side(64, 50), 1.2)
	if cause.Sentence != "it is slower: registers per thread 32 → 64, occupancy possible 100 → 50%" || cause.Diff != nil || cause.Code != nil {
		t.Errorf("%+v", cause)
	}
	if cause := Builtin().Explain(side(64, 50), side(64, 51.5), 0.9); cause.Sentence != "it is faster, and no counter shows why" {
		t.Errorf("%+v", cause)
	}
	if cause := Builtin().Explain(side(64, 52.5), side(64, 50), 0); cause.Sentence != "it differs: occupancy possible 52 → 50%" {
		t.Errorf("%+v", cause)
	}
	if cause := Builtin().Explain(Side{}, side(64, 50), 1.2); cause.Static != nil {
		t.Errorf("%+v", cause)
	}
}
