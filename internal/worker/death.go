package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"pawl/internal/pattern"
	"pawl/internal/result"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// The Go runtime inside a cell turns a signal raised by C code into a few lines
// on stderr and exit status 2.
var runtimeCrash = pattern.New(`(?m)^(?:fatal error: .*\n(?:\[signal )?|\[signal )?(SIG[A-Z]+): ([a-z ]+)`)

var crashAddress = pattern.New(`addr=(0x[0-9a-f]+)`)

// causeOfDeath derives the cause of a cell's end from its exit status and its log. It returns the
// fault and the log without the runtime's own lines.
func causeOfDeath(state *os.ProcessState, text string, buffers []wire.Range) (*result.Fault, string) {
	if state == nil {
		return result.Faultf(result.CauseKilled, "the cell ended without a status"), text
	}
	status, _ := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		if status.Signal() == syscall.SIGKILL {
			return result.Faultf(result.CauseKilled, "the cell was killed from outside (SIGKILL)").
				WithHint("the Linux out-of-memory killer also does that: see dmesg"), text
		}
		fault := result.Faultf(result.CauseCrash, "the kernel crashed: %s", status.Signal())
		if status.Signal() == syscall.SIGSEGV || status.Signal() == syscall.SIGBUS {
			fault.Hint = foreignMemory
		}
		return fault, text
	}
	if at := runtimeCrash.Regexp().FindStringSubmatchIndex(text); state.ExitCode() == 2 && at != nil {
		name, meaning := text[at[2]:at[3]], strings.TrimSpace(text[at[4]:at[5]])
		message := fmt.Sprintf("the kernel crashed: %s (%s)", name, meaning)
		hint := ""
		if name == "SIGSEGV" || name == "SIGBUS" {
			hint = foreignMemory + findLine
		}
		if m := crashAddress.FindStringSubmatch(text[at[0]:]); m != nil {
			if address, err := strconv.ParseUint(m[1], 0, 64); err == nil {
				message += fmt.Sprintf(" at address %#x", address)
				if near := nearBuffer(address, buffers); near != "" {
					hint = near
				}
			}
		}
		return result.Faultf(result.CauseCrash, "%s", message).WithHint(hint), text[:at[0]]
	}
	if state.ExitCode() == cell.ExitMute {
		return result.Faultf(result.CauseForged, "candidate code closed the cell's reply descriptor"), text
	}
	return result.Faultf(result.CauseExit, "the kernel ended its own process with exit status %d", state.ExitCode()).
		WithHint("a kernel must return; exit() and abort() end the cell that measures it"), text
}

// What to do about a crash whose address says nothing, and how to find the line of one.
const (
	foreignMemory = "it used memory outside of its arguments: compare its indices with the shapes in pawl.yaml" + onTheStack
	onTheStack    = ", and look for large arrays on the stack"
	findLine      = "; a program of your own that calls it, built with -g -fsanitize=address, shows the line"
)

// nearBuffer names the argument a faulting address lies close to, and what to do about it; "" when it is
// close to none. A thread's stack may be mapped beside an argument: behind its red zone and guard page, a page each,
// the stack is named as well.
func nearBuffer(address uint64, buffers []wire.Range) string {
	const near, far = 16 << 20, 8 << 10
	if address < 4096 {
		return "a null pointer was used"
	}
	best, where := uint64(near), ""
	for _, b := range buffers {
		end := b.Start + b.Bytes
		switch {
		case address >= b.Start && address < end:
			return "inside of argument " + b.Name
		case address >= end && address-end < best:
			best, where = address-end, fmt.Sprintf("%d bytes past the end of argument %s", address-end, b.Name)
		case address < b.Start && b.Start-address < best:
			best, where = b.Start-address, fmt.Sprintf("%d bytes before the start of argument %s", b.Start-address, b.Name)
		}
	}
	if where == "" {
		return ""
	}
	where += ": compare the kernel's indices with its shape in pawl.yaml"
	if best >= far {
		where += onTheStack
	}
	return where + findLine
}
