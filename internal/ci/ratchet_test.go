package ci

import (
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/git"
	"pawl/internal/measure"
	"pawl/internal/result"
)

// TestRatchetMovesWhatIsProven: a report that a job of the branch wrote may say that a row has moved the
// baseline there. Here it moves only if nothing is suspicious and its answers were verified.
func TestRatchetMovesWhatIsProven(t *testing.T) {
	for name, c := range map[string]struct {
		verification *result.Verification
		moves        bool
		refused      string
	}{
		"proven":   {&result.Verification{Integrity: result.Clean, Passed: 3}, true, ""},
		"unproven": {&result.Verification{Integrity: result.Clean}, false, "its answers were not verified"},
		"nothing":  {nil, false, "its answers were not verified"},
		"suspicious": {&result.Verification{Integrity: result.Suspicious, Passed: 3, Findings: []result.Finding{
			{Exploit: "implausible", Severity: result.Suspicious, Message: "the same samples in the same order are there twice"},
		}}, false, "its result is suspicious: the same samples"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "pawl.yaml", scopeSpec)
			if err := git.Create(t.Context(), dir, "begin"); err != nil {
				t.Fatal(err)
			}
			tip, err := git.Resolve(t.Context(), dir, "HEAD")
			if err != nil {
				t.Fatal(err)
			}
			timing := &result.Timing{Repeat: 1, WallS: 1}
			for i := range 50 {
				timing.Samples.Seconds = append(timing.Samples.Seconds, 1e-4+float64(i)*1e-8)
			}
			timing.Stats = measure.StatsOf(timing.Samples)
			report := &result.Report{
				Schema: result.Schema, Kind: result.KindCheck, ID: "1", Started: time.Now().Add(-time.Minute), Finished: time.Now(),
				Commit: &result.Commit{SHA: tip}, DeviceClass: "test-device",
				Rows: []*result.Row{{
					Kernel: "saxpy", Config: "small", Class: "test-device", Identity: "new", Verdict: result.New, Timing: timing,
					Verification: c.verification, Moved: &result.Moved{Done: true},
				}},
			}
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			var made Ratcheted
			if err := (RatchetOptions{}).commit(t.Context(), dir+string(os.PathSeparator), tip, report, &made, ""); err != nil {
				t.Fatal(err)
			}
			if (len(made.Moved) == 1) != c.moves || (made.Commit != "") != c.moves || !strings.Contains(strings.Join(made.Refused, "; "), c.refused) {
				t.Errorf("%+v", made)
			}
		})
	}
}
