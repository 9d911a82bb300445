package worker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"pawl/internal/result"
)

// permitCounters is the remedy for counters that only administrators may read.
const permitCounters = "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in a file of /etc/modprobe.d, then a reboot"

// complaint is something that Nsight Compute says when it cannot profile.
type complaint struct {
	words         string
	cause         result.Cause
	message, hint string
}

// complaints are in the order of their weight: what comes first explains what comes later.
var complaints = []complaint{
	{
		"driver resource was unavailable", result.CauseUnsupported, "another program reads this GPU's counters, or the driver does not let this user read them",
		"stop DCGM's profiling (dcgmi profile --pause) or the other profiler; else let every user read counters: " + permitCounters,
	},
	{
		"ERR_NVGPUCTRPERM", result.CauseUnsupported, "the driver does not let this user read the GPU's counters (ERR_NVGPUCTRPERM)",
		"let every user read them: " + permitCounters + "; that is better than to profile as root, of whose rights a sandboxed cell has none but CAP_PERFMON",
	},
	{
		"not compatible with Nsight Compute", result.CauseUnsupported, "this version of Nsight Compute does not work with this driver",
		"install one of the driver's CUDA version, and name it with PAWL_NCU",
	},
	{
		"failed to connect to the CUDA driver", result.CauseUnsupported, "Nsight Compute does not find its way into this CUDA driver",
		"take the toolkit's stub libcuda.so out of LD_LIBRARY_PATH, or install a version of Nsight Compute that is for this driver",
	},
	{
		"interprocess lock", result.CauseInternal, "Nsight Compute could not lock the GPU", "end the other ncu on this machine",
	},
	{
		"lock file", result.CauseInternal, "Nsight Compute could not lock the GPU", "end the other ncu on this machine",
	},
	{
		"on MIG", result.CauseUnsupported, "Nsight Compute cannot control the clock of a MIG instance", "profile with clock control none",
	},
	{
		"bad allocation", result.CauseMemory, "Nsight Compute had too little memory to save what the kernel may write",
		"profile a smaller config, or with application replay, which saves nothing",
	},
}

// explain says why a profile failed, as well as what Nsight Compute said allows; nil: it did not
// complain.
func (p *profiling) explain(printed string) *result.Fault {
	said := p.log + "\n" + printed
	for _, one := range complaints {
		if strings.Contains(said, one.words) {
			return stage(result.Faultf(one.cause, "%s", one.message).WithHint(one.hint))
		}
	}
	if unknown := unknownMetrics(said, p.request.Metrics); len(unknown) > 0 {
		return stage(result.Faultf(result.CauseUnsupported, "Nsight Compute does not know %s on this GPU", strings.Join(unknown, ", ")).
			WithHint("ncu --query-metrics lists the metrics that it knows"))
	}
	return nil
}

func stage(fault *result.Fault) *result.Fault {
	fault.Stage = "profile"
	return fault
}

// ended says why a cell under Nsight Compute has ended, which its own end would not tell: the process
// that ended is the profiler.
func (p *profiling) ended(verdict *result.Fault, state *os.ProcessState, printed string) *result.Fault {
	if verdict != nil && verdict.Cause == result.CauseTimeout {
		if complained := p.explain(printed); complained != nil {
			return complained
		}
		late := *verdict
		late.Message = strings.Replace(late.Message, "the cell was ended", "Nsight Compute and all that it started were ended", 1)
		late.Hint = "a kernel that waits for another one, or for the host, never ends when it is replayed alone: profile it with application replay, or with fewer metrics"
		if p.request.Replay == "application" {
			late.Hint = "profile a smaller config, or fewer metrics"
		}
		return stage(&late)
	}
	if verdict != nil {
		return verdict
	}
	if complained := p.explain(printed); complained != nil {
		return complained
	}
	how := "without a status"
	if state != nil {
		how = state.String()
	}
	message := "Nsight Compute ended early (" + how + ")"
	if last := lastError(p.log, printed); last != "" {
		message += ": " + last
	}
	return stage(result.Faultf(result.CauseInternal, "%s", message).WithHint("what it said is with the profile; the same launches without it show whether the kernel is the cause"))
}

// without says why there is no report of a cell that has ended well.
func (p *profiling) without(state *os.ProcessState, printed string) *result.Fault {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return p.ended(nil, state, printed)
	}
	if complained := p.explain(printed); complained != nil {
		return complained
	}
	message := "Nsight Compute profiled no kernel"
	if last := lastError(p.log, printed); last != "" {
		message += ": " + last
	}
	return stage(result.Faultf(result.CauseUnsupported, "%s", message).
		WithHint("it must see a launch between the start and the stop of its range; what the sandbox refused is listed with the profile"))
}

// unknownMetrics returns those of the metrics that Nsight Compute says it cannot find. It names one
// without a suffix as the expression that stands for all suffixes.
func unknownMetrics(said string, asked []string) []string {
	var unknown []string
	for line := range strings.Lines(said) {
		_, name, found := strings.Cut(line, "Failed to find metric ")
		if !found {
			continue
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "regex:^")
		name, _, _ = strings.Cut(name, "(")
		name = strings.TrimRight(strings.ReplaceAll(name, `\`, ""), ".$")
		if slices.Contains(asked, name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// lastError returns the last thing that Nsight Compute complains of.
func lastError(texts ...string) string {
	last := ""
	for _, text := range texts {
		for line := range strings.Lines(text) {
			for _, mark := range []string{"==ERROR== ", "==WARNING== "} {
				if _, rest, found := strings.Cut(line, mark); found {
					last = strings.TrimSpace(rest)
				}
			}
		}
	}
	const most = 300
	if len(last) > most {
		last = fmt.Sprintf("%s…", last[:most])
	}
	return last
}
