package ratchet

import (
	"context"
	"encoding/json"
	"fmt"

	"pawl/internal/git"
)

// Interval is the 95% interval of a median, in milliseconds.
type Interval struct{ LowMS, HighMS float64 }

// Intervals returns the intervals with which entries of a class were stored, by the Sum of the move
// that stored them: a Move itself has only its median. It reads at most this many versions of the
// file, the newest first, and only versions that this clone has. With an error it returns what it
// read before.
func (s *Store) Intervals(ctx context.Context, class string, versions int) (map[string]Interval, error) {
	found := map[string]Interval{}
	if err := checkClass(class); err != nil {
		return found, err
	}
	path := folder + "/" + class + ".json"
	commits, err := git.Recent(ctx, s.dir, path, versions)
	if err != nil || len(commits) == 0 {
		return found, err
	}
	err = git.Versions(ctx, s.dir, path, commits, func(_ int, raw []byte, _ bool) error {
		// Checksums are left to those who judge by an entry.
		var file struct {
			Entries map[string]struct {
				LowMS  float64                `json:"ci_95_low"`
				HighMS float64                `json:"ci_95_high"`
				Moves  []struct{ Sum string } `json:"moves"`
			} `json:"entries"`
		}
		if json.Unmarshal(raw, &file) != nil {
			return ctx.Err() // an unreadable version has no intervals
		}
		for _, e := range file.Entries {
			if len(e.Moves) > 0 {
				found[e.Moves[len(e.Moves)-1].Sum] = Interval{e.LowMS, e.HighMS}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return found, fmt.Errorf("read the history of %s: %w", path, err)
	}
	return found, nil
}
