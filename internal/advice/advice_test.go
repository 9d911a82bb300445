package advice

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl/internal/profile"
)

// recorded reads a packed file of package profile.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("../profile/testdata/" + name)
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

func profiles(t testing.TB, name string) []*profile.Profile {
	t.Helper()
	f, err := profile.Read(name, recorded(t, name))
	if err != nil {
		t.Fatal(err)
	}
	var all []*profile.Profile
	for _, l := range f.Launches {
		all = append(all, profile.Of(l))
	}
	return all
}

// The first finding names what is wrong with each kernel of planted.cu; on healthy ones it promises
// next to nothing. The profiles were recorded on an H200.
func TestPlanted(t *testing.T) {
	no := false
	files := map[string][]*profile.Profile{}
	for _, file := range []string{"h200_planted_curated.csv.gz", "h200_planted_raw.csv.gz"} {
		files[file] = profiles(t, file)
	}
	bytesOf := map[string]float64{"redun": 2 * 4 << 26, "copy4_ok": 2 * 4 << 26}
	for _, test := range []struct {
		kernel string
		grid   int
		want   string  // "": nothing, or less than a tenth
		gain   float64 // that the repaired twin of the file has; 0: there is none
	}{
		{"load_bad", 0, "uncoalesced-loads", 458.7 / 198.1},
		{"copy_ok", 0, "latency-bound", 198.1 / 125.1},
		{"copy4_ok", 0, "dram-bound", 0},
		{"store_bad", 0, "uncoalesced-stores", 1129 / 125.1},
		{"bank_bad", 0, "bank-conflicts", 1158 / 129.2},
		{"bank_ok", 0, "", 0},
		{"spill_bad", 0, "register-spills", 2250 / 95.1},
		{"spill_ok", 0, "", 0},
		{"sum_rows", 16, "small-grid", 6183 / 117.5},
		{"sum_rows", 2112, "latency-bound", 0},
		{"imbal", 0, "load-imbalance", 0},
		{"l2_bad", 0, "l2-bound", 0},
		{"redun", 0, "redundant-dram", 317.4 / 125.1},
		{"barr", 0, "barrier-bound", 0},
		{"diver", 0, "divergence", 0},
		{"atom_bad", 0, "atomics-contention", 0},
		{"dbl_bad", 0, "fp64-accident", 281.2 / 22.21},
		{"flt_ok", 0, "", 0},
		{"sfu_bad", 0, "sfu-bound", 0},
		{"gemm_bad", 0, "tensor-unused", 0},
		{"fma_roof", 4224, "at-roof", 0},
		{"fma_roof", 1064, "tail-wave", 154.7 / 137},
		{"tiny", 0, "launch-bound", 0},
	} {
		for file, all := range files {
			for _, p := range all {
				if !strings.HasPrefix(p.Kernel, test.kernel+"(") || test.grid != 0 && p.Grid[0] != test.grid {
					continue
				}
				product := test.kernel == "gemm_bad"
				said := Builtin().Judge(Gather(Evidence{Profile: p, Double: &no, Matmul: &product, Bytes: bytesOf[test.kernel]}))
				var first Finding
				if len(said.Findings) > 0 {
					first = said.Findings[0]
				}
				switch {
				case test.want == "" && first.Headroom > 0.1:
					t.Errorf("%s, %s: %s, %s", file, p.Name(), first.ID, first.Gain())
				case test.want != "" && first.ID != test.want:
					t.Errorf("%s, %s: %s (%s), expected %s", file, p.Name(), first.ID, first.Evidence, test.want)
				case test.gain > 1.1*first.Bound && test.want != "":
					t.Errorf("%s, %s: %s, but its twin is %.2f× faster", file, p.Name(), first.Gain(), test.gain)
				}
				if strings.ContainsAny(first.Evidence, "?{") {
					t.Errorf("%s: %s", p.Name(), first.Evidence)
				}
				if first.ID != "" && (first.First == "" || first.Next == "" || len(first.Rests) == 0) {
					t.Errorf("%s: %+v", p.Name(), first)
				}
			}
		}
	}
}

