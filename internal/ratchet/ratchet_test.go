package ratchet

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerFolder); dir != "" {
		os.Exit(writer(dir))
	}
	os.Exit(m.Run())
}

const class = "nvidia-h200"

var started = time.Date(2026, 11, 10, 14, 22, 33, 0, time.UTC)

// sha returns a commit's hash made of one digit.
func sha(digit int) string { return strings.Repeat(fmt.Sprint(digit%10), 40) }

// candidate returns a clean result of attention/config in this many milliseconds, of a
// commit whose hash is made of one digit; its code differs from commit to commit.
func candidate(config string, commit int, ms float64) Candidate {
	seconds := []float64{ms / 1e3, ms / 1e3 * 1.001, ms / 1e3 * 0.999}
	return Candidate{
		Class: class,
		Row: &result.Row{
			Kernel: "attention", Config: config, Cell: "cuda", Params: map[string]string{"BLOCK_M": "64"}, Vars: map[string]string{"S": "512"},
			Key: "key", Code: fmt.Sprintf("code %d", commit), Identity: fmt.Sprintf("identity %d", commit), Verdict: result.New,
			Build: &result.Build{Compiler: "nvcc 13.0"},
			Timing: &result.Timing{
				Samples: result.Samples{Seconds: seconds},
				Stats:   result.Stats{Count: 3, Median: seconds[0], Low: seconds[2], High: seconds[1], GFLOPS: 1234.5, GBps: 3210.25},
			},
		},
		Commit: &result.Commit{SHA: sha(commit)}, Machine: result.Fingerprint{Arch: "amd64", GPU: &result.GPU{Name: "NVIDIA H200", Arch: "sm_90a", Driver: "580.1"}},
		Run: fmt.Sprintf("run-%d", commit), Time: started.Add(time.Duration(commit) * time.Hour), Who: "ann",
	}
}

// against gives a candidate the outcome of a confirmed duet with an entry.
func (c Candidate) against(former *Entry, change float64) Candidate {
	c.Change = &result.Change{
		Median: change, Low: change - 0.003, High: change + 0.003, Paired: true, Confirmed: true, Pairs: 240, Cells: make([]result.CellChange, 6),
	}
	c.Against = former.Commit
	c.Row.Verdict = result.Improvement
	return c
}

// put changes the store with a function that must succeed.
func put(t testing.TB, s *Store, change func(*File) error) {
	t.Helper()
	if err := s.Update(t.Context(), class, change); err != nil {
		t.Fatal(err)
	}
}

func moveTo(c Candidate) func(*File) error {
	return func(f *File) error { _, err := f.Move(c); return err }
}

func load(t testing.TB, s *Store) *File {
	t.Helper()
	f, err := s.Load(class)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func refused(t *testing.T, err error, why string) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Why, why) {
		t.Errorf("got %v, want a refusal that says %q", err, why)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
