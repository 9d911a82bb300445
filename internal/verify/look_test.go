package verify

import (
	"runtime"
	"strings"
	"testing"

	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
)

const greatest = "int best = x[0]; for (long i = 1; i < n; i++) if (x[i] > best) best = x[i]; y[0] = best;"

// A kernel that gives one answer to all data is distinguished from one whose right answer is always
// the same.
func TestInsensitive(t *testing.T) {
	for name, test := range map[string]struct {
		kernel, body string
		reference    string // of most: as C; else a formula
		tolerance    float64
		says         string // "": nothing is found
	}{
		"it computes":                    {"k", double, "2 * x + 1", 1e-5, ""},
		"within the tolerance":           {"k", "for (long i = 0; i < n; i++) y[i] = 5;", "5 + x / 100000", 1e-3, "different inputs have different right answers"},
		"the answer is always the same":  {"k", "for (long i = 0; i < n; i++) y[i] = 5;", "5", 1e-5, ""},
		"the greatest, computed":         {"most", greatest, greatest, 0, ""},
		"the greatest, guessed":          {"most", "y[0] = 10;", greatest, 0, "the bit-identical answer to inputs from the middle of their range, where that answer is wrong"},
		"wrong in the middle, otherwise": {"most", greatest + " if (best < 10) y[0] = 3;", greatest, 0, ""},
		"a reference that guesses too":   {"most", "y[0] = 10;", "y[0] = 10;", 0, ""},
		"a reference that answers twice": {"most", "y[0] = 10;", "static int calls; y[0] = calls++ % 2 ? 10 : 8;", 3, "different inputs have different right answers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			right := Oracle{Elementwise: test.reference}
			if test.kernel == "most" {
				side := s.side("greatest", test.reference)
				right = Oracle{Reference: &side}
			}
			b := s.bench(test.kernel, test.body, right)
			b.Tolerance = oracle.Tolerance{Rel: test.tolerance}
			c, found := tried(t, b, Trial{Fresh: true, Repeats: 2})
			if c.Reason != "" || c.Fault != nil || c.Repeats != 2 {
				t.Errorf("%q, %v", c.Reason, c.Fault)
			}
			if test.says == "" && found != nil || test.says != "" && !says(found, Insensitive, result.Suspicious, test.says) {
				t.Errorf("%+v", found)
			}
			// Whatever was verified in between, the bench is unchanged.
			if c, _ := tried(t, b, Trial{Repeats: 1}); test.tolerance < 1 && (c.Reason != "" || c.Fault != nil) {
				t.Errorf("afterwards: %q, %v", c.Reason, c.Fault)
			}
		})
	}
}

// A launch of the middle of the range that crashes is the candidate's fault.
func TestInsensitiveCrash(t *testing.T) {
	s := newScene(t)
	side := s.side("greatest", greatest)
	b := s.bench("most", "static int calls; if (++calls == 3) "+crashes+" y[0] = 10;", Oracle{Reference: &side})
	c, found := tried(t, b, Trial{Fresh: true, Repeats: 1})
	if c.Fault == nil || c.Fault.Cause != result.CauseCrash || found != nil {
		t.Errorf("%+v, %+v", c.Fault, found)
	}
}

const milliseconds = "struct timespec pause = {0, %d000000}; while (nanosleep(&pause, &pause)) {}"

func pause(ms string) string { return strings.Replace(milliseconds, "%d", ms, 1) }

