package profile

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rounds returns the repeats of a kernel.
func rounds(profiles []*Profile, kernel string, grid int) (found []*Profile) {
	for _, p := range profiles {
		if strings.HasPrefix(p.Kernel, kernel+"(") && (grid == 0 || p.Grid[0] == grid) {
			found = append(found, p)
		}
	}
	return found
}

// The counters that moved most between a kernel and its repaired twin name what was repaired.
func TestComparePlanted(t *testing.T) {
	all := planted(t, "h200_planted_curated.csv.gz")
	for _, test := range []struct {
		before, after string
		grids         [2]int
		want          []Metric // one of them comes first
		slower        bool
	}{
		{"copy_ok", "load_bad", [2]int{}, []Metric{LoadSpread, LoadUsed, LoadSectors}, true},
		{"load_bad", "copy_ok", [2]int{}, []Metric{LoadSpread, LoadUsed, LoadSectors}, false},
		{"copy_ok", "store_bad", [2]int{}, []Metric{StoreSpread, StoreUsed, StoreSectors}, true},
		{"bank_ok", "bank_bad", [2]int{}, []Metric{ConflictShare, SharedConflicts, SharedWaves}, true},
		{"spill_ok", "spill_bad", [2]int{}, []Metric{LocalLoads, LocalStores, LocalShare}, true},
		{"flt_ok", "dbl_bad", [2]int{}, []Metric{FlopsDouble}, true},
		{"sum_rows", "sum_rows", [2]int{2112, 16}, []Metric{Idle, Imbalance, Grid, Waves}, true},
	} {
		before, after := rounds(all, test.before, test.grids[0]), rounds(all, test.after, test.grids[1])
		if len(before) != 3 || len(after) != 3 {
			t.Fatalf("%s and %s: %d and %d repeats", test.before, test.after, len(before), len(after))
		}
		d := Compare(before, after)
		if len(d.Moves) == 0 || !slices.Contains(test.want, d.Moves[0].Metric) || d.Slowdown > 1 != test.slower || d.Repeats != [2]int{3, 3} {
			t.Errorf("%s → %s: %+v", test.before, test.after, d.Moves[:min(4, len(d.Moves))])
		}
	}
}

// Two halves of the same repeats differ by noise alone.
func TestCompareSame(t *testing.T) {
	all := planted(t, "h200_planted_curated.csv.gz")
	moved := 0
	for _, kernel := range []string{"copy_ok", "copy4_ok", "load_bad", "bank_bad", "spill_bad", "barr", "diver", "gemm_bad", "fma_roof", "redun", "l2_bad", "dbl_bad"} {
		r := rounds(all, kernel, 0)
		d := Compare(r[:2], r[1:3])
		for _, m := range d.Moves {
			moved++
			t.Logf("%s: %+v", kernel, m)
		}
	}
	if moved > 4 {
		t.Errorf("%d counters moved between the same and the same", moved)
	}
}

func TestCompareMissing(t *testing.T) {
	a := &Profile{Metrics: map[Metric]Value{Duration: {1e-4, "s"}, LocalLoads: {0, "inst"}, Registers: {32, "register"}}}
	b := &Profile{Metrics: map[Metric]Value{Duration: {2e-4, "s"}, Registers: {64, "register"}}}
	d := Compare([]*Profile{a}, []*Profile{b})
	if d.Slowdown != 2 || len(d.Moves) != 1 || d.Moves[0].Metric != Registers {
		t.Errorf("%+v", d)
	}
	if d := Compare(nil, []*Profile{b}); d.Moves != nil || d.Slowdown != 0 {
		t.Errorf("%+v", d)
	}
}

