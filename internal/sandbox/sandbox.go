package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Policy says what the sandboxed program may reach. The zero value allows
// nothing but the program itself and the harmless devices (/dev/null and the
// like); a dynamically linked program needs at least Read: System().
type Policy struct {
	// Read lists files and folders that may be read and mapped executable. Missing ones are
	// skipped.
	Read []string
	// List lists folders whose entries may be listed, and those of the folders below, while no file
	// in them may be read. Missing ones are skipped.
	List []string
	// Write lists scratch folders: full access, except that nothing in them
	// can be executed unless Processes is set. They must exist.
	Write []string
	// Devices lists device nodes that may be read, written and sent ioctls. Missing ones are
	// skipped.
	Devices []string
	// ProcWritable lets the program write below /proc/self, which the CUDA
	// driver insists on, and which naming another thread takes. Its children may
	// write the names of their own threads alone. The rest of
	// /proc is never writable: as root, /proc/sys and /proc/sysrq-trigger
	// need no capability.
	ProcWritable bool
	// LocalSockets lets the program create connection-oriented AF_UNIX
	// sockets, which the CUDA driver does on start. It may listen on them
	// and never connect them to anything.
	LocalSockets bool
	// Processes lets the program fork and execute what it can read.
	Processes bool
	// Peers lets processes of the sandbox connect to each other, as NVIDIA's tools and the programs
	// they inspect do, by abstract names that end in the number of the listening process. It needs
	// LocalSockets, Processes, and a kernel whose refusals can be judged one by one.
	Peers bool
	// Loopback gives the program a network of its own, in which it reaches itself and its children
	// over 127.0.0.1 and ::1, and with Peers by any abstract name, and nothing else. It needs Processes, the right to make namespaces,
	// and a kernel whose refusals can be judged one by one: without these the program does not
	// start, unless the mode is Off, which leaves it the caller's network.
	Loopback bool
	// Counters lets the program keep the capability that hardware counters take (CAP_PERFMON),
	// where the caller has it. What else that capability allows, the filter refuses.
	Counters bool
	// Urgent gives the program a high scheduling priority, where the caller may: its own
	// measurements should not be disturbed by other processes.
	Urgent bool
	// Unnamed does without the listener that names attempts: with it, another process inspects
	// every open of a file. The same calls are refused, except those that need such an inspection
	// (see doc.go), and missing names then count as no lack.
	Unnamed bool
	// NoProc keeps /proc closed except for what Read lists, where Processes would open it: the
	// command lines of all processes are there.
	NoProc bool
	// Timers is the number of POSIX timers it may have, if not 0; pending signals count, and those
	// of the user's other processes.
	Timers uint64
	// FileSize is the largest size in bytes of any file that it writes, if not 0.
	FileSize uint64
}

// Mode says what to do where the kernel cannot give the whole sandbox.
type Mode int

// The modes.
const (
	Auto    Mode = iota // use what the kernel has and say what is missing
	Require             // fail if anything is missing
	Off                 // run without a sandbox
)

var modeNames = []string{Auto: "auto", Require: "require", Off: "off"}

func (m Mode) String() string {
	if m < 0 || int(m) >= len(modeNames) {
		return fmt.Sprintf("Mode(%d)", int(m))
	}
	return modeNames[m]
}

// ParseMode reads a mode by its name; "" is auto.
func ParseMode(name string) (Mode, error) {
	if m := slices.Index(modeNames, cmp.Or(name, "auto")); m >= 0 {
		return Mode(m), nil
	}
	return Auto, fmt.Errorf("unknown sandbox mode %q", name)
}

// Command is a program to run in a sandbox.
type Command struct {
	Path string   // absolute path of an executable
	Args []string // argv, the name included; nil means Path alone
	Env  []string // the whole environment: nothing is inherited
	Dir  string   // working folder; empty means the first of Policy.Write, else /

	Stdin, Stdout, Stderr *os.File   // nil means /dev/null
	ExtraFiles            []*os.File // descriptors 3 and up, in order

	Policy  Policy
	Mode    Mode
	Watched bool // somebody reads what /proc says of the process: it is reaped a little later

	pretend older
}

// older makes a test run as if on a kernel that lacks something.
type older struct {
	LandlockABI int // highest ABI to use; 0 means no pretence, -1 no Landlock
	NoNotify    bool
	NoSeccomp   bool
}

// ErrNoNetwork means that a program cannot be given a network of its own (Policy.Loopback).
var ErrNoNetwork = errors.New("cannot make a network of its own")

// Seccomp levels, as in Level.Seccomp.
const (
	SeccompNotify = "notify" // refuses, and attempts are named
	SeccompErrno  = "errno"  // refuses, but attempts stay unnamed
	SeccompNone   = "none"
)

// Level is the protection a process runs under, or that a kernel can give.
type Level struct {
	Off        bool     `json:"off,omitempty"` // not sandboxed because the caller said so
	Landlock   int      `json:"landlock"`      // ABI version, 0 for none
	Seccomp    string   `json:"seccomp"`
	NoNewPrivs bool     `json:"no_new_privs"`
	Missing    []string `json:"missing,omitempty"` // promises of this package that are not kept, in words
}

// Name returns in a word how much of the sandbox there is: full, partial or off.
func (l Level) Name() string {
	switch {
	case l.Landlock == 0 && l.Seccomp == SeccompNone:
		return "off"
	case len(l.Missing) > 0:
		return "partial"
	}
	return "full"
}

// String returns a line for people, such as "landlock 7, seccomp notify".
func (l Level) String() string {
	if l.Off {
		return "off"
	}
	var parts []string
	if l.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock %d", l.Landlock))
	}
	if l.Seccomp != "" && l.Seccomp != SeccompNone {
		parts = append(parts, "seccomp "+l.Seccomp)
	}
	if len(parts) == 0 {
		parts = append(parts, "none")
	}
	if len(l.Missing) > 0 {
		parts = append(parts, "missing: "+strings.Join(l.Missing, "; "))
	}
	return strings.Join(parts, ", ")
}

// Attempt is something the program tried that the sandbox does not allow.
type Attempt struct {
	What  string `json:"what"` // "open /etc/shadow for reading", "socket(AF_INET, SOCK_DGRAM)"
	Count int    `json:"count"`
}
