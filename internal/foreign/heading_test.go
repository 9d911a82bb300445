package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHeadingUnit(t *testing.T) {
	for heading, want := range map[string]float64{
		"ms_per_iter": 1e-3, "time (ms) median": 1e-3, "median_us": 1e-6, "Time [ns]": 1e-9, "duration/ms": 1e-3,
		"timeMs": 1e-3, "elapsedMillis": 1e-3, "TimeInNs": 1e-9, "time_in_milliseconds": 1e-3, "ns/op": 1e-9, "sec/op": 1,
		"time.us": 1e-6, "wall-clock(s)": 1, "time {µs}": 1e-6, "time <μs>": 1e-6, "latency: ms": 1e-3, "GPU Time (us)": 1e-6,
		"ms": 1e-3, "MS": 1e-3, "s": 1, "Seconds": 1, "time per iteration in ms": 1e-3, "time_per_op_ns": 1e-9, "time / ms": 1e-3,
		"timems": 1e-3, "elapsedus": 1e-6, "p99_us": 1e-6, "p50 ms": 1e-3, "fp32_ms": 1e-3, "median_of_5_ms": 1e-3,
		"min_ms": 1e-3, "time_min_us": 1e-6, "micro seconds": 1e-6, "milli-sec": 1e-3, "time (ms) [ms]": 1e-3, "total minutes": 60,
		"median [ps]": 1e-12, "ms per 4096 rows": 1e-3, "4GB copy, ms": 1e-3, "cpu_time_ns": 1e-9, "ns_per_op": 1e-9, "s/iter": 1,
		"value": 0, "time": 0, "times": 0, "runs": 0, "median": 0, "kernel's time": 0, "time_4GB": 0, "microbench": 0, "": 0, "баба": 0,
	} {
		unit, problem, _ := headingUnit(heading)
		if unit != want || problem != "" {
			t.Errorf("%q: %v, %s; want %v", heading, unit, problem, want)
		}
	}
	for heading, want := range map[string]struct {
		problem string
		unclear bool
	}{
		"ops/s":                 {"a rate", false},
		"iterations_per_second": {"a rate", false},
		"GB/s":                  {"a rate", false},
		"items per ms":          {"a rate", false},
		"1/s":                   {"a rate", false},
		"time s^-1":             {"a rate", false},
		"ms/s":                  {"a rate", false},
		"gflops":                {"heads gflops; expected times", false},
		"cycles":                {"heads cycles; expected times", false},
		"throughput":            {"heads throughput; expected times", false},
		"timestamp_ms":          {"heads moments", false},
		"time_ms_us":            {"two units, ms and us", false},
		"time (100ns)":          {"multiples of a unit", false},
		"time (10^-3 s)":        {"multiples of a unit", false},
		"1000 s":                {"multiples of a unit", false},
		"min":                   {"minutes or the minimum", true},
		"time_min":              {"minutes or the minimum", true},
		"time (m)":              {"may mean minutes", true},
		"time (h)":              {"may mean hours", true},
		"time_micro":            {"may mean millionths", true},
		"ks":                    {"may mean thousands", true},
		"time_parsecs":          {"ends in parsecs, which is no known unit", true},
		"Time [fortnights]":     {"ends in fortnights, which is no known unit", true},
		"median latency, beats": {"ends in beats, which is no known unit", true},
	} {
		unit, problem, unclear := headingUnit(heading)
		if unit != 0 || !strings.Contains(problem, want.problem) || unclear != want.unclear {
			t.Errorf("%q: %v, %q, unclear %v", heading, unit, problem, unclear)
		}
	}
}

