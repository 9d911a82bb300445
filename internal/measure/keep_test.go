package measure

import (
	"testing"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
)

// Code that may count its launches is looked at once more when all are timed, however
// few of the earlier samples were kept.
func TestLastLook(t *testing.T) {
	t.Parallel()
	client := newWorker(t)
	for name, test := range map[string]struct {
		keep, sustain bool
		want          int
	}{
		"kept":      {keep: true, want: 1},
		"not asked": {},
		"sustained": {keep: true, sustain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := quickly()
			opts.Keep, opts.Sustain = test.keep, test.sustain
			var kept []Kept
			opts.OnKept = func(found []Kept) { kept = found }
			instance := sized(spec.CellHost, 8)
			instance.Args[0].Role, instance.Args[0].Init = spec.RoleOut, spec.Init{}
			timings, _, errs := Turns(t.Context(), []Side{{Cell: loaded(t, client, puppet.Script{Micros: 10}), Instance: instance}}, opts, func(Progress) {})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			last, from := 0, 0
			for i, k := range kept {
				if k.Last {
					last, from = last+1, i
				}
			}
			if last != test.want || last > 0 && from != len(kept)-1 {
				t.Errorf("%d last looks, want %d, as the last: %+v", last, test.want, kept)
			}
			var dropped []result.Drop
			for _, d := range timings[0].Samples.Dropped {
				if d.Cause == "last look" {
					dropped = append(dropped, d)
				}
			}
			if len(dropped) != test.want {
				t.Errorf("samples of %d last looks are left out: %+v", len(dropped), timings[0].Samples.Dropped)
			}
		})
	}
}
