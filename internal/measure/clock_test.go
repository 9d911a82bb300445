package measure

import (
	"errors"
	"os"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl as a worker, and as cells that claim what
// their artifact's text says.
func TestMain(m *testing.M) {
	if !puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		os.Exit(puppet.Run(m))
	}
}

func TestClaimsThatTheWorkersClockContradicts(t *testing.T) {
	client := newWorker(t)
	for name, test := range map[string]struct {
		spins int // milliseconds, of which it claims a nanosecond
		want  result.Cause
	}{"slow": {30, result.CauseForged}, "quick": {0, ""}} {
		t.Run(name, func(t *testing.T) {
			sha, err := client.Upload(t.Context(), []byte(puppet.Script{Micros: 1e-3, Spin: test.spins}.String()))
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
				t.Fatal(err)
			}
			opts := Default()
			opts.Budget = 50 * time.Millisecond
			timings, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: instance(spec.RoleIn)}}, opts, func(Progress) {})
			var fault *result.Fault
			got := result.Cause("")
			if errors.As(errs[0], &fault) {
				got = fault.Cause
			}
			if got != test.want {
				t.Errorf("cause %q (%v), want %q", got, errs[0], test.want)
			}
			if timings[0].Clock == nil || timings[0].Stats.Count == 0 {
				t.Errorf("what was measured is not kept: %+v", timings[0].Stats)
			}
		})
	}
}
