package measure

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// At whatever request its cell ends, a side has failed: in the warm-up, among its
// samples, or when its clock is looked at.
func TestCellsThatEnd(t *testing.T) {
	t.Parallel()
	client := newWorker(t)
	opts := quickly()
	opts.MinSamples, opts.MaxSamples, opts.Keep = 20, 20, true
	ended := 0
	for after := 0; ; after += 15 {
		c := loaded(t, client, puppet.Script{Micros: 1000, Crash: "sample", After: after})
		in := sized(spec.CellHost, 8)
		in.Args[0].Role, in.Args[0].Init = spec.RoleOut, spec.Init{}
		_, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: in}}, opts, func(Progress) {})
		_, gone := c.Close(t.Context())
		if (errs[0] != nil) != (gone != nil) {
			t.Errorf("after %d samples the cell is gone: %v; the side failed: %v", after, gone, errs[0])
		}
		if gone == nil {
			break
		}
		ended++
	}
	if ended < 4 {
		t.Errorf("it ended only %d times", ended)
	}
}

func TestRunsThatEnd(t *testing.T) {
	t.Parallel()
	client := newWorker(t)
	for _, sustain := range []bool{false, true} {
		opts := quickly()
		opts.Sustain = sustain
		c := loaded(t, client, puppet.Script{Micros: 100, Crash: "run"})
		_, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: sized(spec.CellHost, 8)}}, opts, func(Progress) {})
		if causeOf(errs[0]) != result.CauseExit {
			t.Errorf("sustained %t: %v", sustain, errs[0])
		}
	}
}
