package dash

import (
	"context"
	"net/http"
	"strings"

	"pawl/internal/store"
	"pawl/internal/trend"
)

// timesChange is a change of the times of separate runs, and what made it.
type timesChange struct {
	*trend.TimeChange
	Place   *place
	Address string
	Slower  bool
}

// timesOf finds where times of separate runs moved, and whether the kernel or the machine did it: duets tell,
// and the times of a reference kernel, whose code never changes, in the same runs.
func timesOf(line, reference []place) *trend.Times {
	beside := map[string]*trend.Estimate{}
	for i := range reference {
		for _, point := range reference[i].Points {
			beside[point.Run.ID] = reference[i].Median
		}
	}
	all := trend.Line{Places: make([]trend.Place, len(line))}
	for i := range line {
		all.Places[i] = line[i].Place
		for _, point := range line[i].Points { // not all runs of a commit need have measured it
			if ref := beside[point.Run.ID]; ref != nil {
				all.Places[i].Ref = ref
			}
		}
	}
	return all.Times()
}

// timesRows lists the changes, the newest first.
func timesRows(links site, line []place, times *trend.Times) (rows []timesChange) {
	for i := len(times.Changes) - 1; i >= 0; i-- {
		c := &times.Changes[i]
		at := &line[c.At]
		rows = append(rows, timesChange{TimeChange: c, Place: at, Address: links.Run(at.Last().Run.ID), Slower: c.Size > 0})
	}
	return rows
}

// reference returns the line of the row that an address names as kernel/config; "": none.
func (s *Server) reference(ctx context.Context, name, class string) ([]place, error) {
	if name == "" {
		return nil, nil
	}
	kernel, config, _ := strings.Cut(name, "/")
	t, err := s.track(ctx, store.Series{Kernel: kernel, Config: config, Class: class})
	if err != nil {
		return nil, err
	}
	if len(t.Line) == 0 {
		return nil, &failure{http.StatusNotFound, "the history has no such reference on this device", "expected kernel/config of a row whose code never changes, measured by the same runs"}
	}
	return t.Line, nil
}
