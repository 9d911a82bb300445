//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ground is the file tree a program is let loose on.
type ground struct {
	outside, secret, folder string // not in the policy
	input                   string // to read
	scratch                 string // to write
}

func newGround(t testing.TB) ground {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := ground{
		outside: filepath.Join(root, "outside"),
		secret:  filepath.Join(root, "outside", "secret"),
		folder:  filepath.Join(root, "outside", "folder"),
		input:   filepath.Join(root, "input"),
		scratch: filepath.Join(root, "scratch"),
	}
	for _, dir := range []string{g.outside, g.folder, g.scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{g.secret, g.input} {
		if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g ground) policy() Policy {
	return Policy{Read: append(System(), g.input), Write: []string{g.scratch}}
}

type try struct {
	do    string // arguments of tries; {upper case} names are filled in
	want  string // "ok" or the name of the error
	named string // the attempt, "" for none
}

var denied = []try{
	// files
	{"read {SECRET}", "EACCES", "open {SECRET} for reading"},
	{"openat2 {SECRET}", "EACCES", "open {SECRET} for reading"},
	{"read /etc/shadow", "EACCES", "open /etc/shadow for reading"},
	{"read {SCRATCH}/../outside/secret", "EACCES", "open {SECRET} for reading"},
	{"read /proc/self/root{SECRET}", "EACCES", "open {SECRET} for reading (through /proc/self/root{SECRET})"},
	{"read /proc/thread-self/root{SECRET}", "EACCES", "open {SECRET} for reading (through /proc/thread-self/root{SECRET})"},
	{"read /proc/self/cwd/../outside/secret", "EACCES", "open {SECRET} for reading (through /proc/self/cwd/../outside/secret)"},
	{"relative {OUTSIDE} secret", "EACCES", "open {SECRET} for reading"},
	{"dirfd {OUTSIDE} secret", "EACCES", "open {SECRET} for reading"},
	{"reopen {SECRET}", "EACCES", "open {SECRET} for reading (through /proc/self/fd/3)"},
	{"through {SECRET} {SCRATCH}/link", "EACCES", "open {SECRET} for reading (through {SCRATCH}/link)"},
	{"list {OUTSIDE}", "EACCES", "list {OUTSIDE}"},
	{"list /", "EACCES", "list /"},
	{"append {SECRET}", "EACCES", "open {SECRET} for writing"},
	{"append {INPUT}", "EACCES", "open {INPUT} for writing"},
	{"write {SECRET}", "EACCES", "open {SECRET} for writing"},
	{"write {OUTSIDE}/new", "EACCES", "create {OUTSIDE}/new"},
	{"creat {OUTSIDE}/new", "EACCES", "create {OUTSIDE}/new"},
	{"truncate {SECRET}", "EACCES", "truncate {SECRET}"},
	{"opentrunc {INPUT}", "EACCES", "open {INPUT} for writing"},
	{"unlink {SECRET}", "EACCES", "unlink {SECRET}"},
	{"rmdir {FOLDER}", "EACCES", "rmdir {FOLDER}"},
	{"mkdir {OUTSIDE}/d", "EACCES", "mkdir {OUTSIDE}/d"},
	{"mkfifo {OUTSIDE}/p", "EACCES", "mknod {OUTSIDE}/p"},
	{"symlink x {OUTSIDE}/l", "EACCES", "symlink {OUTSIDE}/l"},
	{"rename {SECRET} {SCRATCH}/s", "EACCES", "rename {SECRET} to {SCRATCH}/s"},
	{"rename {SCRATCH} {OUTSIDE}/s", "EACCES", "rename {SCRATCH} to {OUTSIDE}/s"},
	{"link {SECRET} {SCRATCH}/s", "EXDEV", "link {SECRET} to {SCRATCH}/s"},
	{"chmod {SECRET}", "EPERM", "chmod {SECRET}"},
	{"chmod {SCRATCH}", "EPERM", "chmod {SCRATCH}"},
	{"chmod {SCRATCH}/link", "EPERM", "chmod {SECRET} (through {SCRATCH}/link)"},
	{"chown {SECRET}", "EPERM", "chown {SECRET}"},
	{"touch {SECRET}", "EPERM", "utimensat {SECRET}"},
	{"setxattr {SECRET}", "EPERM", "setxattr {SECRET}"},
	{"fchmod {INPUT}", "EPERM", "fchmod {INPUT}"},
	// other processes by way of files
	{"read /proc/{PARENT}/environ", "EACCES", "open /proc/{PARENT}/environ for reading"},
	{"read /proc/{PARENT}/mem", "EACCES", "open /proc/{PARENT}/mem for reading"},
	{"read /proc/{PARENT}/cmdline", "EACCES", "open /proc/{PARENT}/cmdline for reading"},
	{"append /proc/self/oom_score_adj", "EACCES", "open /proc/{PID}/oom_score_adj for writing (through /proc/self/oom_score_adj)"},
	// network
	{"socket 2 1", "EACCES", "socket(AF_INET, SOCK_STREAM)"},
	{"socket 2 2", "EACCES", "socket(AF_INET, SOCK_DGRAM)"},
	{"socket 10 2", "EACCES", "socket(AF_INET6, SOCK_DGRAM)"},
	{"socket 1 1", "EACCES", "socket(AF_UNIX, SOCK_STREAM)"},
	{"socket 16 3", "EACCES", "socket(AF_NETLINK, SOCK_RAW)"},
	{"socket 38 5", "EACCES", "socket(AF_ALG, SOCK_SEQPACKET)"},
	{"socketpair 1", "EPERM", "socketpair(AF_UNIX, SOCK_STREAM)"},
	// other processes
	{"kill {PARENT} 15", "EPERM", "kill({PARENT}, SIGTERM)"},
	{"kill {PARENT} 0", "EPERM", "kill({PARENT}, 0)"},
	{"kill -1 15", "EPERM", "kill(-1, SIGTERM)"},
	{"tkill {PARENT} 15", "EPERM", "tkill({PARENT}, SIGTERM)"},
	{"tgkill {PARENT} 15", "EPERM", "tgkill({PARENT}, SIGTERM)"},
	{"sigqueue {PARENT} 15", "EPERM", "rt_sigqueueinfo({PARENT}, SIGTERM)"},
	{"pidfd {PARENT}", "EPERM", "pidfd_open({PARENT})"},
	{"setown {PARENT}", "EPERM", "fcntl(F_SETOWN)"},
	{"ptrace {PARENT}", "EPERM", "ptrace({PARENT})"},
	{"vmread {PARENT} 0x400000", "EPERM", "process_vm_readv({PARENT})"},
	{"prlimit {PARENT}", "EPERM", "prlimit64({PARENT})"},
	{"affinity {PARENT}", "EPERM", "sched_setaffinity({PARENT})"},
	{"renice {PARENT}", "EPERM", "setpriority({PARENT})"},
	{"reniceall", "EPERM", "setpriority(0)"},
	// new processes
	{"fork", "EPERM", "fork"},
	{"clone", "EPERM", "fork"},
	{"clonens", "EPERM", "clone into new namespaces"},
	{"clone3", "ENOSYS", ""},
	{"spawn", "EPERM", "fork"},
	{"exec {TRUE}", "EACCES", "exec {TRUE}"},
	{"fexec {TRUE}", "EACCES", "exec {TRUE}"},
	// the kernel and the machine
	{"io_uring", "EPERM", "io_uring_setup"},
	{"unshare", "EPERM", "unshare"},
	{"mount {SCRATCH}", "EPERM", "mount {SCRATCH}"},
	{"chroot {SCRATCH}", "EPERM", "chroot {SCRATCH}"},
	{"bpf", "EPERM", "bpf"},
	{"perf", "EPERM", "perf_event_open"},
	{"userfaultfd", "EPERM", "userfaultfd"},
	{"timerfd", "EPERM", "timerfd_create"},
	{"keyctl", "EPERM", "keyctl"},
	{"seccomp", "EPERM", "seccomp"},
	{"pdeathsig", "EPERM", "prctl(PR_SET_PDEATHSIG)"},
	{"dumpable", "EPERM", "prctl(PR_SET_DUMPABLE)"},
	{"dispatch", "EPERM", "prctl(PR_SET_SYSCALL_USER_DISPATCH)"},
	{"personality", "EPERM", "personality"},
	{"setsid", "EPERM", "setsid"},
	{"shmget", "EPERM", "shmget"},
	{"mq", "EPERM", "mq_open"},
	{"settime", "EPERM", "clock_settime"},
	{"newest", "ENOSYS", ""},
	{"raise-limit", "EPERM", ""},
}

// honest things must work and must not look like attempts.
var honest = []try{
	{"read {INPUT}", "ok", ""},
	{"read /proc/self/maps", "ok", ""},
	{"read /proc/cpuinfo", "ok", ""},
	{"read /proc/meminfo", "ok", ""},
	{"read /dev/urandom", "ok", ""},
	{"read /etc/nonexistent", "ENOENT", ""},
	{"read {OUTSIDE}/nonexistent", "ENOENT", ""},
	{"append /dev/null", "ok", ""},
	{"write {SCRATCH}/new", "ok", ""},
	{"scratch {SCRATCH}", "ok", ""},
	{"through {INPUT} {SCRATCH}/link2", "ok", ""},
	{"chmod {SCRATCH}/new", "ok", ""},
	{"fchmod {SCRATCH}/new", "ok", ""},
	{"raise", "ok", ""},
	{"pidfdself", "ok", ""},
	{"threads 8", "ok", ""},
	{"dlopen {SO}", "ok", ""},
	{"map 0x40000000", "ok", ""},
	{"affinity 0", "ok", ""},
}

func archTries() []try {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	return []try{
		{"vfork", "EPERM", "vfork"},
		{"int80", "EPERM", "system call 20 of another architecture"},
		{"x32", "EPERM", "system call 39 of another architecture"},
	}
}

// runTries does them all in one process and checks what each of them got and
// what it was noticed doing.
func runTries(t *testing.T, tries []try, change func(*Command)) {
	t.Helper()
	dir, g := programs(t), newGround(t)
	truth, err := filepath.EvalSymlinks("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	fill := []string{
		"{SECRET}", g.secret, "{OUTSIDE}", g.outside, "{FOLDER}", g.folder, "{INPUT}", g.input, "{SCRATCH}", g.scratch,
		"{SO}", filepath.Join(dir, "answer.so"), "{PARENT}", fmt.Sprint(os.Getpid()), "{TRUE}", truth,
	}
	args := []string{"tries"}
	for _, tr := range tries {
		args = append(args, strings.Fields(strings.NewReplacer(fill...).Replace(tr.do))...)
		args = append(args, "--")
	}
	c := Command{Path: filepath.Join(dir, "tries"), Args: args, Policy: g.policy(), Mode: Require}
	c.Policy.Read = append(c.Policy.Read, filepath.Join(dir, "answer.so"))
	if change != nil {
		change(&c)
	}
	out, p := run(t, c)
	names := strings.NewReplacer(append(fill, "{PID}", fmt.Sprint(p.Pid()))...)
	got := strings.Split(out, "\n")
	var want []string
	for i, tr := range tries {
		if i >= len(got) {
			t.Fatalf("ended after %q", tries[i-1].do)
		}
		if name := errorName(got[i]); name != tr.want {
			t.Errorf("%s: %s, want %s", tr.do, name, tr.want)
		}
		if name := names.Replace(tr.named); name != "" && !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	if diff := cmp.Diff(want, attempts(p)); diff != "" {
		t.Errorf("attempts (-want +got)\n%s", diff)
	}
	g.intact(t)
}

// intact checks that nothing outside the scratch folder has changed.
func (g ground) intact(t *testing.T) {
	t.Helper()
	for _, file := range []string{g.secret, g.input} {
		b, err := os.ReadFile(file)
		if err != nil || string(b) != "content" {
			t.Errorf("%s is %q, %v", file, b, err)
		}
		fi, err := os.Stat(file)
		if err != nil || fi.Mode().Perm() != 0o644 {
			t.Errorf("mode of %s is %v, %v", file, fi.Mode(), err)
		}
	}
	entries, err := os.ReadDir(g.outside)
	if err != nil || len(entries) != 2 {
		t.Errorf("%s holds %v, %v", g.outside, entries, err)
	}
}

func TestDeniedAndNamed(t *testing.T) {
	all := slices.Concat(denied, archTries())
	// In two parts, because there is room for this many attempts only.
	runTries(t, all[:len(all)/2], nil)
	runTries(t, all[len(all)/2:], nil)
}

func TestHonest(t *testing.T) { runTries(t, honest, nil) }

// Without a listener everything is refused all the same, unnamed.
func TestDeniedWithoutListener(t *testing.T) {
	all := slices.Concat(denied, archTries(), honest)
	for i := range all {
		switch {
		case strings.Contains(all[i].named, "another architecture"):
			all[i].want = "ENOSYS"
		// Nobody can tell here whose a number or a file is.
		case strings.HasPrefix(all[i].do, "chmod"), strings.HasPrefix(all[i].do, "fchmod"),
			all[i].do == "threads 8", all[i].do == "pidfdself":
			all[i].want = "EPERM"
		}
		all[i].named = ""
	}
	runTries(t, all, func(c *Command) {
		c.Mode = Auto
		c.pretend.NoNotify = true
	})
}
