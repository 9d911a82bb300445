package bench

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/lab"
)

// What has come to nothing is not faster or slower than anything.
func TestBrokenSidesAreNotCompared(t *testing.T) {
	fault := &result.Fault{Cause: result.CauseOverRoof}
	for name, test := range map[string]struct {
		own, rival *result.Fault
		want       bool
	}{
		"sound":     {nil, nil, true},
		"the row":   {fault, nil, false},
		"the rival": {nil, fault, false},
		"both":      {fault, fault, false},
	} {
		t.Run(name, func(t *testing.T) {
			other := &result.Rival{Row: &result.Row{Fault: test.rival}, Ratio: &result.Ratio{Median: 2, Low: 1, High: 3, Rounds: 8}}
			p := &plan{Job: &lab.Job{Row: &result.Row{Fault: test.own, Rivals: []*result.Rival{other}}}}
			p.compareSound()
			if (other.Ratio != nil) != test.want {
				t.Errorf("ratio %+v", other.Ratio)
			}
		})
	}
}
