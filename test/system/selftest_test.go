package system

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/selftest"
)

// openCheats are known not to be caught today; docs/integrity.md lists them too. Who
// closes one takes it out, and says in the corpus what must come of it.
var openCheats = []string{
	"python/late_memory", "python/profile_hook", "python/scale_samples", "python/torch_late_memory",
	"host/helper_in_turns",
}

// playedSeldom are long matches whose trick, or whose honesty, is also that of kernels
// which are played every time, or whose trick never applies. `make selftest` plays these too.
var playedSeldom = []string{
	"host/cached_stores", "host/garbage_elsewhere", "host/honest_when_poisoned", "host/interpose", "host/late_checksums", "host/late_in_turns",
	"host/seldom_wrong", "host/shared_segment", "host/skip_when_done", "host/tail_forgotten", "host/with_table",
	"python/ahead_in_collection", "python/by_halves", "python/cache_fingerprint", "python/cache_first_elements", "python/few_of_many",
	"python/garbage_elsewhere", "python/honest_at_first", "python/honest_when_checked", "python/late_functions", "python/memory_until_new_data",
	"python/skip_when_done", "python/slow_elsewhere", "python/slow_warmup", "python/softmax_into", "python/softmax_oracle", "python/weigh",
}

// playedShort are played in short tests besides the first cheat of every exploit: honest kernels, and
// cheats in Python.
var playedShort = []string{
	"host/softmax", "host/two_threads", "python/workspace", "python/forge_answer", "python/lazy_output",
}

// leftOutShort are exploits that short tests leave out: others are found by the same means.
var leftOutShort = map[string]string{
	"cache-by-shape": "cache-by-pointer", "cache-by-first-elements": "cache-by-fingerprint",
	"zero-output": "constant-output", "nan-output": "constant-output", "inf-output": "constant-output", "passthrough": "no-work",
	"input-structure": "known-seed", "speed-cliff": "shape-special", "warm-up-detected": "evaluation-detected",
}

// played returns the patterns of what to play.
func played(t *testing.T) []string {
	if os.Getenv("PAWL_SELFTEST") == "all" {
		return nil
	}
	var patterns []string
	known, seen := map[string]bool{}, map[string]bool{"": true}
	for _, s := range selftest.Subjects() {
		exploit := s.Exploit
		if exploit != "" && (s.Kind == selftest.CUDA || s.Kind == selftest.Launcher) {
			exploit = s.Kind + " " + exploit // few of these run on a machine without a GPU
		}
		name := s.Kind + "/" + s.Kernel
		known[name] = true
		first := !seen[exploit] && leftOutShort[s.Exploit] == "" && s.Needs == "" && s.Expect != selftest.Open
		switch {
		case testing.Short():
			if first || slices.Contains(playedShort, name) {
				seen[exploit] = true
				patterns = append(patterns, name)
			}
		case !slices.Contains(playedSeldom, name):
			patterns = append(patterns, name)
		}
	}
	for _, m := range selftest.Mutants() {
		if name := m.Kind + "/" + m.Kernel; m.Number == 1 && !(testing.Short() && strings.HasPrefix(m.Kernel, "attention")) {
			patterns = append(patterns, name)
		}
	}
	for _, name := range slices.Concat(playedSeldom, playedShort) {
		if !known[name] {
			t.Errorf("the corpus has no %s", name)
		}
	}
	return patterns
}

// No cheat is missed, no honest kernel refused, and every planted mistake found, in
// every kind of cell that this machine has. Short tests play one cheat of most exploits.
func TestSelftest(t *testing.T) {
	if testing.Short() {
		t.Parallel() // its matches have many times the effect that a busy machine hides
	}
	p := newProject(t)
	found, err := runSelftest(p, played(t))
	if err != nil {
		t.Error(err)
	}
	matches := 0 // of honest kernels
	for _, s := range found.Subjects {
		told(t, s)
		if s.Outcome == "passed" && s.Verdict != "" {
			matches++
		}
	}
	caught, honest, mutants := 75, 25, 20
	if testing.Short() {
		caught, honest, mutants = 20, 3, 10
		everyExploit(t, found.Subjects)
	}
	if found.Caught < caught || matches < honest || found.Mutants < mutants {
		t.Errorf("too few: %d matches of honest kernels", matches)
	}
	t.Log(counts(&found))
}

// everyExploit makes sure that a cheat by every exploit was tried which needs no GPU, or one like it.
func everyExploit(t *testing.T, found []result.SelftestSubject) {
	t.Helper()
	for _, s := range selftest.Subjects() {
		exploit := cmp.Or(leftOutShort[s.Exploit], s.Exploit)
		tried := func(of result.SelftestSubject) bool { return of.Exploit == exploit && of.Outcome != "skipped" }
		if (s.Kind == selftest.Host || s.Kind == selftest.Python) && s.Exploit != "" && s.Needs == "" && !slices.ContainsFunc(found, tried) {
			t.Errorf("no cheat by %s was tried", exploit)
		}
	}
}

func runSelftest(p *project, patterns []string) (found result.Selftest, err error) {
	cmd := p.command(append([]string{"selftest", "--json"}, patterns...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if decodeErr := json.Unmarshal(stdout.Bytes(), &found); decodeErr != nil {
		return found, fmt.Errorf("%w; %w\n%s", err, decodeErr, stderr.String())
	}
	return found, err
}

// told is what came of one subject.
func told(t *testing.T, s result.SelftestSubject) {
	switch s.Outcome {
	case "missed", "failed", "survived":
		t.Errorf("%s %s of %s: %s (found: %s)", s.Role, s.Name, s.Kind, s.Outcome, s.By)
	case "open":
		if !slices.Contains(openCheats, s.Kind+"/"+s.Name) {
			t.Errorf("%s of %s is open, and nobody knows: %s", s.Name, s.Kind, s.By)
		}
		t.Logf("%s of %s is open: %s", s.Name, s.Kind, s.By)
	case "caught", "suspicious", "defused", "killed", "skipped":
	case "passed":
		if played := s.Verdict != ""; !played && !strings.Contains(s.Name, "_mutant-") || s.Verdict == string(result.Unchanged) {
			t.Errorf("control %s of %s did not play: %q", s.Name, s.Kind, s.Verdict)
		}
	default:
		t.Errorf("%s of %s: %s", s.Name, s.Kind, s.Outcome)
	}
}

func counts(s *result.Selftest) string {
	return fmt.Sprintf("%d caught, %d suspicious, %d defused, %d missed, %d open; %d controls passed; %d of %d mutants killed; %d skipped",
		s.Caught, s.Suspicious, s.Defused, s.Missed, s.Open, s.ControlsPassed, s.MutantsKilled, s.Mutants, s.Skipped)
}