// Wherever a unit stands in a heading as a word of its own, it is understood or the
// heading refused: no time in it is silently taken for seconds.
func TestHeadingUnitIsNeverMissed(t *testing.T) {
	names := slices.Sorted(maps.Keys(listUnits))
	filler := rapid.SampledFrom([]string{"time", "median", "iter", "of", "kernel", "x", "per", "7", "a1", "GPU", "ops", "min", "the"})
	gap := rapid.SampledFrom([]string{"_", " ", "-", ".", " (", "[", "/", ": ", ") ", "|", " · "})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "unit")
		heading := name
		if rapid.Bool().Draw(t, "before") {
			heading = filler.Draw(t, "first") + gap.Draw(t, "gap") + heading
		}
		if rapid.Bool().Draw(t, "after") {
			heading += gap.Draw(t, "second gap") + filler.Draw(t, "last")
		}
		if rapid.Bool().Draw(t, "capitals") {
			heading = strings.ToUpper(heading)
		}
		if unit, problem, _ := headingUnit(heading); unit != listUnits[name] && problem == "" {
			t.Fatalf("%q: %v, want %v or a refusal", heading, unit, listUnits[name])
		}
	})
}

func TestUnitOfLists(t *testing.T) {
	for _, test := range []struct {
		name, text string
		given      float64
		want       string // the first time, or the error
	}{
		{"an unclear heading", "min\n2\n", 0, `x:1:1: "min" may mean minutes or the minimum; expected a unit such as ms`},
		{"an unclear heading, and a unit given", "min\n2\n", 1e-3, "0.002"},
		{"a rate, and a unit given", "ops/s\n2\n", 1e-3, `x:1:1: "ops/s" heads a rate`},
		{"the heading knows better", "time_us\n2\n", 1e-3, "2e-06"},
		{"a long heading", "median time per launch over all of the rounds in ms\n2\n", 0, "0.002"},
		{"the unit of a remark, given", "# in ms\n2\n", 1e-3, "0.002"},
		{"a remark beside a heading", "# in ms\ntime_us\n2\n", 0, "2e-06"},
		{"a name with a duration in it", "sleep_10ms,2\n", 0, "2"},
		{"a name ends in a unit, which is given", `{"gemm_ms": [2]}`, 1e-3, "0.002"},
		{"a name ends in a unit, and seconds are given", `{"gemm_ms": [2]}`, 1, "2"},
	} {
		f, err := Parse("x", test.text, Options{Unit: test.given}, nil)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(f.Report.Rows[0].Timing.Samples.Seconds[0])
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// What go test -json writes reads as what go test prints.
func TestGoEventsAreTheText(t *testing.T) {
	quote := func(text string) string { return fmt.Sprintf("%q", text) }
	line := rapid.SampledFrom([]string{"goos: linux\n", "BenchmarkF-8 \t 100\t 12.5 ns/op\n", "BenchmarkG/a=1-8  7 1e3 ns/op 3 B/op\n", "BenchmarkF\n", "PASS\n", "=== RUN   BenchmarkF\n", "    x_test.go:5: said \"a\"\n"})
	rapid.Check(t, func(t *rapid.T) {
		packages := []string{"m/a", "m/b"}
		var texts, rest [2]string
		for i := range packages {
			texts[i] = "pkg: " + packages[i] + "\n" + strings.Join(rapid.SliceOfN(line, 1, 8).Draw(t, "lines"), "") + "BenchmarkLast 1 5 ns/op\n"
			rest[i] = texts[i]
		}
		var events strings.Builder
		events.WriteString("go: downloading something\n" + `{"Action":"start","Package":"m/a"}` + "\n" + `{"Action":"start","Package":"m/b"}` + "\n")
		// So that the packages are met in their order.
		events.WriteString(`{"Action":"output","Package":"m/a","Output":""}` + "\n")
		for rest[0]+rest[1] != "" {
			i := rapid.IntRange(0, 1).Draw(t, "package")
			if rest[i] == "" {
				i = 1 - i
			}
			n := rapid.IntRange(1, len(rest[i])).Draw(t, "bytes")
			fmt.Fprintf(&events, `{"Time":"t","Action":"output","Package":%q,"Test":"BenchmarkF","Output":%s}`+"\n", packages[i], quote(rest[i][:n]))
			rest[i] = rest[i][n:]
		}
		want, err := Parse("x", texts[0]+texts[1], Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("x", events.String(), Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if outline(got) != outline(want) {
			t.Fatalf("%s\nwant %s", outline(got), outline(want))
		}
	})
}