func facts(values map[string]float64) Facts {
	f := Facts{}
	for name, v := range values {
		f.set(name, v, derived[name], FromProfile)
	}
	f.combine()
	return f
}

// A healthy streaming kernel breaks rules of thumb, and these stay remarks.
func TestRulesOfThumb(t *testing.T) {
	for _, p := range profiles(t, "h200_planted_curated.csv.gz") {
		switch {
		case strings.HasPrefix(p.Kernel, "copy4_ok("):
			said := Builtin().Judge(Gather(Evidence{Profile: p, Bytes: 2 * 4 << 26}))
			ids := remarks(said)
			if !slices.Contains(ids, "l2-hits") || !slices.Contains(ids, "sm-utilisation") || len(said.Findings) != 1 || said.Findings[0].Also != nil {
				t.Errorf("%v beside %+v", ids, said.Findings)
			}
		case strings.HasPrefix(p.Kernel, "load_bad("):
			said := Builtin().Judge(Gather(Evidence{Profile: p}))
			if also := said.Findings[0].Also; len(also) != 2 || !strings.HasPrefix(also[0], "coalescing 2") || !strings.HasPrefix(also[1], "DRAM at 24%") {
				t.Errorf("%q", also)
			}
		}
	}
}

func remarks(a *Advice) (ids []string) {
	for _, r := range a.Remarks {
		ids = append(ids, r.ID)
	}
	return ids
}

// What is not known decides nothing, and is named.
func TestMissingFacts(t *testing.T) {
	said := Builtin().Judge(facts(map[string]float64{"dram_pct": 85}))
	if len(said.Findings) != 0 {
		t.Errorf("%+v", said.Findings)
	}
	at := slices.IndexFunc(said.Unseen, func(u Unseen) bool { return u.ID == "dram-bound" })
	if at < 0 || !slices.Contains(said.Unseen[at].Missing, "moved_ratio") {
		t.Errorf("%+v", said.Unseen)
	}
	said = Builtin().Judge(facts(map[string]float64{"dram_pct": 20}))
	if slices.ContainsFunc(said.Unseen, func(u Unseen) bool { return u.ID == "dram-bound" }) {
		t.Errorf("DRAM is not busy, whatever else is: %+v", said.Unseen)
	}
}

func TestConditions(t *testing.T) {
	f := facts(map[string]float64{"dram_pct": 85, "sm_pct": 10})
	for source, want := range map[string]string{
		"dram_pct > 80":                     "holds",
		"dram_pct > 90":                     "fails",
		"l2_pct > 80":                       "l2_pct",
		"l2_pct > 80 or dram_pct > 80":      "holds",
		"l2_pct > 80 or dram_pct > 90":      "l2_pct",
		"not l2_pct > 80":                   "l2_pct",
		"l2_pct != 3":                       "l2_pct",
		"max(l2_pct, dram_pct) > 80":        "l2_pct",
		"dram_pct > 80 and sm_pct < 20":     "holds",
		"(1 if l2_pct > 3 else 2) == 2":     "l2_pct",
		"0 < sm_pct < 20 and dram_pct > 80": "holds",
	} {
		c, err := compile(source, Names())
		if err != nil {
			t.Fatal(err)
		}
		holds, missing := c.holds(f)
		got := strings.Join(missing, " ")
		switch {
		case holds:
			got = "holds"
		case missing == nil:
			got = "fails"
		}
		if got != want {
			t.Errorf("%s: %s, expected %s", source, got, want)
		}
	}
}

// A warp-specialised kernel has few warps and branches by role.
func TestExceptions(t *testing.T) {
	plain := map[string]float64{
		"theoretical_pct": 12.5, "limited_by_registers": 1, "limited_by_shared": 0, "issue_pct": 30, "busiest_pct": 50, "memory_stalls": 60, "waves": 1, "coalescing_pct": 100, "conflict_pct": 0, "registers": 168, "l2_pct": 30,
	}
	if said := Builtin().Judge(facts(plain)); !said.Has("register-occupancy") {
		t.Errorf("%+v", said)
	}
	plain["specialised"] = 1
	said := Builtin().Judge(facts(plain))
	if said.Has("register-occupancy") || !slices.Contains(said.Excepted, Excepted{"register-occupancy", specialised}) {
		t.Errorf("%+v", said)
	}
}

