//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place says which arguments of a call hold a path: dir is the descriptor it
// starts from, or cwd; with itself for a path, the descriptor is meant.
type place struct{ dir, path int }

const (
	cwd    = -1
	itself = -1
)

// folder returns the descriptor that the path starts from.
func (p place) folder(args [6]uint64) int32 {
	if p.dir == cwd {
		return unix.AT_FDCWD
	}
	return int32(args[p.dir])
}

type verb string

const (
	verbOpen     verb = "open"
	verbCreate   verb = "create"
	verbUnlink   verb = "unlink"
	verbRmdir    verb = "rmdir"
	verbMkdir    verb = "mkdir"
	verbMknod    verb = "mknod"
	verbSymlink  verb = "symlink"
	verbLink     verb = "link"
	verbRename   verb = "rename"
	verbTruncate verb = "truncate"
)

// A pathCall names files. Landlock judges it; the supervisor inspects it only
// to be able to say what was tried.
type pathCall struct {
	nr     uint32
	verb   verb
	places []place
	flags  int // argument that holds the flags of an open
}

var pathCalls = append([]pathCall{
	{nr: unix.SYS_OPENAT, verb: verbOpen, places: []place{{0, 1}}, flags: 2},
	{nr: unix.SYS_OPENAT2, verb: verbOpen, places: []place{{0, 1}}, flags: 2}, // a pointer here
	{nr: unix.SYS_UNLINKAT, verb: verbUnlink, places: []place{{0, 1}}},
	{nr: unix.SYS_MKDIRAT, verb: verbMkdir, places: []place{{0, 1}}},
	{nr: unix.SYS_MKNODAT, verb: verbMknod, places: []place{{0, 1}}},
	{nr: unix.SYS_SYMLINKAT, verb: verbSymlink, places: []place{{1, 2}}},
	{nr: unix.SYS_LINKAT, verb: verbLink, places: []place{{0, 1}, {2, 3}}},
	{nr: unix.SYS_RENAMEAT, verb: verbRename, places: []place{{0, 1}, {2, 3}}},
	{nr: unix.SYS_RENAMEAT2, verb: verbRename, places: []place{{0, 1}, {2, 3}}},
	{nr: unix.SYS_TRUNCATE, verb: verbTruncate, places: []place{{cwd, 0}}},
}, archPathCalls...)

// located is a path as the kernel would find it.
type located struct {
	asked    string // as the program wrote it
	real     string // absolute, links followed
	exists   bool
	parent   bool // the folder it is or would be in exists
	folder   bool // is a folder
	internal bool // a pipe, socket or memfd: no file anybody guards
}

// through says how the path was reached, if that differs from its text.
func (l located) through() string {
	if filepath.IsAbs(l.asked) && filepath.Clean(l.asked) != l.real {
		return " (through " + l.asked + ")"
	}
	return ""
}

// thread is the thread a notification is about.
type thread struct{ pid, tid int }

func (t thread) proc(elem ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(t.tid)}, elem...)...)
}

