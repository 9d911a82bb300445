package claim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pawl/internal/result"
)

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":              {``, "ends at byte 0"},
		"no JSON":              {`hello`, "expected a value"},
		"half":                 {`{"schema": 1, "rows": [`, "ends at byte"},
		"more behind":          {`{"schema": 1} {}`, "more follows"},
		"not UTF-8":            {"{\"schema\": 1, \"id\": \"\xff\"}", "UTF-8"},
		"another schema":       {`{"schema": 99}`, "schema 99"},
		"bomb of lists":        {strings.Repeat("[", 100_000), "nested more than 24 deep"},
		"bomb of objects":      {`{"a":` + strings.Repeat(`{"a":`, 100_000), "nested more than 24 deep"},
		"bomb of sides":        {`{"rows": [` + strings.Repeat(`{"sides": [{"row": `, 100), "nested more than 24 deep"},
		"a key twice":          {`{"schema": 1, "schema": 1}`, `the key "schema" is there twice`},
		"a key twice, escaped": {`{"schema": 1, "sch\u0065ma": 1}`, `is there twice`},
		"a key by case":        {`{"schema": 1, "rows": [{"kernel": "k", "Verdict": "maintained"}]}`, `rows[0]: the key "Verdict" differs from "verdict" by case only`},
		"ten thousand rows":    {`{"schema": 1, "rows": [` + strings.Repeat(`{},`, 10_000) + `{}]}`, "rows: the list has more than 4096 rows"},
		"ten million samples":  {`{"rows": [{"timing": {"samples": {"seconds": [` + strings.Repeat("1,", 10_000_000) + `1]}}}]}`, "rows[0].timing.samples.seconds: the list has more than 1048576 values"},
		"many values":          {`{"id": [` + strings.Repeat(`[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],`, 1_000_000) + `1]}`, "more than 16777216 values"},
		"bomb of rivals":       {`{"schema": 1, "rows": [{"rivals": [` + strings.Repeat(`{"row":{"timing":{}}},`, 700_000) + `{}]}]}`, "would take more than 512 MiB of memory"},
		"long number":          {`{"schema": 1` + strings.Repeat("0", 100) + `}`, "at most 40"},
		"long text":            {`{"id": "` + strings.Repeat("x", 2<<20) + `"}`, "longer than 1 MiB"},
		"long key":             {`{"` + strings.Repeat("x", 1000) + `": 1}`, "longer than 256 B"},
		"many keys":            {`{` + keys(5000) + `}`, "more than 4096 keys"},
		"NaN":                  {`{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [NaN]}}}]}`, "rows[0].timing.samples.seconds[0]: byte"},
		"infinite":             {`{"schema": 1, "rows": [{"timing": {"samples": {"seconds": [1e999]}}}]}`, "1e999"},
		"a text for a number":  {`{"schema": 1, "rows": [{"timing": {"repeat": "x"}}]}`, "repeat"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode("report.json", []byte(test.text), DefaultLimits())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "report.json: ") {
				t.Errorf("got %.200v, want %s", err, test.want)
			}
		})
	}
}

func keys(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"k%d": 1`, i))
	}
	return strings.Join(out, ",")
}

// A map may have names that differ by case: variables of a config are N and n.
func TestDecodeTakesHonestKeys(t *testing.T) {
	text := `{"schema": 1, "later_version": {"Schema": 1}, "rows": [{"kernel": "k", "vars": {"N": "1", "n": "2", "Kernel": "3"}}]}`
	if _, err := decode("report.json", []byte(text), DefaultLimits()); err != nil {
		t.Error(err)
	}
}

// The scanner knows every key of a report, so that none can be written in another case.
func TestFieldsKnowTheReport(t *testing.T) {
	for _, key := range []string{"rows", "outcome", "gate", "machine"} {
		if fields()[reflect.TypeFor[result.Report]()][key] == nil {
			t.Errorf("the report's key %s is not known", key)
		}
	}
	if fields()[reflect.TypeFor[result.FalseAlarms]()]["decisions"] == nil {
		t.Error("keys of embedded types are not known")
	}
}

// What the scanner lets pass, the decoder reads within the same bounds.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema": 1, "rows": [{"kernel": "k", "timing": {"samples": {"seconds": [1, 2e-3], "dropped": [{"from": 0, "to": 1}]}}}]}`))
	f.Add([]byte(`{"schema": 1, "rows": [{"vars": {"a\u0000": "\ud800"}, "sides": [{"role": "base", "row": {"play": {"cells": [{}]}}}]}]}`))
	limits := Limits{Depth: 8, Text: 100, Number: 20, List: 10, Rows: 5, Values: 100, Memory: 1 << 20}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &scanner{raw: raw, limits: limits}
		scanned := s.document()
		if scanned == nil && json.Valid(raw) {
			var any any
			numbers := json.NewDecoder(bytes.NewReader(raw))
			numbers.UseNumber() // some are too large for a float64
			if err := numbers.Decode(&any); err != nil {
				t.Fatal(err)
			}
			if deep(any) > limits.Depth+1 {
				t.Fatalf("nested %d deep", deep(any))
			}
		}
		r, err := decode("r", raw, limits)
		if err != nil {
			if strings.ContainsFunc(err.Error(), hostile) {
				t.Fatalf("the message is not harmless: %q", err)
			}
			return
		}
		if scanned != nil || len(r.Rows) > limits.Rows {
			t.Fatalf("%v, %d rows", scanned, len(r.Rows))
		}
		disarm(r)
		if again, err := r.Encode(); err != nil || strings.ContainsFunc(strings.NewReplacer("\n", "", "\\n", "", "\t", "").Replace(string(again)), hostile) && !strings.Contains(string(again), "\uFFFD") {
			t.Fatalf("not harmless: %v %q", err, again)
		}
	})
}

func deep(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			most = max(most, deep(x))
		}
		return most + 1
	case map[string]any:
		for _, x := range v {
			most = max(most, deep(x))
		}
		return most + 1
	}
	return 0
}
