package profile

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// unpacked reads a packed file of testdata; testdata/SOURCES.md says where they come from.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	raw, err = io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func planted(t testing.TB, name string) []*Profile {
	t.Helper()
	f, err := Read(name, unpacked(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var all []*Profile
	for _, l := range f.Launches {
		all = append(all, Of(l))
	}
	return all
}

// find returns the first profile of a kernel, by the beginning of its name and its blocks in x; 0: any.
func find(t testing.TB, profiles []*Profile, kernel string, grid int) *Profile {
	t.Helper()
	for _, p := range profiles {
		if strings.HasPrefix(p.Kernel, kernel+"(") && (grid == 0 || p.Grid[0] == grid) {
			return p
		}
	}
	t.Fatalf("no profile of %s", kernel)
	return nil
}

// Kernels with a known fault have it in their profile, and their repaired twins do not.
func TestPlantedFacts(t *testing.T) {
	for _, file := range []string{"h200_planted_curated.csv.gz", "h200_planted_raw.csv.gz"} {
		t.Run(file, func(t *testing.T) {
			all := planted(t, file)
			if want := map[string]int{"h200_planted_curated.csv.gz": 78, "h200_planted_raw.csv.gz": 26}[file]; len(all) != want {
				t.Fatalf("%d launches", len(all))
			}
			for _, test := range []struct {
				kernel   string
				grid     int
				metric   Metric
				low, top float64
			}{
				{"load_bad", 0, LoadUsed, 12, 13},
				{"load_bad", 0, LoadSpread, 31, 33},
				{"load_bad", 0, StoreUsed, 99, 100},
				{"copy_ok", 0, LoadUsed, 99, 100},
				{"copy4_ok", 0, LoadSpread, 15.9, 16.1},
				{"copy4_ok", 0, Coalescing, 99, 100},
				{"store_bad", 0, StoreUsed, 12, 13},
				{"store_bad", 0, Coalescing, 12, 30},
				{"bank_bad", 0, ConflictShare, 90, 97},
				{"bank_ok", 0, ConflictShare, 0, 1},
				{"gemm_bad", 0, ConflictShare, 0, 2},
				{"spill_bad", 0, LocalShare, 50, 60},
				{"spill_ok", 0, LocalShare, 0, 0},
				{"lat", 0, Theoretical, 25, 25},
				{"diver", 0, ActiveThreads, 2, 4},
				{"atom_bad", 0, AtomicHot, 25, 45},
				{"copy_ok", 0, AtomicHot, 0, 0},
				{"dbl_bad", 0, FlopsDouble, 1e9, 1.2e9},
				{"flt_ok", 0, FlopsDouble, 0, 0},
				{"flt_ok", 0, FlopsFloat, 1.07e9, 1.09e9},
				{"fma_roof", 4224, SMPercent, 95, 100},
				{"fma_roof", 1064, Waves, 1, 1.05},
				{"sum_rows", 16, Idle, 80, 95},
				{"barr", 0, "stall_barrier", 45, 65},
				{"sfu_bad", 0, XUPercent, 90, 100},
				{"copy4_ok", 0, DRAMRate, 3.5e12, 4.8e12},
				{"copy4_ok", 0, DRAMPeak, 4.7e12, 4.9e12},
				{"gemm_bad", 0, FlopsFloat, 2.1e9, 2.2e9},
				{"gemm_bad", 0, TMALoads, 0, 0},
				{"gemm_bad", 0, WarpGroupMMA, 0, 0},
			} {
				p := find(t, all, test.kernel, test.grid)
				v, ok := p.Get(test.metric)
				if !ok || v < test.low || v > test.top {
					t.Errorf("%s: %s is %v, %t; expected %v to %v", p.Name(), test.metric, v, ok, test.low, test.top)
				}
			}
			if p := find(t, all, "lat", 0); !slices.Equal(p.Limiter, []string{"shared"}) {
				t.Errorf("lat is limited by %v", p.Limiter)
			}
			if p := find(t, all, "spill_ok", 0); !slices.Equal(p.Limiter, []string{"registers"}) {
				t.Errorf("spill_ok is limited by %v", p.Limiter)
			}
			roof := find(t, all, "fma_roof", 4224).Roof
			if roof == nil || roof.Pipe != "f32" || roof.MemoryBound() || roof.Percent() < 95 || roof.Percent() > 101 {
				t.Errorf("fma_roof: %+v", roof)
			}
			if roof := find(t, all, "redun", 0).Roof; roof == nil || !roof.MemoryBound() || roof.Percent() < 80 {
				t.Errorf("redun: %+v", roof)
			}
			if first := find(t, all, "copy_ok", 0).Stalls[0]; first.Reason != "long_scoreboard" || first.Share < 80 {
				t.Errorf("copy_ok waits for %+v", first)
			}
			sum := 0.0
			for _, s := range find(t, all, "gemm_bad", 0).Stalls {
				sum += s.Share
			}
			if sum < 97 || sum > 100.01 {
				t.Errorf("the shares of all reasons sum to %v", sum)
			}
		})
	}
}

// Rules are read with the launch that they are about.
func TestPlantedRules(t *testing.T) {
	all := planted(t, "h200_planted_details.csv.gz")
	if len(all) != 26 {
		t.Fatalf("%d launches", len(all))
	}
	rules := func(kernel string) (names []string) {
		for _, r := range find(t, all, kernel, 0).Rules {
			names = append(names, r.Name)
		}
		return names
	}
	if !slices.Contains(rules("load_bad"), "UncoalescedGlobalAccess") || slices.Contains(rules("copy_ok"), "UncoalescedGlobalAccess") {
		t.Errorf("load_bad: %v; copy_ok: %v", rules("load_bad"), rules("copy_ok"))
	}
}

// What pawl asks ncu for exists on every chip.
func TestCuratedExists(t *testing.T) {
	raw, err := os.ReadFile("testdata/chips.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		known[strings.TrimSpace(line)] = true
	}
	for chip, cc := range map[string]int{"ga100": 80, "ga102": 86, "ad102": 89, "gh100": 90, "gb100": 100, "gb202": 120} {
		names := Curated(cc)
		if len(names) < 100 {
			t.Errorf("%s: %d metrics", chip, len(names))
		}
		for _, name := range names {
			base, _, _ := strings.Cut(name, ".")
			// ncu computes these from the launch; it lists them nowhere, and gave them on an H200.
			if !strings.HasPrefix(base, "launch__") && base != "sm__maximum_warps_per_active_cycle_pct" && !known[chip+" "+base] {
				t.Errorf("%s has no %s", chip, name)
			}
		}
	}
	if slices.Contains(Curated(80), stallName("gmma")) || !slices.Contains(Curated(90), stallName("gmma")) || slices.Contains(Curated(100), stallName("imc_miss")) {
		t.Error("reasons to wait are not those of the chip")
	}
}

// A chip without TMA and wgmma has none of them; one that has them, and was not asked, is not known to.
func TestAbsentIsNotZero(t *testing.T) {
	text := func(cc string) string {
		return wide(head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"`, `"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","`+cc+`","1"`)
	}
	for cc, zero := range map[string]bool{"8.0": true, "8.9": true, "9.0": false, "10.0": false} {
		f, err := Read("k.csv", []byte(text(cc)))
		if err != nil {
			t.Fatal(err)
		}
		p := Of(f.Launches[0])
		if v, ok := p.Get(TMALoads); ok != zero || v != 0 {
			t.Errorf("%s: TMA loads %v, %t", cc, v, ok)
		}
		if _, ok := p.Get(DRAMPercent); ok {
			t.Errorf("%s: a percentage that nobody measured", cc)
		}
		if v, ok := p.Get(Grid); !ok || v != 8 {
			t.Errorf("%s: grid %v", cc, v)
		}
	}
}

func TestReadSASS(t *testing.T) {
	functions, err := ReadSASS("planted.sass", string(unpacked(t, "h200_planted.sass.gz")))
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) != 22 {
		t.Fatalf("%d functions", len(functions))
	}
	mixes := map[string]*Mix{}
	for _, f := range functions {
		if f.Arch != "sm_90a" {
			t.Errorf("%s is for %s", f.Name, f.Arch)
		}
		mixes[f.Name] = f.Mix()
		for _, i := range f.Instructions {
			if i.Class() == ClassOther && i.Base() != "NOP" {
				t.Errorf("%s: %s has no class", f.Name, i.Op)
			}
		}
	}
	for _, test := range []struct {
		name, key string
		want      int
	}{
		{"_Z7copy_okPfPKfi", "LDG.32", 1},
		{"_Z7copy_okPfPKfi", "LDG.128", 0},
		{"_Z8copy4_okP6float4PKS_i", "LDG.128", 1},
		{"_Z8copy4_okP6float4PKS_i", "STG.128", 1},
		{"_Z9spill_badPfPKfi", "LDG.32", 64},
		{"_Z8atom_badPfPKf", "LDG.32", 1},
	} {
		if got := mixes[test.name].Keys[test.key]; got != test.want {
			t.Errorf("%s has %d %s, expected %d", test.name, got, test.key, test.want)
		}
	}
	if spilled := mixes["_Z9spill_badPfPKfi"].Classes[ClassLocal]; spilled < 50 {
		t.Errorf("spill_bad has %d accesses to local memory", spilled)
	}
	if spilled := mixes["_Z8spill_okPfPKfi"].Classes[ClassLocal]; spilled != 0 {
		t.Errorf("spill_ok has %d accesses to local memory", spilled)
	}
	if m := mixes["_Z7dbl_badPfPKf"]; m.Classes[ClassDouble] == 0 || m.Hot["DFMA"] == 0 {
		t.Errorf("dbl_bad: %v", m.Hot)
	}
	if m := mixes["_Z8gemm_badPfPKfS1_"]; m.Deepest != 1 || m.Hot["FFMA"] < 32 || m.InLoops == 0 || m.Classes[ClassBarrier] == 0 {
		t.Errorf("gemm_bad: %+v", m)
	}
	if m := mixes["_Z7copy_okPfPKfi"]; m.Deepest != 0 || m.Hot != nil || m.Keys["BRA"] != 0 || m.Bytes != 16*m.Total {
		t.Errorf("copy_ok: %+v", m)
	}
}

func TestReadSASSRefuses(t *testing.T) {
	_, err := ReadSASS("k.sass", "hello\n")
	if err == nil || !strings.Contains(err.Error(), "k.sass: no instructions in it") {
		t.Error(err)
	}
}

func FuzzReadSASS(f *testing.F) {
	f.Add("\t\tFunction : k\n        /*0000*/                   LDG.E.128 R4, [R2] ;\n        /*0010*/              @!P0 BRA 0x0 ;\n")
	f.Add(".text.k:\n.L_x_1:\n        /*0000*/  FADD R1, R2, 1 ;\n        /*0010*/  @P0 BRA `(.L_x_1) ;\n.L_x_2:\n        /*0020*/  BRA `(.L_x_2) ;\n        /*0030*/  NOP ;\n")
	f.Fuzz(func(t *testing.T, text string) {
		functions, err := ReadSASS("k", text)
		if err != nil {
			return
		}
		for _, function := range functions {
			m := function.Mix()
			sum := 0
			for _, n := range m.Keys {
				sum += n
			}
			if sum != m.Total || m.InLoops > m.Total {
				t.Errorf("%+v", m)
			}
		}
	})
}

// Labels of nvdisasm are branch targets as addresses of cuobjdump are.
func TestSASSLoops(t *testing.T) {
	for _, text := range []string{
		".text.k:\n  /*0000*/ MOV R1, R2 ;\n.L_x_1:\n  /*0010*/  FADD R1, R2, 1 ;\n  /*0020*/  @P0 BRA `(.L_x_1) ;\n  /*0030*/ EXIT ;\n.L_x_2:\n  /*0040*/  BRA `(.L_x_2) ;\n  /*0050*/  NOP ;\n",
		"\tFunction : k\n  /*0000*/ MOV R1, R2 ;\n  /*0010*/  FADD R1, R2, 1 ;\n  /*0020*/  @P0 BRA 0x10 ;\n  /*0030*/ EXIT ;\n  /*0040*/  BRA 0x40;\n  /*0050*/  NOP ;\n",
	} {
		functions, err := ReadSASS("k", text)
		if err != nil {
			t.Fatal(err)
		}
		var depths []int
		for _, i := range functions[0].Instructions {
			depths = append(depths, i.Depth)
		}
		if !slices.Equal(depths, []int{0, 1, 1, 0}) {
			t.Errorf("%v in %s", depths, text)
		}
	}
}

// Both disassemblers of CUDA say the same of one cubin.
func TestDisassemblersAgree(t *testing.T) {
	var both [2][]*Function
	for i, tool := range []string{"cuobjdump", "nvdisasm"} {
		functions, err := ReadSASS(tool, string(unpacked(t, "sm120_resources."+tool+".gz")))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(functions, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
		both[i] = functions
	}
	if len(both[0]) != 3 || len(both[1]) != 3 {
		t.Fatalf("%d and %d functions", len(both[0]), len(both[1]))
	}
	for i, f := range both[0] {
		other := both[1][i]
		if f.Name != other.Name || f.Arch != "sm_120" || other.Arch != "sm_120" || len(f.Instructions) != len(other.Instructions) {
			t.Fatalf("%s for %s with %d instructions, and %s for %s with %d", f.Name, f.Arch, len(f.Instructions), other.Name, other.Arch, len(other.Instructions))
		}
		for j, x := range f.Instructions {
			y := other.Instructions[j]
			if x.Op != y.Op || x.Depth != y.Depth || x.Predicate != y.Predicate || x.Offset != y.Offset {
				t.Errorf("%s: %+v and %+v", f.Name, x, y)
			}
		}
	}
	if m := both[0][2].Mix(); m.Deepest == 0 || m.Classes[ClassLocal] == 0 {
		t.Errorf("%s: %+v", both[0][2].Name, m)
	}
}
