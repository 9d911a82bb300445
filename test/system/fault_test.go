package system

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

// Every faulty kernel stands between two good ones: the run must go on.
func TestFaultsOfKernels(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kernel string
		cause  result.Cause
		says   []string
		args   []string
	}{
		{kernel: "loop", cause: result.CauseTimeout, says: []string{"--timeout"}, args: []string{"--timeout", "3s"}},
		{kernel: "past_end", cause: result.CauseOutOfBounds, says: []string{"past the end of argument out", "byte 16384 of 16384"}},
		{kernel: "before_start", cause: result.CauseOutOfBounds, says: []string{"before the start of argument out", "8 bytes before"}},
		{kernel: "far_past_end", cause: result.CauseCrash, says: []string{"SIGSEGV", "past the end of argument out: compare the kernel's indices with its shape in pawl.yaml"}},
		{kernel: "null_pointer", cause: result.CauseCrash, says: []string{"SIGSEGV", "null pointer"}},
		{kernel: "aborts", cause: result.CauseCrash, says: []string{"SIGABRT"}},
		{kernel: "divides", cause: result.CauseCrash, says: []string{"SIGFPE"}},
		{kernel: "overflows_stack", cause: result.CauseCrash, says: []string{"SIGSEGV", "large arrays on the stack"}},
		{kernel: "exits", cause: result.CauseExit, says: []string{"exit status 0"}},
		{kernel: "exits_quickly", cause: result.CauseExit, says: []string{"exit status 7"}},
		{kernel: "no_entry", cause: result.CauseNoEntry, says: []string{`"kernel"`, "no_entry.c", "kernell"}},
		{kernel: "does_not_compile", cause: result.CauseCompile, says: []string{"status 1"}},
		{kernel: "hoards", cause: result.CauseMemory, says: []string{"limit"}},
		{kernel: "many_threads", cause: result.CauseThreads, says: []string{"limit"}},
	} {
		t.Run(tc.kernel, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "good", tc.kernel, "slow")
			report, got := p.bench(tc.args...)
			mustMeasure(t, rowOf(t, report, "good"))
			mustMeasure(t, rowOf(t, report, "slow"))
			row := rowOf(t, report, tc.kernel)
			mustFault(t, row, tc.cause, tc.says...)
			if row.Verdict != result.Broken {
				t.Errorf("verdict %q, want broken", row.Verdict)
			}
			if got.code != 1 {
				t.Errorf("exit code %d, want 1", got.code)
			}
		})
	}
}

func TestCompilerOutputIsShownAsWritten(t *testing.T) {
	t.Parallel()
	p := newProject(t, "does_not_compile")
	got := p.run("bench")
	for _, part := range []string{"does_not_compile.c:2:", "error: expected expression before", "in[i] +;"} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("%q is missing from\n%s", part, got.stdout)
		}
	}
}

func TestMegabytesOfOutputAreBounded(t *testing.T) {
	t.Parallel()
	p := newProject(t, "prints")
	report, got := p.bench()
	row := rowOf(t, report, "prints")
	mustMeasure(t, row)
	if got.code != 0 {
		t.Errorf("exit code %d", got.code)
	}
	if n := len(row.Log); n < 32<<10 || n > 80<<10 {
		t.Errorf("the log has %d bytes", n)
	}
	for _, part := range []string{"launch 1 begins", "bytes left out", "launch 8 ends"} {
		if !strings.Contains(row.Log, part) {
			t.Errorf("the log does not contain %q", part)
		}
	}
}

func TestMoreMemoryThanThereIs(t *testing.T) {
	t.Parallel()
	p := newProject(t, "good")
	p.replace("pawl.yaml", "value: N", "value: N % 1000000")
	p.replace("pawl.yaml", "configs:\n", "configs:\n  huge: {N: 1000000000000}\n")
	report, got := p.bench()
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	for _, row := range report.Rows {
		if row.Config == "huge" {
			mustFault(t, row, result.CauseMemory, "7.3 TiB", "this machine has")
		} else {
			mustMeasure(t, row)
		}
	}
}
