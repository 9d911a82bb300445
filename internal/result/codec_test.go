package result

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEncodeIsReadable(t *testing.T) {
	r := &Report{Schema: Schema, Kind: KindBench, Rows: []*Row{{
		Kernel: "a", Config: `quo"te\`,
		Timing: &Timing{Samples: Samples{Seconds: []float64{1, 2.5, 3e-9}, Dropped: []Drop{{0, 1, "warm-up"}}}},
	}}}
	raw, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(raw, []byte("[1,2.5,3e-9]")) {
		t.Errorf("samples are not on one line:\n%s", raw)
	}
	if !bytes.Contains(raw, []byte("\n  \"kind\": \"bench\"")) {
		t.Errorf("not indented:\n%s", raw)
	}
	back, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Errorf("changed by a round trip (-want +got):\n%s", diff)
	}
}

func TestIndentKeepsTheValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := arbitrary(3).Draw(t, "value")
		compact, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var back bytes.Buffer
		if err := json.Compact(&back, indent(compact)); err != nil {
			t.Fatalf("%s became invalid: %v", compact, err)
		}
		if !bytes.Equal(back.Bytes(), compact) {
			t.Fatalf("%s became %s", compact, back.Bytes())
		}
	})
}

func arbitrary(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.String().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.SliceOfN(arbitrary(depth-1), 0, 4).AsAny(),
		rapid.MapOfN(rapid.String(), arbitrary(depth-1), 0, 4).AsAny())
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":       `hello`,
		"other schema":  `{"schema": 99}`,
		"null row":      `{"schema": 1, "rows": [null]}`,
		"bad range":     `{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [1], "dropped": [{"from": 0, "to": 2}]}}}]}`,
		"reversed":      `{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [1, 2], "dropped": [{"from": 2, "to": 1}]}}}]}`,
		"out of order":  `{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [1, 2], "dropped": [{"from": 1, "to": 2}, {"from": 0, "to": 1}]}}}]}`,
		"null side":     `{"schema": 1, "rows": [{"sides": [null]}]}`,
		"null rival":    `{"schema": 1, "rows": [{"rivals": [{"label": "a"}]}]}`,
		"bad side":      `{"schema": 1, "rows": [{"sides": [{"row": {"timing": {"samples": {"seconds": [1], "dropped": [{"from": 0, "to": 2}]}}}}]}]}`,
		"null case":     `{"schema": 1, "rows": [{"verification": {"cases": [{}, null]}}]}`,
		"null reason":   `{"schema": 1, "rows": [{"why": [null]}]}`,
		"no version":    `{"schema": 1, "rows": [{"why": [{"versions": []}]}]}`,
		"many versions": `{"schema": 1, "rows": [{"why": [{"versions": [{}, {}, {}]}]}]}`,
		"side's reason": `{"schema": 1, "rows": [{"sides": [{"row": {"why": [null]}}]}]}`,
		"null trial":    `{"schema": 1, "tuning": {"trials": [null]}}`,
		"no number":     `{"schema": 1, "tuning": {"trials": [{}]}}`,
		"trial twice":   `{"schema": 1, "tuning": {"trials": [{"n": 1}, {"n": 1}]}}`,
		"null finalist": `{"schema": 1, "tuning": {"finalists": [null]}}`,
		"no such trial": `{"schema": 1, "tuning": {"trials": [{"n": 1}], "finalists": [{"trial": 2}]}}`,
		"null change":   `{"schema": 1, "tuning": {"trials": [{"n": 1}], "finalists": [{"trial": 1, "changes": {"a": null}}]}}`,
		"null pick":     `{"schema": 1, "tuning": {"picks": [null]}}`,
		"no such point": `{"schema": 1, "tuning": {"trials": [{"n": 1}], "front": [0]}}`,
		"truncated doc": `{"schema": 1, "rows": [`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode([]byte(text)); err == nil {
				t.Errorf("%s was accepted", text)
			}
		})
	}
}

func TestKept(t *testing.T) {
	s := Samples{Seconds: []float64{0, 1, 2, 3, 4, 5}, Dropped: []Drop{{0, 2, "warm-up"}, {4, 5, "clock"}}}
	if diff := cmp.Diff([]float64{2, 3, 5}, s.Kept()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [1, 2], "dropped": [{"from": 0, "to": 1}]}}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := Decode(raw)
		if err != nil {
			return
		}
		for _, row := range r.Rows {
			if row.Timing != nil {
				row.Timing.Samples.Kept()
			}
		}
		if _, err := r.Encode(); err != nil {
			t.Fatal(err)
		}
	})
}

// What no run can have measured is refused: sums of it have no number, and its time none in JSON.
func TestDecodeRefusesTheImpossible(t *testing.T) {
	const (
		head = `{"schema": 1, "kind": "check", `
		tail = `"rows": [{"kernel": "k", "timing": {"stats": {"median": MEDIAN}, "samples": {}}, "sides": [{"role": "base", "change": {"median": CHANGE}}]}]}`
	)
	made := func(started, median, change string) string {
		return strings.NewReplacer("MEDIAN", median, "CHANGE", change).Replace(head + `"started": "` + started + `", ` + tail)
	}
	if _, err := Decode([]byte(made("2026-01-01T00:00:00Z", "1e-3", "-0.5"))); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"the year 10000":  made("9999-12-31T23:59:59-14:00", "1e-3", "0"),
		"takes -1 s":      made("2026-01-01T00:00:00Z", "-1", "0"),
		"takes 1e+300 s":  made("2026-01-01T00:00:00Z", "1e300", "0"),
		"-4 times":        made("2026-01-01T00:00:00Z", "1e-3", "-5"),
		"1e+308 times as": made("2026-01-01T00:00:00Z", "1e-3", "1e308"),
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