// Without ncu the compiled code, the time and the declared work still say something, with less
// confidence.
func TestWithoutProfile(t *testing.T) {
	functions, err := profile.ReadSASS("planted", string(recorded(t, "h200_planted.sass.gz")))
	if err != nil {
		t.Fatal(err)
	}
	mixes := map[string]*profile.Mix{}
	for _, f := range functions {
		mixes[f.Name] = f.Mix()
	}
	yes, no := true, false
	for _, test := range []struct {
		kernel string
		with   Evidence
		want   string
	}{
		{"_Z9spill_badPfPKfi", Evidence{Resources: &profile.Resources{Registers: 32, Stack: 256}}, "register-spills"},
		{"_Z7dbl_badPfPKf", Evidence{Double: &no}, "fp64-accident"},
		{"_Z7dbl_badPfPKf", Evidence{Double: &yes}, ""},
		{"_Z8gemm_badPfPKfS1_", Evidence{Matmul: &yes}, "tensor-unused"},
		{"_Z7copy_okPfPKfi", Evidence{Seconds: 198e-6, Bytes: 2 * 4 << 26, Flops: 1 << 26, Bandwidth: 9e12, Peak: 60e12}, "latency-bound"},
		{"_Z8copy4_okP6float4PKS_i", Evidence{Seconds: 125e-6, Bytes: 2 * 4 << 26, Bandwidth: 4.3e12}, "at-roof"},
		{"_Z4tinyPfPKf", Evidence{Seconds: 2e-6}, "launch-bound"},
		{"_Z4tinyPfPKf", Evidence{Seconds: 2e-6, Wall: 9e-6}, "launch-bound"},
		{"_Z8atom_badPfPKf", Evidence{Seconds: 461e-6, Bytes: 4 << 20, Bandwidth: 4.3e12}, "atomics-contention"},
		{"_Z8sum_rowsPfPKfi", Evidence{Seconds: 6e-3, Grid: 16, SMs: 132, Residency: &profile.Residency{Percent: 100, Limiter: []string{"warps"}, Limits: map[string]int{"warps": 8, "registers": 8, "shared": 32, "blocks": 32}}}, "small-grid"},
		{"_Z7copy_okPfPKfi", Evidence{Debug: true}, "wrong-target"},
		{"_Z7copy_okPfPKfi", Evidence{Seconds: 50e-6, Bytes: 2 * 4 << 26, Bandwidth: 4.3e12}, "measurement-invalid"},
	} {
		test.with.Mix = mixes[test.kernel]
		if test.with.Mix == nil {
			t.Fatalf("no %s", test.kernel)
		}
		said := Builtin().Judge(Gather(test.with))
		got := Finding{}
		if len(said.Findings) > 0 {
			got = said.Findings[0]
		}
		if got.ID != test.want {
			t.Errorf("%s: %q (%s), expected %q", test.kernel, got.ID, got.Evidence, test.want)
		}
		if slices.Contains(got.Rests, FromProfile) || strings.Contains(got.Evidence, "?") {
			t.Errorf("%s: %+v", test.kernel, got)
		}
	}
}

