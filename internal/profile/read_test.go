package profile

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pawl/internal/diag"
)

func load(t testing.TB, name string) *File {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(name, raw)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

func TestReadRaw(t *testing.T) {
	f := load(t, "h200_saxpy_raw.csv")
	if f.Form != Wide || len(f.Launches) != 1 {
		t.Fatalf("%s with %d launches", f.Form, len(f.Launches))
	}
	l := f.Launches[0]
	if l.Kernel != "saxpy" || l.CC != "9.0" || l.Grid != [3]int{262144, 1, 1} || l.Block != [3]int{256, 1, 1} || l.Line != 3 {
		t.Errorf("%+v", l)
	}
	for _, test := range []struct {
		name string
		want Value
	}{
		{"gpu__time_duration.sum", Value{235.264e-6, "s"}},
		{"dram__bytes_read.sum", Value{536.899584e6, "B"}},
		{"dram__bytes.sum.per_second", Value{3.345136e12, "B/s"}},
		{"gpc__cycles_elapsed.max.per_second", Value{1.979597e9, "Hz"}},
		{"launch__shared_mem_per_block_driver", Value{1024, "B/block"}},
		{"lts__t_sectors.sum.per_second", Value{161.112163e9, "sector/s"}},
		{"lts__t_sectors_data_ecc.sum.per_second", Value{369.797334e3, "sector/s"}},
		{"derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.per_second", Value{3422990206746.46, ""}},
		{"sm__ops_path_tensor_op_bgmma_src_int1.sum.peak_sustained_elapsed.per_second", Value{17084088966267682, ""}},
		{"smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio", Value{0, "inst"}},
	} {
		if got, ok := l.Value(test.name); !ok || !near(got.Number, test.want.Number) || got.Unit != test.want.Unit {
			t.Errorf("%s: %v, %t; expected %v", test.name, got, ok, test.want)
		}
	}
	for _, missing := range []string{
		"sass__inst_executed_register_spilling_mem_local",                     // no data
		"derived_tempMetric4",                                                 // nan
		"LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed", // empty
		"launch__func_cache_config",                                           // a word
		"sm__no_such_metric.sum",
	} {
		if v, ok := l.Value(missing); ok {
			t.Errorf("%s: %v, expected none", missing, v)
		}
	}
}

func TestReadDetails(t *testing.T) {
	f := load(t, "h200_saxpy_details.csv")
	if f.Form != Long || len(f.Launches) != 1 {
		t.Fatalf("%s with %d launches", f.Form, len(f.Launches))
	}
	l := f.Launches[0]
	for name, want := range map[string]Value{
		"Memory Workload Analysis: Memory Throughput":              {3.35e12, "B/s"},
		"GPU Speed Of Light Throughput: Memory Throughput":         {69.52, "%"},
		"GPU Speed Of Light Throughput: Elapsed Cycles":            {465728, "cycle"},
		"GPU Speed Of Light Throughput: Duration":                  {235.26e-6, "s"},
		"Launch Statistics: Shared Memory Configuration Size":      {32770, "B"},
		"Launch Statistics: Registers Per Thread":                  {16, "register/thread"},
		"Memory Workload Analysis: Local Memory Spilling Requests": {0, ""},
	} {
		if got, ok := l.Value(name); !ok || !near(got.Number, want.Number) || got.Unit != want.Unit {
			t.Errorf("%s: %v, %t; expected %v", name, got, ok, want)
		}
	}
	if len(l.Rules) != 8 {
		t.Fatalf("%d rules", len(l.Rules))
	}
	stall := l.Rules[5]
	if stall.Name != "CPIStall" || stall.Type != "OPT" || stall.Scope != "global" || stall.Speedup != (Value{30.48, "%"}) || !strings.HasPrefix(stall.Text, "On average, each warp") {
		t.Errorf("%+v", stall)
	}
	if sol := l.Rules[0]; sol.Name != "SOLBottleneck" || sol.Speedup.Unit != "" {
		t.Errorf("%+v", sol)
	}
}

// Both pages of one report say the same, as far as the page details goes.
func TestPagesAgree(t *testing.T) {
	raw, details := Of(load(t, "h200_saxpy_raw.csv").Launches[0]), Of(load(t, "h200_saxpy_details.csv").Launches[0])
	shared := 0
	for m, b := range details.Metrics {
		a, ok := raw.Metrics[m]
		if !ok {
			t.Errorf("%s: only the page details has it", m)
			continue
		}
		shared++
		if a.Unit != b.Unit || math.Abs(a.Number-b.Number) > 0.02*math.Abs(a.Number)+0.2 {
			t.Errorf("%s: %v and %v", m, a, b)
		}
	}
	if shared < 30 {
		t.Errorf("%d metrics are in both", shared)
	}
}

func wide(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

const head = `"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"`

func TestReadForms(t *testing.T) {
	for _, test := range []struct {
		name, text string
		form       Form
		launches   int
		metric     string
		want       Value // of the last launch
		missing    bool
	}{
		{
			name: "noise before the table, several kernels, thousands apart",
			text: wide("==PROF== Connected to process 12", "my program says 3,4", `==PROF== Profiling "a": 0%....50%....100% - 3 passes`, head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","nsecond"`,
				`"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","1,536"`, `"1","1","p","h","b(int, float *)","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","12,345,678.5"`),
			form: Wide, launches: 2, metric: "gpu__time_duration.sum", want: Value{0.0123456785, "s"},
		},
		{
			name: "columns of 2020: no block and grid", text: wide(`"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"`,
				`"0","1","p","h","k","2020-Jan-01 10:00:00","1","7","Command line profiler metrics","dram__bytes_read.sum","Mbyte","1.5"`),
			form: Long, launches: 1, metric: "dram__bytes_read.sum", want: Value{1.5e6, "B"},
		},
		{
			name: "clocks of 2020", text: wide(`"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"`,
				`"0","1","p","h","k","2020-Jan-01 10:00:00","1","7","GPU Speed Of Light","SM Frequency","cycle/nsecond","1.41"`),
			form: Long, launches: 1, metric: "GPU Speed Of Light: SM Frequency", want: Value{1.41e9, "Hz"},
		},
		{
			name: "long form, two launches of one kernel", text: wide(head+`,"Section Name","Metric Name","Metric Unit","Metric Value"`,
				`"0","1","p","h","k","1","7","(32, 1, 1)","(4, 1, 1)","0","8.9","Command line profiler metrics","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","12.5"`,
				`"1","1","p","h","k","1","7","(32, 1, 1)","(4, 1, 1)","0","8.9","Command line profiler metrics","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","n/a"`),
			form: Long, launches: 2, metric: "sm__throughput.avg.pct_of_peak_sustained_elapsed", missing: true,
		},
		{
			name: "summary per kernel", text: wide(`"Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"`,
				`"1","p","h","k","1","7","(32, 1, 1)","(4, 1, 1)","0","8.6","5","GPU Speed Of Light Throughput","Duration","us","1.0","3.0","2.0"`,
				`"1","p","h","k","1","7","(32, 1, 1)","(8, 1, 1)","0","8.6","5","GPU Speed Of Light Throughput","Duration","us","1.0","5.0","4.0"`),
			form: Summary, launches: 2, metric: "Duration", want: Value{4e-6, "s"},
		},
		{
			name: "no row of units", text: wide(head+`,"gpu__time_duration.sum"`, `"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","1536"`),
			form: Wide, launches: 1, metric: "gpu__time_duration.sum", want: Value{1536e-9, "s"},
		},
		{
			name: "decimal commas are not guessed at", text: wide(head+`,"sm__throughput.avg.pct_of_peak_sustained_elapsed"`, `"","","","","","","","","","","","%"`, `"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","69,5"`),
			form: Wide, launches: 1, metric: "sm__throughput.avg.pct_of_peak_sustained_elapsed", missing: true,
		},
		{
			name: "quotes in names, CRLF, a mark at the beginning", text: "\ufeff" + strings.ReplaceAll(wide(head+`,"launch__waves_per_multiprocessor"`, `"","","","","","","","","","","",""`,
				`"0","1","p","h","k<""x"">","1","7","(32, 1, 1)","(4, 2, 1)","0","12.0","0.5"`), "\n", "\r\n"),
			form: Wide, launches: 1, metric: "launch__waves_per_multiprocessor", want: Value{0.5, ""},
		},
		{
			name: "two tables in one file", text: wide(head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"`, `"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","1"`,
				head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"`, `"0","2","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","2"`, "==PROF== Disconnected from process 1"),
			form: Wide, launches: 2, metric: "gpu__time_duration.sum", want: Value{2e-6, "s"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := Read("k.csv", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if f.Form != test.form || len(f.Launches) != test.launches {
				t.Fatalf("%s with %d launches", f.Form, len(f.Launches))
			}
			got, ok := f.Launches[test.launches-1].Value(test.metric)
			if ok == test.missing || !near(got.Number, test.want.Number) || got.Unit != test.want.Unit {
				t.Errorf("%v, %t; expected %v", got, ok, test.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	real, err := os.ReadFile("testdata/h200_saxpy_raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	details, err := os.ReadFile("testdata/h200_saxpy_details.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, text, want string }{
		{"nothing", " \n", "k.csv: the file is empty"},
		{"a report", "NVR\x00\x10\x00", "k.csv: this is a report of Nsight Compute"},
		{"an image", "\x89PNG\xff\xfe", "k.csv: this is no text"},
		{"another tool's file", "name,mean\nsaxpy,3\n", `k.csv:1: no line begins with "ID"`},
		{"no permission", "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", "k.csv: ncu was not permitted"},
		{"no kernel", "==PROF== Connected\n==WARNING== No kernels were profiled.\n", "k.csv: ncu profiled no kernel"},
		{"another error of ncu", "==ERROR== The application returned an error code (1).\n", "k.csv: ncu failed: The application"},
		{"a heading alone", wide(head + `,"gpu__time_duration.sum"`), "k.csv:1: the table has a heading and no kernel"},
		{"units alone", wide(head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"`), "k.csv:1: the table has a heading and no kernel"},
		{"no metrics", wide(`"ID","Kernel Name","Time"`, `"0","k","3"`), "k.csv:1: none of the columns is a metric"},
		{"no values", wide(`"ID","Kernel Name","Metric Name"`, `"0","k","3"`), "k.csv:1: the table has Metric Name, but no Metric Value"},
		{"cut inside of a field", string(real[:len(real)-3]), "k.csv:3: the file ends inside of a quoted field"},
		{"cut between fields", string(real[:strings.LastIndex(string(real), `,"`)]), "k.csv:3: the row has 2237 fields, expected 2238"},
		{"cut details", string(details[:2000]), "the file ends inside of a quoted field"},
		{"garbage after a field", wide(head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"x`), "k.csv:2: expected a comma"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read("k.csv", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v; expected %s", err, test.want)
			}
			if p := diag.Problems(err); len(p) != 1 || p[0].Hint == "" && !strings.Contains(test.name, "another error") {
				t.Errorf("no remedy: %v", err)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "12": 12, "-3.5": -3.5, "1,234": 1234, "12,345,678.25": 12345678.25, "-1,000": -1000, "1e3": 1000, "3'422'990": 3422990,
		"1\u202f234,5": math.NaN(), "12,34": math.NaN(), "1234,567": math.NaN(), ",123": math.NaN(), "1,234.5,6": math.NaN(), "0x10": math.NaN(),
		"nan": math.NaN(), "inf": math.NaN(), "": math.NaN(), "n/a": math.NaN(), "no data": math.NaN(), "(256, 1, 1)": math.NaN(), "1e999": math.NaN(), "1_000": math.NaN(),
	} {
		got, ok := number(text)
		if ok == math.IsNaN(want) || ok && got != want {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
	}
}

func TestUnitOf(t *testing.T) {
	for unit, want := range map[string]scale{
		"Kbyte/block": {"B/block", 1e3}, "sector/ns": {"sector/s", 1e9}, "cycle/usecond": {"Hz", 1e6}, "byte/second": {"B/s", 1}, "Gbyte/second": {"B/s", 1e9},
		"%": {"%", 1}, "": {"", 1}, "inst/cycle": {"inst/cycle", 1}, "Mhz": {"Hz", 1e6}, "parsec": {"parsec", 1}, "%/Kbyte": {"%/B", 1e-3}, "msecond": {"s", 1e-3},
	} {
		if got := unitOf(unit); got.base != want.base || !near(got.size, want.size) {
			t.Errorf("%s: %v", unit, got)
		}
	}
}

// large is a file of at least this many bytes, made of the real one.
func large(t testing.TB, size int) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/h200_saxpy_raw.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	var b strings.Builder
	b.WriteString(lines[0] + lines[1])
	for i := 0; b.Len() < size; i++ {
		b.WriteString(fmt.Sprintf(`"%d"`, i) + strings.TrimPrefix(lines[2], `"0"`))
	}
	return []byte(b.String())
}

func BenchmarkRead5MB(b *testing.B) {
	raw := large(b, 5<<20)
	for _, test := range []struct {
		name     string
		profiles bool
	}{{"file", false}, {"profiles", true}} {
		b.Run(test.name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				f, err := Read("k.csv", raw)
				if err != nil {
					b.Fatal(err)
				}
				for _, l := range f.Launches {
					if test.profiles {
						Of(l)
					}
				}
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"h200_saxpy_details.csv"} {
		raw, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(wide(head+`,"gpu__time_duration.sum"`, `"","","","","","","","","","","","us"`, `"0","1","p","h","a","1","7","(32, 1, 1)","(4, 2, 1)","0","8.0","1,536"`)))
	f.Add([]byte("==ERROR== ERR_NVGPUCTRPERM\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Read("k.csv", raw)
		if err != nil {
			if len(diag.Problems(err)) != 1 {
				t.Errorf("not a problem with a place: %v", err)
			}
			return
		}
		for _, l := range file.Launches {
			p := Of(l)
			for m, v := range p.Metrics {
				if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
					t.Errorf("%s is %v", m, v)
				}
			}
		}
	})
}
