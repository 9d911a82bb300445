package build

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/pattern"
)

// A compiler's answers about itself do not show everything that it does: a script in its place may
// add flags or start another one, and nvcc starts a compiler of the host's. So the programs are
// part of keys, too.

// stamp identifies one state of a program: a script by its text, others by size and time, since a
// compiler takes longer to hash than to run. Its path does not count.
func stamp(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if isScript(real) {
		text, _ := os.ReadFile(real) // an unreadable program does not run
		return hashOf("program", text)
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	return hashOf("program", uint64(info.Size()), uint64(info.ModTime().UnixNano()))
}

// stampNamed is stamp of a program by its path or by its name on PATH.
func stampNamed(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return stamp(path)
}

// temporary are the names of nvcc's own files, which no two runs share.
var temporary = pattern.New(`tmpxft_[0-9a-f_-]+|/pawl-nvcc-[0-9]+`)

// behind returns the commands that a script in a compiler's place would start, with all flags that
// it adds; "" for a program.
func behind(ctx context.Context, name string, command []string) string {
	if !isScript(command[0]) {
		return ""
	}
	if name == "nvcc" {
		text := dryRun(ctx, command, "empty.cubin", "-cubin")
		return sha256Hex(temporary.Regexp().ReplaceAll(bytes.TrimSpace([]byte(text)), nil))
	}
	language := "c"
	if name == "c++" {
		language = "c++"
	}
	text := answerOf(ctx, command, "-###", "-S", "-x", language, "/dev/null", "-o", "-")
	d := newDigest("behind")
	d.add(text)
	for line := range strings.Lines(text) { // the compiler proper stands first on its line
		if words := shellFields(strings.TrimSpace(line)); len(words) > 1 && filepath.IsAbs(words[0]) {
			d.add(stamp(words[0]))
		}
	}
	return d.hex()
}

// dryRun returns the commands that nvcc would start to make a file of an empty source.
func dryRun(ctx context.Context, command []string, made string, flags ...string) string {
	dir, err := os.MkdirTemp("", "pawl-nvcc-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "empty.cu")
	if os.WriteFile(source, nil, 0o644) != nil {
		return ""
	}
	return answerOf(ctx, command, slices.Concat([]string{"--dryrun"}, flags, []string{"-o", filepath.Join(dir, made), source})...)
}

// parts returns the stamps of the programs that a compiler is made of.
func (c *compiler) parts() []string {
	all := []string{stamp(c.Command[0]), c.Behind}
	if c.Name == "nvcc" {
		profile, _ := os.ReadFile(filepath.Join(filepath.Dir(c.Command[0]), "nvcc.profile")) // which adds flags
		return append(all, sha256Hex(profile))
	}
	for _, name := range c.Programs {
		all = append(all, stampNamed(name))
	}
	return all
}

var hostCompilerFlags = map[string]string{"-ccbin": "-ccbin", "--compiler-bindir": "-ccbin"}

// hostCompilerName returns the compiler that flags or environment tell nvcc to use; "" if they do
// not.
func (r *recipe) hostCompilerName() string {
	named := append([]string{os.Getenv("NVCC_CCBIN")}, flagValues(r.flags(), hostCompilerFlags)["-ccbin"]...)
	return named[len(named)-1]
}

// hostCompiler stamps the compiler that nvcc hands host code to.
func (r *recipe) hostCompiler() []string {
	name := r.hostCompilerName()
	names := []string{name}
	switch {
	case name == "":
		names = []string{"gcc", "g++"}
	case strings.Contains(name, "/"):
		names = []string{within(r.dir, name)}
		if info, err := os.Stat(names[0]); err == nil && info.IsDir() {
			names = []string{filepath.Join(names[0], "gcc"), filepath.Join(names[0], "g++")}
		}
	}
	stamps := []string{name}
	for _, name := range names {
		stamps = append(stamps, stampNamed(name))
	}
	return slices.Clip(stamps)
}
