package system

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pawl/internal/result"
)

// started is a pawl under way.
type started struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func (p *project) start(args ...string) *started {
	p.t.Helper()
	s := &started{Cmd: p.command(args...)}
	s.Stdout, s.Stderr = &s.stdout, &s.stderr
	if err := s.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.Process.Kill() })
	return s
}

// below waits for a descendant whose command line contains word.
func (s *started) below(t *testing.T, word string) int {
	t.Helper()
	found := 0
	eventually(t, "a process "+word, func() bool {
		matching := processes(word)
		for _, pid := range descendants(s.Process.Pid) {
			if matching[pid] != "" {
				found = pid
				return true
			}
		}
		return false
	})
	return found
}

// measuring waits until samples of the named row arrive.
func (s *started) measuring(t *testing.T, p *project, row string) {
	t.Helper()
	eventually(t, "samples of "+row, func() bool {
		files, _ := filepath.Glob(filepath.Join(p.dir, ".pawl", "runs", "*", "events.jsonl"))
		for _, file := range files {
			raw, _ := os.ReadFile(file)
			for line := range strings.Lines(string(raw)) {
				if strings.Contains(line, `"row":"`+row) && strings.Contains(line, `"samples"`) {
					return true
				}
			}
		}
		return false
	})
}

func (p *project) report() *result.Report {
	p.t.Helper()
	files, _ := filepath.Glob(filepath.Join(p.dir, ".pawl", "runs", "*", "report.json"))
	if len(files) != 1 {
		p.t.Fatalf("reports: %v", files)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := result.Decode(raw)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// endless is a bench that only ends when somebody ends it.
var endless = []string{"bench", "--min-samples", "100000000", "--max-samples", "100000000"}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "good", "slow")
			s := p.start(endless...)
			s.measuring(t, p, "good/small")
			children := descendants(s.Process.Pid)
			if err := s.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			_ = s.Wait()
			if code := s.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d, want 130\n%s", code, &s.stderr)
			}
			eventually(t, "all children to end", func() bool { return allGone(children) })
			r := p.report()
			if !r.Interrupted {
				t.Error("the report does not say that it was interrupted")
			}
			samples := 0
			for _, row := range r.Rows {
				if row.Timing != nil {
					samples += len(row.Timing.Samples.Seconds)
				}
				if row.Verdict == result.Broken {
					t.Errorf("%s is called broken: %s", row.Name(), row.Fault.Message)
				}
			}
			if samples == 0 {
				t.Error("no sample was kept")
			}
			if !strings.Contains(s.stderr.String(), "interrupted") {
				t.Errorf("stderr: %s", &s.stderr)
			}
		})
	}
}

func TestKilledCell(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good", "slow")
	s := p.start(endless...)
	s.measuring(t, p, "good/small")
	kill(s.below(t, " cell "))
	s.measuring(t, p, "slow/small")
	_ = s.Process.Signal(os.Interrupt)
	_ = s.Wait()
	r := p.report()
	mustFault(t, rowOf(t, r, "good"), result.CauseKilled, "SIGKILL")
	if slow := rowOf(t, r, "slow"); slow.Timing == nil {
		t.Error("the run did not go on")
	}
}

func TestKilledWorker(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good", "slow")
	s := p.start(endless...)
	s.measuring(t, p, "good/small")
	cell := s.below(t, " cell ")
	kill(s.below(t, " worker"))
	eventually(t, "the cell to end with its worker", func() bool { return !alive(cell) })
	s.measuring(t, p, "slow/small")
	_ = s.Process.Signal(os.Interrupt)
	_ = s.Wait()
	r := p.report()
	mustFault(t, rowOf(t, r, "good"), result.CauseKilled, "worker")
	if slow := rowOf(t, r, "slow"); slow.Timing == nil {
		t.Error("the run did not go on")
	}
}

// Whenever a cell or a worker dies, the run ends by itself, says what happened,
// and leaves nothing running.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{" cell ", " worker"} {
		for i := range 6 {
			t.Run(fmt.Sprintf("%s %d", strings.TrimSpace(victim), i), func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "good", "slow")
				s := p.start("bench", "--budget", "100ms", "--timeout", "5s")
				time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
				matching := processes(victim)
				children := descendants(s.Process.Pid)
				killed := false
				for _, pid := range children {
					if matching[pid] != "" {
						kill(pid)
						killed = true
					}
				}
				_ = s.Wait()
				code := s.ProcessState.ExitCode()
				if code != 0 && !killed {
					t.Errorf("exit code %d though nothing was killed\n%s%s", code, &s.stdout, &s.stderr)
				}
				for _, row := range p.report().Rows {
					if row.Fault == nil {
						mustMeasure(t, row)
					} else if row.Fault.Cause != result.CauseKilled {
						t.Errorf("%s: %s: %s", row.Name(), row.Fault.Cause, row.Fault.Message)
					}
				}
				eventually(t, "all children to end", func() bool { return allGone(children) })
			})
		}
	}
}

func TestKilledParentTakesAllWithIt(t *testing.T) {
	t.Parallel()
	for _, kernel := range []string{"slow", "loop"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, kernel)
			s := p.start(endless...)
			children := []int{s.below(t, " worker"), s.below(t, " cell ")}
			kill(s.Process.Pid)
			_ = s.Wait()
			eventually(t, "worker and cell to end", func() bool { return allGone(children) })
		})
	}
}

func TestTwoAtOnceTakeTurns(t *testing.T) {
	t.Parallel()
	p := newProject(t, "slow")
	first := p.start(endless...)
	first.measuring(t, p, "slow/small")
	second := p.start("bench", "--budget", "50ms")
	eventually(t, "the second to say that it waits", func() bool {
		events, _ := filepath.Glob(filepath.Join(p.dir, ".pawl", "runs", "*", "events.jsonl"))
		for _, file := range events {
			if raw, _ := os.ReadFile(file); strings.Contains(string(raw), "another pawl is measuring") {
				return true
			}
		}
		return false
	})
	_ = first.Process.Signal(os.Interrupt)
	_ = first.Wait()
	if err := second.Wait(); err != nil {
		t.Errorf("the second failed: %v\n%s", err, &second.stderr)
	}
	// It names the run itself, not the worker.
	if said := fmt.Sprintf("waiting for it (process %d, since ", first.Process.Pid); !strings.Contains(second.stderr.String(), said) || !strings.Contains(second.stderr.String(), ": pawl "+endless[0]) {
		t.Errorf("stderr of the second does not say %q: %s", said, &second.stderr)
	}
}

// Two that share a cache and start together both succeed.
func TestTwoAtOnceShareTheCache(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good", "slow")
	p.env = append(p.env, "XDG_CACHE_HOME="+t.TempDir())
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			if got := p.run("bench", "--budget", "20ms"); got.code != 0 {
				t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
		})
	}
	wait.Wait()
}
