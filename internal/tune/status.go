package tune

import (
	"strings"

	"pawl/internal/result"
)

// explained returns a compiler's fault with the first error that the compiler printed: its exit status
// alone does not say what is wrong.
func explained(f *result.Fault, log string) *result.Fault {
	if f.Cause != result.CauseCompile {
		return f
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "error:") || strings.Contains(line, "error #") || strings.Contains(line, "undefined reference") {
			out := *f
			out.Message += ": " + strings.TrimSpace(line)
			return &out
		}
	}
	return f
}

// statusOf returns the status of a trial that a fault has ended.
func statusOf(f *result.Fault) result.TrialStatus {
	switch f.Cause {
	case result.CauseCompile, result.CauseNoEntry:
		return result.TrialCompileError
	case result.CauseSpec:
		return result.TrialUnfit
	case result.CauseMemory, result.CauseThreads:
		return result.TrialResources
	case result.CauseLaunch:
		if f.Stage == "plan" {
			return result.TrialUnfit
		}
		if strings.Contains(f.Message, "resources") || strings.Contains(f.Message, "shared memory") || strings.Contains(f.Message, "registers") {
			return result.TrialResources
		}
		return result.TrialLaunchError
	case result.CauseTimeout:
		return result.TrialTimeout
	case result.CauseWrong, result.CauseNoEffect, result.CauseOutput, result.CauseOutOfBounds:
		return result.TrialWrong
	case result.CauseKilled, result.CauseInternal, result.CauseProtocol, result.CauseOracle, result.CauseUnsupported, result.CauseInterrupted:
		return result.TrialLost // it says nothing of the setting
	case result.CauseForged, result.CauseOverRoof, result.CauseCheat:
		return result.TrialRejected
	}
	return result.TrialCrash
}
