package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one that runs on this machine.
type process struct {
	pid, parent int
	start       uint64 // ticks since the machine's start
	name        string
	uids        []int // real, effective, saved, of the file system
	tracked     bool  // a runner's child: its environment has RUNNER_TRACKING_ID
}

func (p process) String() string { return fmt.Sprintf("%d (%s)", p.pid, p.name) }

const procFolder = "/proc"

// readProcess reads one process. The name may hold any character, so fields are counted from its end.
func readProcess(pid int) (process, error) {
	folder := filepath.Join(procFolder, strconv.Itoa(pid))
	stat, err := readSome(filepath.Join(folder, "stat"), 1<<12)
	if err != nil {
		return process{}, err
	}
	p := process{pid: pid}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, fmt.Errorf("process %d: /proc says %q", pid, stat)
	}
	p.name = strings.ToValidUTF8(string(stat[open+1:end]), "?")
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 {
		return p, fmt.Errorf("process %d: /proc says %q", pid, stat)
	}
	if ended(fields[0]) && !threadsLive(folder) {
		return p, os.ErrProcessDone
	}
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return p, err
	}
	if p.start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return p, err
	}
	status, err := readSome(filepath.Join(folder, "status"), 1<<14)
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "Uid:"); ok {
			for _, id := range strings.Fields(ids) {
				n, err := strconv.Atoi(id)
				if err != nil {
					return p, err
				}
				p.uids = append(p.uids, n)
			}
		}
	}
	// Nobody but its user and root may read it; then the time decides.
	if environ, err := readSome(filepath.Join(folder, "environ"), 1<<20); err == nil {
		p.tracked = bytes.HasPrefix(environ, []byte(marker)) || bytes.Contains(environ, []byte("\x00"+marker))
	}
	return p, nil
}

func ended(state string) bool { return state == "Z" || state == "X" }

// threadsLive reports whether a thread of a process goes on, although the first one, which the process
// is named after, has ended: a zombie by its looks.
func threadsLive(folder string) bool {
	threads, err := os.ReadDir(filepath.Join(folder, "task"))
	if err != nil {
		return false
	}
	for _, thread := range threads {
		stat, err := readSome(filepath.Join(folder, "task", thread.Name(), "stat"), 1<<12)
		if fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); err == nil && len(fields) > 0 && !ended(fields[0]) {
			return true
		}
	}
	return false
}

const marker = "RUNNER_TRACKING_ID="

func readSome(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// lineage returns a process and its ancestors, itself first.
func lineage(pid int) []process {
	var line []process
	for pid > 0 && len(line) < 64 {
		p, err := readProcess(pid)
		if err != nil {
			break
		}
		line, pid = append(line, p), p.parent
	}
	return line
}

// leftovers lists the processes of a user that a job began: those that started with it or later, and
// those that carry the runner's mark. The caller and its ancestors are not among them.
func leftovers(owns func(uid int) bool, since uint64) ([]process, error) {
	entries, err := os.ReadDir(procFolder)
	if err != nil {
		return nil, err
	}
	var spared []int
	for _, p := range lineage(os.Getpid()) {
		spared = append(spared, p.pid)
	}
	var found []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || slices.Contains(spared, pid) {
			continue
		}
		p, err := readProcess(pid)
		if err == nil && slices.ContainsFunc(p.uids, owns) && (p.start >= since || p.tracked) {
			found = append(found, p)
		}
	}
	return found, nil
}

// patience is how long a sweep waits for processes to be gone.
const patience = 10 * time.Second

// endLeftovers kills until nothing is left. Processes are stopped before they are killed, so that
// those that start others cannot stay ahead.
func endLeftovers(owns func(uid int) bool, since uint64) (ended []process, left []process, err error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		found, err := leftovers(owns, since)
		if err != nil || len(found) == 0 || time.Now().After(deadline) {
			return ended, found, err
		}
		for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} {
			for _, p := range found {
				if send(p, signal) == nil && signal == syscall.SIGKILL && !slices.ContainsFunc(ended, func(e process) bool { return e.pid == p.pid && e.start == p.start }) {
					ended = append(ended, p)
				}
			}
		}
	}
}

// send signals a process unless its number names another one by now.
func send(p process, signal syscall.Signal) error {
	handle, err := os.FindProcess(p.pid) // holds on to the process, not to its number
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if now, err := readProcess(p.pid); err != nil || now.start != p.start {
		return errors.Join(os.ErrProcessDone, err)
	}
	return handle.Signal(signal)
}
