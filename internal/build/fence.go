package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// A compiler runs in a sandbox, on sources and flags that may come from a stranger: it can quote
// every file that it can read in a diagnostic, or put it into an artifact. So it reads the project,
// its own folders, the system's, and the folders that the person who runs pawl names in
// readVariable. pawl.yaml cannot name any: a change could edit it.

// readVariable names further folders that compilers may read, and envVariable further variables
// that they get; a name that ends in * stands for all that begin so.
const (
	readVariable = "PAWL_BUILD_READ"
	envVariable  = "PAWL_BUILD_ENV"
)

// fileLimit bounds any one file that a compiler writes.
const fileLimit = 8 << 30

// fence lists what one compiler may reach in one project.
type fence struct {
	mode     sandbox.Mode
	project  string // the folder that is the project's, links resolved
	checkout string // the user's own, if the project is another version's; nothing of it is read
	compiler *compiler
	env      []string

	sources  func() sandbox.Sources // of the project; of a large one it takes a while to list
	readable func() []string        // everything that it may read
	resolved func() []string        // the same, links resolved
	tools    func() []string        // its own files in checkout
	places   onceMap[bool]          // which paths lead into checkout

	exempt []string // parts of checkout that the user lets it read

	level atomic.Pointer[sandbox.Level] // of what ran last
}

// fenceOf makes the fence of a recipe's compiler; recipes of one compiler in one
// project share it.
func (run *batch) fenceOf(r *recipe) *fence {
	c := &compiler{Command: []string{""}} // nothing compiles Python
	if r.compiler != nil {
		c = r.compiler
	}
	return run.fences.get(hashOf("fence", r.dir, c.Command), func() *fence {
		f := newFence(run.sandbox, r.dir, run.checkout, c)
		f.exempt = run.exempt
		list := f.sources
		f.sources = func() sandbox.Sources { return run.sources.get(f.project, list) } // compilers of one project list it once
		return f
	})
}

// newFence makes the fence of a compiler that builds what is in dir, for a user whose
// pawl.yaml is in own; "": in dir.
func newFence(mode sandbox.Mode, dir, own string, c *compiler) *fence {
	f := &fence{mode: mode, project: sandbox.ProjectRoot(dir), compiler: c}
	f.checkout = Apart(own, dir)
	f.tools = sync.OnceValue(f.ownTools)
	f.sources = sync.OnceValue(func() sandbox.Sources { return sandbox.SourcesOf(f.project) })
	f.readable = sync.OnceValue(f.list)
	f.resolved = sync.OnceValue(func() []string {
		var s folderSet
		s.add(f.readable()...)
		return s
	})
	if mode == sandbox.Off {
		f.env = slices.DeleteFunc(os.Environ(), func(set string) bool { // the first of two counts
			return strings.HasPrefix(set, "TMPDIR=") || strings.HasPrefix(set, "CCACHE_NODIRECT=")
		})
		return f
	}
	f.env = compilerEnvironment()
	return f
}

// list finds everything that the compiler may read.
func (f *fence) list() []string {
	all := slices.DeleteFunc(sandbox.System(), func(path string) bool { return path == "/proc/self" }) // environ is there
	for _, folder := range slices.Concat(f.compiler.Folders, environmentFolders()) {
		if !sandbox.Broad(folder) && !holds(folder, f.project) {
			all = append(all, f.named(folder)...)
		}
	}
	for _, folder := range namedFolders(readVariable) {
		all = append(all, f.named(folder)...)
	}
	if f.checkout != "" {
		all = append(sandbox.Without(f.checkout, all), f.tools()...)
	}
	return append(all, f.sources().Read...)
}