// Quick prepares where nothing is, and takes the fastest.
func TestQuick(t *testing.T) {
	s := newScene(t)
	b := s.bench("k", "static int calls; if (++calls == 2) { "+pause("5")+" } else { "+pause("150")+" }", formulaOfDouble)
	seconds, err := b.Quick(t.Context())
	if err != nil || seconds < 5e-3 || seconds > 0.15 {
		t.Errorf("%g s, %v", seconds, err)
	}
	if again, err := b.again(t.Context()); err != nil || again < 0.15 {
		t.Errorf("again: %g s, %v", again, err)
	}
	for name, prepared := range map[string]bool{"when it is sampled": true, "when it is prepared": false} {
		b := s.bench("k", crashes, formulaOfDouble)
		if prepared {
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if _, err := b.Candidate.Cell.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if seconds, err := b.Quick(t.Context()); err == nil || b.prepared != prepared {
			t.Errorf("gone %s: %g s", name, seconds)
		}
	}
	b = s.bench("k", "static int calls; if (++calls > 5) "+crashes, formulaOfDouble)
	if _, err := b.Quick(t.Context()); err != nil {
		t.Errorf("it launches more often than a few times: %v", err)
	}
	b.prepared, b.Candidate.Instance = false, s.instance("k", "huge")
	if _, err := b.Quick(t.Context()); !outOfMemory(err) {
		t.Errorf("without room: %v", err)
	}
}

// near are benches of a kernel at its size and at the next, in one cell.
func near(s *scene, body string) (here, there *Bench) {
	here = s.bench("k", body, formulaOfDouble)
	other := *here
	other.Candidate.Instance = s.instance("k", "next")
	return here, &other
}

func TestCliffOfAKernel(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		found bool
		fails bool
		alone int // how often the device is needed alone
	}{
		"as fast at the next size":  {pause("40"), false, false, 0}, // a busy machine adds less than half of that to every launch
		"slow at the next size":     {"if (n % 2) {" + pause("100") + "} else {" + pause("5") + "}", true, false, 1},
		"slow here at first":        {"static int calls; if (n % 2) {" + pause("100") + "} else if (++calls <= 5) {" + pause("50") + "} else {" + pause("5") + "}", true, false, 1},
		"slow there at first":       {"static int calls; if (n % 2 && ++calls <= 5) {" + pause("100") + "} else {" + pause("5") + "}", false, false, 1},
		"slow here afterwards":      {"static int here, there; if (n % 2) there = 1; else here++; if (n % 2 || here > 5 && there) {" + pause("100") + "} else {" + pause("5") + "}", false, false, 1},
		"it crashes there":          {"if (n % 2) " + crashes, false, true, 0},
		"it crashes here afterward": {"static int there; if (n % 2) { there = 1; " + pause("100") + "} else if (there) " + crashes, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := near(newScene(t), test.body)
			seconds, err := here.Quick(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			alone := 0
			found, _, err := here.Cliff(t.Context(), there, seconds, func(do func()) { alone++; do() })
			if alone != test.alone {
				t.Errorf("alone %d times, want %d", alone, test.alone)
			}
			if (err != nil) != test.fails || !test.found && found != nil || test.found && !says(found, SpeedCliff, result.Suspicious, "at the next (N=257)") {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// The work of a launch is what the file counts it in, or else its memory.
func TestWork(t *testing.T) {
	for want, in := range map[float64]*spec.Instance{
		7: {Flops: 7, Bytes: 8, Footprint: 9}, 8: {Bytes: 8, Footprint: 9}, 9: {Footprint: 9}, 0.5: {Flops: 0.5, Bytes: 8}, 0.25: {Bytes: 0.25, Footprint: 9},
	} {
		if got := work(in); got != want {
			t.Errorf("%g, want %g", got, want)
		}
	}
}

// A kernel that computes only what has changed is distinguished from one that is as slow on known
// data.
func TestNovel(t *testing.T) {
	const remembers = "static float old[256]; int same = 0; for (long i = 0; i < n; i++) same += old[i] == x[i]; memcpy(old, x, sizeof old); "
	for name, test := range map[string]struct {
		body  string
		found bool
		fails bool
	}{
		"as slow on the same data": {pause("5") + double, false, false},
		"quick on the same data":   {remembers + "if (same < 128) {" + pause("20") + "} " + double, true, false},
		"quick only once":          {"static int calls; calls++; " + remembers + "if (same < 128 && calls < 18) {" + pause("20") + "} " + double, false, false},
		"quick on new data":        {remembers + "if (same >= 128) {" + pause("20") + "} " + double, false, false},
		"it crashes at once":       {crashes, false, true},
		"it crashes later":         {"static int calls; if (++calls == 4) " + crashes + double, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.found && runtime.GOARCH != "amd64" {
				t.Skip("there is no way to make this processor forget")
			}
			b := newScene(t).bench("k", test.body, formulaOfDouble)
			if err := b.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			found, err := b.Novel(t.Context())
			if (err != nil) != test.fails || !test.found && found != nil || test.found && !says(found, Incremental, result.Suspicious, "on data that it has not seen before") {
				t.Errorf("%+v, %v", found, err)
			}
		})
	}
}

// Where there is no other data nothing is launched.
func TestNovelWithoutOtherData(t *testing.T) {
	for name, test := range map[string]struct {
		fill oracle.Fill
		want bool
	}{
		"drawn":            {oracle.Fill{Kind: oracle.Uniform, Args: []float64{0, 1}}, true},
		"one whole number": {oracle.Fill{Kind: oracle.Integers, Args: []float64{3, 3}}, false},
		"whole numbers":    {oracle.Fill{Kind: oracle.Integers, Args: []float64{3, 4}}, true},
		"counted":          {oracle.Fill{Kind: oracle.Iota}, false},
	} {
		b := &Bench{Candidate: Side{Instance: instance(t, "k")}}
		b.problem = b.describe()
		for i, arg := range b.problem.Args {
			if arg.Role != "in" {
				continue
			}
			b.problem.Args[i].Init, b.problem.Args[i].Params = test.fill.Kind, test.fill.Args
		}
		if got := b.drawn(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
		if test.want {
			continue
		}
		if found, err := b.Novel(t.Context()); found != nil || err != nil { // without a cell
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// The time that a reference may take grows with its work.
func TestPatience(t *testing.T) {
	b := &Bench{Timeout: 7e9, Candidate: Side{Instance: &spec.Instance{}}}
	least := b.patience()
	b.Candidate.Instance = &spec.Instance{Footprint: 1 << 30}
	memory := b.patience()
	b.Candidate.Instance = &spec.Instance{Flops: 1e12}
	if work := b.patience(); least < 7+10 || memory < least+10 || work < least+100 {
		t.Errorf("%g s, for a gigabyte %g s, for 10¹² operations %g s", least, memory, work)
	}
	b.Candidate.Instance = &spec.Instance{Footprint: 1 << 30}
	if filled := b.deadline(b.Candidate); filled < 7+10 {
		t.Errorf("%g s to fill a gigabyte", filled)
	}
}
