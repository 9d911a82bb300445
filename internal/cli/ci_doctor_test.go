package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/term"
)

// An open setting has its remedy on a line of its own, and both fit a terminal. Without a token, and
// where the token sees no repository, the hint says what to do.
func TestCIDoctorOutput(t *testing.T) {
	for _, name := range []string{"PAWL_FORGE_TOKEN", "GH_TOKEN", "PAWL_APP_ID", "PAWL_APP_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("GITHUB_TOKEN", "t")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/repos/ann/kernels":
			_, _ = io.WriteString(w, `{"default_branch": "main"}`)
		case "/repos/ann/kernels/actions/permissions":
			_, _ = io.WriteString(w, `{"sha_pinning_required": false}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer api.Close()
	run := func(stdout io.Writer, repo string) (string, int) {
		var stderr strings.Builder
		code := Run(t.Context(), nil, stdout, &stderr, []string{"ci", "doctor", "--api", api.URL, "--repo", repo})
		return stderr.String(), code
	}
	var piped strings.Builder
	if said, code := run(&piped, "ann/kernels"); code != exitFailed || !strings.Contains(said, "settings are open") {
		t.Errorf("exit code %d, %s", code, said)
	}
	const open = "open  actions need not be pinned by commit: a moved tag runs somebody else's code\n      → Settings → Actions → General: require actions to be pinned to a full-length commit\n"
	if !strings.Contains(piped.String(), open) {
		t.Errorf("a pipe has\n%s", piped.String())
	}
	master, terminal := openTerminal(t, 80)
	shown := make(chan string)
	go func() {
		raw, _ := io.ReadAll(master)
		shown <- strings.ReplaceAll(string(raw), "\r\n", "\n")
	}()
	_, _ = run(terminal, "ann/kernels")
	terminal.Close()
	for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(<-shown, "")) {
		if n := term.DisplayWidth(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if said, code := run(io.Discard, "ann/other"); code != exitUnjudged || !strings.Contains(said, "it does not exist, or the token may not see it") {
		t.Errorf("exit code %d, %s", code, said)
	}
	t.Setenv("GITHUB_TOKEN", "")
	if said, code := run(io.Discard, "ann/kernels"); code != exitUnjudged || !strings.Contains(said, "hint: set GITHUB_TOKEN") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
