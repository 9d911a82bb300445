package worker

import (
	"fmt"
	"os"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// program is the executable of a cell, and what it may reach.
type program struct {
	path      string
	args      []string
	env       []string
	policy    sandbox.Policy
	profiling *profiling // it runs under Nsight Compute; nil: it does not
}

// programOf returns the program of a cell that writes below scratch, including the tool it runs
// under.
func (s *server) programOf(m wire.Open, device, scratch string) (*program, error) {
	p, err := s.plainProgram(m, device, scratch)
	if err == nil && m.Profiler != nil {
		if m.Sanitizer != "" {
			return nil, result.Faultf(result.CauseProtocol, "a cell runs under one tool: a sanitizer or a profiler")
		}
		p.profiling, err = s.profiledProgram(p, m, scratch)
		return p, err
	}
	if err != nil || m.Sanitizer == "" {
		return p, err
	}
	path, err := findSanitizer()
	if err != nil {
		return nil, err
	}
	return p, p.sanitize(path, m.Sanitizer, scratch)
}

// plainProgram returns this binary or, for Python functions, the interpreter.
func (s *server) plainProgram(m wire.Open, device, scratch string) (*program, error) {
	if m.Cell == "python" {
		return s.pythonProgram(m, device, scratch)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	p := &program{
		path: self, args: []string{self, "cell", m.Cell},
		env:    []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "GOTRACEBACK=none", "TMPDIR=" + scratch, "HOME=" + scratch},
		policy: sandbox.Policy{Read: append(sandbox.System(), self, s.store.blobs()), Write: []string{scratch}, Urgent: true},
	}
	if m.Cell == "oracle" {
		p.policy.Read = append(p.policy.Read, s.store.outputs()...)
	}
	if device != hostDevice {
		p.policy = p.policy.WithCUDA()
	} else {
		p.policy.Timers = mostTimers
	}
	return p, nil
}

// mostTimers is the number of timers that a host cell may have. Timers go off while the cell is
// stopped, on the core that another cell is timed on; this few do not slow that one down.
const mostTimers = 64
