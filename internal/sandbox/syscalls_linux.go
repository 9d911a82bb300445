//go:build linux && (amd64 || arm64)

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// newestCall is the last system call this file has judged. Calls with a
// higher number do not exist for the program.
const newestCall = unix.SYS_RSEQ_SLICE_YIELD

type sysCall struct {
	nr   uint32
	name string
	on   *place // the file it is about, where that is worth saying
	mode int    // argument that holds a new mode, 0 where there is none
	pid  int    // argument that holds a process, counted from 1, 0 where there is none
}

// foreign stands for any call of another architecture.
const foreign = 0xffffffff

// refused are calls that no program under test needs. Some would fail for
// want of a capability anyway; they are listed so that they get a name.
var refused = append([]sysCall{
	// other processes
	{nr: unix.SYS_PTRACE, name: "ptrace", pid: 2},
	{nr: unix.SYS_PROCESS_VM_READV, name: "process_vm_readv", pid: 1},
	{nr: unix.SYS_PROCESS_VM_WRITEV, name: "process_vm_writev", pid: 1},
	{nr: unix.SYS_PIDFD_GETFD, name: "pidfd_getfd"},
	{nr: unix.SYS_KCMP, name: "kcmp"},
	// out of the process group, and so out of reach of Kill
	{nr: unix.SYS_SETSID, name: "setsid"},
	{nr: unix.SYS_SETPGID, name: "setpgid"},
	// System V IPC and message queues know no folders for Landlock to guard
	{nr: unix.SYS_SHMGET, name: "shmget"},
	{nr: unix.SYS_SHMAT, name: "shmat"},
	{nr: unix.SYS_SHMCTL, name: "shmctl"},
	{nr: unix.SYS_MSGGET, name: "msgget"},
	{nr: unix.SYS_MSGSND, name: "msgsnd"},
	{nr: unix.SYS_MSGRCV, name: "msgrcv"},
	{nr: unix.SYS_MSGCTL, name: "msgctl"},
	{nr: unix.SYS_SEMGET, name: "semget"},
	{nr: unix.SYS_SEMOP, name: "semop"},
	{nr: unix.SYS_SEMTIMEDOP, name: "semtimedop"},
	{nr: unix.SYS_SEMCTL, name: "semctl"},
	{nr: unix.SYS_MQ_OPEN, name: "mq_open"},
	{nr: unix.SYS_MQ_UNLINK, name: "mq_unlink"},
	{nr: unix.SYS_MQ_NOTIFY, name: "mq_notify"},
	// Landlock does not cover who owns a file, its mode, times and attributes
	{nr: unix.SYS_FCHMOD, name: "fchmod", on: &place{0, itself}, mode: 1},
	{nr: unix.SYS_FCHMODAT, name: "fchmodat", on: &place{0, 1}, mode: 2},
	{nr: unix.SYS_FCHMODAT2, name: "fchmodat2", on: &place{0, 1}, mode: 2},
	{nr: unix.SYS_FCHOWN, name: "fchown", on: &place{0, itself}},
	{nr: unix.SYS_FCHOWNAT, name: "fchownat", on: &place{0, 1}},
	{nr: unix.SYS_UTIMENSAT, name: "utimensat", on: &place{0, 1}},
	{nr: unix.SYS_SETXATTR, name: "setxattr", on: &place{cwd, 0}},
	{nr: unix.SYS_LSETXATTR, name: "lsetxattr", on: &place{cwd, 0}},
	{nr: unix.SYS_FSETXATTR, name: "fsetxattr", on: &place{0, itself}},
	{nr: unix.SYS_SETXATTRAT, name: "setxattrat", on: &place{0, 1}},
	{nr: unix.SYS_REMOVEXATTR, name: "removexattr", on: &place{cwd, 0}},
	{nr: unix.SYS_LREMOVEXATTR, name: "lremovexattr", on: &place{cwd, 0}},
	{nr: unix.SYS_FREMOVEXATTR, name: "fremovexattr", on: &place{0, itself}},
	{nr: unix.SYS_REMOVEXATTRAT, name: "removexattrat", on: &place{0, 1}},
	{nr: unix.SYS_FILE_SETATTR, name: "file_setattr", on: &place{0, 1}},
	{nr: unix.SYS_OPEN_BY_HANDLE_AT, name: "open_by_handle_at"},
	{nr: unix.SYS_FANOTIFY_INIT, name: "fanotify_init"},
	// the file tree and namespaces
	{nr: unix.SYS_MOUNT, name: "mount", on: &place{cwd, 1}},
	{nr: unix.SYS_UMOUNT2, name: "umount2", on: &place{cwd, 0}},
	{nr: unix.SYS_MOVE_MOUNT, name: "move_mount"},
	{nr: unix.SYS_OPEN_TREE, name: "open_tree"},
	{nr: unix.SYS_OPEN_TREE_ATTR, name: "open_tree_attr"},
	{nr: unix.SYS_FSOPEN, name: "fsopen"},
	{nr: unix.SYS_FSCONFIG, name: "fsconfig"},
	{nr: unix.SYS_FSMOUNT, name: "fsmount"},
	{nr: unix.SYS_FSPICK, name: "fspick"},
	{nr: unix.SYS_MOUNT_SETATTR, name: "mount_setattr"},
	{nr: unix.SYS_PIVOT_ROOT, name: "pivot_root", on: &place{cwd, 0}},
	{nr: unix.SYS_CHROOT, name: "chroot", on: &place{cwd, 0}},
	{nr: unix.SYS_SETNS, name: "setns"},
	{nr: unix.SYS_UNSHARE, name: "unshare"},
	// work that the kernel does out of the filter's sight
	{nr: unix.SYS_IO_URING_SETUP, name: "io_uring_setup"},
	{nr: unix.SYS_IO_URING_ENTER, name: "io_uring_enter"},
	{nr: unix.SYS_IO_URING_REGISTER, name: "io_uring_register"},
	{nr: unix.SYS_BPF, name: "bpf"},
	{nr: unix.SYS_PERF_EVENT_OPEN, name: "perf_event_open"},
	{nr: unix.SYS_USERFAULTFD, name: "userfaultfd"},
	{nr: unix.SYS_SECCOMP, name: "seccomp"},
	{nr: unix.SYS_ADD_KEY, name: "add_key"},
	{nr: unix.SYS_REQUEST_KEY, name: "request_key"},
	{nr: unix.SYS_KEYCTL, name: "keyctl"},
	// the machine
	{nr: unix.SYS_REBOOT, name: "reboot"},
	{nr: unix.SYS_KEXEC_LOAD, name: "kexec_load"},
	{nr: unix.SYS_KEXEC_FILE_LOAD, name: "kexec_file_load"},
	{nr: unix.SYS_INIT_MODULE, name: "init_module"},
	{nr: unix.SYS_FINIT_MODULE, name: "finit_module"},
	{nr: unix.SYS_DELETE_MODULE, name: "delete_module"},
	{nr: unix.SYS_SWAPON, name: "swapon"},
	{nr: unix.SYS_SWAPOFF, name: "swapoff"},
	{nr: unix.SYS_ACCT, name: "acct"},
	{nr: unix.SYS_SYSLOG, name: "syslog"},
	{nr: unix.SYS_QUOTACTL, name: "quotactl"},
	{nr: unix.SYS_QUOTACTL_FD, name: "quotactl_fd"},
	{nr: unix.SYS_SETHOSTNAME, name: "sethostname"},
	{nr: unix.SYS_SETDOMAINNAME, name: "setdomainname"},
	{nr: unix.SYS_SETTIMEOFDAY, name: "settimeofday"},
	{nr: unix.SYS_CLOCK_SETTIME, name: "clock_settime"},
	{nr: unix.SYS_CLOCK_ADJTIME, name: "clock_adjtime"},
	{nr: unix.SYS_VHANGUP, name: "vhangup"},
}, archRefused...)

