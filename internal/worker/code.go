package worker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// code is the read-only memory of a cell before it loads a candidate: the program, its libraries,
// and the kernel's vDSO clock. For each region it has the number of KiB that differ from the file.
// Candidate code can make such pages writable and change the code that flushes the caches or reads
// the clock; the kernel then gives the process private pages, and counts them.
type code map[region]int

// region is an address range in memory with its permissions; a path would change when somebody
// installs another version of a file meanwhile.
type region struct{ place, rights, inode string }

// readCode reads /proc/PID/smaps; nil where it cannot be read.
func (w witness) readCode(pid int) (code, error) {
	file, err := os.Open(fmt.Sprintf("%s/%d/smaps", w.proc, pid))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	buffer := smapsBuffers.Get().(*bytes.Buffer)
	defer smapsBuffers.Put(buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(file); err != nil {
		return nil, err
	}
	return parseCode(buffer.Bytes()), nil
}

var smapsBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func parseCode(smaps []byte) code {
	out := code{}
	var at region
	inside := false
	for line := range bytes.Lines(smaps) {
		if line[0] >= 'A' && line[0] <= 'Z' { // a detail of the region before; addresses are written in lower-case letters
			if kib, counts := bytes.CutPrefix(line, []byte("Anonymous:")); counts && inside {
				out[at], _ = strconv.Atoi(string(bytes.TrimSuffix(bytes.TrimSpace(kib), []byte(" kB"))))
			}
			continue
		}
		fields := bytes.Fields(line)
		if len(fields) < 5 || bytes.IndexByte(fields[0], '-') <= 0 {
			continue
		}
		rights := fields[1]
		vdso := len(fields) > 5 && string(fields[5]) == "[vdso]"
		inside = (string(fields[4]) != "0" || vdso) && len(rights) == 4 && rights[0] == 'r' && rights[1] == '-' && rights[3] == 'p'
		if inside {
			at = region{string(fields[0]), string(rights), string(fields[4])}
			out[at] = 0
		}
	}
	return out
}

// changed names what differs from before; "": nothing.
func (before code) changed(now code) string {
	for at, kib := range before {
		switch is, there := now[at]; {
		case !there:
			return fmt.Sprintf("the memory at %s is not mapped as it was", at.place)
		case is > kib:
			return fmt.Sprintf("%d KiB at %s no longer match their file", is, at.place)
		}
	}
	return ""
}

// codeShare bounds the cost of the checks: one part in this many of the time.
const codeShare = 20

// codeWatch records when a cell's code was checked.
type codeWatch struct {
	first code // nil: it cannot be read
	last  time.Time
	cost  time.Duration
}

// examineCode ends a cell whose code has been changed. The cell runs nothing meanwhile, so that
// nothing can be restored before it is seen. Checks that are not due are left out.
func (c *child) examineCode(due bool) error {
	w := &c.code
	if w.first == nil || !c.pause.stopped || !due && time.Since(w.last) < codeShare*w.cost {
		return nil
	}
	begin := time.Now()
	what, err := c.witness.compareCode(c.proc.Pid(), w.first)
	w.last = time.Now()
	w.cost = w.last.Sub(begin)
	switch {
	case err != nil:
		return c.fail(c.forged("has made its memory unreadable: " + err.Error()))
	case what != "":
		return c.fail(c.forged("runs different code than it was started with: " + what))
	}
	return nil
}

// compareCode names what has changed in a stopped process. It returns nothing for a process that
// has ended, because others report that. If a process is killed while its memory is read, the list
// is cut short, and reading it again gives nothing.
func (w witness) compareCode(pid int, before code) (what string, err error) {
	for range 2 {
		now, err := w.readCode(pid)
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && len(now) == 0:
			return "", nil
		case err != nil:
			return "", err
		}
		if what = before.changed(now); what == "" {
			break
		}
	}
	return what, nil
}
