package verify

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker"
	"pawl/internal/worker/wire"
)

// The answers of a kernel on its first data, on other data, and on the first again are judged
// separately.
func TestTry(t *testing.T) {
	const count = "static int calls; calls++; " + double
	for name, test := range map[string]struct {
		body    string
		reason  string // "": its answers are right
		exploit string
		repeats int // repeats that were verified
	}{
		"right":                {double, "", "", 3},
		"wrong":                {double + " y[3] = 9;", "y: 1 of 256 elements are wrong", "", 1},
		"wrong on other data":  {count + " if (calls == 2) y[0] += 1;", "wrong once the same buffers hold other data: y: 1 of 256", "", 1},
		"the answer before":    {"static float old[256]; static int there; if (!there) for (long i = 0; i < n; i++) old[i] = 2 * x[i] + 1; there = 1; memcpy(y, old, sizeof old);", "wrong once the same buffers hold other data", StaleOutput, 1},
		"other bits":           {count + " if (calls == 4) y[0] *= 1.0000001f;", "launch 3 on the same data gives other bits in y", "", 3},
		"crash":                {crashes, "crashed: SIGSEGV", "", 0},
		"crash on other data":  {count + " if (calls == 2) " + crashes, "crashed: SIGSEGV", "", 0},
		"crash on the last":    {count + " if (calls == 4) " + crashes, "crashed: SIGSEGV", "", 0},
		"never written":        {"", "256 of them never written", "", 1},
		"part is not computed": {"for (long i = 1; i < n; i++) y[i] = 2 * x[i] + 1;", "1 of them never written", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, found := tried(t, newScene(t).bench("k", test.body, formulaOfDouble), Trial{Fresh: true, Repeats: 3})
			if (c.Reason == "") != (test.reason == "") || !strings.Contains(c.Reason, test.reason) {
				t.Errorf("reason %q", c.Reason)
			}
			if test.exploit == "" && found != nil || test.exploit != "" && !says(found, test.exploit, result.Cheated, "bit-identical") {
				t.Errorf("findings %+v", found)
			}
			if crash := test.repeats == 0; crash != (c.Fault != nil) || !crash && c.Repeats != test.repeats {
				t.Errorf("%d repeats, %v", c.Repeats, c.Fault)
			}
			if c.Fault != nil && (c.Fault.Stage != "verify" || c.Fault.Cause != result.CauseCrash) {
				t.Errorf("fault %+v", c.Fault)
			}
			if c.Fault == nil && (len(c.Outputs) != 1 || c.Outputs[0].Count != 256) {
				t.Errorf("outputs %+v", c.Outputs)
			}
			if c.WallS <= 0 {
				t.Errorf("it took %g s", c.WallS)
			}
		})
	}
}

// Without other data and repeats a kernel launches once.
func TestTryOnce(t *testing.T) {
	b := newScene(t).bench("k", "static int calls; calls++; "+double+" if (calls > 1) "+crashes, formulaOfDouble)
	if c, found := tried(t, b, Trial{Repeats: 1}); c.Reason != "" || found != nil || c.Repeats != 1 {
		t.Errorf("%q, %+v", c.Reason, found)
	}
}

// Exact answers have no tolerance.
func TestTryExact(t *testing.T) {
	b := newScene(t).bench("k", "for (long i = 0; i < n; i++) y[i] = (2 * x[i] + 1) * 1.000001f;", formulaOfDouble)
	if c, _ := tried(t, b, Trial{Repeats: 1}); c.Reason != "" {
		t.Errorf("within the tolerance: %q", c.Reason)
	}
	if c, _ := tried(t, b, Trial{Repeats: 1, Exact: true}); !strings.Contains(c.Reason, "these inputs have an exact answer") {
		t.Errorf("exactly: %q", c.Reason)
	}
}

