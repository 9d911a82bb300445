package foreign

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/diag"
	"pawl/internal/result"
)

// outline returns a file in one line per row: name, samples, first and last, warning or fault.
func outline(f *File) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", f.Format)
	for _, row := range f.Report.Rows {
		b.WriteString(row.Name())
		if row.Timing != nil {
			s := row.Timing.Samples.Seconds
			fmt.Fprintf(&b, ": %d × %.4g … %.4g s", len(s), s[0], s[len(s)-1])
			if len(row.Timing.Samples.GHz) > 0 {
				fmt.Fprintf(&b, ", %.2f GHz", row.Timing.Samples.GHz[0])
			}
		}
		if row.Fault != nil {
			fmt.Fprintf(&b, "; %s: %s", row.Fault.Cause, row.Fault.Message)
		}
		for _, w := range row.Warnings {
			fmt.Fprintf(&b, "; %s", w.Code)
		}
		b.WriteByte('\n')
	}
	for _, w := range f.Report.Warnings {
		fmt.Fprintf(&b, "! %s\n", w.Message)
	}
	return b.String()
}

func TestRealFiles(t *testing.T) {
	for file, want := range map[string]string{
		"go_test.txt": `go test -bench
bytesx.Copy/n=1024-2: 5 × 2.159e-08 … 2.305e-08 s
bytesx.Copy/n=65536-2: 5 × 1.903e-06 … 1.621e-06 s
bytesx.Equal-2: 5 × 1.171e-07 … 1.101e-07 s
mathx.Sqrt-2: 5 × 2.551e-09 … 2.546e-09 s
mathx.Copy-2: 5 × 9.985e-10 … 9.12e-10 s
`,
		"go_events.json": `go test -bench
a.F-2: 3 × 5.12e-09 … 6.085e-09 s
a.G/n=1-2: 3 × 2.258e-07 … 1.886e-07 s
b.F-2: 3 × 6.21e-09 … 4.355e-09 s
b.G/n=1-2: 3 × 2.962e-07 … 2.357e-07 s
`,
		"go_test_v.txt": `go test -bench
bytesx.Copy/n=1024-2: 2 × 2.277e-08 … 2.222e-08 s
bytesx.Copy/n=65536-2: 2 × 2.047e-06 … 1.869e-06 s
`,
		"google.json": `Google Benchmark
BM_copy/1024: 6 × 2.054e-08 … 2.146e-08 s
BM_copy/65536: 6 × 2.127e-06 … 2.057e-06 s
BM_fill/65536/real_time: 6 × 4.254e-05 … 4.502e-05 s
BM_bad; skipped: it reported an error: no device
BM_cplx/64: 6 × 5.119e-08 … 4.866e-08 s
BM_cplx/128: 6 × 9.731e-08 … 9.532e-08 s
`,
		"google_aggregates.json": `Google Benchmark
BM_copy/1024: 1 × 1.263e-08 … 1.263e-08 s; samples
BM_fill/65536/real_time: 1 × 3.86e-05 … 3.86e-05 s; samples
`,
		"pytest.json": `pytest-benchmark
test_sum.py::test_sum[100]: 20 × 1.049e-06 … 8.91e-07 s
test_sum.py::test_sum[1000]: 20 × 1.744e-05 … 1.674e-05 s
test_sum.py::test_sorted: 20 × 5.622e-06 … 5.641e-06 s
`,
		"hyperfine.json": `hyperfine
sleep 0.001: 12 × 0.002129 … 0.002862 s
true: 12 × 0.0007393 … 0.0007184 s
`,
		"hyperfine_failed.json": `hyperfine
false: 3 × 0.0005457 … 0.0005097 s; exit
`,
		"nvbench/result.json": `nvbench
copy/Elements=2^20: 20 × 2.003e-05 … 2.001e-05 s, 1.98 GHz
copy/Elements=2^24: 20 × 6.06e-05 … 6.025e-05 s, 1.98 GHz
copy/Elements=2^40; skipped: nvbench skipped it: not enough memory
host_sort: 1 × 0.00251 … 0.00251 s; samples
`,
	} {
		t.Run(file, func(t *testing.T) {
			f, err := Read(filepath.Join("testdata", file), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, outline(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMachines(t *testing.T) {
	read := func(file string) *result.Report {
		t.Helper()
		f, err := Read(filepath.Join("testdata", file), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Report
	}
	const model = "Intel(R) Xeon(R) Processor"
	if m := read("go_test.txt").Machine; m.CPU.Model != model || m.OS != "linux" || m.Arch != "amd64" {
		t.Errorf("go: %+v", m)
	}
	r := read("pytest.json")
	if m := r.Machine; m.CPU.Model != model || m.CPU.Cores != 2 || m.OS != "Linux" || m.Compilers["python"] != "3.11.7" || r.Started.IsZero() || r.Commit != nil {
		t.Errorf("pytest: %+v", r)
	}
	r = read("google.json")
	if m := r.Machine; m.CPU.Cores != 2 || m.CPU.MaxGHz != 2.1 || r.Started.IsZero() {
		t.Errorf("google: %+v", r)
	}
	r = read("nvbench/result.json")
	gpu := &result.GPU{Name: "NVIDIA H200", Arch: "sm_90", SMs: 132, MemoryBytes: 150754820096, L2Bytes: 62914560, MaxGHz: 1.98, ECC: true}
	if diff := cmp.Diff(gpu, r.Machine.GPU); diff != "" {
		t.Errorf("nvbench (-want +got):\n%s", diff)
	}
	if got := r.Rows[0].Vars["device"]; got != "NVIDIA H200" {
		t.Errorf("nvbench: device %q", got)
	}
}

func parse(text string) (*File, error) {
	return Parse("x", text, Options{}, func(string) ([]byte, error) { return nil, os.ErrNotExist })
}

func TestLists(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"JSON", "[0.5, 1e-3]", "JSON list\nsamples: 2 × 0.5 … 0.001 s\n"},
		{"JSON with names", `{"b": [1], "a\u00b5\n": [2, 3]}`, "JSON list\nb: 1 × 1 … 1 s\naµ\n: 2 × 2 … 3 s\n"},
		{"BOM", "\ufeff[1]", "JSON list\nsamples: 1 × 1 … 1 s\n"},
		{"one column", "1\n2\r\n\n# remark\n 3 \n", "CSV\nsamples: 3 × 1 … 3 s\n"},
		{"one column with a header", "time (ms)\n1\n2\n", "CSV\nsamples: 2 × 0.001 … 0.002 s\n"},
		{"two columns", "a,1\nb,2\na,3\n", "CSV\na: 2 × 1 … 3 s\nb: 1 × 2 … 2 s\n"},
		{"two columns with a header", "name;seconds\na;1\n", "CSV\na: 1 × 1 … 1 s\n"},
		{"tabs", "name\ttime_ns\na b\t5\n", "CSV\na b: 1 × 5e-09 … 5e-09 s\n"},
		{"quotes", "name,s\n\"f(1, 2)\",5\n\"say \"\"x\"\"\", 6\n", "CSV\nf(1, 2): 1 × 5 … 5 s\nsay \"x\": 1 × 6 … 6 s\n"},
		{"a header that names no unit", "value\n2\n", "CSV\nsamples: 1 × 2 … 2 s\n! the heading \"value\" names no unit: its times were taken as seconds\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outline(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for text, want := range map[string]float64{"[5]": 5e-3, "5\n": 5e-3, "value\n5\n": 5e-3, "time_ns\n5\n": 5e-9} {
		f, err := Parse("x", text, Options{Unit: Unit("ms")}, nil)
		if err != nil || math.Abs(f.Report.Rows[0].Timing.Samples.Seconds[0]/want-1) > 1e-12 {
			t.Errorf("%q in ms: %v, %v", text, f, err)
		}
	}
	if Unit("fortnights") != 0 {
		t.Error("a fortnight has seconds")
	}
}

func TestGoRules(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{
			"two packages that end alike", "pkg: a/x\nBenchmarkF 1 2 ns/op\npkg: b/x\nBenchmarkF 1 3 ns/op\npkg: a/x\nBenchmarkF 1 2 ns/op\n",
			"go test -bench\nx.F: 2 × 2e-09 … 2e-09 s\nb/x.F: 1 × 3e-09 … 3e-09 s\n",
		},
		{
			"prose and logs between", "Benchmarking is fun: 3 ns/op\nBenchmarks below\nBenchmarkF-8\nBenchmarkF-8 \tlogged this\nBenchmarkF-8 10 5 ns/op 3 B/op\nFAIL\n",
			"go test -bench\nF-8: 1 × 5e-09 … 5e-09 s\n",
		},
		{
			"other units first, none in one", "pkg: p\nBenchmarkF 10 7 widgets/op 0.5 ns/op\nBenchmarkG 10 7 widgets/op\n",
			"go test -bench\np.F: 1 × 5e-10 … 5e-10 s\n! 1 results without ns/op were skipped\n",
		},
		{"seconds", "BenchmarkF 10 0.25 sec/op\n", "go test -bench\nF: 1 × 0.25 … 0.25 s\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outline(f)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	const nv = `{"meta": {}, "devices": [], "benchmarks": [{"name": "k", "states": [{"name": "n=1", "summaries": [
  {"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value": "out/r.json-bin/0.bin"}, {"name": "size", "value": "2"}]}]}]}]}`
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "x: the file is empty\n  hint: the benchmark wrote nothing"},
		{"only space", " \n", "x: the file is empty"},
		{"binary", "ab\x00", "x:1:3: this is not text"},
		{"not UTF-8", "a\n\xff", "x:2:1: this is not text"},
		{"UTF-16", "\xff\xfe1\x00", "x:1:1: the text is UTF-16; expected UTF-8"},
		{"prose", "Dear reader, here are no results at all\n", "x:1:1: expected a result file"},
		{"a word too many", "what is this file supposed to be\n", "x:1:1: expected a result file"},

		{"truncated object", `{"results": [{"command": "a", "ti`, `x:1:34: results[0]: the file ends here; expected the end of a text`},
		{"truncated list", "[1, 2", "x:1:6: [1]: the file ends here; expected a comma or ]"},
		{"truncated number", "[1, 2.", "x:1:7: [1]: the file ends here; expected a digit"},
		{"no JSON", "{hello}", "x:1:2: expected a key in quotes, got 'h'"},
		{"no colon", `{"a" 1}`, "x:1:6: expected a colon, got '1'"},
		{"a second document", "[1] [2]", "x:1:5: expected the end of the file, got '['"},
		{"a bad word", "[nul]", "x:1:2: [0]: expected a value, got 'n'"},
		{"a bad escape", `{"a\q": [1]}`, "x:1:2: a text with a backslash that means nothing"},
		{"a line break in a text", "{\"a\nb\": [1]}", "x:1:4: a control character inside a text"},
		{"too deep", strings.Repeat("[", 300), "x:1:202: nested more than 200 deep"},

		{"NaN", "[1,\n NaN]", "x:2:2: [1]: expected a time, got NaN\n  2 |  NaN]\n    |  ^\n  hint: "},
		{"Infinity", "[Infinity]", "x:1:2: [0]: expected a time, got an infinite one"},
		{"too large", "[1e999]", "x:1:2: [0]: expected a time, got an infinite one"},
		{"negative", `{"gemm": [3, -2]}`, "x:1:14: gemm[1]: expected a time above 0, got -2"},
		{"zero", "[0.0]", "x:1:2: [0]: expected a time above 0, got 0\n  1 | [0.0]\n    |  ^\n  hint: the benchmark is too short for its clock"},
		{"a text among times", `["a"]`, "x:1:2: [0]: expected a number, got a text"},
		{"an empty list", `{"a": []}`, "x:1:7: a: the list is empty"},
		{"nothing named", `{}`, "x: no benchmarks in this JSON list file"},
		{"a name twice", `{"a": [1], "a": [2]}`, "x:1:17: a: a second list of that name"},
		{"some other JSON", `{"name": "pawl", "version": 2}`, "x:1:10: name: expected a list of times"},

		{"CSV: no number", "a,1\nb,fast\n", `x:2:3: expected a time as a plain number, got "fast"`},
		{"CSV: NaN", "1\nnan\n", "x:2:1: expected a time, got NaN"},
		{"CSV: negative", "name,s\na,-1\n", "x:2:3: expected a time above 0, got -1"},
		{"CSV: a column missing", "a,1\nb\n", "x:2:1: 1 columns; expected 2, as before"},
		{"CSV: a summary", "command,mean,stddev\na,1,2\n", "x:1:14: 3 columns; expected one of times, or two of names and times"},
		{"CSV: only a header", "name,seconds\n", "x: no benchmarks in this CSV file"},

		{"go: cut off after the count", "BenchmarkF-8   100", "x:1:19: the line ends here; expected a time"},
		{"go: cut off after the value", "BenchmarkF-8   100  12.5", "x:1:25: the line ends here; expected a unit"},
		{"go: no number", "pkg: x\nBenchmarkF-8\t100\tfast ns/op", `x:2:18: expected a number, got "fast"`},
		{"go: zero", "BenchmarkF-8 100 0 ns/op", "x:1:18: expected a time above 0, got 0"},
		{"go: NaN", "BenchmarkF-8 100 NaN ns/op", "x:1:18: expected a time, got NaN"},
		{"go: no times", "BenchmarkF-8 100 3 B/op", "x:1:1: 1 results, and none has a time"},
		{"go: no results", "goos: linux\nPASS\n", "x: no benchmarks in this go test -bench file"},
		{"go: events without results", `{"Time":"t","Action":"start","Package":"p"}` + "\n" + `{"Action":"output","Package":"p","Output":"PASS\n"}`, "x: no benchmarks in this go test -bench file"},
		{"go: events, a bad line", `{"Action":"output","Package":"p","Output":"BenchmarkF 1"}` + "\n" + `{"Action":"output","Package":"p","Output":"0 0 ns/op\n"}`, "x:2:1: expected a time above 0, got 0"},
		{"go: events cut off", `{"Action":"output","Package":"p","Output":"BenchmarkF 10 5 ns/op\n"}` + "\n" + `{"Action":"out`, "x:2:15: Action: the file ends here"},
		{"CSV: a unit in the cell", "1ms\n2ms\n", `x:1:1: expected a time as a plain number, got "1ms"`},
		{"CSV: a remark names the unit", "# times in ms\n1\n2\n", "x:1:1: the comment names a unit, but comments are not read"},
		{"CSV: a name ends in a unit", "gemm_ms,1\n", `x:1:1: "gemm_ms" ends in a unit; expected a list that says`},
		{"JSON: a name ends in a unit", `{"gemm_us": [1, 2]}`, `x:1:13: "gemm_us" ends in a unit`},
		{"google: the table", "Run on (2 X 2100 MHz CPU s)\n-----\nBenchmark      Time         CPU   Iterations\n-----\nBM_a       12.3 ns     12.3 ns   1000\n", "x:3:1: this is the table that Google Benchmark prints"},
		{"google: the table in colour", "Benchmark      Time         CPU   Iterations\n-----\n\x1b[0;32mBM_a  \x1b[m\x1b[0;33m 12.3 ns  12.3 ns \x1b[m\x1b[0;36m  1000\x1b[m\n", "x:1:1: this is the table that Google Benchmark prints"},
		{"google: lines of the table", "BenchmarkA/8       12 ns     12 ns   1000\nBM_b/real_time_mean  1.2 us   1.1 us   10\n", "x:1:1: this is the table that Google Benchmark prints"},
		{"google: CSV", "name,iterations,real_time,cpu_time,time_unit\n\"a\",1,2,3,ns\n", "x:1:17: 5 columns; expected one of times, or two of names and times"},

		{"hyperfine: no times", `{"results": [{"command": "a"}]}`, `x:1:14: results[0]: "a" has no times`},
		{"hyperfine: negative", `{"results": [{"command": "a", "times": [1, -1]}]}`, "x:1:44: results[0].times[1]: expected a time above 0, got -1"},
		{"hyperfine: another results", `{"results": [1]}`, "x:1:14: results[0]: expected an object, got a number"},
		{"pytest: no samples", `{"machine_info": {}, "benchmarks": [{"name": "a", "stats": {}}]}`, `x:1:37: benchmarks[0]: "a" has no samples: expected stats.data`},
		{"pytest: twice", `{"machine_info": {}, "benchmarks": [{"name": "a", "stats": {"data": [1]}}, {"name": "a", "stats": {"data": [1]}}]}`, `x:1:76: benchmarks[1]: "a" is there twice`},
		{"google: NaN", `{"context": {}, "benchmarks": [{"name": "a", "real_time": NaN}]}`, "x:1:59: benchmarks[0]: expected a time, got NaN"},
		{"google: no time", `{"context": {}, "benchmarks": [{"name": "a"}]}`, `x:1:44: benchmarks[0]: "a" has no real_time`},
		{"google: a unit", `{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}`, `x:1:59: benchmarks[0]: "a" has the unit "h"`},
		{"nvbench: no sidecar", nv, "x:1:69: k/n=1: its samples are in out/r.json-bin/0.bin: file does not exist"},
		{"nvbench: twice", `{"devices": [], "benchmarks": [{"name": "k", "states": [{"name": "a"}, {"name": "a"}]}]}`, "x:1:72: k/a is there twice"},

		{"pawl: schema", `{"schema": 9, "rows": []}`, "x: the report has schema 9 and this pawl reads 1: use the newer pawl"},
		{"pawl: kind", `{"schema": 1, "kind": "compare", "rows": [{}]}`, `x: a report of kind "compare"; expected bench or check`},
		{"pawl: a search", `{"schema": 1, "kind": "tune", "rows": [{}]}`, "x: a report of kind \"tune\"; expected bench or check\n  hint: a search compares its winner with today's defaults in turns already"},
		{"pawl: no rows", `{"schema": 1, "kind": "bench", "rows": []}`, "x: the report has no rows"},
		{"pawl: twice", `{"schema": 1, "kind": "bench", "rows": [{"kernel": "a"}, {"kernel": "a"}]}`, "x: rows[1]: a is there twice"},
		{"pawl: zero", `{"schema": 1, "kind": "bench", "rows": [{"kernel": "a", "timing": {"samples": {"seconds": [1, 0]}}}]}`, "x:1:95: rows[0].timing.samples.seconds[1]: expected a time above 0, got 0"},
		{"pawl: clocks", `{"schema": 1, "kind": "bench", "rows": [{"kernel": "a", "timing": {"samples": {"seconds": [1, 1], "ghz": [2]}}}]}`, "x: rows[0].timing.samples: 1 clocks for 2 times"},
		{"pawl: NaN", `{"schema": 1, "kind": "bench", "rows": [{"kernel": "a", "timing": {"samples": {"seconds": [NaN]}}}]}`, "x: this is not a report of pawl (report.json of a run, or what --json prints): invalid character 'N'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := parse(test.text)
			if err == nil {
				t.Fatalf("accepted: %s", outline(f))
			}
			got := err.Error()
			if p := diag.Problems(err); p != nil {
				got = p[0].Detail()
			}
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSidecars(t *testing.T) {
	const text = `{"meta": {}, "benchmarks": [{"name": "k", "states": [{"name": "Device=0 n=1", "device": 0, "summaries": [
  {"tag": "nv/json/bin:nv/cold/sample_times", "data": [{"name": "filename", "value": "%s"}, {"name": "size", "value": "%d"}]}]}]}]}`
	two := []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1, 2
	for _, test := range []struct {
		name, written, exists string
		size                  int
		raw                   []byte
		want                  string
	}{
		{"beside the JSON", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 2, two, ""},
		{"written from elsewhere, then moved", "out/deep/r.json-bin/0.bin", "dir/r.json-bin/0.bin", 2, two, ""},
		{"absolute, then moved", "/home/me/r.json-bin/0.bin", "dir/r.json-bin/0.bin", 2, two, ""},
		{"absolute", "/home/me/r.json-bin/0.bin", "/home/me/r.json-bin/0.bin", 2, two, ""},
		{"below the JSON's folder", "out/r.json-bin/0.bin", "dir/out/r.json-bin/0.bin", 2, two, ""},
		{"from where nvbench ran", "dir/r.json-bin/0.bin", "dir/r.json-bin/0.bin", 2, two, ""},
		{"cut off", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 2, two[:7], "has 7 bytes; expected 2 numbers of 4"},
		{"of another run", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 3, two, "has 8 bytes; expected 3 numbers of 4"},
		{"empty", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 0, nil, "has 0 bytes"},
		{"zero", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 1, make([]byte, 4), "k/n=1, sample 0: expected a time above 0, got 0"},
		{"NaN", "r.json-bin/0.bin", "dir/r.json-bin/0.bin", 1, []byte{0, 0, 192, 127}, "sample 0: expected a time, got NaN"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Parse("dir/r.json", fmt.Sprintf(text, test.written, test.size), Options{}, func(name string) ([]byte, error) {
				if name != filepath.FromSlash(test.exists) {
					return nil, os.ErrNotExist
				}
				return test.raw, nil
			})
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "":
				if diff := cmp.Diff([]float64{1, 2}, f.Report.Rows[0].Timing.Samples.Seconds); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestReadFolderAndMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "none.json"), Options{}); err == nil || !strings.HasSuffix(err.Error(), "none.json: no such file or directory") {
		t.Errorf("got %v", err)
	}
	report := `{"schema": 1, "kind": "bench", "device_class": "c", "rows": [{"kernel": "a", "config": "b", "timing": {"samples": {"seconds": [1, 2]}}}]}`
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(report), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Read(dir, Options{})
	if err != nil || f.Format != Pawl || f.Report.DeviceClass != "c" || f.Report.Rows[0].Name() != "a/b" {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestMillionSamples(t *testing.T) {
	f, err := parse("[" + strings.Repeat("1.5,", 999_999) + "1.5]")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Report.Rows[0].Timing.Samples.Seconds); n != 1_000_000 {
		t.Errorf("%d samples", n)
	}
}

// sound is what holds of every file that was accepted.
func sound(t *testing.T, f *File) {
	seen := map[string]bool{}
	for _, row := range f.Report.Rows {
		key := row.Kernel + "\x00" + row.Config
		if f.Format != Pawl && seen[key] {
			t.Fatalf("%q is there twice", row.Name())
		}
		seen[key] = true
		if row.Timing == nil {
			if row.Fault == nil && f.Format != Pawl {
				t.Fatalf("%q has neither samples nor a fault", row.Name())
			}
			continue
		}
		for _, s := range row.Timing.Samples.Seconds {
			if !(s > 0) || math.IsInf(s, 0) {
				t.Fatalf("%q has the time %v", row.Name(), s)
			}
		}
		if n := len(row.Timing.Samples.GHz); n != 0 && n != len(row.Timing.Samples.Seconds) {
			t.Fatalf("%q has %d clocks", row.Name(), n)
		}
	}
	if len(f.Report.Rows) == 0 {
		t.Fatal("accepted without rows")
	}
}
