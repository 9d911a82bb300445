package recorded

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl/internal/formula"
	"pawl/internal/space"
)

const small = `{"name": "small", "params": ["x", "mode", "flag"],
 "values": [[16, 32, 0.5], ["a", "b"], [false, true]],
 "configs": [[0, 0, 0], [1, 0, 1], [2, 1, 1], [1, 1, 1]],
 "time": [1.5, null, 3, 0.75], "cost_s": [2, null, 1, 1], "constraints": ["x < 64"]}`

func read(t *testing.T, text string) *Space {
	t.Helper()
	s, err := Read(strings.NewReader(text), "small.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadCompact(t *testing.T) {
	s := read(t, small)
	if s.Name != "small" || s.Len() != 4 || s.Size() != 4 || !s.Exact() || !cmp.Equal(s.Constraints, []string{"x < 64"}) {
		t.Errorf("read %+v", s)
	}
	want := [][]formula.Value{
		{formula.Int(16), formula.Int(32), formula.Float(0.5)},
		{formula.String("a"), formula.String("b")},
		{formula.Bool(false), formula.Bool(true)},
	}
	for i, p := range s.Params() {
		if len(p.Values) != len(want[i]) {
			t.Fatalf("param %s has values %v: expected %v", p.Name, p.Values, want[i])
		}
		for j, v := range p.Values {
			if v != want[i][j] {
				t.Errorf("param %s has value %v: expected %v", p.Name, v, want[i][j])
			}
		}
	}
	if _, ok := s.Time(1); ok || !s.Outcome(1).Failed {
		t.Error("number 1 has not failed")
	}
	if ms, ok := s.Time(3); !ok || ms != 0.75 || s.Outcome(3).Cost != 0.75e-3 {
		t.Errorf("number 3 takes %v ms, as outcome %+v", ms, s.Outcome(3))
	}
	if ranked := s.Ranked(); !cmp.Equal(ranked, []int{3, 0, 2}) {
		t.Errorf("the fastest first: %v", ranked)
	}
	if s.Cost(0) != 2 || s.Cost(1) != 0 {
		t.Errorf("costs are %v and %v", s.Cost(0), s.Cost(1))
	}
	if s.Contains(space.Point{0, 1, 0}) || !s.Contains(space.Point{1, 0, 1}) {
		t.Error("a ground contains what was recorded, be it as a failure")
	}
	if near := s.Neighbours(space.Point{1, 1, 1}); !cmp.Equal(near, []space.Point{{2, 1, 1}, {1, 0, 1}}) {
		t.Errorf("neighbours are %v", near)
	}
}

func TestReadPackedIsTheSame(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(small)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s, err := Read(&packed, "small.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprintf("%+v", s), fmt.Sprintf("%+v", read(t, small)); a != b {
		t.Error("a packed recording is read otherwise than a plain one")
	}
}

const cacheFile = `{"device_name": "GPU", "kernel_name": "gemm", "problem_size": [1, 2],
"tune_params_keys": ["x", "mode"], "tune_params": {"x": [1, 2, 4.0], "mode": ["a", "b"]}, "objective": "time",
"cache": {
"4,a": {"x": 4, "mode": "a", "time": 2.5, "times": [2.5], "compile_time": 1500, "verification_time": 0, "benchmark_time": 500},
"1,b": {"x": 1, "mode": "b", "time": "CompilationFailedConfig"},
"2,b": {"x": 2.0, "mode": "b", "__error__": "RuntimeFailedConfig"},
"1,a": {"x": 1, "mode": "a", "time": 1e20},
"8,a": {"x": 8, "mode": "a", "time": 1.25}`

func TestReadKernelTunerCache(t *testing.T) {
	for name, end := range map[string]string{"closed": "}}", "interrupted": ",\n"} {
		t.Run(name, func(t *testing.T) {
			s := read(t, cacheFile+end)
			if s.Name != "gemm-GPU" || s.Len() != 5 {
				t.Fatalf("read %s with %d settings", s.Name, s.Len())
			}
			for i, want := range []float64{2.5, 0, 0, 0, 1.25} {
				ms, ok := s.Time(i)
				if ok != (want > 0) || ok && ms != want {
					t.Errorf("number %d takes %v, %v: expected %v", i, ms, ok, want)
				}
			}
			if v := s.Value(0, 0); v != formula.Float(4) {
				t.Errorf("number 0 has x = %v: 4 and 4.0 are one value", v)
			}
			if v := s.Value(2, 0); v != formula.Int(2) {
				t.Errorf("number 2 has x = %v: 2.0 and 2 are one value", v)
			}
			if v := s.Value(4, 0); v != formula.Int(8) {
				t.Errorf("number 4 has x = %v: a value that tune_params lacks is added", v)
			}
			if s.Cost(0) != 2 {
				t.Errorf("number 0 took %v s: expected 2", s.Cost(0))
			}
		})
	}
}

func TestErrorsSayWhere(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(small, old, new, 1) }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "end of JSON"},
		{"cut off", small[:100], "small.json:2:"},
		{"no recording", `{"a": 1}`, "expected"},
		{"a list", `[]`, "unexpected array"},
		{"no params", with(`["x", "mode", "flag"]`, `[]`), "params: 0 names"},
		{"a param twice", with(`"mode", "flag"`, `"mode", "mode"`), "param mode is there twice"},
		{"a value twice", with(`16, 32, 0.5`, `16, 32, 16`), "param x has the value 16 twice"},
		{"a value that is a list", with(`16, 32, 0.5`, `16, [32], 0.5`), "values[0][1]"},
		{"a value that is null", with(`16, 32, 0.5`, `16, null, 0.5`), "values[0][1]"},
		{"values of another param", with(`, [false, true]`, ``), "values: 2 lists for 3 params"},
		{"an index too high", with(`[2, 1, 1]`, `[2, 2, 1]`), "configs[2][1]: 2"},
		{"an index below zero", with(`[2, 1, 1]`, `[2, -1, 1]`), "small.json:3:"},
		{"an index missing", with(`[2, 1, 1]`, `[2, 1]`), "configs[2]: 2 indexes"},
		{"a setting twice", with(`[2, 1, 1]`, `[1, 0, 1]`), "configs[2] is the same setting as number 1"},
		{"a time missing", with(`1.5, null, 3, 0.75`, `1.5, null, 3`), "time: 3 times for 4 configs"},
		{"a time of zero", with(`1.5, null`, `0, null`), "time[0]: 0"},
		{"a time that is text", with(`1.5, null`, `"fast", null`), "unexpected string"},
		{"costs missing", with(`[2, null, 1, 1]`, `[2]`), "cost_s: 1 costs"},
		{"a cache without params", `{"cache": {}}`, "tune_params_keys"},
		{"a cache that is a list", strings.Replace(cacheFile, `"cache": {`, `"cache": [{`, 1) + "}]}", "cache: expected an object"},
		{"a param missing", strings.Replace(cacheFile, `"x": 1, "mode": "b", "time"`, `"x": 1, "time"`, 1) + "}}", `cache["1,b"]: param mode is missing`},
		{"no time", strings.Replace(cacheFile, `, "time": 1.25`, ``, 1) + "}}", `cache["8,a"]: time is missing`},
		{"a negative time", strings.Replace(cacheFile, `"time": 1.25`, `"time": -1`, 1) + "}}", `cache["8,a"].time: -1`},
		{"an entry twice", strings.Replace(cacheFile, `"x": 8`, `"x": 4.0`, 1) + "}}", `is the same setting as number 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text), "small.json")
			if err == nil {
				t.Fatal("it was read")
			}
			if text := err.Error(); !strings.Contains(text, c.want) || !strings.Contains(text, "small.json") {
				t.Errorf("error %q: expected it to name small.json and %q", text, c.want)
			}
		})
	}
}

func TestPackedTextThatIsDamaged(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(small)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := Read(bytes.NewReader(packed.Bytes()[:packed.Len()-9]), "small.json.gz"); err == nil || !strings.Contains(err.Error(), "small.json.gz") {
		t.Errorf("error %v: expected one that names the file", err)
	}
}

func TestGivenSpaces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no spaces in testdata: %v", err)
	}
	for _, file := range files {
		s, err := ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name+".json.gz" != filepath.Base(file) {
			t.Errorf("%s names itself %s", file, s.Name)
		}
		n := 0
		for p := range s.All() {
			if number, ok := s.Number(p); !ok || number != n {
				t.Fatalf("%s: setting %d has the number %d, %v", file, n, number, ok)
			}
			n++
		}
		if n != s.Len() {
			t.Errorf("%s: All yields %d settings of %d", file, n, s.Len())
		}
	}
}

// A shuffled space has the same settings with the same times, by the values of params.
func TestShuffle(t *testing.T) {
	s := read(t, small)
	describe := func(s *Space) []string {
		var lines []string
		for n := range s.Len() {
			var values []string
			for i, p := range s.Params() {
				values = append(values, p.Name+"="+s.Value(n, i).String())
			}
			slices.Sort(values)
			ms, ok := s.Time(n)
			lines = append(lines, fmt.Sprint(values, ms, ok, s.Cost(n)))
		}
		slices.Sort(lines)
		return lines
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		shuffled := s.Shuffle(rand.New(rand.NewPCG(seed, 0)))
		if diff := cmp.Diff(describe(s), describe(shuffled)); diff != "" {
			t.Fatal(diff)
		}
		orders[fmt.Sprint(shuffled.Params()[0].Name, shuffled.Params()[0].Values, shuffled.At(0))] = true
		for n := range s.Len() {
			p, ok := shuffled.Translate(s, n)
			if !ok {
				t.Fatalf("setting %d is not in the shuffled space", n)
			}
			m, _ := shuffled.Number(p)
			if a, b := s.Outcome(n), shuffled.Outcome(m); a != b {
				t.Fatalf("setting %d has the outcome %+v, translated %+v", n, a, b)
			}
		}
	}
	if len(orders) < 5 {
		t.Errorf("20 seeds give %d orders", len(orders))
	}
}

func TestTranslateWhatIsNotThere(t *testing.T) {
	s := read(t, small)
	for old, new := range map[string]string{"16, 32, 0.5": "16, 31, 0.5", `"mode", "flag"`: `"mode", "flags"`, "[1, 0, 1]": "[1, 0, 0]"} {
		other := read(t, strings.Replace(small, old, new, 1))
		if p, ok := s.Translate(other, 1); ok {
			t.Errorf("%s: number 1 became %v", new, p)
		}
	}
}

// Neighbours differ in one param, all of them are there, and none twice.
func TestNeighbours(t *testing.T) {
	s, err := ReadFile("testdata/pnpoly-RTX_3090.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := s.Sample(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		near := map[string]bool{}
		for _, q := range s.Neighbours(p) {
			near[q.Key()] = true
		}
		n := 0
		for q := range s.All() {
			differ := 0
			for i := range q {
				if q[i] != p[i] {
					differ++
				}
			}
			if near[q.Key()] != (differ == 1) {
				t.Fatalf("%v differs from %v in %d params; a neighbour: %v", q, p, differ, near[q.Key()])
			}
			if differ == 1 {
				n++
			}
		}
		if len(s.Neighbours(p)) != n {
			t.Fatalf("%d neighbours, %d of them different", len(s.Neighbours(p)), n)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(cacheFile + "}}"))
	f.Add([]byte(cacheFile + ","))
	f.Add([]byte(`{"configs": [], "params": ["a"], "values": [[]], "time": []}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Read(bytes.NewReader(text), "f.json")
		if err != nil {
			if !strings.Contains(err.Error(), "f.json") {
				t.Fatalf("error %q names no file", err)
			}
			return
		}
		for i := range s.Len() {
			if n, ok := s.Number(s.At(i)); !ok || n != i {
				t.Fatalf("setting %d has the number %d, %v", i, n, ok)
			}
			if ms, ok := s.Time(i); ok && !(ms > 0) {
				t.Fatalf("setting %d takes %v ms", i, ms)
			}
			s.Neighbours(s.At(i))
		}
	})
}