// named returns what may be read of a folder that the user names: for a checkout, its sources.
// Searching any folder for nested checkouts would take long.
func (f *fence) named(folder string) []string {
	if sandbox.Withheld(folder) {
		return nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil || sandbox.Broad(real) {
		return []string{folder} // who names a home folder means it
	}
	if _, err := os.Lstat(filepath.Join(real, ".git")); err != nil && !holds(real, f.project) && !holds(f.project, real) {
		return []string{folder}
	}
	return sandbox.SourcesOf(real).Read
}

// policy returns the sandbox policy of a run that writes to temp, one of the folders of a batch.
func (f *fence) policy(temp string) sandbox.Policy {
	if f.mode == sandbox.Off {
		return sandbox.Policy{}
	}
	return sandbox.Policy{
		Read: append(slices.Clip(f.readable()), filepath.Dir(temp)), Write: []string{temp},
		Processes: true, NoProc: true, Unnamed: true, FileSize: fileLimit,
	}
}

// note records the sandbox level of a compiler, for the report.
func (f *fence) note(level sandbox.Level) { f.level.Store(&level) }

// report returns the sandbox of the compiler; nil when none ran.
func (f *fence) report() *result.Sandbox {
	level := f.level.Load()
	if level == nil {
		return nil
	}
	return &result.Sandbox{Level: level.Name(), Missing: level.Missing}
}

// allows reports whether the compiler may read a file, wherever links lead.
func (f *fence) allows(path string) bool {
	if f.mode == sandbox.Off {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if holds(f.project, real) && !sandbox.Broad(f.project) { // nearly all are, and this needs no list
		return !sandbox.Withheld(nameIn(f.project, real)) && !f.isLink(real)
	}
	return oneHolds(f.resolved(), real)
}

// isLink reports whether a file of the project is a hard link to a withheld file.
func (f *fence) isLink(real string) bool {
	info, err := os.Stat(real)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1 && slices.Contains(f.sources().Links, real)
}

// checkSource refuses a source that the compiler could not read: pawl reads it too, and a Python
// module is used as an artifact unchanged.
func (f *fence) checkSource(dir, source string) *result.Fault {
	path := within(dir, source)
	if _, err := os.Stat(path); err != nil || f.allows(path) {
		return nil // a missing file has a better message
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if f.strayed(path) {
		return f.strayFault(source, path)
	}
	why, remedy := f.why(path, filepath.Dir(path))
	return newFault(result.CauseCompile, remedy, "%s %s, and is not read", source, why)
}

// holds reports whether a path is a folder or in it.
func holds(folder, path string) bool { return folder == path || below(folder, path) }

// oneHolds reports whether a path is one of the folders or in it.
func oneHolds(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return holds(folder, path) })
}

// given are the variables that compilers get besides those that are part of keys: the paths of
// programs and libraries, the language of messages, and the paths of CUDA and conda.
var given = []string{
	"PATH", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"CUDA_HOME", "CUDA_PATH", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CONDA_PREFIX", "CONDA_BUILD_SYSROOT",
}

// compilerEnvironment returns the part of pawl's environment that a compiler sees.
func compilerEnvironment() []string {
	return slices.Concat(environment(), variables(given), namedVariables())
}

// namedVariables returns the variables that the user names.
func namedVariables() []string { return variables(strings.Split(os.Getenv(envVariable), ",")) }

// variables returns the environment variables that have one of the names.
func variables(names []string) []string {
	var env []string
	for _, set := range os.Environ() {
		name, _, _ := strings.Cut(set, "=")
		if slices.ContainsFunc(names, func(pattern string) bool {
			prefix, several := strings.CutSuffix(pattern, "*")
			return pattern == name || several && prefix != "" && strings.HasPrefix(name, prefix)
		}) {
			env = append(env, set)
		}
	}
	return env
}

// environmentFolders returns the folders that variables for compilers name.
func environmentFolders() []string {
	var all folderSet
	for _, variable := range []string{
		"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_BUILD_SYSROOT",
	} {
		all.add(namedFolders(variable)...)
	}
	if prefix := os.Getenv("GCC_EXEC_PREFIX"); filepath.IsAbs(prefix) {
		all.add(filepath.Dir(prefix))
	}
	return all
}

// namedFolders returns the absolute paths in a variable.
func namedFolders(variable string) []string {
	return slices.DeleteFunc(folderList(variable), func(folder string) bool { return !filepath.IsAbs(folder) })
}
