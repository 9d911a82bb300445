package report

import (
	"io"
	"testing"

	"pawl/internal/result"
)

// FuzzShow renders whatever can be read as a report in every form, as every kind.
func FuzzShow(f *testing.F) {
	for _, r := range []*result.Report{fuzzOf(briefly().Rows[1], briefly().Rows[3]), selftestSample(), plan(), attentionSearch()} {
		raw, err := r.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"schema": 1, "rows": [{"verification": {"cases": [{"outputs": [{"tiles": {"rows": 1, "columns": 1, "wrong": [1]}}], "shrunk": {}}], "findings": [{}]}}], "selftest": {"subjects": [{}]}}`))
	f.Add([]byte(`{"schema": 1, "tuning": {"configs": ["a"], "space": {"size": 1e300, "params": [{"name": "A", "values": ["1"]}]}, "trials": [{"n": 1, "status": "ok", "cost": 1e300, "on": [{"config": "a", "median_s": 5, "joules": 1}]}], "finalists": [{"trial": 1}], "front": [1], "effects": [{}], "picks": [{}], "spent_s": -1}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := result.Decode(raw)
		if err != nil {
			return
		}
		for _, kind := range []result.Kind{result.KindFuzz, result.KindSelftest, result.KindCheck, result.KindTune} {
			r.Kind = kind
			if err := Text(io.Discard, r, TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if flawed := flaw(Markdown(r)); flawed != "" {
				t.Fatal(flawed)
			}
			if _, err := HTML(r); err != nil {
				t.Fatal(err)
			}
			if _, err := CSV(r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
