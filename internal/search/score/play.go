package score

import (
	"context"
	"fmt"
	"time"

	"pawl/internal/search"
	"pawl/internal/search/recorded"
)

// Run is one run of a strategy on a recorded space.
type Run struct {
	Space    string  `json:"space"`
	Strategy string  `json:"strategy"`
	Seed     uint64  `json:"seed"`
	Seq      []int   `json:"seq"`               // numbers of the settings, in the order in which they were evaluated
	Seconds  float64 `json:"seconds,omitempty"` // that the strategy took to choose
}

// Play lets a strategy try settings of a recorded space, so many at a time as there are devices. What it
// chooses depends on the options alone.
func Play(ctx context.Context, s *recorded.Space, strategy string, evals, devices int, o search.Options) (*Run, error) {
	r := &Run{Space: s.Name, Strategy: strategy, Seed: o.Seed}
	began := time.Now()
	o.Budget = evals
	chooser, err := search.New(strategy, s, o)
	if err != nil {
		return nil, err
	}
	for len(r.Seq) < evals {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		asked := chooser.Ask(min(devices, evals-len(r.Seq)))
		if len(asked) == 0 {
			break
		}
		for _, p := range asked {
			number, ok := s.Number(p)
			if !ok {
				return nil, fmt.Errorf("%s: strategy %s asked for a setting that is not recorded: %v", s.Name, strategy, p)
			}
			r.Seq = append(r.Seq, number)
			chooser.Tell(p, s.Outcome(number))
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}
