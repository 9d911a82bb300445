package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// compiler is everything that builds know of a compiler. All its answers about itself are part of
// every key.
type compiler struct {
	Name    string   `json:"name"`    // cc or c++
	Command []string `json:"command"` // the words of $CC or $CXX, the program as a full path
	Version string   `json:"version"` // all that --version prints
	Target  string   `json:"target"`  // -dumpmachine
	Linker  string   `json:"linker"`  // first line of the linker's version
	Folders []string `json:"folders"` // folders that it reads besides the user's

	Assembler string   `json:"assembler,omitempty"` // first line of the assembler's version
	Programs  []string `json:"programs,omitempty"`  // that it starts
	Behind    string   `json:"behind,omitempty"`    // hash of what a script in its place starts
}

func (c *compiler) versionLine() string {
	line, _, _ := strings.Cut(c.Version, "\n")
	if c.Name == "nvcc" { // the first line is the same for all of them
		for candidate := range strings.Lines(c.Version) {
			if strings.Contains(candidate, "release") {
				return "nvcc: " + strings.TrimSpace(candidate)
			}
		}
	}
	return strings.TrimSpace(line)
}

var gnuLinker = pattern.New(`^GNU ld .* (\d+)\.(\d+)`)

// tracksLinkInputs reports whether the linker can list the files it read.
func (c *compiler) tracksLinkInputs() bool {
	if version := gnuLinker.FindStringSubmatch(c.Linker); version != nil {
		major, _ := strconv.Atoi(version[1])
		minor, _ := strconv.Atoi(version[2])
		return major > 2 || minor >= 35
	}
	return strings.Contains(c.Linker, "LLD") || strings.Contains(c.Linker, "mold")
}

// tool is a compiler as the environment names it, looked up when needed.
type tool struct {
	name     string   // cc, c++ or nvcc
	variable string   // variable that names another: CC, CXX or NVCC
	words    []string // of that variable
	purpose  string   // C, C++ or CUDA
	pkg      string   // Debian package
	cache    *cache

	mu     sync.Mutex
	found  *compiler
	id     string          // of the file that found describes
	behind onceMap[string] // a script, by its file's id
}

// CompilerCommand returns the compiler that builds use: what the variable names, without a ccache
// before it, or else name.
func CompilerCommand(variable, name string) []string {
	words := strings.Fields(os.Getenv(variable))
	if len(words) > 1 && filepath.Base(words[0]) == "ccache" {
		words = words[1:]
	}
	if len(words) == 0 {
		return []string{name}
	}
	return words
}

func newTool(name, variable, purpose, pkg string, c *cache) *tool {
	return &tool{name: name, variable: variable, words: CompilerCommand(variable, name), purpose: purpose, pkg: pkg, cache: c}
}

// locate finds the program: on PATH, and nvcc also where CUDA is usually
// installed.
func (t *tool) locate() (string, error) {
	path, err := lookPath(t.words[0])
	if err == nil || t.name != "nvcc" || t.words[0] != t.name {
		return path, err
	}
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda"} {
		if home == "" {
			continue
		}
		if there, failed := exec.LookPath(filepath.Join(home, "bin", "nvcc")); failed == nil {
			return filepath.Abs(there)
		}
	}
	return "", err
}

// isGCC reports whether it is GNU's compiler, whose flags others do not have.
func (c *compiler) isGCC() bool {
	return c.Name != "nvcc" && strings.Contains(c.Version, "Free Software Foundation")
}

// tracksAssembly reports whether the assembler can list the files it read.
func (c *compiler) tracksAssembly() bool {
	return c.isGCC() && strings.HasPrefix(c.Assembler, "GNU assembler")
}

// find returns the compiler. It asks the compiler for its version only if the file differs from the
// one that was asked before, by this process or another.
func (t *tool) find(ctx context.Context) (*compiler, *result.Fault) {
	path, err := t.locate()
	if err != nil {
		return nil, newFault(result.CauseUnsupported, fmt.Sprintf("apt-get install %s, or set %s", t.pkg, t.variable), "no %s compiler: %v", t.purpose, err)
	}
	command := append([]string{path}, t.words[1:]...)
	id, err := fileID(path, command)
	if err != nil {
		return nil, newFault(result.CauseInternal, "", "%v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	started := t.behind.get(id, func() string { return behind(ctx, t.name, command) })
	id = askedIn(id, started)
	if t.found != nil && t.id == id {
		return t.found, nil
	}
	c := &compiler{}
	if !t.cache.readNote("compilers", id, c) || len(c.Command) == 0 {
		if c, err = ask(ctx, t.name, command); err != nil {
			if ctx.Err() != nil {
				return nil, interrupted()
			}
			return nil, newFault(result.CauseUnsupported, "", "%v", err)
		}
		c.Behind = started
		t.cache.writeNote("compilers", id, c)
	}
	t.found, t.id = c, id
	return c, nil
}

// fileID identifies one state of a compiler's file.
func fileID(path string, command []string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("find compiler: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("find compiler: %w", err)
	}
	return hashOf("compiler 1", command, real, uint64(info.Size()), uint64(info.ModTime().UnixNano())), nil
}

// askedIn adds to a compiler's id what its answers also depend on.
func askedIn(id, behind string) string {
	d := newDigest("compiler answers 3")
	d.add(id, behind, environment())
	for _, name := range given {
		d.add(os.Getenv(name))
	}
	return d.hex()
}

// ask runs the compiler to learn its version and properties.
func ask(ctx context.Context, name string, command []string) (*compiler, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	answer := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], args...)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.WaitDelay = time.Second // children of a script may hold the pipes open
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s %s: %w: %s", strings.Join(command, " "), strings.Join(args, " "), err,
				strings.TrimSpace(stderr.String()))
		}
		return strings.TrimSpace(stdout.String()), nil
	}
	c := &compiler{Name: name, Command: command}
	var err error
	if c.Version, err = answer("--version"); err != nil {
		return nil, err
	}
	if name == "nvcc" { // it compiles for a GPU, and is told for which
		c.Folders = cudaFolders(ctx, command)
		return c, nil
	}
	if c.Target, err = answer("-dumpmachine"); err != nil {
		return nil, err
	}
	// A linker that does not answer is noticed when linking.
	linker, _ := answer("-Wl,--version")
	c.Linker, _, _ = strings.Cut(linker, "\n")
	for _, name := range []string{"cc1", "cc1plus", "as", "ld"} {
		if program := strings.TrimSpace(answerOf(ctx, command, "-print-prog-name="+name)); program != "" && !strings.Contains(program, "\n") {
			c.Programs = append(c.Programs, program)
			if name == "as" {
				c.Assembler, _, _ = strings.Cut(answerOf(ctx, []string{program}, "--version"), "\n")
			}
		}
	}
	c.Folders = hostFolders(command[0], c.Target, func(args ...string) string { return answerOf(ctx, command, args...) })
	return c, nil
}

// lookPath is exec.LookPath that skips ccache in a compiler's place: its file says nothing about
// the compiler behind it.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		var lookup *exec.Error
		if errors.As(err, &lookup) && errors.Is(err, exec.ErrNotFound) {
			return "", fmt.Errorf("%q is not on PATH", name)
		}
		return "", err
	}
	if !isCcache(path) {
		return filepath.Abs(path)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		other, err := exec.LookPath(filepath.Join(dir, filepath.Base(name)))
		if err == nil && !isCcache(other) {
			return filepath.Abs(other)
		}
	}
	return filepath.Abs(path)
}

func isCcache(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && filepath.Base(real) == "ccache"
}
