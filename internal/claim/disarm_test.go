package claim

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// No text of a stranger's report reaches a terminal as it is: names and values of maps are texts, too.
func TestDisarmReachesAllTexts(t *testing.T) {
	const evil = "x\x1b[2J"
	r := &result.Report{Rows: []*result.Row{{
		Params: map[string]string{evil: evil},
		Why: []*result.Why{{Sentence: evil, Code: []string{evil}, Profiler: &result.Profiler{Files: []string{evil}}, Versions: []result.ExplainedSide{{
			Label: evil, Metrics: map[string]result.Fact{evil: {Value: 1, Unit: evil, From: []string{evil}}}, Findings: []result.Bottleneck{{Next: evil}},
		}}}},
	}}, Outcome: &result.Outcome{Verdicts: map[result.Verdict]int{evil: 1}}}
	disarm(r)
	raw, err := r.Encode()
	if err != nil || strings.Contains(string(raw), `\u001b`) {
		t.Errorf("%v\n%s", err, raw)
	}
	if fact := r.Rows[0].Why[0].Versions[0].Metrics["x\uFFFD[2J"]; fact.Value != 1 || r.Outcome.Verdicts["x\uFFFD[2J"] != 1 {
		t.Errorf("a value is lost: %+v", r)
	}
}
