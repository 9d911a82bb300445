package verify

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/result"
)

// scaled computes the right answers times a factor, which may depend on the number of the launch in
// its cell.
func scaled(factor string) string {
	return fmt.Sprintf("static int launch; launch++; for (long i = 0; i < n; i++) y[i] = (2 * x[i] + 1) * (float)(%s);", factor)
}

// An earlier version proves that a candidate is wrong only where it agrees with itself.
func TestUnsteadyBase(t *testing.T) {
	const racing = " y[launch] /= 2;"
	for name, test := range map[string]struct {
		base, candidate string
		unsteady        string // "": the base agrees with itself
		bits            bool
		reason          string
		exploit         string
	}{
		"both race":                            {scaled("1") + racing, scaled("1") + " y[100 + launch] /= 2;", "y: 2 of 256 elements (y[", false, "", ""},
		"only the base races":                  {scaled("1") + racing, double, "y: 2 of 256 elements (y[", false, "", ""},
		"only the candidate races":             {double, scaled("1") + racing, "", false, "y: 1 of 256 elements are wrong", ""},
		"its third launch differs":             {scaled("launch == 3 ? 2 : 1"), scaled("3"), "y: 256 of 256 elements", false, "", ""},
		"its fifth launch differs":             {scaled("launch == 5 ? 2 : 1"), scaled("3"), "", false, "y: 256 of 256 elements are wrong", ""}, // it is not asked so often
		"its eighth differs, all others a bit": {scaled("launch == 8 ? 2 : 1 + launch * 2e-7"), scaled("3"), "y: 256 of 256 elements", false, "", ""},
		"its tenth differs, all others a bit":  {scaled("launch == 10 ? 2 : 1 + launch * 2e-7"), scaled("3"), "", false, "y: 256 of 256 elements are wrong", ""}, // it is not asked so often
		"differs on other data":                {scaled("launch > 2 ? 2 : 1"), scaled("launch == 2 ? 3 : 1"), "y: 256 of 256 elements", false, "", ""},
		"both race, at first in step":          {scaled("1") + racing, scaled("1") + racing, "y: 2 of 256 elements (y[", false, "", ""},
		"other bits of both":                   {scaled("1 + launch * 2e-7"), scaled("1 + launch * 2e-7"), "elements (y[", true, "", ""},
		"other bits of the candidate":          {double, scaled("1 + launch * 2e-7"), "", false, "launch 2 on the same data gives other bits in y", ""},
		"other bits excuse no wrong one":       {scaled("1 + launch * 2e-7"), scaled("1.001"), "", false, "y: 256 of 256 elements are wrong", ""},
		"right by another of its answers":      {scaled("launch == 1 ? 1 : 1 + 8e-6"), scaled("1 + 15e-6"), "", false, "", ""},
		"stale":                                {double, "static float old[256]; static int there; if (!there) for (long i = 0; i < n; i++) old[i] = 2 * x[i] + 1; there = 1; memcpy(y, old, sizeof old);", "", false, "wrong once the same buffers hold other data", StaleOutput},
		"stale, and the base races":            {scaled("launch"), "static float old[256]; static int there; if (!there) for (long i = 0; i < n; i++) old[i] = 2 * x[i] + 1; there = 1; memcpy(y, old, sizeof old);", "y: 256 of 256 elements", false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			side := s.side("rough", test.base)
			b := s.bench("k", test.candidate, Oracle{Reference: &side, Earlier: true})
			c := &result.Case{Batch: 7}
			found, err := b.Try(t.Context(), c, Trial{Fresh: true, Repeats: 2})
			own := Unsteady(err)
			if (own != nil) != (test.unsteady != "") || own == nil && err != nil {
				t.Fatalf("%v", err)
			}
			if own != nil && (!strings.Contains(own.Differ, test.unsteady) || own.Bits != test.bits || c.Reason != "" || c.Fault != nil) {
				t.Errorf("%q, bits %t; %q, %v", own.Differ, own.Bits, c.Reason, c.Fault)
			}
			if (c.Reason == "") != (test.reason == "") || !strings.Contains(c.Reason, test.reason) {
				t.Errorf("reason %q", c.Reason)
			}
			if own == nil && (len(c.Outputs) != 1 || c.Outputs[0].Count != 256) {
				t.Errorf("outputs %+v", c.Outputs)
			}
			if exploit := len(found) > 0; exploit != (test.exploit != "") || exploit && found[0].Exploit != test.exploit {
				t.Errorf("%+v", found)
			}
		})
	}
}

