package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// suite is a package's tests, compiled with all mutants.
type suite struct {
	pkg, folder string
	confined    bool // starts processes that cannot note what they reach
	binary      []byte
	setting     int    // where in the binary
	tests       []test // the quickest first
}

type test struct {
	name    string
	wall    time.Duration
	reached []byte // by the number of the mutant
}

// outcome is what came of a mutant.
type outcome struct {
	Key     string  `json:"key"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Status  string  `json:"status"`
	By      string  `json:"by"`
	Seconds float64 `json:"seconds"`

	err error // that kept the mutant from being tried
}

const (
	killed     = "killed"
	survived   = "survived"
	equivalent = "equivalent"
)

// writeOverlay writes the target's files with the mutants into a folder. It returns the path
// of the overlay that makes `go test` compile them in place of the originals.
func (t *target) writeOverlay(folder string, mutants []*mutant) (string, error) {
	replace := map[string]string{}
	for i, s := range t.files {
		here := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.source != s })
		at := filepath.Join(folder, fmt.Sprint(i, ".go"))
		if err := os.WriteFile(at, weave(s.text, here), 0o644); err != nil {
			return "", err
		}
		replace[s.path] = at
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// buildSuite compiles the tests of a package with the overlay.
func (t *target) buildSuite(ctx context.Context, pkg, overlay string) (*suite, error) {
	folder, err := goList(ctx, pkg, "-f", "{{.Dir}}")
	if err != nil {
		return nil, err
	}
	at := filepath.Join(filepath.Dir(overlay), "tests")
	defer os.Remove(at)
	if said, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", at, pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, said)
	}
	binary, err := os.ReadFile(at)
	if err != nil {
		return nil, err
	}
	mark := []byte(settingMark + strings.Repeat(" ", settingSize))
	if bytes.Count(binary, mark) != 1 {
		return nil, fmt.Errorf("the tests of %s do not use %s", pkg, t.ImportPath)
	}
	setting := bytes.Index(binary, mark) + len(settingMark)
	return &suite{pkg: pkg, folder: strings.TrimSpace(string(folder)), binary: binary, setting: setting}, nil
}

// survey runs each test once without a mutant: it must pass, and which mutants it
// reaches is noted. What confined processes reach is not seen.
func (s *suite) survey(ctx context.Context, folder string) error {
	binary := filepath.Join(folder, "survey")
	note := filepath.Join(folder, "reached")
	if err := s.write(binary, ""); err != nil {
		return err
	}
	defer os.Remove(binary)
	list := exec.CommandContext(ctx, binary, "-test.list", "^(Test|Example|Fuzz)")
	list.Dir = s.folder
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", s.pkg, err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if err := os.WriteFile(note, make([]byte, noteSize), 0o644); err != nil {
			return err
		}
		began := time.Now()
		if said, err := s.run(ctx, binary, name, 5*time.Minute, noteVariable+"="+note); err != nil {
			return fmt.Errorf("%s of %s fails without a mutant: %w\n%s", name, s.pkg, err, said)
		}
		reached, err := os.ReadFile(note)
		if err != nil {
			return err
		}
		s.tests = append(s.tests, test{name, time.Since(began), reached})
	}
	slices.SortStableFunc(s.tests, func(a, b test) int { return cmp.Compare(a.wall, b.wall) })
	return nil
}

func (s *suite) write(path, setting string) error {
	binary := slices.Clone(s.binary)
	copy(binary[s.setting:], setting)
	return os.WriteFile(path, binary, 0o755)
}

func (s *suite) run(ctx context.Context, binary, name string, limit time.Duration, more ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$", "-test.failfast", "-test.count=1")
	c.Dir, c.Env = s.folder, append(os.Environ(), more...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
	return c.CombinedOutput()
}

// kill runs the tests that may notice a mutant until one fails, the quickest first.
func kill(ctx context.Context, suites []*suite, m *mutant, binary string) outcome {
	began := time.Now()
	r := outcome{Key: m.key, File: m.source.rel, Line: m.line, Status: survived, By: "no test reaches it"}
	reached := slices.ContainsFunc(suites, func(s *suite) bool { return len(s.reaching(m)) > 0 })
	for _, s := range suites {
		tests := s.reaching(m)
		if !reached && s.confined {
			tests = s.tests
		}
		if len(tests) == 0 || r.Status == killed {
			continue
		}
		r.By = fmt.Sprintf("%d tests pass", len(tests))
		if r.err = s.write(binary, fmt.Sprint(m.number)); r.err != nil {
			return r
		}
		failing := slices.IndexFunc(tests, func(t test) bool { return s.failsTwice(ctx, binary, t) })
		if failing >= 0 {
			r.Status, r.By = killed, tests[failing].name
		}
	}
	r.Seconds = time.Since(began).Seconds()
	r.err = os.RemoveAll(binary)
	return r
}

// failsTwice runs a test that fails once more: that may be because the machine is busy.
func (s *suite) failsTwice(ctx context.Context, binary string, t test) bool {
	for range 2 {
		_, err := s.run(ctx, binary, t.name, 10*time.Second+5*t.wall)
		if err == nil || errors.Is(err, exec.ErrWaitDelay) {
			return false
		}
	}
	return true
}

// reaching lists the tests that were seen to reach a mutant.
func (s *suite) reaching(m *mutant) []test {
	return slices.DeleteFunc(slices.Clone(s.tests), func(t test) bool { return t.reached[m.number] == 0 })
}
