package measure

import (
	"context"
	"slices"

	"pawl/internal/stat"
)

const hostShare = 0.75 // of the plausible time: a host that takes longer is timed, too

// lookAtHost finds out whether samples must include the host's part of a launch. Where the host
// takes far longer than the GPU, nobody can tell whether it does work that ought to be timed,
// elsewhere while the samples' stream is held.
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

// unhide makes samples begin on an idle device from now on.
func (s *series) unhide() { s.unhidden, s.perSample = true, 1 }

// unhideAll times all sides that run on a GPU in the way that one of them requires.
func unhideAll(sides []*series) {
	if slices.ContainsFunc(sides, func(s *series) bool { return s.unhidden }) {
		for _, s := range sides {
			if s.onGPU() {
				s.unhide()
			}
		}
	}
}

// aside returns the time of a launch by the cell's own clock, with or without the host's part.
// These samples enter no statistics.
func (s *series) aside(ctx context.Context, unhidden bool) (float64, error) {
	const enough = 7
	m := s.wanted(enough)
	m.Repeat, m.Unhidden = 1, unhidden
	got, err := s.take(ctx, m)
	if err != nil {
		return 0, err
	}
	return stat.Median(got.Seconds), nil
}
