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

// Play lets a strategy try settings of a recorded space, one at a time. What it chooses depends on the
// seed alone.
func Play(ctx context.Context, s *recorded.Space, strategy string, seed uint64, evals int) (*Run, error) {
	r := &Run{Space: s.Name, Strategy: strategy, Seed: seed}
	began := time.Now()
	chooser, err := search.New(strategy, s, search.Options{Seed: seed, Budget: evals})
	if err != nil {
		return nil, err
	}
	for len(r.Seq) < evals {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		asked := chooser.Ask(1)
		if len(asked) == 0 {
			break
		}
		number, ok := s.Number(asked[0])
		if !ok {
			return nil, fmt.Errorf("%s: strategy %s asked for a setting that is not recorded: %v", s.Name, strategy, asked[0])
		}
		r.Seq = append(r.Seq, number)
		chooser.Tell(asked[0], s.Outcome(number))
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}
