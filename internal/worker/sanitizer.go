package worker

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
	"pawl/internal/worker/cell"
)

const (
	sanitizerName = "compute-sanitizer"
	sanitizerLog  = "sanitizer.log" // in the cell's scratch

	// sanitizedHello and sanitizedEnd bound the start and the end of a cell under a tool, which
	// patches device code and writes a summary at the end.
	sanitizedHello = 90 * time.Second
	sanitizedEnd   = 40 * time.Second

	exitSanitizer = "86" // exit status of a tool that found errors
)

var sanitizerTools = []string{"memcheck", "racecheck", "initcheck", "synccheck"}

// findSanitizer finds compute-sanitizer: the path in PAWL_SANITIZER, else on PATH, else in a
// toolkit.
func findSanitizer() (string, error) {
	if named := os.Getenv("PAWL_SANITIZER"); named != "" {
		path, err := exec.LookPath(named)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", noSanitizer("PAWL_SANITIZER: " + err.Error())
		}
		return path, nil
	}
	candidates := []string{}
	if path, err := exec.LookPath(sanitizerName); err == nil {
		candidates = append(candidates, path)
	}
	for _, home := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"} {
		if home != "" {
			candidates = append(candidates, filepath.Join(home, "bin", sanitizerName), filepath.Join(home, sanitizerName, sanitizerName))
		}
	}
	for _, path := range candidates {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		// A toolkit's bin has a script that starts the tool in the folder beside it.
		if beside := filepath.Join(filepath.Dir(real), "..", sanitizerName, sanitizerName); executable(beside) {
			return filepath.Abs(beside)
		}
		if executable(real) {
			return filepath.Abs(real)
		}
	}
	return "", noSanitizer(sanitizerName + " was not found on this machine")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func noSanitizer(why string) error {
	return result.Faultf(result.CauseUnsupported, "%s", why).WithHint("it comes with the CUDA toolkit; set PAWL_SANITIZER if it is elsewhere")
}

// sanitize runs a cell under a tool of compute-sanitizer. The tool starts the cell with its own
// library in it, and the two communicate over a local socket.
func (p *program) sanitize(path, tool, scratch string) error {
	if !slices.Contains(sanitizerTools, tool) {
		return result.Faultf(result.CauseProtocol, "compute-sanitizer has no tool %q; it has %s", tool, strings.Join(sanitizerTools, ", "))
	}
	args := []string{
		path, "--tool", tool, "--log-file", filepath.Join(scratch, sanitizerLog), "--error-exitcode", exitSanitizer,
		"--target-processes", "application-only", // Triton starts compilers
		"--launch-timeout", "60",
		"--show-backtrace", "device", // the host is pawl
	}
	if tool == "memcheck" {
		args = append(args, "--report-api-errors", "no") // querying the driver's capabilities is no error
	}
	p.args = slices.Concat(args, []string{p.path}, p.args[1:])
	p.path = path
	p.env = append(p.env,
		"NV_COMPUTE_SANITIZER_LOCAL_CONNECTION_OVERRIDE=uds", // the sandbox has no network
		"PYTORCH_NO_CUDA_MEMORY_CACHING=1",                   // otherwise the end of a tensor is not the end of its allocation
		cell.SanitizerVariable+"="+tool)
	folder := filepath.Dir(path)
	p.policy.Read = append(p.policy.Read, folder, filepath.Join(folder, "..", "lib"), filepath.Join(folder, "..", "lib64"), "/etc/passwd", "/etc/nsswitch.conf")
	p.policy.Processes, p.policy.LocalSockets, p.policy.Peers = true, true, true
	return nil
}

// toolLogHalf bounds a tool's log: this much of its beginning and of its end is kept. It must fit
// into a frame, and JSON writes some characters as six.
const toolLogHalf = 48 << 10

// readToolLog reads a tool's output. The cell's code could write there too, so the log is as
// trustworthy as the cell.
func readToolLog(path string) string {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if info.Size() <= 2*toolLogHalf {
		all, _ := io.ReadAll(io.LimitReader(f, 2*toolLogHalf)) // as much as there is
		return strings.ToValidUTF8(string(all), "\uFFFD")
	}
	head, tail := make([]byte, toolLogHalf), make([]byte, toolLogHalf)
	n, _ := io.ReadFull(f, head)
	m, _ := f.ReadAt(tail, info.Size()-toolLogHalf)
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head[:n], info.Size()-2*toolLogHalf, tail[:m]), "\uFFFD")
}
