//go:build linux && (amd64 || arm64)

package sandbox

import (
	"debug/elf"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is the argument that tells a process to be stage 1.
const marker = "__sandbox-stage-1"

// failed is the exit status of a stage 1 that could not become the program.
const failed = 125

// EnterIfAsked turns this process into a sandboxed program if Start launched
// it for that, and then does not return. It must come first in main, before
// anything that a program under test should not see.
func EnterIfAsked(args []string) (entered bool) {
	if runProgram(args) {
		return true
	}
	if len(args) != 3 || args[1] != marker {
		return false
	}
	// All of this, exec included, happens on one thread: the Go runtime
	// cannot run a system call on all of them once purego is linked in.
	runtime.LockOSThread()
	first, err := strconv.Atoi(args[2])
	if err != nil || first < 3 {
		fmt.Fprintf(os.Stderr, "pawl: %s is not meant to be called by hand\n", marker)
		os.Exit(failed)
	}
	sock := first + 1
	err = enter(first, sock)
	if sendStatus(sock, status{Err: err.Error()}, nil) != nil {
		fmt.Fprintf(os.Stderr, "pawl: sandbox: %v\n", err)
	}
	os.Exit(failed)
	return true
}

// enter applies everything and execs; it returns only on failure.
func enter(requestFd, statusFd int) error {
	if err := closeOnExecFrom(requestFd); err != nil {
		return err
	}
	var req request
	in := os.NewFile(uintptr(requestFd), "request")
	if err := gob.NewDecoder(in).Decode(&req); err != nil {
		return fmt.Errorf("read sandbox request: %w", err)
	}
	in.Close()

	// The first process that the kernel ends when memory runs out. Nothing depends on it.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o644)

	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set parent death signal: %w", err)
	}
	if unix.Getppid() != req.Parent {
		return errors.New("the parent is gone")
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if req.Policy.Urgent { // it takes a capability, so where there is none it stays as it is
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, urgent)
	}
	if req.Policy.Loopback {
		if err := raiseLoopback(); err != nil {
			return err
		}
	}
	if err := dropCapabilities(req.Policy.Counters); err != nil {
		return err
	}
	if err := setLimits(req.Policy); err != nil {
		return err
	}
	level := available(req.PretendOld)
	if req.Policy.Unnamed {
		level = level.unnamed()
	}
	var pins []int
	if level.Landlock > 0 {
		var err error
		if pins, err = applyLandlock(req, level.Landlock); err != nil {
			return err
		}
	}
	listener := -1
	if req.Policy.Loopback && level.Seccomp != SeccompNotify {
		return fmt.Errorf("a program with a network of its own needs %s", missingNotify)
	}
	if level.Seccomp != SeccompNone {
		var err error
		if listener, err = applySeccomp(req, &level); err != nil {
			return err
		}
	}
	if req.Mode == Require && len(level.Missing) > 0 {
		return fmt.Errorf("this kernel lacks %s", strings.Join(level.Missing, "; "))
	}
	fds := pins
	if listener >= 0 {
		fds = append([]int{listener}, pins...)
	}
	if err := sendStatus(statusFd, status{Level: level, Listener: listener >= 0}, fds); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", req.Path, syscall.Exec(req.Path, req.Args, req.Env))
}

// urgent is the highest priority of ordinary scheduling. Others still get their share: a real-time
// program in a loop would keep its own supervisor from ending it.
const urgent = -20