// timers go off while a program is stopped, on the core that another is timed on: by the
// thousand they slow that one down. Programs that start others, or have a driver in them,
// may need one.
var timers = []sysCall{{nr: unix.SYS_TIMERFD_CREATE, name: "timerfd_create"}}

func findRefused(nr uint32) *sysCall {
	for _, list := range [][]sysCall{refused, archForks, timers} {
		if i := slices.IndexFunc(list, func(c sysCall) bool { return c.nr == nr }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// A targetCall acts on the process, thread or group in its argument arg. The
// program may act on itself; the supervisor knows its threads and children.
type targetCall struct {
	nr     uint32
	name   string
	arg    int
	pidfd  bool // arg is a descriptor of the process
	signal int  // argument that holds a signal, 0 where there is none
	// user is the value of the argument before arg that makes it a user,
	// whose every process would be meant; 0 where there is no such value.
	user uint32
}

var targetCalls = []targetCall{
	{nr: unix.SYS_TGKILL, name: "tgkill", signal: 2},
	{nr: unix.SYS_TKILL, name: "tkill", signal: 1},
	{nr: unix.SYS_KILL, name: "kill", signal: 1},
	{nr: unix.SYS_RT_SIGQUEUEINFO, name: "rt_sigqueueinfo", signal: 1},
	{nr: unix.SYS_RT_TGSIGQUEUEINFO, name: "rt_tgsigqueueinfo", signal: 2},
	{nr: unix.SYS_PIDFD_SEND_SIGNAL, name: "pidfd_send_signal", pidfd: true, signal: 1},
	{nr: unix.SYS_PIDFD_OPEN, name: "pidfd_open"},
	// Without these a program could slow down whom it is measured against.
	{nr: unix.SYS_PRLIMIT64, name: "prlimit64"},
	{nr: unix.SYS_SCHED_SETAFFINITY, name: "sched_setaffinity"},
	{nr: unix.SYS_SCHED_SETSCHEDULER, name: "sched_setscheduler"},
	{nr: unix.SYS_SCHED_SETPARAM, name: "sched_setparam"},
	{nr: unix.SYS_SCHED_SETATTR, name: "sched_setattr"},
	{nr: unix.SYS_SETPRIORITY, name: "setpriority", arg: 1, user: unix.PRIO_USER},
	{nr: unix.SYS_IOPRIO_SET, name: "ioprio_set", arg: 1, user: 3}, // IOPRIO_WHO_USER
}

func findTarget(nr uint32) *targetCall {
	if i := slices.IndexFunc(targetCalls, func(c targetCall) bool { return c.nr == nr }); i >= 0 {
		return &targetCalls[i]
	}
	return nil
}

// An argCall is refused for some values of one argument. Each name says what
// that value would do.
type argCall struct {
	nr     uint32
	arg    int
	values map[uint32]string
}

const fiosetown = 0x8901 // FIOSETOWN, which x/sys does not have

var argCalls = []argCall{
	{unix.SYS_PRCTL, 0, map[uint32]string{
		unix.PR_SET_PDEATHSIG: "prctl(PR_SET_PDEATHSIG)", // outlive the worker
		unix.PR_SET_DUMPABLE:  "prctl(PR_SET_DUMPABLE)",  // hide from the supervisor
		unix.PR_SET_PTRACER:   "prctl(PR_SET_PTRACER)",
		unix.PR_SET_SECCOMP:   "prctl(PR_SET_SECCOMP)", // a filter that hides attempts
		unix.PR_SET_MM:        "prctl(PR_SET_MM)",
		unix.PR_SCHED_CORE:    "prctl(PR_SCHED_CORE)",
		// a handler that answers the cell's own system calls
		unix.PR_SET_SYSCALL_USER_DISPATCH: "prctl(PR_SET_SYSCALL_USER_DISPATCH)",
	}},
	// A descriptor can be told to signal any process of the same user.
	{unix.SYS_FCNTL, 1, map[uint32]string{
		unix.F_SETOWN:    "fcntl(F_SETOWN)",
		unix.F_SETOWN_EX: "fcntl(F_SETOWN_EX)",
		unix.F_SETSIG:    "fcntl(F_SETSIG)",
	}},
	{unix.SYS_IOCTL, 1, map[uint32]string{
		fiosetown:      "ioctl(FIOSETOWN)",
		unix.SIOCSPGRP: "ioctl(SIOCSPGRP)",
		unix.TIOCSTI:   "ioctl(TIOCSTI)", // type into an inherited terminal
		unix.TIOCLINUX: "ioctl(TIOCLINUX)",
	}},
}
