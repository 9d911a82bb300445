package build

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// A compiler runs on sources and flags that may be a stranger's, in a sandbox: what
// it can read it can quote in a diagnostic or put into an artifact. So it reads the
// project, its own folders, the system's, and what whoever runs pawl names in
// readVariable. pawl.yaml names nothing: a change could edit that.

// readVariable names further folders that compilers may read, and envVariable
// further variables that they are given, a name that ends in * for all that begin so.
const (
	readVariable = "PAWL_BUILD_READ"
	envVariable  = "PAWL_BUILD_ENV"
)

// fileLimit bounds any one file that a compiler writes.
const fileLimit = 8 << 30

// fence says what one compiler may reach in one project.
type fence struct {
	mode      sandbox.Mode
	project   string   // the folder that is the project's, links resolved
	checkout  string   // the user's own, where the project is another version's; nothing of it is read
	program   string   // the compiler
	toolchain []string // what it reads of its own
	env       []string

	readable func() []string // all that it may read; of a large project it takes a while to list
	resolved func() []string // the same, links resolved
	tools    func() []string // what it reads of its own in checkout
	places   places

	mu    sync.Mutex
	level *sandbox.Level // of what ran last
}

// fenceOf makes the fence of a recipe's compiler; recipes of one compiler in one
// project share it.
func (run *batch) fenceOf(r *recipe) *fence {
	c := &compiler{Command: []string{""}} // nothing compiles Python
	if r.compiler != nil {
		c = r.compiler
	}
	id := newDigest("fence")
	id.field(r.dir)
	id.fields(c.Command)
	run.mu.Lock()
	defer run.mu.Unlock()
	f := run.fences[id.hex()]
	if f == nil {
		f = newFence(run.sandbox, r.dir, run.checkout, c)
		run.fences[id.hex()] = f
	}
	return f
}

// newFence makes the fence of a compiler that builds what is in dir, for a user whose
// pawl.yaml is in own; "": in dir.
func newFence(mode sandbox.Mode, dir, own string, c *compiler) *fence {
	f := &fence{mode: mode, project: projectRoot(dir), program: c.Command[0], toolchain: c.Folders}
	if own != "" {
		if checkout := projectRoot(own); checkout != f.project {
			f.checkout = checkout
		}
	}
	f.tools = sync.OnceValue(func() []string { return f.toolsIn(f.checkout) })
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

// list finds all that the compiler may read.
func (f *fence) list() []string {
	all := slices.DeleteFunc(sandbox.System(), func(path string) bool { return path == "/proc/self" }) // environ is there
	for _, folder := range slices.Concat(f.toolchain, environmentFolders()) {
		if !broad(folder) && !holds(folder, f.project) {
			all = append(all, folder)
		}
	}
	all = append(all, namedFolders(readVariable)...)
	if f.checkout != "" {
		all = append(ofCheckout(f.checkout, all), f.tools()...)
	}
	return append(all, projectEntries(f.project)...)
}

// policy is what a run may reach that writes to temp, one of the folders of a batch.
func (f *fence) policy(temp string) sandbox.Policy {
	if f.mode == sandbox.Off {
		return sandbox.Policy{}
	}
	return sandbox.Policy{
		Read: append(slices.Clip(f.readable()), filepath.Dir(temp)), Write: []string{temp},
		Processes: true, NoProc: true, Unnamed: true, Limits: sandbox.Limits{FileSize: fileLimit},
	}
}

// note keeps what a compiler ran under, for the report.
func (f *fence) note(level sandbox.Level) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.level = &level
}

// report says what held the compiler; nil when none ran.
func (f *fence) report() *result.Sandbox {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.level == nil {
		return nil
	}
	return &result.Sandbox{Level: f.level.Name(), Missing: f.level.Missing}
}

