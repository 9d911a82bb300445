// tries does things that a sandbox should or should not allow, separated by
// "--", and prints "ok" or the number of the error for each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static int said(long r) {
	if (r < 0)
		printf("%d\n", errno);
	else
		printf("ok\n");
	return 0;
}

// child ends a process that should not have come to be.
static int forked(pid_t p) {
	if (p == 0)
		_exit(0);
	if (p > 0)
		waitpid(p, NULL, 0);
	return said(p);
}

static volatile long sum;
static pthread_barrier_t ready;

static void *work(void *arg) {
	syscall(SYS_tkill, gettid(), 0);
	pthread_barrier_wait(&ready);
	for (long i = 0; i < 100000; i++)
		__atomic_add_fetch(&sum, (long)(intptr_t)arg, __ATOMIC_RELAXED);
	return NULL;
}

static int threads(int n) {
	pthread_t t[64];
	pthread_barrier_init(&ready, NULL, n + 1);
	for (int i = 0; i < n; i++) {
		int e = pthread_create(&t[i], NULL, work, (void *)(intptr_t)1);
		if (e) {
			errno = e;
			return said(-1);
		}
		cpu_set_t cpus;
		sched_getaffinity(0, sizeof cpus, &cpus);
		if ((e = pthread_setaffinity_np(t[i], sizeof cpus, &cpus))) {
			errno = e;
			return said(-1);
		}
		pthread_kill(t[i], 0);
	}
	pthread_barrier_wait(&ready);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return said(sum == n * 100000L ? 0 : -1);
}

static long number(const char *s) { return strtol(s, NULL, 0); }

