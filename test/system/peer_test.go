package system

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"pawl/internal/result"
)

// pool makes the project measure through a worker started by a shell command.
func (p *project) pool(script string) {
	p.t.Helper()
	p.write("worker.sh", "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(p.dir+"/worker.sh", 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.replace("pawl.yaml", "configs:\n", fmt.Sprintf("pools:\n  far: {launch: [%q]}\nconfigs:\n", p.dir+"/worker.sh"))
}

func TestWorkerBehindNoise(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	p.pool("echo 'Welcome to node7'; echo; printf 'module load: ok '; exec " + pawl + " worker")
	report, _ := p.bench("--pool", "far")
	mustMeasure(t, rowOf(t, report, "good"))
}

func TestWorkersThatAreNone(t *testing.T) {
	t.Parallel()
	hello := `{"v":1,"id":0,"op":"hello","body":{"protocol":"1.0","cells":["host"]}}`
	for _, tc := range []struct {
		name, script string
		cause        result.Cause // none: no worker started, so that there is nothing to report
		says         string
	}{
		{"endless noise", "yes noise", "", "no hello"},
		{"nothing", "exit 7", "", "exit status 7"},
		{"stderr is shown", "echo 'ssh: no route to host' >&2; exit 255", "", "no route to host"},
		{"other protocol", `echo '{"v":2,"id":0,"op":"hello","body":{}}'; cat >/dev/null`, "", "speaks protocol 2"},
		{"noise after hello", "echo '" + hello + "'; echo boom; cat >/dev/null", result.CauseProtocol, "malformed"},
		{"truncated", "echo '" + hello + `'; read line; printf '{"v":1,"id":1,"op"'`, result.CauseKilled, "in the middle of an answer"},
		{"oversized", "echo '" + hello + `'; read line; echo '{"v":1,"id":1,"op":"ok","blob":{"len":99999999,"sha256":""}}'; cat >/dev/null`, result.CauseProtocol, "oversized"},
		{"ends", "echo '" + hello + "'; read line; exit 9", result.CauseKilled, "exit status 9"},
		{"no such command", "exec /no/such/program", "", "not found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "good")
			p.pool(tc.script)
			if tc.cause == "" {
				got := p.run("bench", "--pool", "far")
				for _, part := range []string{tc.says, "its command: " + p.dir + "/worker.sh", "hint: "} {
					if got.code != 3 || !strings.Contains(got.stderr, part) {
						t.Errorf("exit code %d without %q\n%s", got.code, part, got.stderr)
					}
				}
				return
			}
			report, got := p.bench("--pool", "far")
			mustFault(t, rowOf(t, report, "good"), tc.cause, tc.says)
			if got.code == 0 {
				t.Error("exit code 0")
			}
		})
	}
}

func TestUnknownPool(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	p.pool("exit 1")
	got := p.run("bench", "--pool", "fra")
	if got.code != 3 || !strings.Contains(got.stderr, "did you mean far?") {
		t.Errorf("exit code %d, stderr: %s", got.code, got.stderr)
	}
}
