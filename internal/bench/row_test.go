package bench

import (
	"testing"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// A side that failed is neither faster nor slower than another.
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
			side := func(fault *result.Fault) *measured {
				job := &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k"}}, Config: &spec.Config{}}
				return &measured{Job: job, fault: fault}
			}
			m, other := side(test.own), side(test.rival)
			m.rivals, other.ratio = []*measured{other}, &result.Ratio{Median: 2, Low: 1, High: 3, Rounds: 8}
			row := (&bench{Options: Options{Against: []string{"other"}}}).row(m)
			if ratio := row.Rivals[0].Ratio; (ratio != nil) != test.want {
				t.Errorf("ratio %+v", ratio)
			}
		})
	}
}
