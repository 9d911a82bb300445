package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		opts := &acceptOptions{from: path}
		opts.class = class
		report, err := opts.report(nil, "")
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
	opts := &acceptOptions{from: path}
	opts.class = "host-other"
	if _, err := opts.report(nil, ""); err == nil || !strings.Contains(err.Error(), "was measured on host-some and some-gpu, not on host-other") {
		t.Errorf("%v", err)
	}
}
