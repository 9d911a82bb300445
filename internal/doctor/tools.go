package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool is a program that tells its version.
type tool struct {
	check   Check
	command []string                 // what to run; the first word is looked up
	folders []string                 // where to look besides PATH
	flag    string                   // that makes it tell; empty means --version
	version func(said string) string // how to read that; nil means version
	fix     string
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
	flag, read := t.flag, t.version
	if flag == "" {
		flag = "--version"
	}
	if read == nil {
		read = version
	}
	said, err := output(ctx, path, append(t.command[1:len(t.command):len(t.command)], flag)...)
	if err != nil {
		c.Status, c.Note, c.Fix = Limited, err.Error(), t.fix
		return
	}
	c.Status, c.Value = OK, read(said)
	if c.Value == "" {
		c.Status, c.Note, c.Fix = Limited, "tells no version", t.fix
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
		tool{
			check:   Check{Group: Compilers, Name: "cc", Gives: "C kernels on the CPU"},
			command: compilerCommand("CC", "cc"),
			version: compilerVersion,
			fix:     s.install("gcc", "gcc", "gcc", "a C compiler"),
		}.probe(),
		tool{
			check:   Check{Group: Compilers, Name: "c++", Gives: "C++ kernels on the CPU"},
			command: compilerCommand("CXX", "c++"),
			version: compilerVersion,
			fix:     s.install("g++", "gcc-c++", "gcc", "a C++ compiler"),
		}.probe(),
	}
}

// compilerCommand returns the compiler that builds use: what the variable names,
// without a ccache before it.
func compilerCommand(variable, name string) []string {
	words := strings.Fields(os.Getenv(variable))
	if len(words) > 1 && filepath.Base(words[0]) == "ccache" {
		words = words[1:]
	}
	if len(words) == 0 {
		return []string{name}
	}
	return words
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
		tool{
			check:   Check{Group: BuildTools, Name: "ccache", Gives: "compiler results shared with other builds, with --no-sandbox"},
			command: []string{"ccache"},
			fix:     s.install("ccache", "ccache", "ccache", "ccache"),
		}.probe(),
		tool{
			check:   Check{Group: BuildTools, Name: "ninja", Gives: "runs the build.ninja that pawl build -o writes"},
			command: []string{"ninja"},
			fix:     s.install("ninja-build", "ninja-build", "ninja", "ninja"),
		}.probe(),
		tool{
			check:   Check{Group: BuildTools, Name: "git", Gives: "tells which commit a number belongs to"},
			command: []string{"git"},
			fix:     s.install("git", "git", "git", "git"),
		}.probe(),
	}
}
