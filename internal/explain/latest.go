package explain

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// mostLooked is how many past runs are looked at for an explanation.
const mostLooked = 200

// Latest returns the report of the newest run of a project that explains one of the selected rows, with
// these rows alone, and the newer reports that cannot be read.
func Latest(project *spec.Spec, selections []spec.Selection) (latest *result.Report, broken []error, err error) {
	past, err := run.List(project.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list past runs: %w", err)
	}
	names := map[string]bool{}
	for _, s := range selections {
		for _, c := range s.Configs {
			names[s.Kernel.Name+"/"+c.Name] = true
		}
	}
	for _, one := range past[:min(mostLooked, len(past))] {
		report, err := one.Report()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has not ended
		}
		if err != nil {
			broken = append(broken, err)
			continue
		}
		report.Rows = slices.DeleteFunc(report.Rows, func(row *result.Row) bool { return len(row.Why) == 0 || !names[row.Name()] })
		if len(report.Rows) > 0 {
			return report, broken, nil
		}
	}
	what, first := "the selected kernels", selections[0].Kernel.Name
	if !slices.ContainsFunc(selections, func(s spec.Selection) bool { return s.Kernel.Name != first }) {
		what = first
	}
	return nil, broken, &diag.Problem{Message: fmt.Sprintf("no run has profiled %s yet", what), Hint: "pawl profile " + first + " does"}
}
