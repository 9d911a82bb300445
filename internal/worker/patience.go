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
	patienceMost = 40 * time.Second // below what the parent waits for the end of a cell
	patienceBusy = time.Second      // processor time in which anybody could have answered
	patienceStep = 2 * time.Second  // between two looks at a cell
)

// A grace is the extra time in which a cell may answer or end. An idle machine needs
// none; a busy one that keeps the cell from running must not make it look like a liar.
type grace struct {
	c      *child
	began  time.Time
	ran    time.Duration // processor time when it began
	doubts int           // looks in a row at which nothing kept the cell
}

func (c *child) grace() *grace {
	ran, _ := processTime(c.proc.Pid())
	return &grace{c: c, began: time.Now(), ran: ran}
}

// left reports whether the time is not over yet.
func (g *grace) left() bool { return time.Since(g.began) < patienceMost }

// unexplained reports whether nothing keeps the cell from answering or ending, and did
// not at the look before. One look is not enough: the machine may have kept the worker
// from reading an answer, and a cell may end just before the look.
func (g *grace) unexplained() bool {
	if g.kept() {
		g.doubts = 0
		return false
	}
	g.doubts++
	return g.doubts > 1
}

// kept reports whether something keeps the cell from answering or ending: all its
// threads are exiting, or one is stopped or ready and has had little processor time; or
// it is gone, and the worker has not come to see it.
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

// leaving waits for the end of a cell that has closed its descriptor. One that goes on
// running has something to hide.
func (c *child) leaving() *result.Fault {
	for given := c.grace(); ; {
		select {
		case <-c.exited:
			return nil
		case <-time.After(patienceStep):
			if given.unexplained() {
				return &result.Fault{Cause: result.CauseForged, Message: "the cell closed its result descriptor and went on running"}
			}
			if !given.left() {
				return &result.Fault{Cause: result.CauseTimeout, Message: fmt.Sprintf("the cell had not ended %v after it closed its result descriptor", patienceMost)}
			}
		}
	}
}

// taskState is the scheduling state of a thread.
type taskState struct {
	letter  byte // as in /proc/PID/stat: R runs or wants to, S sleeps, T is stopped, D waits for a disk
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

func parseTaskState(stat []byte) (taskState, bool) {
	const flags, exiting = 6, 0x4                                   // PF_EXITING
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name before it may have spaces
	if len(fields) <= flags {
		return taskState{}, false
	}
	bits, err := strconv.ParseUint(string(fields[flags]), 10, 64)
	if err != nil {
		return taskState{}, false
	}
	return taskState{letter: fields[0][0], exiting: bits&exiting != 0}, true
}
