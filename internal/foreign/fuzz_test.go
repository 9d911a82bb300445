package foreign

import (
	"encoding/json"
	"strings"
	"testing"
)

// accept parses, and checks what holds of everything that is accepted.
func accept(t *testing.T, text string) {
	file, err := Parse("x", text, Options{}, func(string) ([]byte, error) { return []byte{0, 0, 128, 63, 0, 0, 0, 64}, nil })
	if err == nil {
		sound(t, file)
	} else if err.Error() == "" {
		t.Fatal("an error without words")
	}
}

// reader fuzzes one format from a short file of it, whole and cut in the middle
// (long ones take all the time to be made shorter again). What does not begin like
// the format is made to.
func reader(f *testing.F, begin string, seeds ...string) {
	for _, text := range seeds {
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text string) {
		accept(t, text)
		accept(t, begin+text)
	})
}

func FuzzPawl(f *testing.F) {
	reader(f, `{"schema": 1, "kind": "bench", "rows": [`,
		`{"schema":1,"kind":"bench","rows":[{"kernel":"a","config":"b","timing":{"samples":{"seconds":[1,2],"ghz":[2,2],"dropped":[{"from":0,"to":1}]}}}]}`)
}

func FuzzNVBench(f *testing.F) {
	reader(f, `{"meta": {}, "benchmarks": [{"name": "k", "states": [`,
		`{"devices":[{"id":0,"name":"NVIDIA H200","sm_version":900}],"benchmarks":[{"name":"k","states":[{"name":"Device=0 n=1","device":0,"summaries":[`+
			`{"tag":"nv/json/bin:nv/cold/sample_times","data":[{"name":"filename","value":"r.json-bin/0.bin"},{"name":"size","value":"2"}]}]}]}]}`,
		`{"meta":{},"benchmarks":[{"name":"k","states":[{"name":"","summaries":[{"tag":"nv/cold/time/gpu/mean","data":[{"name":"value","value":"1e-3"}]}]},{"name":"x","is_skipped":true}]}]}`)
}

func FuzzGoogle(f *testing.F) {
	reader(f, `{"context": {}, "benchmarks": [`,
		`{"context":{"num_cpus":2},"benchmarks":[{"name":"a","run_name":"a","run_type":"iteration","real_time":2.5,"time_unit":"us"},{"name":"b","error_occurred":true}]}`,
		`{"context":{},"benchmarks":[{"name":"a_median","run_name":"a","run_type":"aggregate","aggregate_name":"median","real_time":2.5}]}`)
}

func FuzzPytest(f *testing.F) {
	reader(f, `{"machine_info": {}, "benchmarks": [`,
		`{"machine_info":{"cpu":{"count":2}},"commit_info":{"id":"1"},"benchmarks":[{"name":"a","fullname":"f::a","stats":{"data":[1,2]}},{"name":"b","stats":{"median":1}}],"datetime":"x"}`)
}

func FuzzHyperfine(f *testing.F) {
	reader(f, `{"results": [`, `{"results":[{"command":"a","times":[1,2],"exit_codes":[0,null]},{"command":"a","median":1}]}`)
}

func FuzzGoTest(f *testing.F) {
	reader(f, "pkg: p\nBenchmarkF-8 10 ", "goos: linux\npkg: a/b\nBenchmarkF\nBenchmarkF-8   \t 100\t 12.5 ns/op\t 3 B/op\nPASS\nok  \ta/b\t0.1s\n")
}

func FuzzGoEvents(f *testing.F) {
	reader(f, `{"Action":"output","Package":"p","Output":"BenchmarkF-8 10 `,
		`{"Action":"start","Package":"a/b"}`+"\n"+`{"Action":"output","Package":"a/b","Output":"BenchmarkF-8   \t"}`+"\n"+`{"Action":"output","Package":"a/b","Output":" 100\t 12.5 ns/op\n"}`+"\n")
}

func FuzzList(f *testing.F) {
	reader(f, `{"a": [`, "[1, 2.5e-3]", `{"a": [1], "b\u00e9": [2]}`)
}

func FuzzCSV(f *testing.F) {
	reader(f, "name;seconds\n", "name,time_ms\na,1\n\"b, c\",2\n", "1\n2\n", "# in us\ntime (10 ms/iter)\n3\n")
}

// FuzzScanner compares the scanner with encoding/json: they agree on what is JSON,
// but for NaN and Infinity, depth, and texts that are not UTF-8.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{`{"a": [1, -2.5e+3, true, null, "x\n\u00e9\ud83d\ude00"]}`, "[01]", "[1.]", "[-]", `"\x"`, "[1,]", "{,}", `{"a":1,}`, "1e5", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := &scanner{source: source{text: text}}
		err := s.skip()
		if err == nil {
			err = s.end()
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Infinity") || err != nil && strings.Contains(err.Error(), "nested") {
			return
		}
		if valid := json.Valid([]byte(text)); valid != (err == nil) {
			t.Fatalf("%q: encoding/json says %v, the scanner %v", text, valid, err)
		}
		var want string
		if json.Unmarshal([]byte(text), &want) == nil && strings.ToValidUTF8(text, "") == text {
			s := &scanner{source: source{text: text}}
			if got, err := s.string(); s.next() == 0 && strings.TrimSpace(text) != "null" && (err != nil || got != want) {
				t.Fatalf("%q is %q, want %q (%v)", text, got, want, err)
			}
		}
	})
}
