package result

import "testing"

func TestVerdictOfAFault(t *testing.T) {
	for cause, want := range map[Cause]Verdict{
		CauseForged: Rejected, CauseCheat: Rejected, CauseOverRoof: Rejected, CauseWrong: Incorrect, CauseCrash: Broken, CauseTimeout: Broken, CauseCompile: Broken,
		CauseKilled: "", CauseProtocol: "", CauseOracle: "", CauseInterrupted: "", CauseInternal: "", CauseUnsupported: "",
	} {
		if got := (&Fault{Cause: cause}).Verdict(); got != want {
			t.Errorf("%s: %q, want %q", cause, got, want)
		}
	}
}
