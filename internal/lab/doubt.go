package lab

import (
	"fmt"

	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Doubt adds a row's warnings; cv is the gate's bound.
func (l *Lab) Doubt(p *Job, cv float64) {
	if p.Row.Timing != nil {
		p.Row.Warnings = append(p.Row.Warnings, measure.Doubts(p.Row.Timing, cv)...)
	}
	doubtSandbox(p.Row)
	l.checkLock(p)
}

// doubtSandbox names what the row's cell was refused.
func doubtSandbox(row *result.Row) {
	if box := row.Sandbox; box != nil && len(box.Attempts) > 0 {
		row.Warnings = append(row.Warnings, result.Warning{
			Code: "sandbox", Message: fmt.Sprintf("the kernel tried what its sandbox refuses: %s", listed(box.Attempts)),
		})
	}
}

// checkLock warns when a clock that was locked did not stay where it was put.
func (l *Lab) checkLock(p *Job) {
	const slack = 0.02
	t := p.Row.Timing
	if l.LockMHz == 0 || t == nil || t.Stats.GHz == 0 || p.Row.Cell != spec.CellCUDA {
		return
	}
	if locked := float64(l.LockMHz) / 1e3; t.Stats.GHz < locked*(1-slack) || t.Stats.GHz > locked*(1+slack) {
		p.Row.Warnings = append(p.Row.Warnings, result.Warning{
			Code: "lock", Message: fmt.Sprintf("the clock was locked at %.2f GHz and ran at %.2f", locked, t.Stats.GHz),
			Hint: "the GPU could not hold it: power or temperature",
		})
	}
}

func listed(items []string) string {
	const most = 5
	text := ""
	for i, item := range items {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(items)-most)
		}
		if i > 0 {
			text += "; "
		}
		text += item
	}
	return text
}
