package measure

import (
	"context"
	"fmt"
	"math"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/stat"
	"pawl/internal/worker/wire"
)

// SideJoules returns the energy of a launch for every side, once for each round: back to back, the
// sides in turns, each so long that the counter of the machine or of the GPU resolves it.
func SideJoules(ctx context.Context, sides []Side, opts Options, rounds int) ([][]float64, error) {
	all := make([]*series, len(sides))
	for i, side := range sides {
		all[i] = newSeries(side, opts, func(Progress) {})
		all[i].warm = opts.Warm
		if err := all[i].begin(ctx); err != nil {
			return nil, &SideError{i, err}
		}
	}
	joules := make([][]float64, len(sides))
	for round := range rounds {
		for _, i := range turnOrder(len(all), round) {
			used, err := all[i].joules(ctx)
			if err != nil {
				return nil, &SideError{i, err}
			}
			joules[i] = append(joules[i], used)
		}
	}
	return joules, nil
}

// joules returns the energy of a launch among many.
func (s *series) joules(ctx context.Context) (float64, error) {
	for _, arg := range s.Instance.Args {
		if arg.Buffer && arg.Role == spec.RoleInOut {
			return 0, result.Faultf(result.CauseUnsupported, "launches back to back do not restore what they change, but argument %s has role: inout", arg.Name).
				WithHint("its energy cannot be measured: search for time")
		}
	}
	each := max(1e-9, stat.Median(s.samples.Seconds))
	launches := int64(max(1, math.Ceil(energySpan/each)))
	reply, err := s.Cell.Run(ctx, wire.Run{Side: s.Index, Launches: launches, DeadlineS: s.opts.Timeout.Seconds() + 10*energySpan})
	if err != nil {
		return 0, err
	}
	if reply.EnergyJ == nil {
		return 0, result.Faultf(result.CauseUnsupported, "%s does not say how much energy a launch takes", deviceOf(s)).
			WithHint("GPUs say so by NVML; Intel and AMD processors by /sys/class/powercap, which only root may read, and few virtual machines have")
	}
	return *reply.EnergyJ / float64(launches), nil
}

func deviceOf(s *series) string {
	if s.onGPU() {
		return fmt.Sprintf("the GPU of %s", s.Instance.Variant.Kernel.Name)
	}
	return "this machine"
}
