package demo

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pawl/internal/build"
	"pawl/internal/result"
	"pawl/internal/spec"
)

func stories(t *testing.T) map[string]*Story {
	t.Helper()
	out := map[string]*Story{}
	for name, tell := range map[string]func() (*Story, error){"host": Host, "cuda": CUDA} {
		s, err := tell()
		if err != nil {
			t.Fatal(err)
		}
		out[name] = s
	}
	return out
}

// state is what a chapter's check would find.
type state struct {
	sources  map[string]string // without comments, by name
	code     map[string]string // by kernel; nil where there is no compiler
	identity map[string]string
}

var comments = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)

// look reads the folder as a check would, and builds it.
func look(t *testing.T, dir, cache string, story *Story, compile bool) state {
	t.Helper()
	s, err := spec.Load(filepath.Join(dir, "pawl.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := state{sources: map[string]string{}, code: map[string]string{}, identity: map[string]string{}}
	for name := range story.Files {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != "pawl.yaml" {
			out.sources[name] = comments.ReplaceAllString(string(raw), "")
		}
	}
	var requests []build.Request
	for _, k := range s.Kernels {
		requests = append(requests, build.Request{Dir: s.Dir, Variant: k.Default()})
		for _, c := range k.Configs {
			in, err := k.Default().At(c)
			if err != nil {
				t.Fatal(err)
			}
			out.identity[k.Name] += in.Identity("")
		}
	}
	if !compile {
		return out
	}
	b, err := build.New(build.Options{CacheDir: cache, NoCcache: true, Arch: "sm_80", Sandbox: "off"})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range b.Build(t.Context(), requests) {
		if o.Fault != nil {
			t.Fatalf("%s: %s\n%s", o.Request.Variant.Kernel.Name, o.Fault.Message, o.Output)
		}
		k := s.Kernels[i]
		out.code[k.Name], out.identity[k.Name] = o.Artifact.Code, ""
		for _, c := range k.Configs {
			in, err := k.Default().At(c)
			if err != nil {
				t.Fatal(err)
			}
			out.identity[k.Name] += in.Identity(o.Artifact.Code)
		}
	}
	return out
}

// The changes can be made in their order, and are what the story says they are.
func TestStories(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	_, missing := exec.LookPath(build.CompilerCommand("NVCC", "nvcc")[0])
	for cell, story := range stories(t) {
		t.Run(cell, func(t *testing.T) {
			compile := cell == spec.CellHost || missing == nil
			dir, cache := t.TempDir(), t.TempDir()
			if err := story.Begin(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			var before state
			for i := range story.Chapters {
				c := &story.Chapters[i]
				if err := c.Apply(dir); err != nil {
					t.Fatalf("%s: %v", c.Title, err)
				}
				for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "-m", c.Commit}} {
					if err := Git(t.Context(), dir, args); err != nil { // which refuses a commit without a change
						t.Fatal(err)
					}
				}
				now := look(t, dir, cache, story, compile)
				if i > 0 {
					judge(t, story, c, before, now, compile)
				}
				if c.Undo {
					if err := Git(t.Context(), dir, []string{"reset", "--quiet", "--hard", "HEAD~1"}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				before = now
			}
		})
	}
}

// judge compares the verdict on a chapter's change with the expected one.
func judge(t *testing.T, story *Story, c *Chapter, before, now state, compiled bool) {
	t.Helper()
	for kernel := range now.identity {
		if kernel != story.Kernel && now.identity[kernel] != before.identity[kernel] {
			t.Errorf("%s: %s changes too", c.Title, kernel)
		}
	}
	sameSource := true
	for name := range now.sources {
		sameSource = sameSource && now.sources[name] == before.sources[name]
	}
	sameCode, sameIdentity := now.code[story.Kernel] == before.code[story.Kernel], now.identity[story.Kernel] == before.identity[story.Kernel]
	switch {
	case c.Want == result.Unchanged:
		if !sameSource || !sameCode || !sameIdentity {
			t.Errorf("%s: same source %t, code %t, identity %t", c.Title, sameSource, sameCode, sameIdentity)
		}
	case strings.Contains(c.Title, "same code"):
		if !sameSource || !sameCode || sameIdentity {
			t.Errorf("%s: same source %t, code %t, identity %t", c.Title, sameSource, sameCode, sameIdentity)
		}
	default:
		if sameSource && sameIdentity || compiled && (sameCode || sameIdentity) {
			t.Errorf("%s: same source %t, code %t, identity %t", c.Title, sameSource, sameCode, sameIdentity)
		}
	}
}

func TestChapters(t *testing.T) {
	want := []result.Verdict{result.New, result.Maintained, result.Unchanged, result.Maintained, result.Regression, result.Improvement}
	for cell, story := range stories(t) {
		if story.Cell != cell || len(story.Chapters) != len(want) {
			t.Fatalf("%s: a story of %s cells in %d chapters", cell, story.Cell, len(story.Chapters))
		}
		for i, c := range story.Chapters {
			moves := c.Want == result.New || c.Want == result.Improvement
			if c.Want != want[i] || c.Update != moves || c.Undo != (c.Want == result.Regression) || (len(c.Edits) == 0) != (i == 0) {
				t.Errorf("%s, chapter %d: %+v", cell, i+1, c)
			}
		}
	}
}

// A folder that somebody has changed is not guessed at.
func TestApplyOfOtherFiles(t *testing.T) {
	dir := t.TempDir()
	story, err := Host()
	if err != nil {
		t.Fatal(err)
	}
	c := &story.Chapters[1]
	if err := c.Apply(dir); err == nil {
		t.Error("there is no file, and it was changed")
	}
	file := filepath.Join(dir, c.Edits[0].File)
	for _, text := range []string{"nothing", c.Edits[0].Old + c.Edits[0].Old} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(dir); err == nil || !strings.Contains(err.Error(), "the folder was changed during the demo") {
			t.Errorf("%v", err)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != text {
			t.Errorf("%v: it was changed all the same", err)
		}
	}
}

func TestGitSaysWhatItSaid(t *testing.T) {
	if err := Git(t.Context(), t.TempDir(), []string{"log"}); err == nil || !strings.HasPrefix(err.Error(), "git log: ") || !strings.Contains(err.Error(), "not a git repository") {
		t.Error(err)
	}
}