// A problem that does not fit into memory is nobody's fault.
func TestTryWithoutRoom(t *testing.T) {
	s := newScene(t)
	b := s.bench("k", double, formulaOfDouble)
	b.Candidate.Instance = s.instance("k", "huge")
	c, found := tried(t, b, Trial{Repeats: 1})
	if !strings.HasPrefix(c.Skipped, "it does not fit in memory: the arguments need") || c.Reason != "" || c.Fault != nil || found != nil {
		t.Errorf("%+v", c)
	}
}

// A cell that has gone before it is prepared is a fault, not a lack of memory.
func TestTryWithoutACell(t *testing.T) {
	b := newScene(t).bench("k", double, formulaOfDouble)
	if _, err := b.Candidate.Cell.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := tried(t, b, Trial{Repeats: 1}); c.Skipped != "" || c.Fault == nil || c.Fault.Stage != "verify" || c.Reason != c.Fault.Message {
		t.Errorf("%+v", c)
	}
}

func TestTryInterrupted(t *testing.T) {
	b := newScene(t).bench("k", double, formulaOfDouble)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &result.Case{}
	if _, err := b.Try(ctx, c, Trial{Repeats: 1}); !errors.Is(err, context.Canceled) || c.Fault != nil {
		t.Errorf("%v, %+v", err, c)
	}
}

// An oracle that fails to answer says nothing of the candidate.
func TestOracleFails(t *testing.T) {
	s := newScene(t)
	reference := func(kernel, body string) Oracle {
		side := s.side(kernel, body)
		return Oracle{Reference: &side}
	}
	b := s.bench("k", double, Oracle{})
	for name, test := range map[string]struct {
		oracle Oracle
		says   string
		hint   string
	}{
		"a formula of what is not there": {Oracle{Elementwise: "2 * z"}, "z", "fix the oracle"},
		"none":                           {Oracle{}, "the oracle has no answer for the output y", "fix the oracle"},
		"a crash":                        {reference("rough", crashes), "the oracle does not answer: it crashed: SIGSEGV", ""},
		"an exit":                        {reference("rough", "_Exit(3);"), "it ended its own process with exit status 3", "an oracle must return"},
		"a change of its input":          {reference("rough", double+" ((float *)x)[0] = 3;"), "it changed its input x", "role: out or inout"},
		"unwritten":                      {reference("rough", ""), "it never wrote y[0]", "must write all of its output"},
		"another problem":                {reference("most", ""), "its x is i32[4096], the kernel's x is f32[256]", "exactly the inputs of the kernel"},
	} {
		b.Oracle, b.reference = test.oracle, nil
		c := &result.Case{Batch: 7}
		found, err := b.Try(t.Context(), c, Trial{Repeats: 1})
		var own *OracleError
		if !errors.As(err, &own) || found != nil || c.Fault != nil || c.Reason != "" {
			t.Errorf("%s: %v, %+v", name, err, c)
			continue
		}
		fault := own.Fault()
		if fault.Cause != result.CauseOracle || fault.Stage != "verify" || !strings.HasPrefix(fault.Message, "the oracle ") ||
			!strings.Contains(fault.Message, test.says) || !strings.Contains(fault.Hint, test.hint) {
			t.Errorf("%s: %+v", name, fault)
		}
	}
}

// If the oracle ends while other data is judged, the fault is the oracle's too.
func TestOracleFailsOnOtherData(t *testing.T) {
	s := newScene(t)
	for name, body := range map[string]string{
		"the other answer":                 "static int calls; calls++; for (long i = 0; i < n; i++) y[i] = 2 * x[i] + 1; if (calls == 2) " + crashes,
		"where both answers are compared":  "static int calls; calls++; for (long i = 0; i < n; i++) y[i] = 3; if (calls == 3) " + crashes,
		"where other inputs are looked at": "static int calls; calls++; for (long i = 0; i < n; i++) y[i] = 3; if (calls == 4) " + crashes,
	} {
		candidate := double
		if strings.Contains(body, "= 3") {
			candidate = "for (long i = 0; i < n; i++) y[i] = 3;"
		}
		side := s.side("precise", body)
		b := s.bench("k", candidate, Oracle{Reference: &side})
		c := &result.Case{Batch: 7}
		found, err := b.Try(t.Context(), c, Trial{Repeats: 1, Fresh: true})
		var own *OracleError
		if !errors.As(err, &own) || !strings.Contains(err.Error(), "crashed") || found != nil || c.Fault != nil {
			t.Errorf("%s: %v, %+v, %+v", name, err, found, c)
		}
	}
}

