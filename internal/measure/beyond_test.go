package measure

import (
	"math"
	"testing"

	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// Versions of any CPU kernel are compared by the worker's clock and by CPU time, in-place kernels
// too.
func TestClocksOfVersionsAreCompared(t *testing.T) {
	const addedUp = 3 // requests of a side at least that its own claims are added up by
	for _, role := range []spec.Role{spec.RoleIn, spec.RoleInOut} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			m := newMatch(spec.CellHost, "m", 200_000, 200_000, 200_000)
			for _, side := range m.Sides {
				side.Instance.Args[0].Role = role
			}
			host := newStage(t, func(int, int) puppet.Script { return puppet.Script{} })
			opts := brief()
			opts.Cache = "hot"
			Play(t.Context(), []*Match{m}, host, 0, opts, quiet)
			if err := m.Err(); err != nil {
				t.Fatalf("side %d: %v", SideOf(err), err)
			}
			rounds, held := 0, 0
			for i, timing := range m.Timings() {
				c := timing.Clock
				if c == nil || timing.InTurns == nil {
					t.Fatalf("side %d: no other clock was read", i)
				}
				held += len(timing.InTurns.Claimed)
				if rounds = max(rounds, len(c.Beyond)); rounds == 0 || len(c.Beyond) != rounds || len(c.Helped) != rounds || len(c.Beside) != rounds {
					t.Errorf("side %d: %d, %d and %d rounds", i, len(c.Beyond), len(c.Helped), len(c.Beside))
				}
				if want := 200e-6; c.ClaimedS != want {
					t.Errorf("side %d claims %g s, want %g", i, c.ClaimedS, want)
				}
				if role == spec.RoleInOut && (c.WorkerS > 0 || c.Disturbed) {
					t.Errorf("side %d was launched back to back, which changes its input: %g s", i, c.WorkerS)
				}
			}
			// What a launch leaves in the caches is no lie of its version: each is compared with
			// requests with cold arguments.
			if cold, hot := count(host.dry, "cold"), count(host.dry, "hot"); cold != rounds*len(m.Sides)+held || hot < addedUp*len(m.Sides) {
				t.Errorf("of requests without launches, %d had cold arguments and %d hot ones; %d rounds", cold, hot, rounds)
			}
		})
	}
}

// count returns how often a word is among others.
func count(all []string, word string) int {
	found := 0
	for _, other := range all {
		if other == word {
			found++
		}
	}
	return found
}

// Time that is claimed where nothing is launched does not count as the request's overhead.
func TestIdleLeavesOutWhatIsTimed(t *testing.T) {
	s := newSeries(Side{Instance: &spec.Instance{}}, Options{}, func(Progress) {})
	s.perSample = 2
	b := &wire.SampleReply{Samples: wire.Samples{Count: 3, Seconds: []float64{0.5, 0.5, 0.5}}, WorkerS: 10}
	if got := s.idle(b); math.Abs(got-7) > 1e-9 {
		t.Errorf("10 s less three samples of two half seconds: %g s", got)
	}
}