func TestOrder(t *testing.T) {
	c, err := New([]Entry{
		{ID: "small", Row: 1, When: []string{"dram_pct > 0"}, Gain: "1.2", Confidence: 1},
		{ID: "unsure", Row: 1, When: []string{"dram_pct > 0"}, Gain: "2", Confidence: 0.3},
		{ID: "large", Row: 1, When: []string{"dram_pct > 0"}, Gain: "2", Confidence: 0.9},
		{ID: "absurd", Row: 1, When: []string{"dram_pct > 0"}, Gain: "1e6", Confidence: 0.1},
		{ID: "nothing", Row: 1, When: []string{"dram_pct > 0"}, Gain: "1.01", Confidence: 1},
		{ID: "unbounded", Row: 1, When: []string{"dram_pct > 0"}, Confidence: 1},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := c.Judge(facts(map[string]float64{"dram_pct": 1}))
	var ids []string
	for _, x := range said.Findings {
		ids = append(ids, x.ID)
		if x.Bound > mostBound || math.Abs(x.Score-x.Headroom*x.Confidence) > 1e-12 {
			t.Errorf("%+v", x)
		}
	}
	if got := strings.Join(ids, " "); got != "large unbounded small unsure absurd" {
		t.Error(got)
	}
}

func TestOwnEntries(t *testing.T) {
	own := Entry{ID: "my-gather", Title: "the gather thrashes L2", When: []string{"dram_pct >= 80", "l2_hit_pct < 30"}, Gain: "1.5", Confidence: 0.9, Evidence: "L2 hit rate {l2_hit_pct}", First: "sort the indices"}
	c, err := With([]Entry{own, {ID: "dram-bound", When: []string{"dram_pct >= 99"}, Confidence: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	said := c.Judge(facts(map[string]float64{"dram_pct": 85, "l2_hit_pct": 12, "coalescing_pct": 100, "local_pct": 0}))
	if len(said.Findings) != 1 || said.Findings[0].ID != "my-gather" || !said.Findings[0].Own || said.Findings[0].Evidence != "L2 hit rate 12" {
		t.Errorf("%+v", said.Findings)
	}
	for _, test := range []struct {
		entry Entry
		want  string
	}{
		{Entry{ID: "x", When: []string{"dram_pc >= 80"}, Confidence: 1}, `finding x: when: there is no fact "dram_pc"`},
		{Entry{ID: "x", When: []string{"dram_pct >="}, Confidence: 1}, "finding x: when: "},
		{Entry{ID: "x", When: []string{"dram_pct > 1"}, Gain: "speed", Confidence: 1}, `finding x: gain: there is no fact "speed"`},
		{Entry{ID: "x", When: []string{"dram_pct > 1"}, Evidence: "it is {slow}", Confidence: 1}, "finding x: evidence: there is no fact {slow}"},
		{Entry{ID: "x", When: []string{"dram_pct > 1"}}, "finding x: confidence: 0, expected"},
		{Entry{ID: "x", Confidence: 1}, "finding x: when: it has no condition"},
		{Entry{When: []string{"dram_pct > 1"}, Confidence: 1}, "it has no id"},
		{Entry{ID: "x", When: []string{"dram_pct > 1"}, Unless: []Exception{{"tma > 1", ""}}, Confidence: 1}, `finding x: unless: there is no fact "tma"`},
	} {
		_, err := With([]Entry{test.entry})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, expected %s", err, test.want)
		}
	}
	_, err = With([]Entry{{ID: "x", When: []string{"dram_pc >= 80"}, Confidence: 1}})
	if e, ok := errors.AsType[*EntryError](err); !ok || !strings.Contains(e.Hint, "dram_pct") {
		t.Errorf("%+v", err)
	}
	if _, err := With([]Entry{own, own}); err == nil {
		t.Error("two entries with one id")
	}
}

// Whatever is known and whatever is not, no sentence has a hole and no bound is below one.
func TestBuiltinIsWhole(t *testing.T) {
	seen := map[int]bool{}
	for _, e := range builtin {
		seen[e.Row] = true
		if e.Title == "" || e.First == "" || e.Next == "" || e.Evidence == "" || e.Row == 0 {
			t.Errorf("%s lacks words", e.ID)
		}
		if strings.ToLower(e.Title[:1]) != e.Title[:1] && !strings.HasPrefix(e.Title, "DRAM") && !strings.HasPrefix(e.Title, "L2") {
			t.Errorf("%s: the title %q is no clause", e.ID, e.Title)
		}
	}
	if len(seen) < 30 {
		t.Errorf("%d rows of the catalogue", len(seen))
	}
}