// A worker that ends says nothing of the candidate and nothing of the oracle.
func TestWorkerThatEnds(t *testing.T) {
	s := newScene(t)
	client, err := startWorker()
	if err != nil {
		t.Fatal(err)
	}
	other := *s
	other.workshop = &workshop{client, s.builder}
	reference := other.side("precise", "")
	benches := map[string]*Bench{"the candidate's": other.bench("k", double, formulaOfDouble), "the oracle's": s.bench("k", double, Oracle{Reference: &reference})}
	client.Close()
	for name, b := range benches {
		c := &result.Case{Batch: 7}
		_, err := b.Try(t.Context(), c, Trial{Repeats: 1})
		if !errors.As(err, new(*worker.Lost)) || errors.As(err, new(*OracleError)) || c.Fault != nil || c.Reason != "" {
			t.Errorf("%s: %v, %+v", name, err, c)
		}
	}
}

// A reference of another precision, with its arguments in another order, answers to
// the candidate's data, and is asked once for the same.
func TestReference(t *testing.T) {
	s := newScene(t)
	side := s.side("precise", "static int calls; if (calls++) for (long i = 0; i < n; i++) y[i] = -1; else for (long i = 0; i < n; i++) y[i] = 2 * (double)x[i] + 1; spare[0] = spare[1] = 5;")
	b := s.bench("k", double, Oracle{Reference: &side})
	for range 2 {
		if c, _ := tried(t, b, Trial{Repeats: 1}); c.Reason != "" {
			t.Error(c.Reason)
		}
	}
	c := &result.Case{Batch: 8}
	if _, err := b.Try(t.Context(), c, Trial{Repeats: 1}); err != nil || !strings.Contains(c.Reason, "must be -1") {
		t.Errorf("other data: %v, %q", err, c.Reason)
	}
}

func TestReferenceWithoutAnOutput(t *testing.T) {
	s := newScene(t)
	b := &Bench{Candidate: Side{Instance: s.instance("pair", "c")}}
	b.problem = b.describe()
	a := &answerer{side: Side{Instance: s.instance("first", "c")}, bench: b}
	if problem, err := a.match(); problem != nil || err == nil || err.Error() != "it has no output for v" {
		t.Errorf("%+v, %v", problem, err)
	}
}

// Outputs that are missing differ.
func TestDiffers(t *testing.T) {
	one, other := []wire.Buffer{{Arg: 4, SHA256: "a"}}, []wire.Buffer{{Arg: 4, SHA256: "b"}}
	if differs(one, one) != -1 || differs(one, other) != 4 || differs(one, nil) != 4 {
		t.Errorf("%d, %d, %d", differs(one, one), differs(one, other), differs(one, nil))
	}
}

