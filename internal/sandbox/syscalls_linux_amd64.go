package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	// x32 calls come under the same architecture with this bit set.
	foreignBit = 0x40000000
)

// Calls that exist only on this architecture.
var (
	archForks = []sysCall{
		{nr: unix.SYS_FORK, name: "fork"},
		{nr: unix.SYS_VFORK, name: "vfork"},
	}
	archRefused = []sysCall{
		{nr: unix.SYS_CHMOD, name: "chmod", on: &place{cwd, 0}, mode: 1},
		{nr: unix.SYS_CHOWN, name: "chown", on: &place{cwd, 0}},
		{nr: unix.SYS_LCHOWN, name: "lchown", on: &place{cwd, 0}},
		{nr: unix.SYS_UTIME, name: "utime", on: &place{cwd, 0}},
		{nr: unix.SYS_UTIMES, name: "utimes", on: &place{cwd, 0}},
		{nr: unix.SYS_FUTIMESAT, name: "futimesat", on: &place{0, 1}},
		{nr: unix.SYS_IOPL, name: "iopl"},
		{nr: unix.SYS_IOPERM, name: "ioperm"},
		{nr: unix.SYS_USELIB, name: "uselib", on: &place{cwd, 0}},
	}
	archPathCalls = []pathCall{
		{nr: unix.SYS_OPEN, verb: verbOpen, places: []place{{cwd, 0}}, flags: 1},
		{nr: unix.SYS_CREAT, verb: verbCreate, places: []place{{cwd, 0}}},
		{nr: unix.SYS_UNLINK, verb: verbUnlink, places: []place{{cwd, 0}}},
		{nr: unix.SYS_RMDIR, verb: verbRmdir, places: []place{{cwd, 0}}},
		{nr: unix.SYS_MKDIR, verb: verbMkdir, places: []place{{cwd, 0}}},
		{nr: unix.SYS_MKNOD, verb: verbMknod, places: []place{{cwd, 0}}},
		{nr: unix.SYS_SYMLINK, verb: verbSymlink, places: []place{{cwd, 1}}},
		{nr: unix.SYS_LINK, verb: verbLink, places: []place{{cwd, 0}, {cwd, 1}}},
		{nr: unix.SYS_RENAME, verb: verbRename, places: []place{{cwd, 0}, {cwd, 1}}},
	}
)