// locate follows the path as the thread would. The result is only reliable while the file tree does
// not change: good enough for a name, not for a decision.
func (t thread) locate(dirfd int32, asked string, followLast bool) located {
	out := located{asked: asked}
	cur := "/"
	if !filepath.IsAbs(asked) {
		from := t.proc("cwd")
		if dirfd != unix.AT_FDCWD {
			from = t.proc("fd", strconv.Itoa(int(dirfd)))
		}
		base, err := os.Readlink(from)
		if err != nil {
			return out
		}
		if !filepath.IsAbs(base) {
			out.internal = true
			return out
		}
		cur = base
	}
	todo := strings.Split(asked, "/")
	const maxLinks = 40 // as in the kernel
	missing := false
	for links := 0; len(todo) > 0; {
		elem := todo[0]
		todo = todo[1:]
		last := len(todo) == 0
		if elem == "" && !last {
			continue
		}
		out.parent = !missing
		if elem == "" || elem == "." || elem == ".." {
			fi, err := os.Lstat(cur)
			if missing = missing || err != nil || !fi.IsDir(); missing {
				out.parent = false
			}
			cur = filepath.Join(cur, elem)
			continue
		}
		next := filepath.Join(cur, elem)
		if missing {
			cur = next
			continue
		}
		// To this process these two would mean itself.
		switch next {
		case "/proc/self":
			cur = filepath.Join("/proc", strconv.Itoa(t.pid))
			continue
		case "/proc/thread-self":
			cur = filepath.Join("/proc", strconv.Itoa(t.pid), "task", strconv.Itoa(t.tid))
			continue
		}
		target, err := os.Readlink(next)
		if err != nil || last && !followLast {
			cur = next
			missing = err != nil && !errors.Is(err, unix.EINVAL) // EINVAL: there, and no link
			continue
		}
		if links++; links > maxLinks {
			return out
		}
		switch {
		case filepath.IsAbs(target):
			cur = "/"
		case strings.HasPrefix(next, "/proc/") && strings.Contains(target, ":"):
			out.internal = true
			return out
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	out.real = cur
	if fi, err := os.Lstat(cur); err == nil && !missing {
		out.exists = true
		out.parent = true
		out.folder = fi.IsDir()
	}
	return out
}

// reach is what the policy grants, with links followed, so that it can be compared with what a
// program opens.
type reach struct {
	pid       int
	processes bool
	peers     bool
	loopback  bool
	read      []string
	list      []string
	write     []string // scratch, and devices
	scratch   []string

	procWritable bool
}

func newReach(pid int, c Command) *reach {
	r := &reach{pid: pid, processes: c.Policy.Processes, peers: c.Policy.Peers, loopback: c.Policy.Loopback, procWritable: c.Policy.ProcWritable}
	own := "/proc/" + strconv.Itoa(pid)
	resolve := func(paths ...string) (out []string) {
		for _, p := range paths {
			if p == "/proc/self" {
				out = append(out, own)
			} else if real, err := filepath.EvalSymlinks(p); err == nil {
				out = append(out, real)
			}
		}
		return out
	}
	r.scratch = resolve(c.Policy.Write...)
	r.write = slices.Concat(r.scratch, resolve(c.Policy.Devices...), resolve(plainDevices...))
	if c.Policy.ProcWritable {
		r.write = append(r.write, own)
	}
	r.read = append(resolve(c.Policy.Read...), resolve(c.Path)...)
	r.list = resolve(c.Policy.List...)
	if c.Policy.Processes && !c.Policy.NoProc {
		r.read = append(r.read, "/proc")
	}
	r.read = append(r.read, r.write...)
	return r
}

func below(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return inside(root, path) })
}

func (r *reach) mayRead(path string) bool {
	return below(path, r.read) && !r.strangersProc(path)
}

func (r *reach) mayList(path string) bool { return below(path, r.list) }

func (r *reach) mayWrite(path string) bool { return below(path, r.write) }

// strangersProc reports whether the path is below the /proc folder of a process outside the
// sandbox: Landlock guards what matters there by the caller.
func (r *reach) strangersProc(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(first)
	return err == nil && !r.owns(pid)
}

// owns reports whether a process, thread or process group belongs to the sandbox, or does not
// exist: a thread may have ended before its number was used.
func (r *reach) owns(id int) bool {
	if id == r.pid || id == -r.pid {
		return true
	}
	if id <= 0 {
		return false
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(id)); errors.Is(err, os.ErrNotExist) {
		return true
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", r.pid, id)); err == nil {
		return true
	}
	return r.processes && sessionOf(id) == r.pid
}

// sessionOf reads a process's session, 0 when there is no such process.
func sessionOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name, in parentheses, may itself hold spaces and parentheses.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const session = 3 // after state, parent and group
	if len(fields) <= session {
		return 0
	}
	sid, _ := strconv.Atoi(fields[session])
	return sid
}
