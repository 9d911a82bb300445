package lab

import (
	"fmt"
	"strings"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Doubts returns the warnings about a job that was measured, or whose measurement failed; cv is the
// gate's bound. The timing may be nil.
func (l *Lab) Doubts(p *Job, t *result.Timing, cv float64) []result.Warning {
	var out []result.Warning
	if t != nil {
		out = measure.Doubts(t, cv)
	}
	if box := p.Record.Sandbox; box != nil && len(box.Attempts) > 0 {
		out = append(out, result.Warning{
			Code: "sandbox", Message: fmt.Sprintf("the kernel tried what its sandbox refuses: %s", listed(box.Attempts)),
		})
	}
	return append(out, l.checkLock(p, t)...)
}

// checkLock warns when a locked clock did not stay at its frequency.
func (l *Lab) checkLock(p *Job, t *result.Timing) []result.Warning {
	const slack = 0.02
	if l.LockMHz == 0 || t == nil || t.Stats.GHz == 0 || p.Cell() != spec.CellCUDA {
		return nil
	}
	if locked := float64(l.LockMHz) / 1e3; t.Stats.GHz < locked*(1-slack) || t.Stats.GHz > locked*(1+slack) {
		return []result.Warning{{
			Code: "lock", Message: fmt.Sprintf("the clock was locked at %.2f GHz and ran at %.2f", locked, t.Stats.GHz),
			Hint: "the GPU could not hold it: power or temperature",
		}}
	}
	return nil
}

func listed(items []string) string {
	const most = 5
	if len(items) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:most], "; "), len(items)-most)
	}
	return strings.Join(items, "; ")
}
