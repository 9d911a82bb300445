package system

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pawl/internal/forge/forgetest"
)

// The service as it is shipped: a signed webhook starts the machine, whose command gets the runner's
// config and no token; --once writes the ledger, and --status shows it.
func TestWake(t *testing.T) {
	api := forgetest.NewActions(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return name
	}
	start := write("start", "#!/bin/sh\ncat > "+dir+"/config\nenv > "+dir+"/env\n")
	config := write("wake.yaml", fmt.Sprintf(`version: 1
repository: o/r
api: %s
state: %s/state
poll: 10h
machines:
  - {name: gpu, labels: [gpu], start: [%s], stop: ["true"], price_per_hour: 3600}
`, api.URL, dir, start))
	const secret = "0123456789abcdef"
	env := append(os.Environ(), "PAWL_FORGE_TOKEN="+forgetest.Token, "PAWL_WEBHOOK_SECRET="+secret)

	service := exec.CommandContext(t.Context(), pawl, "ci", "wake", "--config", config, "--listen", "127.0.0.1:0")
	service.Env = env
	stderr, err := service.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	until := func(part string) string {
		t.Helper()
		for lines.Scan() {
			if _, rest, found := strings.Cut(lines.Text(), part); found {
				return rest
			}
		}
		t.Fatalf("pawl never said %q", part)
		return ""
	}
	url := "http://" + until("takes webhooks at http://")
	api.Queue(7, "ada", "gpu")
	body := `{"action":"queued","workflow_job":{"id":7,"labels":["gpu"]},"repository":{"full_name":"o/r"}}`
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(body))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {"workflow_job"}, "X-Hub-Signature-256": {fmt.Sprintf("sha256=%x", sum.Sum(nil))}}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	until("gpu-1: started")
	if err := service.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until its end
	}
	if err := errors.Join(lines.Err(), service.Wait()); err != nil {
		t.Error(err)
	}
	name := api.Runners()[0]
	got, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil || string(got) != forgetest.ConfigOf(name)+"\n" {
		t.Errorf("%q: %v", got, err)
	}
	if got, err = os.ReadFile(filepath.Join(dir, "env")); err != nil || strings.Contains(string(got), forgetest.Token) || strings.Contains(string(got), secret) || !strings.Contains(string(got), "PAWL_PRICE_PER_HOUR=3600\n") {
		t.Errorf("%s: %v", got, err)
	}

	api.Take(name, 7)
	api.Complete(7)
	for _, args := range [][]string{{"--once"}, {"--status"}} {
		once := exec.CommandContext(t.Context(), pawl, append([]string{"ci", "wake", "--config", config}, args...)...)
		once.Env = env
		if got, err = once.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
	}
	for _, want := range []string{"gpu-1", "idle", "ada"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
