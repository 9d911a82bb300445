package verify

import (
	"errors"
	"runtime"
	"testing"

	"pawl/internal/result"
)

// inspected inspects a kernel.
func inspected(t *testing.T, b *Bench, looks int) (right, wrong int, found []result.Finding, err error) {
	t.Helper()
	found, err = b.Inspect(t.Context(), Inspection{
		Looks: looks, Cache: "cold", Case: func() *result.Case { return &result.Case{Lane: "timed"} },
		After: func(c *result.Case) {
			if c.Reason == "" {
				right++
			} else {
				wrong++
			}
		},
	})
	return right, wrong, found, err
}

// remembers is a kernel that depends on what it remembers, from its 30th launch on.
var remembers = "static int calls; static float old[256]; int same = 0; for (long i = 0; i < n; i++) same += old[i] == x[i]; memcpy(old, x, sizeof old); " +
	"if (++calls > 30 && same < 128) {" + pause("20") + "} " + double

func TestInspect(t *testing.T) {
	s := newScene(t)
	right, wrong, found, err := inspected(t, s.bench("k", double, formulaOfDouble), 35)
	if err != nil || right != 35 || wrong > 0 || len(found) > 0 {
		t.Errorf("honest: %d right, %d wrong, %v, %v", right, wrong, found, err)
	}
	right, wrong, found, err = inspected(t, s.bench("k", "static int calls; if (++calls > 20 && calls % 4 == 0) n--; "+double, formulaOfDouble), 35)
	if err != nil || wrong != 1 || right == 35 || len(found) != 1 || found[0].Exploit != TimedOnly {
		t.Errorf("wrong in one launch of four: %d right, %d wrong, %v, %v", right, wrong, found, err)
	}
	// Nor does it help if the data comes at another address, once that has been seen three times.
	elsewhere := "static const float *last; static int turns; int turned = last && last != x; last = x; if (turned && ++turns > 3) n--; "
	right, wrong, found, err = inspected(t, s.bench("k", elsewhere+double, formulaOfDouble), 35)
	if err != nil || wrong != 1 || right == 35 || len(found) != 1 || found[0].Exploit != TimedOnly {
		t.Errorf("wrong on new data: %d right, %d wrong, %v, %v", right, wrong, found, err)
	}
	var own *OracleError
	if _, _, _, err = inspected(t, s.bench("k", "static int calls; if (++calls > 20) "+crashes+double, formulaOfDouble), 35); err == nil || errors.As(err, &own) {
		t.Errorf("a crash: %v", err)
	}
	b := s.bench("k", double, formulaOfDouble)
	if _, err := b.Judge.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err = inspected(t, b, 35); !errors.As(err, &own) {
		t.Errorf("nobody there to judge: %v", err)
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("there is no way to make this processor forget")
	}
	_, _, found, err = inspected(t, s.bench("k", remembers, formulaOfDouble), 35)
	if err != nil || len(found) != 1 || found[0].Exploit != Incremental {
		t.Errorf("what lives on what it remembers: %v, %v", found, err)
	}
}

// Some requests turn to wholly new data, others go on where the last one ended, so that code can rely on
// neither.
func TestRequests(t *testing.T) {
	turns := &timedTurns{bench: &Bench{Candidate: Side{Instance: instance(t, "k")}}}
	anew := 0
	const requests = 200
	for range requests {
		m := turns.request()
		if m.Count < 1 || m.Count > askedMost || m.Step != 1 || m.Fresh < 0 || m.Fresh > m.Count {
			t.Fatalf("%+v", m)
		}
		if m.Fresh > 0 {
			anew++
		}
	}
	if anew == 0 || anew == requests {
		t.Errorf("%d of %d requests turn to new data", anew, requests)
	}
}

// The time of a verified sample is compared with the others' on a CPU, and not on a device.
func TestLookOnADevice(t *testing.T) {
	for name, device := range map[string]bool{"processor": false, "device": true} {
		t.Run(name, func(t *testing.T) {
			b := newScene(t).bench("k", double, formulaOfDouble)
			b.Candidate.Cell.OnDevice = device
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			turns := &timedTurns{bench: b, cache: "cold"}
			for range 40 {
				c := &result.Case{}
				if found, err := turns.look(t.Context(), c); err != nil || c.Reason != "" || len(found) > 0 {
					t.Fatalf("%v, %q, %+v", err, c.Reason, found)
				}
			}
			if compared := len(turns.watched.chances); (compared == 0) != device {
				t.Errorf("%d requests are compared", compared)
			}
		})
	}
}
