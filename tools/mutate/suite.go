package main

import (
	"bytes"
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
	setting     int // where in the binary
	tests       []test
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
}

const (
	killed   = "killed"
	survived = "survived"
)

// build compiles the tests of packages with the mutants inside the target.
func (t *target) build(ctx context.Context, folder string, mutants []*mutant, pkgs, confined []string) ([]*suite, error) {
	replace := map[string]string{}
	put := func(path string, text []byte) error {
		at := filepath.Join(folder, fmt.Sprint(len(replace), ".go"))
		replace[path] = at
		return os.WriteFile(at, text, 0o644)
	}
	for _, s := range t.files {
		here := slices.DeleteFunc(slices.Clone(mutants), func(m *mutant) bool { return m.source != s })
		if err := put(s.path, weave(s.text, here)); err != nil {
			return nil, err
		}
	}
	if err := put(filepath.Join(t.folder, "mutant_switchboard.go"), []byte(switchboard(t.name))); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, "overlay.json"), overlay, 0o644); err != nil {
		return nil, err
	}
	var out []*suite
	for i, pkg := range pkgs {
		s := &suite{pkg: pkg, confined: slices.Contains(confined, pkg)}
		where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", pkg, err)
		}
		s.folder = strings.TrimSpace(string(where))
		at := filepath.Join(folder, fmt.Sprint("tests", i))
		if said, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(folder, "overlay.json"), "-o", at, pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, said)
		}
		if s.binary, err = os.ReadFile(at); err != nil {
			return nil, err
		}
		mark := []byte(settingMark + strings.Repeat(" ", settingSize))
		if bytes.Count(s.binary, mark) != 1 {
			return nil, fmt.Errorf("the tests of %s do not use %s", pkg, t.path)
		}
		s.setting = bytes.Index(s.binary, mark) + len(settingMark)
		out = append(out, s)
	}
	return out, nil
}

// survey runs each test once without a mutant: it must pass, and which mutants it
// reaches is noted. What confined processes reach is not seen.
func (s *suite) survey(ctx context.Context, folder string, mutants int) error {
	binary := filepath.Join(folder, "survey")
	note := filepath.Join(folder, "reached")
	if err := s.write(binary, ""); err != nil {
		return err
	}
	defer os.Remove(binary)
	list := exec.CommandContext(ctx, binary, "-test.list", ".")
	list.Dir = s.folder
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("listing the tests of %s: %w", s.pkg, err)
	}
	for name := range strings.FieldsSeq(string(names)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		if err := os.WriteFile(note, make([]byte, mutants+1), 0o644); err != nil {
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
	return nil
}

func (s *suite) seconds() float64 {
	sum := 0.0
	for _, t := range s.tests {
		sum += t.wall.Seconds()
	}
	return sum
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
func kill(ctx context.Context, suites []*suite, m *mutant, binary string) (outcome, error) {
	began := time.Now()
	r := outcome{Key: m.Key, File: m.File, Line: m.Line, Status: survived, By: "no test reaches it"}
	reached := slices.ContainsFunc(suites, func(s *suite) bool { return len(s.reaching(m)) > 0 })
	for _, s := range suites {
		tests := s.reaching(m)
		if !reached && s.confined {
			tests = s.tests
		}
		if len(tests) == 0 {
			continue
		}
		r.By = fmt.Sprintf("%d tests pass", len(tests))
		if err := s.write(binary, fmt.Sprint(m.number)); err != nil {
			return r, err
		}
		for _, t := range tests {
			if s.failsTwice(ctx, binary, t) {
				r.Status, r.By = killed, t.name
				break
			}
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
		}
		if r.Status == killed {
			break
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, os.RemoveAll(binary)
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
	tests := slices.DeleteFunc(slices.Clone(s.tests), func(t test) bool { return t.reached[m.number] == 0 })
	slices.SortFunc(tests, func(a, b test) int { return int(a.wall - b.wall) })
	return tests
}
