package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/build"
)

// tool is a program that tells its version.
type tool struct {
	check   Check
	command []string                 // what to run; the first word is looked up
	folders []string                 // where to look besides PATH
	version func(said string) string // how to read what it says to --version
	fix     string
}

// newTool returns a program on PATH.
func newTool(group, name, gives, fix string) tool {
	return tool{check: Check{Group: group, Name: name, Gives: gives}, command: []string{name}, version: version, fix: fix}
}

// newCompiler returns a compiler that a variable may name.
func newCompiler(group, name, variable, gives, fix string, version func(string) string) tool {
	t := newTool(group, name, gives, fix)
	t.command, t.version = build.CompilerCommand(variable, name), version
	return t
}

func (t tool) probe() probe { return single(t.check, t.look) }

// single returns a probe that makes one check.
func single(check Check, look func(context.Context, *Check)) probe {
	return probe{checks: []Check{check}, look: func(ctx context.Context, checks []Check) { look(ctx, &checks[0]) }}
}

func (t tool) look(ctx context.Context, c *Check) {
	path := find(t.command[0], t.folders)
	if path == "" {
		c.Status, c.Fix = Missing, t.fix
		return
	}
	c.Path = path
	said, err := output(ctx, path, slices.Concat(t.command[1:], []string{"--version"})...)
	if err != nil {
		c.Status, c.Note, c.Fix = Limited, err.Error(), t.fix
		return
	}
	c.Status, c.Value = OK, t.version(said)
	if c.Value == "" {
		c.Status, c.Note, c.Fix = Limited, "does not report its version", t.fix
		if line := firstNonEmptyLine(said); line != "" {
			c.Note += ": " + line
		}
	}
}

// find looks a program up on PATH, then in the given folders.
func find(name string, folders []string) string {
	if path, err := exec.LookPath(name); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func (s *system) compilers() []probe {
	return []probe{
		newCompiler(Compilers, "cc", "CC", "C kernels on the CPU", s.install("gcc", "gcc", "gcc", "a C compiler"), compilerVersion).probe(),
		newCompiler(Compilers, "c++", "CXX", "C++ kernels on the CPU", s.install("g++", "gcc-c++", "gcc", "a C++ compiler"), compilerVersion).probe(),
	}
}

// compilerVersion says which compiler hides behind the name cc.
func compilerVersion(said string) string {
	v := version(said)
	switch {
	case v == "":
		return ""
	case strings.Contains(said, "clang"):
		return "clang " + v
	case strings.Contains(said, "Free Software Foundation"):
		return "gcc " + v
	}
	return v
}

func (s *system) buildTools() []probe {
	return []probe{
		newTool(BuildTools, "ccache", "compiler results shared with other builds, with --no-sandbox", s.install("ccache", "ccache", "ccache", "ccache")).probe(),
		newTool(BuildTools, "ninja", "runs the build.ninja that pawl build -o writes", s.install("ninja-build", "ninja-build", "ninja", "ninja")).probe(),
		newTool(BuildTools, "git", "records the commit that a result belongs to", s.install("git", "git", "git", "git")).probe(),
	}
}
