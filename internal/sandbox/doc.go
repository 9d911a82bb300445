// Package sandbox runs an untrusted program and reports what it tried to do.
//
//	func main() {
//		if sandbox.EnterIfAsked(os.Args) {
//			return
//		}
//		…
//		p, err := sandbox.Start(sandbox.Command{
//			Path:   exe,
//			Args:   []string{exe, "cell"},
//			Policy: sandbox.Policy{Read: append(sandbox.System(), input), Write: []string{scratch}},
//		})
//		…
//		state, err := p.Wait()
//		for _, a := range p.Attempts() { … } // "open /etc/shadow for reading"
//	}
//
// # How
//
// Start executes the running binary again as stage 1, which restricts one
// locked thread of itself and then executes the program from that thread. So
// the program is inside from its first instruction, and a binary that links
// purego (where the Go runtime can no longer run a system call on all its
// threads) can do this too. Stage 1 gives up every capability, sets
// no_new_privs, the resource limits and the parent death signal, applies
// Landlock, then a seccomp filter.
//
// One call on a file is made by the listener: a child opens the name of a thread of its own, which
// libcuda does on start and Landlock grants nobody but the program itself (comm_linux.go).
//
// Landlock and the filter refuse calls; a separate mechanism names them. Through a seccomp listener
// the caller's process sees the refused calls and the calls that name files. It answers a refused
// call as the filter would have. A call that names a file is only described and then continues: the
// kernel judges the actual arguments. A program that changes a path while the listener reads it
// therefore gains nothing but a wrong entry in the list.
//
// # What is promised
//
// With Landlock 3 (Linux 6.2) or newer and seccomp, whatever the program does:
//
//   - It sees no environment but the one it was given, and holds no descriptor
//     but the ones it was given.
//   - It reads files below Policy.Read and Write alone, lists folders below these and
//     Policy.List, and writes, creates, removes, links and truncates below Write alone,
//     whichever way it names them. It reaches the devices of Policy.Devices and a few like
//     /dev/null. It changes owners, times and attributes nowhere, modes below Write only.
//   - It creates no socket. (With LocalSockets, ones that it cannot connect; with
//     Peers, not to anything outside. With Loopback it has a network of its own, in which it
//     reaches itself and its children alone.)
//   - It signals, traces, inspects, reprioritises and limits no process outside.
//   - It starts no process and executes nothing. (With Processes, children are
//     bound by the same rules.)
//   - It reaches no kernel service that works around the filter: io_uring, bpf,
//     perf events, userfaultfd, user dispatch of system calls, keys, mounts,
//     namespaces, System V IPC, message queues, 32-bit calls, calls newer than
//     this package.
//   - It gains no privilege. As root it stays user 0, without any capability. (With Counters
//     it keeps CAP_PERFMON, if its caller has it.)
//   - It ends with the process that started it, however that ends, and Kill and
//     Wait leave no child of it behind. (With Processes, a guard ends the children
//     that a killed caller would leave.)
//
// Where the kernel cannot give all this, Level.Missing names the promises that are not kept, and
// Require refuses to start.
//
// An honest program shows no attempts: a search for files that do not exist, which loaders make, is
// not an attempt, nor is a crash, nor, with Loopback, asking for a network's addresses (refused).
//
// # What is not
//
//   - Nothing inside the process is guarded. A library loaded into a cell
//     shares its address space: it can write to the cell's descriptors, change
//     its memory, and end it.
//   - It can tell whether a file exists and how large it is (stat), read links,
//     and change its working folder: Landlock does not cover these, and the
//     listener is not told of them.
//   - It can use processor time, threads, memory and space below Write,
//     until its caller ends it.
//   - It can use what it is handed: an inherited datagram socket, for one,
//     reaches any address. Hand it pipes and stream sockets.
//   - With Processes, children outlive their caller's sudden death until the guard
//     has ended them, a moment later (guard_linux.go). /proc is readable, and with it the
//     command lines of other processes. setsid and setpgid are refused, to keep children
//     within reach.
//   - Without a listener (Policy.Unnamed, or Level.Seccomp is "errno") attempts have no names,
//     and the program may execute itself and its loader again (inside the same sandbox).
//     Calls whose target must be inspected are refused: another thread's affinity, a mode
//     below Write.
//   - Side channels and kernel bugs.
//
// Files in scratch must belong to the user the caller runs as: root without
// capabilities cannot open the files of others.
package sandbox