// The error of a rival is measured, output by output, and is the yardstick.
func TestRival(t *testing.T) {
	const exactly = "for (long i = 0; i < n; i++) u[i] = x[i], v[i] = 2 * x[i];"
	off := func(u, v string) string {
		return "for (long i = 0; i < n; i++) u[i] = x[i] + " + u + ", v[i] = 2 * x[i] + " + v + ";"
	}
	s := newScene(t)
	right := s.side("pairs", exactly)
	b := s.bench("pair", off("1e-4f", "4e-2f"), Oracle{Reference: &right})
	b.Tolerance, b.Factor = oracle.Tolerance{Abs: 0.05, Rel: 0.05}, 2
	rival := s.side("rounded", off("3e-4f", "1e-2f"))
	b.Rival = &rival
	c, _ := tried(t, b, Trial{Repeats: 1})
	if strings.Contains(c.Reason, "u:") || !strings.Contains(c.Reason, "v: the largest error 4.0e-02 is 4.0 times the rival's 1.0e-02; 2 times is allowed") {
		t.Errorf("reason %q", c.Reason)
	}
	if len(c.Outputs) != 2 || c.Outputs[0].RivalMaxAbs < 2.9e-4 || c.Outputs[0].RivalMaxAbs > 3.1e-4 || c.Outputs[0].RivalRMS < 2.9e-4 || c.Outputs[0].RivalRMS > 3.1e-4 {
		t.Errorf("outputs %+v", c.Outputs)
	}
	b.Factor = 5
	if c, _ := tried(t, b, Trial{Repeats: 1}); c.Reason != "" {
		t.Errorf("five times the rival's error is allowed: %q", c.Reason)
	}
	if c, _ := tried(t, b, Trial{Repeats: 1, Exact: true}); c.Outputs[0].RivalMaxAbs != 0 {
		t.Errorf("where no error is allowed: %+v", c.Outputs)
	}
	b.rival.last = []wire.Buffer{{Arg: 1, SHA256: strings.Repeat("0", 64)}}
	var own *OracleError
	if _, err := b.Try(t.Context(), &result.Case{Batch: 7}, Trial{Repeats: 1}); !errors.As(err, &own) {
		t.Errorf("outputs of the rival that nobody has: %v", err)
	}
	broken := s.side("rounded", crashes)
	b.Rival, b.rival = &broken, nil
	if _, err := b.Try(t.Context(), &result.Case{}, Trial{Repeats: 1}); !errors.As(err, &own) || !strings.Contains(err.Error(), "the rival that sets the allowed error: ") {
		t.Errorf("a rival that crashes: %v", err)
	}
}

// A timed sample is judged by its own data, when the candidate's cell may have ended.
func TestTimed(t *testing.T) {
	s := newScene(t)
	b := s.bench("k", double, Oracle{})
	if err := b.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	reply, err := b.Candidate.Cell.Sample(t.Context(), wire.Sample{Count: 2, Repeat: 1, Batch: 3, Step: 1, Keep: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Candidate.Cell.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reference := s.side("precise", "for (long i = 0; i < n; i++) y[i] = 2 * (double)x[i] + 1;")
	for name, right := range map[string]Oracle{"formula": formulaOfDouble, "reference": {Reference: &reference}} {
		later := &Bench{Candidate: Side{Instance: b.Candidate.Instance}, Oracle: right, Judge: b.Judge, Seed: b.Seed, Timeout: b.Timeout, Tolerance: b.Tolerance}
		for _, test := range []struct {
			batch, steps int
			reason       string
		}{
			{3, 2, ""},
			{3, 1, "elements are wrong"},
			{4, 2, "elements are wrong"},
			{3, 2, ""},
		} {
			c := &result.Case{Batch: test.batch}
			found, err := later.Timed(t.Context(), c, reply.Kept, test.steps)
			if err != nil || (c.Reason == "") != (test.reason == "") || !strings.Contains(c.Reason, test.reason) || len(c.Outputs) != 1 {
				t.Errorf("%s, batch %d, %d steps: %v, %q", name, test.batch, test.steps, err, c.Reason)
			}
			if test.reason == "" && found != nil || test.reason != "" && !says(found, TimedOnly, result.Cheated, c.Reason) {
				t.Errorf("%s, batch %d, %d steps: %+v", name, test.batch, test.steps, found)
			}
		}
		lost := []wire.Buffer{{Arg: 1, SHA256: strings.Repeat("0", 64)}}
		if found, err := later.Timed(t.Context(), &result.Case{Batch: 3}, lost, 2); err == nil || found != nil {
			t.Errorf("%s, outputs that nobody has: %+v, %v", name, found, err)
		}
	}
}
