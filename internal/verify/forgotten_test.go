package verify

import (
	"errors"
	"strings"
	"testing"

	"pawl/internal/result"
)

// An oracle that neither returns nor changes an inout argument has no answer for it: a kernel that
// differs there is not wrong. Where there is an answer, or both leave the argument unchanged, the
// kernel is judged.
func TestForgottenInOut(t *testing.T) {
	const (
		doubles = "s[0] = 7; for (long i = 0; i < n; i++) x[i] *= 2;"
		leaves  = "s[0] = 7;"
		clears  = "s[0] = 7; for (long i = 0; i < n; i++) x[i] = 3;"
		bounds  = "s[0] = 7; for (long i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i];" // leaves what is above 0
	)
	for name, test := range map[string]struct {
		body, reference string
		earlier         bool
		forgotten       bool
		reason          string
	}{
		"forgotten":              {doubles, leaves, false, true, ""},
		"both leave it":          {leaves, leaves, false, false, ""},
		"right":                  {doubles, doubles, false, false, ""},
		"wrong":                  {clears, doubles, false, false, "x: 256 of 256 elements are wrong"},
		"another is wrong":       {"s[0] = 6;", leaves, false, false, "s: 1 of 1 elements are wrong"},
		"this data stays":        {clears, bounds, false, false, "x: 256 of 256 elements are wrong"},
		"the version before":     {doubles, leaves, true, false, "x: 256 of 256 elements are wrong"},
		"crashes on other data":  {clears, leaves + " if (x[0] < 1 || x[1] < 1 || x[2] < 1 || x[3] < 1) " + crashes, false, false, "x: 256 of 256 elements are wrong"},
		"agrees on its own data": {"static int calls; s[0] = 7; if (calls++) x[0] = 9;", leaves, false, false, "wrong once the same buffers hold other data: x: 1 of 256"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			side := s.side("updates", test.reference)
			b := s.bench("update", test.body, Oracle{Reference: &side, Earlier: test.earlier})
			c := &result.Case{Batch: 7}
			_, err := b.Try(t.Context(), c, Trial{Repeats: 1, Fresh: true})
			var own *OracleError
			const says = "the oracle neither returned nor changed x, which is inout; return it, or write it in place"
			if test.forgotten != errors.As(err, &own) || own != nil && (own.Fault().Message != says || own.Fault().Cause != result.CauseOracle) {
				t.Errorf("%v", err)
			}
			if (c.Reason == "") != (test.reason == "") || !strings.Contains(c.Reason, test.reason) || test.forgotten && c.Outputs != nil {
				t.Errorf("reason %q, outputs %+v", c.Reason, c.Outputs)
			}
		})
	}
}

// An oracle is asked about an argument only where the kernel is wrong there, and never with other
// integers: they may be indices, which must stay in their range.
func TestForgottenIntegers(t *testing.T) {
	const (
		inRange = "for (long i = 0; i < n; i++) if (at[i] < 0 || at[i] > 3) " + crashes
		doubles = "for (long i = 0; i < n; i++) x[i] *= 2;"
	)
	for name, test := range map[string]struct {
		body      string
		forgotten bool
		reason    string
	}{
		"forgotten":            {inRange + doubles + " at[0] = 9;", true, ""},
		"they are right":       {inRange + doubles, false, ""},
		"another one is wrong": {inRange + " for (long i = 0; i < n; i++) x[i] = 3;", false, "x: 256 of 256 elements are wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			side := s.side("indices", inRange+doubles)
			b := s.bench("indexed", test.body, Oracle{Reference: &side})
			c := &result.Case{Batch: 7}
			_, err := b.Try(t.Context(), c, Trial{Repeats: 1})
			var own *OracleError
			if test.forgotten != errors.As(err, &own) || own != nil && !strings.Contains(own.Fault().Message, "neither returned nor changed at,") {
				t.Errorf("%v", err)
			}
			if (c.Reason == "") != (test.reason == "") || !strings.Contains(c.Reason, test.reason) {
				t.Errorf("reason %q", c.Reason)
			}
		})
	}
}