// A part of a softmax is done twice, and it takes 5.9% longer: the sectors that it loads say so, and come before what
// moved further.
func TestCompareWork(t *testing.T) {
	p := func(dram, sectors, fetches, registers, instructions float64) []*Profile {
		return []*Profile{{Metrics: map[Metric]Value{
			Duration: {1e-4, "s"}, DRAMPercent: {dram, "%"}, LoadSectors: {sectors, "sector"}, InstructionMiss: {fetches, ""}, Registers: {registers, "register"}, Instructions: {instructions, "inst"},
		}}}
	}
	first := func(slowdown, dram, instructions float64) (names []Metric) {
		d := Compare(p(dram, 8388608, 2970, 26, 1e6), p(dram, 8912896, 4224, 42, instructions))
		d.Weigh(slowdown)
		for _, m := range d.Moves {
			names = append(names, m.Metric)
			if m.Shows != (m.Metric == LoadSectors && slowdown == 1.059 || m.Metric == Instructions && dram == 0) {
				t.Errorf("%g, %g: %+v", slowdown, dram, m)
			}
		}
		return names
	}
	for _, test := range []struct {
		slowdown, dram, instructions float64
		want                         Metric
	}{
		{1.059, 90, 1e6, LoadSectors},
		{1.059, 90, 1.06e6, LoadSectors}, // DRAM is the limit, and issuing is not
		{1.5, 90, 1e6, Registers},        // sectors say nothing of so much time
		{0.94, 90, 1e6, Registers},       // nor of less
		{0, 90, 1e6, Registers},
		{1, 90, 1e6, Registers},
	} {
		if got := first(test.slowdown, test.dram, test.instructions); got[0] != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// Compared the other way round, the same counters moved as far, to the other side.
func TestCompareBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := func(name string) (list []*Profile) {
			for range rapid.IntRange(1, 4).Draw(t, name) {
				p := &Profile{Metrics: map[Metric]Value{}}
				for _, m := range []Metric{Registers, Instructions, LocalLoads, ConflictShare, Duration} {
					p.set(m, float64(rapid.IntRange(0, 100).Draw(t, string(m))), "")
				}
				list = append(list, p)
			}
			return list
		}
		x, y := side("before"), side("after")
		there, back := Compare(x, y), Compare(y, x)
		if len(there.Moves) != len(back.Moves) {
			t.Fatalf("%v and %v", there.Moves, back.Moves)
		}
		for _, m := range there.Moves {
			at := slices.IndexFunc(back.Moves, func(o Move) bool { return o.Metric == m.Metric })
			if at < 0 || back.Moves[at].Change != -m.Change {
				t.Fatalf("%+v and %+v", m, back.Moves)
			}
		}
	})
}

func TestCompareMix(t *testing.T) {
	functions, err := ReadSASS("planted.sass", string(unpacked(t, "h200_planted.sass.gz")))
	if err != nil {
		t.Fatal(err)
	}
	mix := func(prefix string) *Mix {
		for _, f := range functions {
			if strings.HasPrefix(f.Name, prefix) {
				return f.Mix()
			}
		}
		t.Fatalf("no %s", prefix)
		return nil
	}
	for _, test := range []struct{ before, after, want string }{
		{"_Z8copy4_ok", "_Z7copy_ok", "LDG.128 → LDG.32: as many of the global load instructions (1 → 1)"},
		{"_Z8spill_ok", "_Z9spill_bad", "local memory (spilled registers, indexed arrays): LDL 0 → "},
		{"_Z6flt_ok", "_Z7dbl_bad", "f64 instructions: 0 → "},
		{"_Z7copy_ok", "_Z8atom_bad", "atomics: 0 → "},
	} {
		d := CompareMix(mix(test.before), mix(test.after))
		if !slices.ContainsFunc(d.Sentences, func(s string) bool { return strings.HasPrefix(s, test.want) }) {
			t.Errorf("%s → %s: %q", test.before, test.after, d.Sentences)
		}
	}
	if d := CompareMix(mix("_Z5redun"), mix("_Z5redun")); len(d.Keys)+len(d.Sentences) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestWidths(t *testing.T) {
	m := func(keys Histogram) *Mix { return &Mix{Keys: keys} }
	for _, test := range []struct {
		a, b Histogram
		want string
	}{
		{Histogram{"LDG.128": 4}, Histogram{"LDG.32": 16}, "LDG.128 → LDG.32: 4× the global load instructions (4 → 16)"},
		{Histogram{"LDG.32": 16}, Histogram{"LDG.128": 4}, "LDG.32 → LDG.128: 1/4 of the global load instructions (16 → 4)"},
		{Histogram{"LDG.32": 2}, Histogram{"LDG.32": 8}, "global loads: 2 → 8"},
		{Histogram{"LDG.32": 8}, Histogram{"LDG.32": 8}, ""},
		{Histogram{"LDG.32": 8}, Histogram{"LDG.32": 9}, ""},
		{Histogram{}, Histogram{"LDG.32": 9}, "global loads: 0 → 9"},
	} {
		if got := widths(m(test.a), m(test.b), "LDG.", "global load"); got != test.want {
			t.Errorf("%q, expected %q", got, test.want)
		}
	}
}
