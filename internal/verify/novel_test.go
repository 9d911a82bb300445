package verify

import "testing"

// Measured times of honest kernels and cheats, in seconds: a CPU that was made to forget still
// knows a little.
func TestDiffer(t *testing.T) {
	for name, test := range map[string]struct {
		fresh, again float64
		elements     int64
		want         bool
	}{
		"a cheat":                        {134e-6, 50e-6, 16384, true},
		"a cheat in Python":              {3.7e-3, 1.3e-3, 262144, true},
		"twice as long":                  {200e-6, 100e-6, 1000, true},
		"a table of its own":             {133e-6, 130e-6, 4096, false},
		"branches":                       {11e-6, 10.7e-6, 1000, false},
		"a quarter longer":               {125e-6, 100e-6, 1000, false},
		"twice as long, of next to none": {2e-6, 1e-6, 10, false},
		"as long as branches may take":   {17e-6, 6e-6, 6000, false},
		"noise":                          {650e-3, 510e-3, 200000, false},
		"quicker":                        {50e-6, 134e-6, 16384, false},
	} {
		if got := differ(test.fresh, test.again, test.elements); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestElementsOfInputs(t *testing.T) {
	b := &Bench{Candidate: Side{Instance: instance(t, "k")}}
	b.problem = b.describe()
	if got := b.elements(); got != 64*4+64 {
		t.Errorf("%d elements", got)
	}
}
