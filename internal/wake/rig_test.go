package wake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl/internal/forge"
	"pawl/internal/forge/forgetest"
)

// rig is a service with GitHub on loopback, real commands, and a clock that the test moves.
type rig struct {
	t      *testing.T
	api    *forgetest.Actions
	folder string
	config *Config
	w      *Wake

	mu    sync.Mutex
	clock time.Time
	logs  []string
	lines chan string
}

const script = `#!/bin/sh
cat > "$WAKE_TEST/stdin"
env > "$WAKE_TEST/env"
printf '%s\n' "$0" "$@" > "$WAKE_TEST/args"
echo "start $PAWL_MACHINE $PAWL_RUNNER" >> "$WAKE_TEST/calls"
if [ -e "$WAKE_TEST/start-fails" ]; then echo "no capacity; I was given $(cat "$WAKE_TEST/stdin")" >&2; exit 7; fi
`

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, api: forgetest.NewActions(t), folder: t.TempDir(), clock: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), lines: make(chan string, 1000)}
	r.api.Now = r.now
	t.Setenv("WAKE_TEST", r.folder)
	t.Setenv("PAWL_FORGE_TOKEN", forgetest.Token)
	r.write("start", script)
	r.write("stop", "#!/bin/sh\necho \"stop $PAWL_MACHINE\" >> \"$WAKE_TEST/calls\"\n[ ! -e \"$WAKE_TEST/stop-fails\" ]\n")
	r.write("wake.yaml", fmt.Sprintf(`
version: 1
repository: o/r
api: %s
state: %q
pass: [WAKE_TEST]
machines:
  - name: gpu
    labels: [self-hosted, gpu]
    start: [%q, please]
    stop: [%q]
    price_per_hour: 3.5
`, r.api.URL, filepath.Join(r.folder, "state"), filepath.Join(r.folder, "start"), filepath.Join(r.folder, "stop")))
	config, err := ReadConfig(filepath.Join(r.folder, "wake.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range change {
		one(config)
	}
	r.config = config
	r.open()
	t.Cleanup(func() { r.w.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	w, err := New(Options{
		Config: r.config, Forge: forge.Options{Token: forgetest.Token, Agent: "pawl/test"}, Secret: secret, now: r.now,
		Log: func(line string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logs = append(r.logs, line)
			select {
			case r.lines <- line:
			default: // nobody reads them
			}
		},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
}

// restart ends the process, as far as a test can, and begins another.
func (r *rig) restart() {
	r.t.Helper()
	r.w.Close()
	r.open()
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(text)
}

// once looks once, which must succeed.
func (r *rig) once() {
	r.t.Helper()
	if err := r.w.Once(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// calls returns the commands that were run, without the names of runners.
func (r *rig) calls() string {
	var out []string
	for line := range strings.Lines(r.read("calls")) {
		fields := strings.Fields(line)
		out = append(out, strings.Join(fields[:2], " "))
	}
	return strings.Join(out, ", ")
}

func (r *rig) expect(calls string) {
	r.t.Helper()
	if got := r.calls(); got != calls {
		r.t.Fatalf("commands %q, expected %q\n%s", got, calls, strings.Join(r.logs, "\n"))
	}
}

func (r *rig) machine(name string) *Machine { return r.w.state.machine(name) }

// runner returns the name of the runner that a machine has.
func (r *rig) runner(machine string) string { return r.machine(machine).Runner }

func (r *rig) reason(job int64) string {
	if known := r.w.state.Jobs[job]; known != nil {
		return known.Reason
	}
	return "unknown"
}

func (r *rig) entries() (entries []Entry) {
	for line := range strings.Lines(r.read("state/ledger.jsonl")) {
		var entry Entry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			r.t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// onceWithout looks once while a part of the API is down, which must fail.
func (r *rig) onceWithout(down string) {
	r.t.Helper()
	r.api.Fail = func(request string) int {
		if strings.Contains(request, down) {
			return http.StatusForbidden
		}
		return 0
	}
	if err := r.w.Once(r.t.Context()); err == nil {
		r.t.Errorf("%s is down, and nobody says so", down)
	}
	r.api.Fail = nil
}
