package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pawl/internal/nsight"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

const (
	profilerLog    = "profiler.log" // in the cell's scratch
	profilerOutput = "profile"      // likewise; Nsight Compute adds the suffix
	reportSuffix   = ".ncu-rep"

	// profiledHello and profiledEnd bound the start and the end of a cell under Nsight Compute, which
	// loads its library there and writes its report at the end. Where it repeats the whole cell for
	// every pass, the end has all passes but the first.
	profiledHello  = 2 * time.Minute
	profiledEnd    = 2 * time.Minute
	repeatedEnd    = 10 * time.Minute
	profilerSocket = "NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE=uds"
	profilerFiles  = "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT=1"
)

// profiling is what a worker knows of a cell that runs under Nsight Compute.
type profiling struct {
	tool    *nsightTool
	request wire.Profiler
	version string
	command []string // without folders
	keep    string   // file for the report, where no cell can write

	// Valid once the cell has ended:
	log  string
	size int64 // of the report; -1: there is none
}

// nsightTool is an installed Nsight Compute.
type nsightTool struct {
	path    string
	folders []string // that it reads
	mode    sandbox.Mode
}

// profiledProgram puts Nsight Compute in front of a cell's program. It starts the cell with its own
// library in it, and the two communicate over a local socket or over 127.0.0.1.
func (s *server) profiledProgram(p *program, m wire.Open, scratch string) (*profiling, error) {
	request, err := m.Profiler.Complete()
	if err != nil {
		return nil, err
	}
	if request.Stranger && os.Geteuid() == 0 {
		return nil, result.Faultf(result.CauseUnsupported, "the code of a stranger is not profiled as root").
			WithHint("run the worker as a user of its own, and let every user read counters: " + permitCounters)
	}
	if request.Replay == "application" && m.Cell != "cuda" {
		return nil, result.Faultf(result.CauseUnsupported, "only a cuda cell can be repeated for every pass; this is a %s cell", m.Cell)
	}
	path, err := nsight.Find()
	if err != nil {
		return nil, result.Faultf(result.CauseUnsupported, "%v", err).WithHint(nsight.Hint)
	}
	mode, err := sandbox.ParseMode(m.Sandbox)
	if err != nil {
		return nil, result.Faultf(result.CauseProtocol, "%v", err)
	}
	out := &profiling{tool: &nsightTool{path, nsight.Installation(path), mode}, request: request, size: -1}
	out.version = s.versionOf(out.tool)
	out.keep = filepath.Join(s.store.profiles(), filepath.Base(scratch)+reportSuffix)
	p.args = slices.Concat(profilerArgs(path, request, scratch), []string{p.path}, p.args[1:])
	p.path = path
	for _, arg := range p.args {
		if filepath.IsAbs(arg) {
			arg = filepath.Base(arg)
		}
		out.command = append(out.command, arg)
	}
	p.env = append(p.env, profilerSocket, profilerFiles, cell.ProfilerVariable+"="+request.Replay)
	customized, _ := filepath.Glob(pythonStart) // fails for a bad pattern only
	p.policy.Read = slices.Concat(p.policy.Read, out.tool.folders, toolFiles, customized)
	p.policy.List = slices.Concat(p.policy.List, toolLists)
	p.policy.Processes, p.policy.LocalSockets, p.policy.Peers, p.policy.Loopback = true, true, true, true
	p.policy.Counters = !request.Stranger
	return out, nil
}

// toolFiles are what the C library reads to find a user's name and the address of localhost.
var toolFiles = []string{"/etc/passwd", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf"}

// toolLists are folders in which Nsight Compute looks for devices that it could name in a report.
var toolLists = []string{"/sys/bus/dax/devices", "/sys/class/block", "/sys/class/infiniband", "/sys/class/net"}

// pythonStart matches what the Python in Nsight Compute, which runs its rules, reads on start where a
// distribution has put it: /usr/lib/python3 only links to it.
const pythonStart = "/etc/python3*/sitecustomize.py"

// profilerArgs returns the command line of Nsight Compute, which the program to profile follows. It
// leaves nothing to a default that versions disagree on.
func profilerArgs(path string, request wire.Profiler, scratch string) []string {
	args := []string{
		path, "--profile-from-start", "off", // the cell says which launches are meant
		"--target-processes", "application-only", // Triton starts compilers
		"--replay-mode", request.Replay, "--cache-control", request.Cache, "--clock-control", request.Clock,
		"--log-file", filepath.Join(scratch, profilerLog), "-f", "-o", filepath.Join(scratch, profilerOutput),
	}
	if request.Full {
		args = append(args, "--set", "full")
	}
	if len(request.Metrics) > 0 {
		args = append(args, "--metrics", strings.Join(request.Metrics, ","))
	}
	return args
}

// end returns how long a cell may take to end by itself.
func (p *profiling) end() time.Duration {
	if p.request.Replay == "application" {
		return repeatedEnd
	}
	return profiledEnd
}

// collect takes what Nsight Compute has left in the scratch of a cell that has ended. The cell's code
// could write there too: what it has left is a file like any other, and read as one.
func (p *profiling) collect(scratch string) {
	p.log = readToolLog(filepath.Join(scratch, profilerLog))
	from := filepath.Join(scratch, profilerOutput+reportSuffix)
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if p.size = info.Size(); p.size > wire.MaxReport {
		return
	}
	if os.Rename(from, p.keep) != nil {
		p.size = -1
	}
}

// said returns what is known of a profile before its report is read.
func (p *profiling) said(exit string) *wire.Profile {
	return &wire.Profile{Tool: p.version, Command: p.command, Log: p.log, Exit: exit, Unknown: unknownMetrics(p.log, p.request.Metrics)}
}

// endStrays ends processes that a tool has started and that have left the cell's group, which only
// one without a sandbox can. The scratch folder in their environment gives them away.
func endStrays(scratch string) {
	const rounds = 3 // one that starts others may do so while it is looked for
	for range rounds {
		found := processesOf(scratch)
		for _, process := range found {
			_ = process.Kill() // it may have ended
			_ = process.Release()
		}
		if len(found) == 0 {
			return
		}
	}
}

// processesOf returns the processes whose TMPDIR is a cell's scratch folder.
func processesOf(scratch string) []*os.Process {
	want := "TMPDIR=" + scratch
	var found []*os.Process
	for _, pid := range numbersIn("/proc") {
		process, err := os.FindProcess(pid) // holds on to the process, not to the number
		if err != nil {
			continue
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && slices.Contains(strings.Split(string(environment), "\x00"), want) {
			found = append(found, process)
			continue
		}
		_ = process.Release()
	}
	return found
}

// noNetwork explains why a cell could not be started in a network of its own.
func noNetwork(err error) *result.Fault {
	if !errors.Is(err, sandbox.ErrNoNetwork) {
		return nil
	}
	return result.Faultf(result.CauseUnsupported, "Nsight Compute does not run in the sandbox here: %v", err).
		WithHint("run the worker as root, in a container with CAP_SYS_ADMIN, or allow user namespaces (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns); " +
			"--sandbox off profiles code that you trust without one")
}
