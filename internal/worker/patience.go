package worker

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
)

const (
	patienceMost = 40 * time.Second // less than the parent waits for the end of a cell
	patienceBusy = time.Second      // CPU time in which any cell could have answered
	patienceStep = 2 * time.Second  // between two checks of a cell
)

// A grace is the extra time in which a cell may answer or end. An idle machine needs
// none; a busy one that keeps the cell from running must not make it look like a liar.
type grace struct {
	c      *child
	began  time.Time
	ran    time.Duration // CPU time at the start
	doubts int           // consecutive checks at which nothing held the cell up
}

func (c *child) grace() *grace {
	ran, _ := processTime(c.proc.Pid())
	return &grace{c: c, began: time.Now(), ran: ran}
}

// left reports whether there is time left.
func (g *grace) left() bool { return time.Since(g.began) < patienceMost }

// unexplained reports whether nothing holds the cell up from answering or ending, now and at the
// check before. One check is not enough: the machine may have kept the worker from reading an
// answer, and a cell may end just before the check.
func (g *grace) unexplained() bool {
	if g.kept() {
		g.doubts = 0
		return false
	}
	g.doubts++
	return g.doubts > 1
}

// kept reports whether something holds the cell up from answering or ending: all its threads are
// exiting, or one is stopped or ready and has had little CPU time; or the cell has ended, and the
// worker has not noticed yet.
func (g *grace) kept() bool {
	states := g.c.witness.states(g.c.proc.Pid())
	if len(states) == 0 {
		return errors.Is(unix.Kill(g.c.proc.Pid(), 0), unix.ESRCH)
	}
	ending, wanting := true, false
	for _, s := range states {
		ending = ending && s.exiting
		wanting = wanting || s.letter != 'S'
	}
	if ran, ok := processTime(g.c.proc.Pid()); ok && ran-g.ran >= patienceBusy {
		wanting = false
	}
	return ending || wanting
}

// leaving waits for the end of a cell that has closed its descriptor. A cell that goes on running
// has something to hide.
func (c *child) leaving() *result.Fault {
	for given := c.grace(); ; {
		select {
		case <-c.exited:
			return nil
		case <-time.After(patienceStep):
			if given.unexplained() {
				return result.Faultf(result.CauseForged, "the cell closed its result descriptor and went on running")
			}
			if !given.left() {
				return result.Faultf(result.CauseTimeout, "the cell had not ended %v after it closed its result descriptor", patienceMost)
			}
		}
	}
}

// taskState is the scheduling state of a thread.
type taskState struct {
	letter  byte // as in /proc/PID/stat: R runs or is ready, S sleeps, T is stopped, D waits for a disk
	exiting bool
}

func (w witness) states(pid int) []taskState {
	var raw [1024]byte
	var found []taskState
	tasks := strconv.Itoa(pid) + "/task"
	for _, tid := range w.tasks(pid) {
		if s, ok := parseTaskState(w.read(fmt.Sprintf("%s/%d/stat", tasks, tid), raw[:0])); ok {
			found = append(found, s)
		}
	}
	return found
}

// statFields splits /proc/PID/stat behind the name, which may contain spaces.
func statFields(stat []byte) [][]byte { return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) }

func parseTaskState(stat []byte) (taskState, bool) {
	const flags, exiting = 6, 0x4 // PF_EXITING
	fields := statFields(stat)
	if len(fields) <= flags {
		return taskState{}, false
	}
	bits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	if err != nil {
		return taskState{}, false
	}
	return taskState{letter: fields[0][0], exiting: bits&exiting != 0}, true
}
