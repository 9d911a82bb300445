package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/cell/python"
	"pawl/internal/worker/wire"
)

// interpreter is the Python that runs Python cells.
type interpreter struct {
	Executable string   `json:"executable"`
	Read       []string `json:"read"`      // folders it imports from
	Prefixes   []string `json:"prefixes"`  // folders it is installed in
	UserBase   string   `json:"user_base"` // folder of the user's own packages; "" where they are disabled

	Program string `json:"program"` // the cell's program, compiled where that worked
}

// pythonQuestion makes an interpreter print the folders of itself and its packages, and compile the
// cell's modules, which takes a tenth of the time that a cell needs to start.
const pythonQuestion = `
import json, pathlib, py_compile, site, sys
program = sys.argv[1]
try:
    for file in map(str, pathlib.Path(program).parent.rglob("*.py")):
        py_compile.compile(file, cfile=file + "c", dfile=file, doraise=True)
    program += "c"
except Exception:
    pass
prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
read = prefixes + [p for p in sys.path if p]
base = site.getuserbase() if site.ENABLE_USER_SITE else ""
print()
print(json.dumps({"executable": sys.executable, "read": sorted(set(read)), "prefixes": sorted(set(prefixes)), "user_base": base or "", "program": program}))
`

// PythonName returns the command that starts Python.
func PythonName() string { return cmp.Or(os.Getenv("PAWL_PYTHON"), "python3") }

func hasPython() bool {
	_, err := exec.LookPath(PythonName())
	return err == nil
}

// findPython asks the interpreter on PATH, which may be a wrapper, for the real one, and puts the
// cell's program beside the artifacts.
func findPython(dir string) (*interpreter, error) {
	fault := func(format string, args ...any) error {
		return result.Faultf(result.CauseUnsupported, format, args...).WithHint("install Python 3.9 or newer, or name one with PAWL_PYTHON")
	}
	path, err := exec.LookPath(PythonName())
	if err != nil {
		return nil, fault("no Python was found on this machine: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	program := filepath.Join(dir, python.Program)
	if err := os.CopyFS(dir, python.Cell); err != nil {
		return nil, fmt.Errorf("store the cell's program: %w", err)
	}
	question := exec.CommandContext(ctx, path, "-c", pythonQuestion, program)
	// It runs outside the sandbox, and must import nothing from a project: not from the current
	// folder, and not from those in PYTHONPATH, which cells also get.
	question.Dir = dir
	question.Env = slices.DeleteFunc(os.Environ(), func(set string) bool { return strings.HasPrefix(set, "PYTHONPATH=") })
	out, err := question.Output()
	if err != nil {
		text := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			text = ": " + strings.TrimSpace(string(exit.Stderr))
		}
		return nil, fault("%s does not run: %v%s", path, err, text)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n") // start-up files may print before it
	found := &interpreter{Program: program}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), found); err != nil || !filepath.IsAbs(found.Executable) {
		return nil, fault("%s gives an unexpected answer: %s", path, lines[len(lines)-1])
	}
	return found, nil
}

// pythonFiles are files that the standard library and the usual packages read.
var pythonFiles = []string{"/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/mime.types", "/etc/magic", "/etc/os-release"}

// passed are the worker's own variables that say where packages and libraries are.
var passed = []string{"PYTHONPATH", "PYTHONPYCACHEPREFIX", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"}

// pythonProgram runs the embedded cell in the user's interpreter. It may start
// processes: Triton runs ptxas and a C compiler.
func (s *server) pythonProgram(m wire.Open, device, scratch string) (*program, error) {
	found, err := s.python()
	if err != nil {
		return nil, err
	}
	p := &program{
		path: found.Executable, args: []string{found.Executable, "-u", found.Program},
		policy: sandbox.Policy{Write: []string{scratch}, Processes: true, Urgent: true},
	}
	p.policy.Read = slices.Concat(sandbox.System(), pythonFiles, []string{s.store.blobs()})
	s.sources.grant(&p.policy, found.apart(m.Apart, found.Read))
	s.sources.grant(&p.policy, importFolders(m.Dirs))
	p.env = []string{
		"PATH=" + filepath.Dir(found.Executable) + ":/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8", "USER=pawl", "LOGNAME=pawl", "HOME=" + scratch, "TMPDIR=" + scratch,
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "PYTHONUSERBASE=" + cmp.Or(found.UserBase, scratch),
		"CUBLAS_WORKSPACE_CONFIG=:4096:8", "CUPY_TF32=0", "XLA_PYTHON_CLIENT_PREALLOCATE=false", "TORCHINDUCTOR_COMPILE_THREADS=1",
	}
	for _, variable := range []string{"XDG_CACHE_HOME", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "CUDA_CACHE_PATH", "CUPY_CACHE_DIR", "NUMBA_CACHE_DIR"} {
		p.env = append(p.env, variable+"="+filepath.Join(scratch, "cache", strings.ToLower(variable)))
	}
	threads := strconv.Itoa(max(1, m.Parallel))
	for _, variable := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"} {
		p.env = append(p.env, variable+"="+threads)
	}
	for _, variable := range passed {
		if value := os.Getenv(variable); value != "" {
			folders := slices.DeleteFunc(filepath.SplitList(value), func(folder string) bool { return len(found.apart(m.Apart, []string{folder})) == 0 })
			p.env = append(p.env, variable+"="+strings.Join(folders, string(filepath.ListSeparator)))
			s.sources.grant(&p.policy, importFolders(found.apart(m.Apart, folders)))
		}
	}
	visible := ""
	if device == hostDevice {
		p.policy = p.policy.WithFrameworks()
	} else {
		visible = device
		p.policy = p.policy.WithCUDA() // allows more than the frameworks need
	}
	p.env = append(p.env, "CUDA_VISIBLE_DEVICES="+visible)
	return p, nil
}

// apart returns the folders without those inside hole, from which nothing is read, except the
// interpreter's own: a virtual environment may lie there. Without a hole it returns all. A package that is installed as a link to
// its sources in a checkout is not one of these.
func (i *interpreter) apart(hole string, folders []string) []string {
	if hole == "" {
		return folders
	}
	var left []string
	for _, folder := range folders {
		if slices.ContainsFunc(i.Prefixes, func(prefix string) bool {
			return prefix != hole && (folder == prefix || strings.HasPrefix(folder, prefix+"/"))
		}) {
			left = append(left, folder)
			continue
		}
		left = append(left, sandbox.Without(hole, []string{folder})...)
	}
	return left
}

// importFolders returns those of the given folders that this machine has: a worker elsewhere need
// not have the parent's files.
func importFolders(dirs []string) []string {
	var there []string
	for _, dir := range dirs {
		if info, err := os.Stat(dir); filepath.IsAbs(dir) && err == nil && info.IsDir() {
			there = append(there, filepath.Clean(dir))
		}
	}
	return there
}