// closeOnExecFrom keeps every descriptor from the given one on from leaking, including those that
// this process inherited unintentionally.
func closeOnExecFrom(first int) error {
	if unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("list descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// dropCapabilities leaves the thread, and what it executes, without any, except the one for
// hardware counters where that is kept. User 0 stays user 0, powerless beyond owning files.
func dropCapabilities(counters bool) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var left [2]unix.CapUserData
	const word, bit = unix.CAP_PERFMON / 32, 1 << (unix.CAP_PERFMON % 32)
	if counters {
		var now [2]unix.CapUserData
		if err := unix.Capget(&header, &now[0]); err != nil {
			return fmt.Errorf("read capabilities: %w", err)
		}
		kept := now[word].Permitted & bit
		left[word] = unix.CapUserData{Effective: kept, Permitted: kept, Inheritable: kept}
	}
	kept := left[word].Permitted != 0
	for c := uintptr(0); c < 64; c++ {
		if kept && c == unix.CAP_PERFMON {
			continue
		}
		// Without the right to do this (not root), no_new_privs alone keeps
		// an exec from gaining capabilities.
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			break
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if kept {
		// Whoever is not root keeps only ambient capabilities through an exec.
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_PERFMON, 0, 0); err != nil {
			return fmt.Errorf("keep the capability for counters: %w", err)
		}
	}
	return nil
}

func setLimits(p Policy) error {
	for _, l := range []struct {
		resource int
		name     string
		most     uint64
	}{
		// A core of 0 bytes would still be piped to a crash collector, where
		// there is one; the kernel takes 1 to mean none at all.
		{unix.RLIMIT_CORE, "core size", 1},
		{unix.RLIMIT_FSIZE, "file size", p.FileSize},
		{unix.RLIMIT_SIGPENDING, "timers", p.Timers},
	} {
		if l.most == 0 {
			continue
		}
		// For good; one above what is allowed becomes that.
		var now unix.Rlimit
		err := unix.Getrlimit(l.resource, &now)
		if most := min(l.most, now.Max); err == nil {
			err = unix.Setrlimit(l.resource, &unix.Rlimit{Cur: most, Max: most})
		}
		if err != nil {
			return fmt.Errorf("limit %s: %w", l.name, err)
		}
	}
	return nil
}

// applyLandlock restricts this thread and returns the descriptors that the
// rules need somebody to hold.
func applyLandlock(req request, abi int) ([]int, error) {
	rules, err := newRuleset(abi, !req.Policy.Loopback)
	if err != nil {
		return nil, err
	}
	p := req.Policy
	var exec uint64
	var proc, own []string
	if p.Processes {
		exec = fsExec
	}
	if p.Processes && !p.NoProc {
		proc = []string{"/proc"}
	}
	if p.ProcWritable {
		own = []string{"/proc/self"}
	}
	for _, g := range []struct {
		paths    []string
		rights   uint64
		required bool
	}{
		{p.Read, fsRead | exec, false},
		{p.List, fsList, false},
		{p.Write, fsScratch | exec, true},
		{p.Devices, fsDevice, false},
		{plainDevices, fsPlain, false},
		{executables(req.Path), fsRead | fsExec, false},
		{proc, fsRead, true},
		{own, fsPlain, true},
	} {
		for _, path := range g.paths {
			err := rules.grant(path, g.rights)
			if errors.Is(err, errSkipped) && !g.required {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
	return rules.pins, rules.restrictSelf()
}

// executables returns the files an exec of path has to be able to execute.
func executables(path string) []string {
	f, err := elf.Open(path)
	if err != nil {
		return []string{path} // exec has the better words for what is wrong
	}
	defer f.Close()
	for _, prog := range f.Progs {
		if prog.Type != elf.PT_INTERP || prog.Filesz > unix.PathMax {
			continue
		}
		name := make([]byte, prog.Filesz)
		if _, err := prog.ReadAt(name, 0); err == nil {
			return []string{path, unix.ByteSliceToString(name)}
		}
	}
	return []string{path}
}

// applySeccomp installs the filter on this thread. It returns the listener
// and corrects the level when there is none to be had.
func applySeccomp(req request, level *Level) (int, error) {
	o := filterOptions{
		pid:          uint32(os.Getpid()),
		processes:    req.Policy.Processes,
		localSockets: req.Policy.LocalSockets,
		loopback:     req.Policy.Loopback,
		notify:       level.Seccomp == SeccompNotify,
		scoped:       level.Landlock >= 6,
	}
	listener, err := install(buildFilter(o), o.notify)
	if errors.Is(err, errNoListener) && req.Policy.Loopback {
		return -1, fmt.Errorf("a program with a network of its own needs %s: %w", missingNotify, err)
	}
	if errors.Is(err, errNoListener) {
		level.Seccomp = SeccompErrno
		level.Missing = append(level.Missing, missingNotify)
		o.notify = false
		listener, err = install(buildFilter(o), false)
	}
	return listener, err
}