static int attempt(const char *what, const char *a, const char *b) {
	char buf[256];
#define TRY(name) if (!strcmp(what, name))
	// files
	TRY("read") {
		int fd = open(a, O_RDONLY);
		return said(fd < 0 ? fd : read(fd, buf, sizeof buf));
	}
	TRY("creat") return said(creat(a, 0644));
	TRY("write") {
		int fd = open(a, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		return said(fd < 0 ? fd : write(fd, "x", 1));
	}
	TRY("append") return said(open(a, O_WRONLY | O_APPEND));
	TRY("list") return said(open(a, O_RDONLY | O_DIRECTORY));
	TRY("openat2") {
		uint64_t how[3] = {O_RDONLY, 0, 0};
		return said(syscall(SYS_openat2, AT_FDCWD, a, how, sizeof how));
	}
	TRY("relative") return said(chdir(a) < 0 ? -1 : open(b, O_RDONLY));
	TRY("dirfd") {
		int fd = open(a, O_PATH | O_DIRECTORY);
		return said(fd < 0 ? fd : openat(fd, b, O_RDONLY));
	}
	TRY("reopen") {
		int fd = open(a, O_PATH);
		snprintf(buf, sizeof buf, "/proc/self/fd/%d", fd);
		return said(fd < 0 ? fd : open(buf, O_RDONLY));
	}
	TRY("through") return said(symlink(a, b) < 0 ? -1 : open(b, O_RDONLY));
	TRY("unlink") return said(unlink(a));
	TRY("rmdir") return said(rmdir(a));
	TRY("mkdir") return said(mkdir(a, 0755));
	TRY("mkfifo") return said(mkfifo(a, 0644));
	TRY("rename") return said(rename(a, b));
	TRY("link") return said(link(a, b));
	TRY("symlink") return said(symlink(a, b));
	TRY("truncate") return said(truncate(a, 0));
	TRY("opentrunc") return said(open(a, O_RDONLY | O_TRUNC));
	TRY("chmod") return said(chmod(a, 06777));
	TRY("chown") return said(chown(a, 1, 1));
	TRY("touch") return said(utimensat(AT_FDCWD, a, NULL, 0));
	TRY("setxattr") return said(setxattr(a, "user.x", "1", 1, 0));
	TRY("fchmod") {
		int fd = open(a, O_RDONLY);
		return said(fd < 0 ? fd : fchmod(fd, 06777));
	}
	TRY("scratch") { // everything a program may do in a folder of its own
		if (chdir(a) < 0 || mkdir("d", 0755) < 0)
			return said(-1);
		int fd = open("d/f", O_RDWR | O_CREAT | O_EXCL, 0644);
		if (fd < 0 || write(fd, "x", 1) != 1 || ftruncate(fd, 10) < 0 || close(fd) < 0)
			return said(-1);
		if (rename("d/f", "g") < 0 || link("g", "d/h") < 0 || symlink("g", "l") < 0 || truncate("l", 5) < 0)
			return said(-1);
		return said(unlink("l") < 0 || unlink("g") < 0 || unlink("d/h") < 0 || rmdir("d") < 0 ? -1 : 0);
	}
	// network
	TRY("socket") return said(socket(number(a), number(b), 0));
	TRY("socketpair") {
		int fds[2];
		return said(socketpair(AF_UNIX, number(a), 0, fds));
	}
	TRY("listen") {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "\0pawl-sandbox-test"};
		return said(fd < 0 || bind(fd, (void *)&un, sizeof un) < 0 || listen(fd, 1) < 0 ? -1 : 0);
	}
	TRY("connect") {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		struct sockaddr_un un = {.sun_family = AF_UNIX};
		strncpy(un.sun_path, a, sizeof un.sun_path - 1);
		return said(fd < 0 ? fd : connect(fd, (void *)&un, sizeof un));
	}
	// other processes
	TRY("kill") return said(kill(number(a), number(b)));
	TRY("tkill") return said(syscall(SYS_tkill, number(a), number(b)));
	TRY("tgkill") return said(syscall(SYS_tgkill, number(a), number(a), number(b)));
	TRY("sigqueue") return said(sigqueue(number(a), number(b), (union sigval){0}));
	TRY("raise") return said(raise(SIGCHLD) || kill(getpid(), SIGCHLD) || kill(0, SIGCHLD) ? -1 : 0);
	TRY("abort") abort();
	TRY("pidfd") return said(syscall(SYS_pidfd_open, number(a), 0));
	TRY("pidfdself") {
		int fd = syscall(SYS_pidfd_open, getpid(), 0);
		return said(fd < 0 ? fd : syscall(SYS_pidfd_send_signal, fd, SIGCHLD, NULL, 0));
	}
	TRY("setown") {
		int fds[2];
		return said(pipe(fds) < 0 || fcntl(fds[0], F_SETOWN, number(a)) < 0 ? -1 : 0);
	}
	TRY("ptrace") return said(ptrace(PTRACE_ATTACH, number(a), 0, 0));
	TRY("vmread") {
		struct iovec local = {buf, 8}, remote = {(void *)number(b), 8};
		return said(process_vm_readv(number(a), &local, 1, &remote, 1, 0));
	}
	TRY("prlimit") {
		struct rlimit r = {10, 10};
		return said(prlimit(number(a), RLIMIT_NOFILE, &r, NULL));
	}
	TRY("affinity") {
		cpu_set_t cpus;
		CPU_ZERO(&cpus);
		CPU_SET(0, &cpus);
		return said(sched_setaffinity(number(a), sizeof cpus, &cpus));
	}
	TRY("renice") return said(setpriority(PRIO_PROCESS, number(a), 19));
	TRY("reniceall") return said(setpriority(PRIO_USER, 0, 19));
	// new processes
	TRY("fork") return forked(fork());
	TRY("vfork") {
		pid_t p = vfork();
		if (p == 0)
			_exit(0);
		return said(p);
	}
	TRY("clone") return forked(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	TRY("clonens") return forked(syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, 0, 0, 0, 0));
	TRY("clone3") {
		struct clone_args c = {.exit_signal = SIGCHLD};
		return forked(syscall(SYS_clone3, &c, sizeof c));
	}
	TRY("spawn") {
		pid_t p;
		char *args[] = {"true", NULL};
		if ((errno = posix_spawn(&p, "/bin/true", NULL, NULL, args, environ)))
			return said(-1);
		int status;
		waitpid(p, &status, 0);
		return said(status);
	}
	TRY("exec") {
		char *args[] = {(char *)a, NULL};
		return said(execv(a, args));
	}
	TRY("fexec") {
		int fd = open(a, O_RDONLY);
		char *args[] = {(char *)a, NULL};
		return said(fd < 0 ? fd : fexecve(fd, args, environ));
	}
	TRY("orphan") { // a child that would outlive its parent, out of its group
		pid_t p = fork();
		if (p)
			return p < 0 ? said(p) : (printf("%d\n", p), 0);
		setsid();
		setpgid(0, 0);
		for (;;)
			pause();
	}
	// the kernel and the machine
	TRY("io_uring") {
		char params[120] = {0};
		return said(syscall(SYS_io_uring_setup, 1, params));
	}
	TRY("unshare") return said(unshare(CLONE_NEWUSER));
	TRY("mount") return said(mount("none", a, "tmpfs", 0, NULL));
	TRY("chroot") return said(chroot(a));
	TRY("bpf") return said(syscall(SYS_bpf, 0, buf, 48));
	TRY("perf") return said(syscall(SYS_perf_event_open, buf, 0, -1, -1, 0));
	TRY("timerfd") return said(syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
	TRY("timers") {
		long r = 0;
		for (int i = atoi(a); i > 0 && r == 0; i--) {
			timer_t timer;
			r = timer_create(CLOCK_MONOTONIC, NULL, &timer);
		}
		return said(r);
	}
	TRY("userfaultfd") return said(syscall(SYS_userfaultfd, 0));
	TRY("keyctl") return said(syscall(SYS_keyctl, 0, -3, 1));
	TRY("seccomp") return said(syscall(SYS_seccomp, 2, 0, buf));
	TRY("pdeathsig") return said(prctl(PR_SET_PDEATHSIG, 0));
	TRY("dumpable") return said(prctl(PR_SET_DUMPABLE, 0));
	TRY("dispatch") return said(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH, newer than some headers */, 0, 0, 0, 0));
	TRY("personality") return said(personality(ADDR_NO_RANDOMIZE));
	TRY("setsid") return said(setsid());
	TRY("shmget") return said(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
	TRY("mq") return said(syscall(SYS_mq_open, "pawl", O_RDWR | O_CREAT, 0600, NULL));
	TRY("settime") {
		struct timespec ts = {0, 0};
		return said(clock_settime(CLOCK_REALTIME, &ts));
	}
	TRY("newest") return said(syscall(9999));
	TRY("raise-limit") {
		struct rlimit r;
		getrlimit(RLIMIT_NOFILE, &r);
		r.rlim_cur = r.rlim_max = r.rlim_max + 1;
		return said(setrlimit(RLIMIT_NOFILE, &r));
	}
#ifdef __x86_64__
	TRY("int80") { // getpid as a 32-bit call
		long r;
		__asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "r8", "r9", "r10", "r11", "memory");
		errno = -r;
		return said(r < 0 ? -1 : 0);
	}
	TRY("x32") return said(syscall(0x40000000 | SYS_getpid));
#endif
	// what honest programs do
	TRY("threads") return threads(number(a));
	TRY("dlopen") {
		void *h = dlopen(a, RTLD_NOW);
		if (!h) {
			printf("%s\n", dlerror());
			return 0;
		}
		int (*f)(void) = (int (*)(void))dlsym(h, "answer");
		return said(f && f() == 42 ? 0 : -1);
	}
	TRY("fill") {
		signal(SIGXFSZ, SIG_IGN);
		int fd = open(a, O_WRONLY | O_CREAT, 0644);
		return said(fd < 0 ? fd : pwrite(fd, "x", 1, number(b)));
	}
	TRY("map") {
		void *p = mmap(NULL, number(a), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return said(p == MAP_FAILED ? -1 : 0);
	}
	TRY("spin") for (;;) ;
	return 2;
}

int main(int argc, char **argv) {
	char cwd[4096];
	if (!getcwd(cwd, sizeof cwd))
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc;) {
		const char *words[3] = {"", "", ""};
		for (int n = 0; i < argc; i++) {
			if (!strcmp(argv[i], "--")) {
				i++;
				break;
			}
			if (n < 3)
				words[n++] = argv[i];
		}
		if (attempt(words[0], words[1], words[2]))
			printf("no such try\n");
		// the next one finds things as this one did
		if (chdir(cwd) < 0)
			return 2;
		for (int fd = 3; fd < 16; fd++)
			close(fd);
	}
	return 0;
}
