package verify

import (
	"testing"

	"pawl/internal/result"
)

func TestHidden(t *testing.T) {
	for _, clock := range []*result.ClockCheck{nil, {ClaimedS: 1e-5, WorkerS: 1e-4}, {ClaimedS: 1e-5, WorkerS: 1e-4, HostS: 9e-5}} {
		want := clock != nil && clock.HostS > 0
		if found := Hidden(&result.Timing{Clock: clock}); (len(found) == 1) != want {
			t.Errorf("%+v: %+v", clock, found)
		}
	}
}

func TestOverRoof(t *testing.T) {
	if f := OverRoof("too fast"); f.Exploit != InflatedWork || f.Severity != result.Suspicious || f.Message != "too fast" {
		t.Errorf("%+v", f)
	}
}

func TestSkew(t *testing.T) {
	timing := func(claimed float64, beyond ...float64) *result.Timing {
		return &result.Timing{Clock: &result.ClockCheck{ClaimedS: claimed, Beyond: beyond}}
	}
	honest := timing(230e-6, 1e-6, 20e-6)
	for _, test := range []struct {
		name        string
		mine, other *result.Timing
		found       bool
	}{
		{"honest", timing(228e-6, 2e-6, 25e-6), honest, false},
		{"hides two fifths", timing(140e-6, 92e-6, 110e-6), honest, true},
		{"hides less than a fifth", timing(200e-6, 50e-6, 60e-6), honest, false},
		{"beyond its claims as much as the other", timing(140e-6, 92e-6, 110e-6), timing(150e-6, 80e-6, 95e-6), false},
		{"one request of each was disturbed", timing(140e-6, -50e-6, 92e-6, 95e-6, 100e-6, 300e-6), timing(230e-6, -90e-6, 1e-6, 5e-6, 20e-6, 200e-6), true},
		{"half of them were", timing(140e-6, 60e-6, 92e-6, 95e-6, 250e-6, 300e-6), timing(230e-6, 1e-6, 5e-6, 20e-6, 160e-6, 200e-6), false},
		{"its requests are far apart", timing(140e-6, 92e-6, 300e-6), honest, false},
		{"the other's requests are far apart", timing(140e-6, 92e-6, 110e-6), timing(230e-6, -200e-6, 20e-6), false},
		{"a microsecond", timing(2e-6, 1.5e-6, 2e-6), timing(2e-6, 0, 0), false},
		{"the other takes less than it claims", timing(100e-6, 5e-6, 6e-6), timing(100e-6, -60e-6, -50e-6), false},
		{"hides a fifth of its claim, not of what it takes", timing(100e-6, 42e-6, 45e-6), honest, false},
		{"one request of its own", timing(140e-6, 92e-6), honest, false},
		{"one request of the other", timing(140e-6, 92e-6, 110e-6), timing(230e-6, 1e-6), false},
		{"no request of the other", timing(140e-6, 92e-6, 110e-6), timing(230e-6), false},
		{"nothing known of one", timing(140e-6), honest, false},
		{"nothing known of the other", timing(140e-6, 92e-6, 110e-6), &result.Timing{}, false},
		{"there is no other", timing(140e-6, 92e-6, 110e-6), nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if found := Skew(test.mine, test.other); (len(found) == 1) != test.found {
				t.Errorf("%+v", found)
			}
		})
	}
}