// A base that crashes when it is asked again has not shown that its own bits stay the same, so the
// candidate's may vary.
func TestUnsteadyBaseThatCrashes(t *testing.T) {
	for name, last := range map[string]string{"on the first data again": "3", "on the same data again": "4"} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			side := s.side("rough", "static int calls; if (++calls == "+last+") "+crashes+double)
			b := s.bench("k", scaled("1 + launch * 2e-7"), Oracle{Reference: &side, Earlier: true})
			c := &result.Case{Batch: 7}
			_, err := b.Try(t.Context(), c, Trial{Fresh: true, Repeats: 2})
			var own *OracleError
			if !errors.As(err, &own) || Unsteady(err) != nil || !strings.Contains(err.Error(), "crashed") || c.Reason != "" {
				t.Errorf("%v, %q", err, c.Reason)
			}
		})
	}
}

// An oracle is right, whether it agrees with itself or not.
func TestUnsteadyOracle(t *testing.T) {
	s := newScene(t)
	side := s.side("rough", scaled("launch"))
	if c, _ := tried(t, s.bench("k", scaled("3"), Oracle{Reference: &side}), Trial{Repeats: 1}); !strings.Contains(c.Reason, "256 of 256 elements are wrong") {
		t.Errorf("%q", c.Reason)
	}
}

// Timed answers are no proof either where the base disagrees with itself, and are one where it does
// not.
func TestUnsteadyBaseOfTimedAnswers(t *testing.T) {
	for name, base := range map[string]string{"unsteady": scaled("launch"), "steady": double} {
		t.Run(name, func(t *testing.T) {
			unsteady := name == "unsteady"
			s := newScene(t)
			side := s.side("rough", base)
			b := s.bench("k", scaled("100"), Oracle{Reference: &side, Earlier: true})
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := b.Produce(t.Context(), 7)
			if err != nil {
				t.Fatal(err)
			}
			found, err := b.Timed(t.Context(), &result.Case{Batch: 7}, got, 0)
			if (Unsteady(err) != nil) != unsteady || (len(found) > 0) == unsteady {
				t.Errorf("timed: %v, %+v", err, found)
			}
			wrong, err := b.Untimed(t.Context(), &result.Case{Batch: 7})
			if (Unsteady(err) != nil) != unsteady || wrong == unsteady {
				t.Errorf("untimed: %v, %t", err, wrong)
			}
			looks := 0
			found, err = b.Inspect(t.Context(), Inspection{
				Looks: 1, Cache: "cold", Case: func() *result.Case { return &result.Case{} }, After: func(*result.Case) { looks++ },
			})
			if (Unsteady(err) != nil) != unsteady || (len(found) > 0) == unsteady || (looks > 0) == unsteady {
				t.Errorf("inspected: %v, %+v, %d looks", err, found, looks)
			}
		})
	}
}

// Where a base gives other bits with every launch, nobody can say whether the right answers to
// different data are equal.
func TestInsensitiveBesideUnsteadyBase(t *testing.T) {
	s := newScene(t)
	side := s.side("greatest", "static int calls; y[0] = calls++ % 2 ? 10 : 8;")
	b := s.bench("most", "y[0] = 10;", Oracle{Reference: &side, Earlier: true})
	b.Tolerance = oracle.Tolerance{Rel: 3}
	if c, found := tried(t, b, Trial{Fresh: true, Repeats: 1}); c.Reason != "" || found != nil {
		t.Errorf("%q, %+v", c.Reason, found)
	}
}

// A base that crashes there has not shown that the right answers differ.
func TestInsensitiveBesideBaseThatCrashes(t *testing.T) {
	s := newScene(t)
	side := s.side("rough", "static int calls; if (++calls == 4) "+crashes+" for (long i = 0; i < n; i++) y[i] = 5 + x[i] / 100000;")
	b := s.bench("k", "for (long i = 0; i < n; i++) y[i] = 5;", Oracle{Reference: &side, Earlier: true})
	b.Tolerance = oracle.Tolerance{Rel: 1e-3}
	found, err := b.Try(t.Context(), &result.Case{Batch: 7}, Trial{Fresh: true, Repeats: 1})
	var own *OracleError
	if !errors.As(err, &own) || Unsteady(err) != nil || found != nil {
		t.Errorf("%v, %+v", err, found)
	}
}
