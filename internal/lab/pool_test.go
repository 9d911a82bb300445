package lab

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pawl/internal/result"
	"pawl/internal/run"
)

func TestExpand(t *testing.T) {
	const id, tag = "20261110T142233Z-0123456789ab", "20261110t142233z-0123456789ab"
	for word, want := range map[string]string{
		"pawl-$RUN": "pawl-" + tag, "pawl-${RUN}x": "pawl-" + tag + "x", "$RUN$RUN": tag + tag, "-l=pawl-run=$RUN,b": "-l=pawl-run=" + tag + ",b",
		"$RUNNER": "$RUNNER", "$RUN_ID": "$RUN_ID", "${RUN": "${RUN", "${RUN:-x}": "${RUN:-x}", "$PAWL_RUN": "$PAWL_RUN", "$HOME $(id) `id` ~ *": "$HOME $(id) `id` ~ *", "": "",
	} {
		if got := expand([]string{word}, id); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := run.Quiet(time.Now(), nil).ID; !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])$`).MatchString(environment(got)[0][len("PAWL_RUN="):]) {
		t.Errorf("%s is no name for a job", got)
	}
	rapid.Check(t, func(r *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z ${}_-]{0,20}`).Draw(r, "word")
		got := expand([]string{word}, id)[0]
		if back := strings.NewReplacer(tag, "$RUN").Replace(got); back != strings.ReplaceAll(word, "${RUN}", "$RUN") {
			r.Errorf("%q became %q", word, got)
		}
	})
}

// poolIn returns a lab of a project, with a pool of one worker whose cleanup notes the run it is for.
func poolIn(t *testing.T, root, cleanup string) (b *Lab, cleaned func() string) {
	t.Helper()
	log := filepath.Join(root, "cleaned")
	self := labWithGPU(t, "").Worker
	b = New(run.New(root, time.Now(), nil), &result.Report{}, Options{
		Worker: self, Workers: 1, Pool: Pool{Name: "lab", Cleanup: []string{"sh", "-c", `echo "$0 $PAWL_RUN" >>` + log + cleanup, "$RUN"}},
	})
	return b, func() string {
		raw, _ := os.ReadFile(log)
		_ = os.Remove(log)
		return string(raw)
	}
}

func records(root string) []string { return leftovers(filepath.Join(root, ".pawl", "runs")) }

// The cleanup runs once for a run that has started a worker, however it ends, and not without one.
func TestCleanup(t *testing.T) {
	root := t.TempDir()
	b, cleaned := poolIn(t, root, "")
	b.Close()
	if got := cleaned(); got != "" {
		t.Errorf("a pool that nobody used: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := cleaned(); got != "" || len(records(root)) != 1 {
		t.Errorf("while it goes on: %q, records %v", got, records(root))
	}
	cancel()
	b.Close()
	b.Close()
	if got, want := cleaned(), tag(b.run.ID)+" "+tag(b.run.ID)+"\n"; got != want || len(records(root)) != 0 {
		t.Errorf("%q, want %q; records %v", got, want, records(root))
	}
	if len(b.Report.Warnings) > 0 {
		t.Errorf("%+v", b.Report.Warnings)
	}
	b.Worker = []string{"false"}
	if err := b.Start(t.Context()); err == nil {
		t.Error("it has a worker")
	}
	b.Close()
	if got := cleaned(); got == "" {
		t.Error("a launch command that fails may have begun something")
	}
}

// A cleanup that fails is a warning, and is tried again by the next run. A run that goes on is left alone.
func TestCleanupOfKilledRuns(t *testing.T) {
	root := t.TempDir()
	failing, cleaned := poolIn(t, root, "; echo no such cluster >&2; exit 3")
	if err := failing.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	failing.Close()
	w := failing.Report.Warnings
	if len(w) != 1 || w[0].Code != "pool" || !strings.Contains(w[0].Message, "the cleanup of pool lab failed") ||
		!strings.Contains(w[0].Message, "exit status 3: no such cluster (its command: sh -c") || !strings.Contains(w[0].Hint, "the next run") {
		t.Errorf("%+v", w)
	}
	cleaned()
	other, _ := poolIn(t, root, "")
	other.shared.pool.Name = "another"
	if err := other.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := cleaned(); got != "" {
		t.Errorf("another pool's start: %q", got)
	}
	b, _ := poolIn(t, root, "")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, id := cleaned(), tag(failing.run.ID); got != id+" "+id+"\n" {
		t.Errorf("cleaned %q, want run %s", got, id)
	}
	if got := records(root); len(got) != 2 { // of those that go on
		t.Errorf("records %v", got)
	}
	beside, _ := poolIn(t, root, "")
	if err := beside.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := cleaned(); got != "" {
		t.Errorf("a run that goes on is cleaned up after: %q", got)
	}
	beside.Close()
	other.Close()
	b.Close()
	if got := records(root); len(got) != 0 {
		t.Errorf("records %v", got)
	}
}

// What is no record of pawl's own is no reason to run anything.
func TestStrangeRecords(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"x; rm -rf $HOME", "20261110T142233Z-0123456789ab/deeper"} {
		dir := filepath.Join(root, ".pawl", "runs", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, recordFile), []byte("lab\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, cleaned := poolIn(t, root, "")
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := cleaned(); got != "" {
		t.Errorf("cleaned %q", got)
	}
	b.Close()
}

// srun without -u holds answers back: a run says so once.
func TestLaunchThatHoldsBack(t *testing.T) {
	for words, want := range map[string]bool{
		"srun -n1 pawl worker": true, "/usr/bin/srun pawl worker": true, "srun -u pawl worker": false, "srun -n1 --unbuffered pawl worker": false, "ssh -T host pawl worker": false, "": false,
	} {
		if got := holdsBack(strings.Fields(words)); got != want {
			t.Errorf("%q: %t", words, got)
		}
	}
	b, _ := poolIn(t, t.TempDir(), "")
	b.shared.pool.launch = []string{"srun", "pawl", "worker"}
	for range 2 {
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.Close()
	if w := b.Report.Warnings; len(w) != 1 || w[0].Hint != "write srun -u" {
		t.Errorf("%+v", w)
	}
}