// allows reports whether a file is one that the compiler may read, wherever links
// lead.
func (f *fence) allows(path string) bool {
	if f.mode == sandbox.Off {
		return true
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if below(f.project, real) && !broad(f.project) { // nearly all are, and this needs no list
		return !slices.ContainsFunc(strings.Split(nameIn(f.project, real), "/"), func(name string) bool { return slices.Contains(withheld, name) })
	}
	return slices.ContainsFunc(f.resolved(), func(folder string) bool { return holds(folder, real) })
}

// checkSource refuses a source that the compiler could not read: pawl reads it too,
// and a Python module is an artifact as it is.
func (f *fence) checkSource(dir, source string) *result.Fault {
	path := within(dir, source)
	if _, err := os.Stat(path); err != nil || f.allows(path) {
		return nil // what is not there has better words
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if f.strayed(path) {
		return f.strayFault(source, path)
	}
	return &result.Fault{
		Stage: stage, Cause: result.CauseCompile,
		Message: fmt.Sprintf("%s lies outside of the project in %s, and is not read", source, f.project), Hint: f.remedy(filepath.Dir(path)),
	}
}

func (f *fence) remedy(folder string) string {
	return fmt.Sprintf("compilers read the project, their own folders and the system's; whoever runs pawl allows another with %s=%s", readVariable, folder)
}

// refusal is how a compiler, an assembler or a linker says that it could not open a file.
var refusal = regexp.MustCompile(`Permission denied|[Ff]ile not found|[Cc]ould not find|[Nn]o such file|cannot (?:open|find|read)|can't open|could not open|unable to open`)

// quoting is what stands around paths in messages.
const quoting = " \t\r:;,'\"`()[]<>‘’“”"

// hint explains a failure by the file that was refused, as far as the compiler's
// words name it.
func (f *fence) hint(dir, output string, args []string) string {
	if f.mode == sandbox.Off {
		return ""
	}
	tell := func(word string) string {
		path := within(dir, word)
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		if f.allows(path) {
			return notOwned(word, info)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return ""
		}
		if f.strayed(real) {
			return fmt.Sprintf("%s is in the working tree, and this is another version: %s", word, strayRemedy)
		}
		folder := real
		if !info.IsDir() {
			folder = filepath.Dir(real)
		}
		leads := " is"
		if real != filepath.Clean(path) {
			leads = " leads to " + real + ","
		}
		return fmt.Sprintf("%s%s outside of what a compiler may read: %s", word, leads, f.remedy(folder))
	}
	failed, denied := false, false
	for line := range strings.Lines(output) {
		if !refusal.MatchString(line) {
			continue
		}
		failed, denied = true, denied || strings.Contains(line, "Permission denied")
		for word := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune(quoting, c) || c == '\n' }) {
			if hint := tell(strings.TrimPrefix(word, "@")); hint != "" {
				return hint
			}
		}
	}
	for _, arg := range args {
		for _, flag := range []string{"-I", "-L", "--include-path="} {
			if folder, ok := strings.CutPrefix(arg, flag); ok && failed {
				if hint := tell(folder); hint != "" {
					return hint
				}
			}
		}
	}
	if denied {
		return "a file was not readable: " + f.remedy("FOLDER")
	}
	return ""
}

// notOwned explains why root cannot read a file: in the sandbox it has no rights but
// those of its user.
func notOwned(name string, info fs.FileInfo) string {
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known || os.Geteuid() != 0 || owner.Uid == 0 || info.Mode().Perm()&0o044 != 0 {
		return ""
	}
	return fmt.Sprintf("%s belongs to another user, and root reads no others' files in a sandbox: run pawl as that user, or chmod go+r it", name)
}

// pawlFolder holds a project's baseline and runs.
const pawlFolder = ".pawl"

// withheld are folders in a project that hold no sources: a checkout leaves tokens
// in .git/config.
var withheld = []string{".git", pawlFolder}

// projectRoot is the repository that a folder is in, else the folder itself. A
// repository that a home folder lies in is no project.
func projectRoot(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for root := dir; !broad(root); root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			return root
		}
	}
	return dir
}

// holds reports whether a path is a folder or in it.
func holds(folder, path string) bool { return folder == path || below(folder, path) }

// broad reports whether a folder is a home folder or has one in it: too much to be
// read for the sake of a compiler or a project that lies there.
func broad(dir string) bool {
	homes := []string{os.Getenv("HOME")}
	if who, err := user.Current(); err == nil {
		homes = append(homes, who.HomeDir) // in a container job HOME may be another
	}
	return dir == "/" || slices.ContainsFunc(homes, func(home string) bool {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		return filepath.IsAbs(home) && holds(dir, home)
	})
}

// projectEntries are the largest files and folders of a project that have nothing
// withheld in them. Links are left out: what they lead to in the project is there by
// its own name. Of a project in a home folder itself only the files beside pawl.yaml
// are taken.
func projectEntries(root string) []string {
	if broad(root) {
		var files []string
		found, _ := os.ReadDir(root)
		for _, entry := range found {
			if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
				files = append(files, filepath.Join(root, entry.Name()))
			}
		}
		return files
	}
	list, whole := entries(root)
	if whole {
		return []string{root}
	}
	return list
}

// entries are those of one folder, and whether it may be read as a whole.
func entries(dir string) (list []string, whole bool) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist) // what pawl cannot list, the compiler cannot either
	}
	whole = true
	for _, entry := range found {
		path := filepath.Join(dir, entry.Name())
		switch {
		case slices.Contains(withheld, entry.Name()):
			whole = false
		case entry.IsDir():
			if inner, ok := entries(path); ok {
				list = append(list, path)
			} else {
				list, whole = append(list, inner...), false
			}
		case entry.Type()&fs.ModeSymlink == 0:
			list = append(list, path)
		}
	}
	return list, whole
}

// given are the variables that compilers get besides those that keys count: where
// programs and libraries are, the language of messages, and where CUDA and conda are.
var given = []string{
	"PATH", "LD_LIBRARY_PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
	"CUDA_HOME", "CUDA_PATH", "NVCC_CCBIN", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CONDA_PREFIX", "CONDA_BUILD_SYSROOT",
}

// compilerEnvironment is all that a compiler sees of pawl's environment.
func compilerEnvironment() []string {
	return slices.Concat(environment(), variables(given), namedVariables())
}

// namedVariables are those that whoever runs pawl names.
func namedVariables() []string { return variables(strings.Split(os.Getenv(envVariable), ",")) }

// variables are those of the environment that have one of the names.
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

// environmentFolders are those that variables for compilers name.
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

// namedFolders are the absolute paths in a variable.
func namedFolders(variable string) []string {
	return slices.DeleteFunc(folderList(variable), func(folder string) bool { return !filepath.IsAbs(folder) })
}
