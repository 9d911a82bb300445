package baseline

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/result"
)

const mixedReport = `{"schema": 1, "kind": "check", "id": "1", "device_class": "some-gpu", "rows": [
	{"kernel": "fast", "config": "c", "cell": "cuda", "class": "some-gpu", "verdict": "regression"},
	{"kernel": "plain", "config": "c", "cell": "host", "class": "host-some", "verdict": "regression"},
	{"kernel": "old", "config": "c", "cell": "cuda", "verdict": "regression"}]}`

// --class names the class of rows, of which a check on a GPU may have several.
func TestAcceptOfAClass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(mixedReport), 0o600); err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]string{"": "fast/c plain/c old/c", "some-gpu": "fast/c old/c", "host-some": "plain/c"} {
		report, err := Acceptance{From: path}.report("", class)
		if err != nil {
			t.Errorf("%q: %v", class, err)
			continue
		}
		rows, err := acceptable(report, class, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, row := range rows {
			names = append(names, row.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", class, got, want)
		}
		if _, err := acceptable(report, class, []string{"plain"}); (err == nil) != strings.Contains(want, "plain") {
			t.Errorf("%q: plain: %v", class, err)
		}
	}
	if _, err := (Acceptance{From: path}).report("", "host-other"); err == nil || !strings.Contains(err.Error(), "was measured on host-some and some-gpu, not on host-other") {
		t.Errorf("%v", err)
	}
}

// Without a selector nothing replaces a best-known version that it did not play
// against: it may be slower.
func TestAcceptOfWhatWasNotCompared(t *testing.T) {
	unplayed := []*result.Side{{Role: result.Base, Change: &result.Change{}}, {Role: result.Best}}
	played := []*result.Side{{Role: result.Base, Change: &result.Change{}}, {Role: result.Best, Change: &result.Change{}}}
	for name, test := range map[string]struct {
		verdict result.Verdict
		sides   []*result.Side
		want    bool
	}{
		"new": {result.New, nil, true},
		"faster than the base, which is the best": {result.Improvement, played[:1], true},
		"faster than both":                        {result.Improvement, played, true},
		"faster than the base alone":              {result.Improvement, unplayed, false},
		"incomparable":                            {result.Incomparable, unplayed[1:], false},
		"incomparable, and there is no side":      {result.Incomparable, nil, false},
	} {
		row := &result.Row{
			Kernel: "k", Config: "c", Verdict: test.verdict, Sides: test.sides,
			Moved: &result.Moved{Refused: "why"}, Verification: &result.Verification{},
		}
		report := &result.Report{Rows: []*result.Row{row}}
		if _, err := acceptable(report, "", nil); (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
		if rows, err := acceptable(report, "", []string{"k/c"}); err != nil || len(rows) != 1 {
			t.Errorf("%s, named: %v", name, err)
		}
	}
}

// What failed and is not accepted is named: a slower row that somebody left out, and what nobody accepts
// without naming it.
func TestAcceptSaysWhatIsLeft(t *testing.T) {
	row := func(kernel string, verdict result.Verdict) *result.Row {
		return &result.Row{Kernel: kernel, Config: "c", Class: "gpu", Verdict: verdict}
	}
	report := &result.Report{DeviceClass: "gpu", Rows: []*result.Row{
		row("slow", result.Regression), row("slower", result.Regression), row("wrong", result.Incorrect), row("cheat", result.Rejected),
		row("dead", result.Broken), row("fast", result.Improvement), row("same", result.Unchanged),
	}}
	other := row("host", result.Broken)
	other.Class = "host-some"
	report.Rows = append(report.Rows, other)
	for _, c := range []struct{ patterns, class, want string }{
		{"", "", "wrong dead cheat host"},
		{"", "gpu", "wrong dead cheat"},
		{"slow", "gpu", "slower wrong dead cheat"},
	} {
		rows, err := acceptable(report, c.class, strings.Fields(c.patterns))
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]bool{}, map[string]bool{}
		for _, row := range left(report, c.class, rows) {
			got[row.Kernel] = true
		}
		for _, name := range strings.Fields(c.want) {
			want[name] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// A check stays one of the checked-out code while only the baseline is committed.
func TestAcceptAfterTheBaselineWasCommitted(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(file string) string {
		t.Helper()
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "--all", "--force")
		git("commit", "--quiet", "-m", file)
		return git("rev-parse", "HEAD")
	}
	git("init", "--quiet")
	first := commit("kernel.c")
	report := &result.Report{Commit: &result.Commit{SHA: first}}
	commit("kernels/.pawl/baseline/gpu.json")
	second := commit(".pawl/baseline/gpu.json")
	if err := current(t.Context(), dir, report); err != nil {
		t.Error(err)
	}
	commit("kernel.h")
	if err := current(t.Context(), dir, report); err == nil || !strings.Contains(err.Error(), "the last check was of commit") {
		t.Errorf("after a change of the code: %v", err)
	}
	git("checkout", "--quiet", first)
	report.Commit.SHA = second
	if err := current(t.Context(), dir, report); err == nil {
		t.Error("a check of a later commit counts for an earlier one")
	}
}
