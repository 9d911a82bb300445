package lab

import (
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
)

// The quickest start of a kind of cell is what the next ones take, on every lane.
func TestStartOf(t *testing.T) {
	l := New(nil, &result.Report{}, Options{})
	job := func(cell string) *Job {
		p := &Job{}
		p.Variant.Kernel = &spec.Kernel{Cell: cell}
		return p
	}
	for _, took := range []time.Duration{9, 7, 8} {
		l.started(job(spec.CellPython), took*time.Second)
	}
	if got := l.StartOf(job(spec.CellPython)); got != 7*time.Second {
		t.Errorf("Python: %v", got)
	}
	if got := l.StartOf(job(spec.CellHost)); got != 0 {
		t.Errorf("nobody has started one: %v", got)
	}
}
