package measure

import (
	"context"
	"slices"

	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

const hostShare = 0.75 // of what is plausible: a host that takes longer is timed, too

// lookAtHost finds out whether samples must have the host's part of a launch in them.
// Where that takes far longer than the GPU, nobody can tell whether it is work that
// ought to be timed, done elsewhere while the samples' stream is held.
func (s *series) lookAtHost(ctx context.Context) error {
	if s.Instance.Variant.Kernel.DeviceCode() || !s.onGPU() || s.opts.Sustain || s.looked {
		return nil
	}
	s.looked = true
	var took [2]float64
	for i, unhidden := range []bool{false, true} {
		var err error
		if took[i], err = s.aside(ctx, unhidden); err != nil {
			return err
		}
	}
	if gpu, whole := took[0], took[1]; whole > hostShare*s.plausible(gpu) {
		s.noted.GPUS = gpu
		s.unhide()
	} else {
		s.hostS = whole
	}
	return nil
}

// unhide lets samples begin on an idle device from now on.
func (s *series) unhide() { s.unhidden, s.perSample = true, 1 }

// unhideAll times all sides that run on a GPU in the way that one of them must be.
func unhideAll(sides []*series) {
	if slices.ContainsFunc(sides, func(s *series) bool { return s.unhidden }) {
		for _, s := range sides {
			if s.onGPU() {
				s.unhide()
			}
		}
	}
}

// aside is what a launch takes by the cell's own clock, with the host's part in it or
// without. No statistics know of these samples.
func (s *series) aside(ctx context.Context, unhidden bool) (float64, error) {
	const enough = 7
	m := wire.Sample{Side: s.Index, Count: enough, Repeat: 1, Cache: s.opts.Cache, Unhidden: unhidden, DeadlineS: s.deadline(enough)}
	s.freshen(&m)
	got, err := s.Cell.Sample(ctx, m)
	if err != nil {
		return 0, err
	}
	s.keep(m, got)
	return stat.Median(got.Seconds), nil
}
