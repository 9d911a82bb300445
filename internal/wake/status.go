package wake

import (
	"cmp"
	"slices"
	"time"
)

// Status is what the service has last seen and done.
type Status struct {
	Updated  time.Time        `json:"updated"`
	Problem  string           `json:"problem,omitempty"`
	Machines []*Machine       `json:"machines"`
	Jobs     []*Waiting       `json:"jobs"` // in the order in which they came
	Today    map[string]*Used `json:"today"`
}

// ReadStatus reads the state that a service, which may be running, has written last.
func ReadStatus(c *Config, now time.Time) (*Status, error) {
	state, err := readState(c.State)
	if err != nil {
		return nil, err
	}
	book, err := openLedger(c.State, now)
	if err != nil {
		return nil, err
	}
	s := &Status{Updated: state.Updated, Problem: state.Problem, Machines: state.Machines, Jobs: []*Waiting{}}
	for _, job := range state.Jobs {
		s.Jobs = append(s.Jobs, job)
	}
	slices.SortFunc(s.Jobs, func(a, b *Waiting) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	s.Today = book.used((&Wake{config: c, state: state}).runningEntries(now), now)
	return s, nil
}
