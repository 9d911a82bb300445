package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl/internal/ratchet"
	"pawl/internal/result"
)

// deaf gives the project a remote that never answers, and returns a counter of the requests to it.
func (p *project) deaf() (asked func() int) {
	p.t.Helper()
	dir := p.t.TempDir()
	program, log := filepath.Join(dir, "serve"), filepath.Join(dir, "log")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho asked >>"+log+"\nexit 1\n"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.git("remote", "add", "origin", "file://"+dir)
	p.git("config", "remote.origin.uploadpack", program)
	return func() int {
		raw, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.t.Fatal(err)
		}
		return strings.Count(string(raw), "asked")
	}
}

// A server that does not answer is waited for once, not once for every config.
func TestNobodyIsAskedTwice(t *testing.T) {
	p := newProject(t)
	asked := p.deaf()
	c := &check{Spec: p.load(), trees: map[string]*version{}, report: &result.Report{}}
	defer c.closeTrees()
	missing := &ratchet.Entry{Commit: strings.Repeat("1", 40)}
	var said string
	for range 3 {
		o := c.bestOf(t.Context(), missing, "k", c.Spec.Kernels[0].Configs[0])
		if o.job != nil || o.lostForGood() || said != "" && o.reasons[0] != said {
			t.Errorf("lost %t: %v", o.lostForGood(), o.reasons[0])
		}
		said = o.reasons[0]
	}
	if n := asked(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// The version that the branch has accepted is fetched and built only where the row's code differs
// from it.
func TestAcceptedVersionIsFetchedWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		accept func(*project)
		want   int
	}{
		"the same code":    {func(p *project) { p.accept("correct now") }, 0},
		"another compiler": {func(p *project) { p.elsewhere(acceptElsewhere) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newBaselined(t)
			p.git("checkout", "--quiet", "-b", "change")
			p.kernel("k", 600)
			p.commit("slower")
			test.accept(p)
			p.git("reset", "--quiet", "--soft", "main")
			p.commit("squashed")
			p.git("reflog", "expire", "--expire=now", "--all")
			p.git("gc", "--quiet", "--prune=now")
			asked := p.deaf()
			row := rowOf(t, p.check(planOnly, func(o *Options) { o.Base = "main" }), "k/c")
			if n := asked(); n != test.want {
				t.Errorf("asked %d times", n)
			}
			if test.want == 0 {
				mustWarn(t, row.Warnings, "accepted", "correct now")
			} else {
				mustWarn(t, row.Warnings, "accept", "cannot be rebuilt to compare")
			}
		})
	}
}
