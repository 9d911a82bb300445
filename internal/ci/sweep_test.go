package ci

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inNamespace runs a test again in a process of its own that sees no processes but those it starts.
// A sweep kills, so that nothing else may be in its reach. It reports whether this is that process.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("PAWL_TEST_NAMESPACE") == t.Name() {
		if os.Getpid() != 1 {
			t.Fatal("not in a namespace of processes")
		}
		if err := errors.Join(
			syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""),
			syscall.Mount("proc", "/proc", "proc", 0, ""),
		); err != nil {
			t.Skipf("cannot mount /proc: %v", err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "PAWL_TEST_NAMESPACE="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC):
		t.Skipf("namespaces are not allowed here: %v", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
	return false
}

// runJob starts a shell as a runner does, waits for it, and returns what it printed.
func runJob(t *testing.T, dir, script string) []string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUNNER_TRACKING_ID=github_1234")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	_ = cmd.Wait()
	return lines
}

func running(t *testing.T) []string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		var pid int
		if _, err := fmt.Sscan(entry.Name(), &pid); err != nil || pid == os.Getpid() {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			names = append(names, p.String())
		}
	}
	return names
}

// begin guards a job, as its hook does.
func (p *Policy) begin(t *testing.T, job theJob) {
	t.Helper()
	if _, swept, err := p.Guard(job.read(t), today); err != nil {
		t.Fatalf("%+v, %v", swept, err)
	}
	// Admit had the tests' clock; files have the machine's.
	last, err := p.lastJob()
	if err != nil {
		t.Fatal(err)
	}
	last.Began = time.Now()
	if err := p.save(p.recordFile(), last); err != nil {
		t.Fatal(err)
	}
}

func TestSweepEndsProcesses(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	honest := exec.Command("sleep", "1000") // older than the job, and not the runner's
	if err := honest.Start(); err != nil {
		t.Fatal(err)
	}
	old := exec.Command("sleep", "1000") // left by a job before
	old.Env = []string{"RUNNER_TRACKING_ID=github_1"}
	if err := old.Start(); err != nil {
		t.Fatal(err)
	}
	p.begin(t, comment())
	last, _ := p.lastJob()
	self, _ := readProcess(os.Getpid())
	later, _ := readProcess(honest.Process.Pid)
	last.Start = max(self.start, later.start+1) // the hook is a process of its own, younger than these
	if err := p.save(p.recordFile(), last); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	runJob(t, p.Work, `
		(setsid env -i sh -c 'trap "" TERM HUP INT; while :; do /bin/sleep 0.05; done' </dev/null >/dev/null 2>&1 &)
		(setsid env -i sh -c 'exec /bin/sleep 1000' </dev/null >/dev/null 2>&1 &)
		cat > chain <<'END'
/bin/sleep 0.02
sh ./chain &
END
		(setsid env -i sh ./chain </dev/null >/dev/null 2>&1 &)
		sleep 0.2`)
	for range 3000 { // a busy machine starts them late
		if len(running(t)) >= 5 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if now := running(t); len(now) < 4 { // the chain has none for a moment, now and then
		t.Fatalf("the job left only %v", now)
	}
	dry, err := p.Sweep(true)
	if err != nil || !slices.Contains(dry.Ended, fmt.Sprintf("%d (sleep)", old.Process.Pid)) {
		t.Fatalf("%+v, %v", dry, err)
	}
	if now := running(t); !slices.Contains(now, fmt.Sprintf("%d (sleep)", old.Process.Pid)) {
		t.Errorf("a dry run ended process %d: %v", old.Process.Pid, now)
	}
	swept, err := p.Sweep(false)
	if err != nil || len(swept.Left) > 0 || len(swept.Ended) < 4 {
		t.Errorf("%+v, %v", swept, err)
	}
	time.Sleep(100 * time.Millisecond)
	if now := running(t); len(now) != 1 || now[0] != fmt.Sprintf("%d (sleep)", honest.Process.Pid) {
		t.Errorf("running after the sweep: %v; want only process %d\n%+v", now, honest.Process.Pid, swept)
	}
}

// With this variable the tests are a process whose first thread ends, and whose others go on.
func init() {
	if os.Getenv("PAWL_TEST_HEADLESS") != "" { // init runs on the first thread
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

// TestSweepEndsHeadlessProcesses: a process whose first thread has ended looks like a zombie.
func TestSweepEndsHeadlessProcesses(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	p.begin(t, comment())
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"PAWL_TEST_HEADLESS=1"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		return fields[0]
	}
	for state() != "Z" {
		time.Sleep(time.Millisecond)
	}
	if !threadsLive(fmt.Sprintf("/proc/%d", cmd.Process.Pid)) {
		t.Fatal("the process has ended as a whole")
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	swept, err := p.Sweep(false)
	if err != nil || len(swept.Ended) != 1 || len(swept.Left) > 0 {
		t.Fatalf("%+v, %v", swept, err)
	}
	<-gone
}

func TestSweepRestoresFiles(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	precious := t.TempDir()
	write(t, precious, "file", "precious")
	for name, text := range map[string]string{
		".gitconfig": "[user]\n", ".bashrc": "export A=1\n", ".profile": "profile\n", ".config/git/config": "[core]\n", "data": strings.Repeat("x", maxKept+1), "empty/file": "",
	} {
		write(t, p.Home, name, text)
	}
	if err := os.Symlink("data", filepath.Join(p.Home, "current")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(p.Home, ".bashrc"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, p.Work, "_temp/_runner_file_commands/set_env", "")
	write(t, filepath.Join(p.Home, "..", "tmp"), "older", "")
	older := filepath.Join(p.Home, "..", "tmp", "older")
	time.Sleep(2100 * time.Millisecond) // files of the last second count as the job's
	p.begin(t, comment())
	want := tree(t, p.Home)
	tmp := p.Temp[0]
	runJob(t, p.Work, fmt.Sprintf(`
		H=%[1]s P=%[2]s
		printf '[core]\nhooksPath=/evil\n' > $H/.gitconfig
		rm $H/.bashrc; rm -r $H/empty
		rm $H/.profile; ln -s $P/file $H/.profile
		rm $H/current; ln -s / $H/current
		chmod 777 $H/.config
		mkdir -p $H/.ssh $H/.config/systemd/user; echo key > $H/.ssh/authorized_keys; echo unit > $H/.config/systemd/user/x.service
		ln -s / $H/root; ln -s $P $H/.config/precious
		mkfifo $H/pipe
		mkdir -p $H/.cache/pawl; echo poison > $H/.cache/pawl/artifact
		mkdir -p repo/.git/hooks; echo evil > repo/.git/hooks/post-checkout; ln -s $P repo/precious; ln -s / everything
		mkdir -p locked/inner; echo x > locked/inner/file; chmod 000 locked/inner
		echo x > %[3]s/left; ln -s $P/file %[3]s/link; mkdir -p %[3]s/folder/deep; ln -s $P %[3]s/folder/deep/precious
		echo x > _temp/stray`, p.Home, precious, tmp))
	changed := tree(t, p.Home)
	if _, err := p.Sweep(true); err != nil {
		t.Fatal(err)
	}
	if now := tree(t, p.Home); fmt.Sprint(now) != fmt.Sprint(changed) {
		t.Error("a dry run changed files")
	}
	swept, err := p.Sweep(false)
	if err != nil || len(swept.Left) > 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	if now := tree(t, p.Home); fmt.Sprint(now) != fmt.Sprint(want) {
		t.Errorf("home is\n%v, want\n%v\n%+v", now, want, swept)
	}
	if link, _ := os.Readlink(filepath.Join(p.Home, "current")); link != "data" {
		t.Errorf("current leads to %q", link)
	}
	for name, mode := range map[string]os.FileMode{".bashrc": 0o600, ".config": os.ModeDir | 0o755, "empty": os.ModeDir | 0o755} {
		if info, err := os.Lstat(filepath.Join(p.Home, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, mode)
		}
	}
	for _, gone := range []string{"root", "pipe", ".ssh", ".config/precious", ".config/systemd"} {
		if _, err := os.Lstat(filepath.Join(p.Home, gone)); err == nil {
			t.Errorf("home still has %s", gone)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(precious, "file")); string(text) != "precious" {
		t.Errorf("the sweep left the folders that it sweeps: %q", text)
	}
	if names := list(t, p.Work); fmt.Sprint(names) != "[_temp _temp/_runner_file_commands _temp/_runner_file_commands/set_env]" {
		t.Errorf("work holds %v", names)
	}
	if names := list(t, tmp); fmt.Sprint(names) != "[older]" {
		t.Errorf("temp holds %v", names)
	}
	if _, err := os.Stat(older); err != nil {
		t.Error(err)
	}
	if again, err := p.Sweep(false); err != nil || len(again.Removed)+len(again.Restored)+len(again.Left) > 0 {
		t.Errorf("a second sweep found %+v, %v", again, err)
	}
}

// TestSweepKeepsOwnCaches: the repository's own jobs keep their checkout and pawl's cache, and
// nothing else.
func TestSweepKeepsOwnCaches(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersRefused)
	p.uid = os.Getuid()
	p.begin(t, push())
	write(t, p.Work, "repo/file", "")
	write(t, p.Home, ".cache/pawl/artifact", "")
	write(t, p.Home, ".cache/other", "")
	if swept, err := p.Sweep(false); err != nil || len(swept.Removed) != 1 {
		t.Errorf("%+v, %v", swept, err)
	}
	if names := fmt.Sprint(list(t, p.Home), list(t, p.Work)); names != "[.cache .cache/pawl .cache/pawl/artifact] [repo repo/file]" {
		t.Errorf("left: %s", names)
	}
}

func TestSweepSaysWhatItCannotRestore(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersRefused)
	p.uid = os.Getuid()
	write(t, p.Home, "model.bin", strings.Repeat("x", maxKept+1))
	p.begin(t, push())
	write(t, p.Home, "model.bin", strings.Repeat("y", maxKept+1))
	swept, err := p.Sweep(false)
	if err != nil || len(swept.Left) != 1 || !strings.Contains(swept.Left[0], "model.bin was changed by the job, and no copy of it is kept") {
		t.Fatalf("%+v, %v", swept, err)
	}
	// The next job does not begin on such a machine.
	if _, _, err := p.Guard(push().read(t), today); err == nil || !strings.Contains(err.Error(), "could not be put right") {
		t.Errorf("%v", err)
	}
	if _, err := p.TakeManifest(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Guard(push().read(t), today); err != nil {
		t.Errorf("after the administrator looked: %v", err)
	}
}

// TestSweepRefusesReplacedFolders: a job that puts a link in place of a folder that is swept as a whole
// would have root empty another one.
func TestSweepRefusesReplacedFolders(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	for _, which := range []string{"work", "keep", "above keep", "temp", "home"} {
		p := testPolicy(t, StrangersByComment)
		p.uid = os.Getuid()
		precious := t.TempDir()
		write(t, p.Home, ".cache/pawl/artifact", "")
		p.begin(t, comment())
		folder := map[string]string{"work": p.Work, "keep": p.Home + "/.cache/pawl", "above keep": p.Home + "/.cache", "temp": p.Temp[0], "home": p.Home}[which]
		write(t, precious, "file", "precious")
		write(t, precious, "pawl/file", "precious")
		if err := errors.Join(os.Rename(folder, folder+".away"), os.Symlink(precious, folder)); err != nil {
			t.Fatal(err)
		}
		swept, err := p.Sweep(false)
		if names := fmt.Sprint(list(t, precious)); names != "[file pawl pawl/file]" {
			t.Errorf("%s: the sweep went through a link: %s is left; %+v, %v", which, names, swept, err)
		}
		// The link goes where home is known to have had something else; elsewhere somebody must look.
		if put := which == "above keep" || which == "keep"; put != (err == nil) {
			t.Errorf("%s: %+v, %v", which, swept, err)
		}
	}
}

// TestSweepDeepFolders: a job cannot keep the machine busy, or dirty, with folders in folders.
func TestSweepDeepFolders(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	p.begin(t, comment())
	root, err := openFolder(p.Work, p.uid)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at := "deep"
	for range 400 {
		if err := root.MkdirAll(at+"/beside", 0o755); err != nil {
			t.Fatal(err)
		}
		at += "/d"
	}
	limit := syscall.Rlimit{Cur: 100, Max: 100}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if swept, err := p.Sweep(false); err != nil || len(swept.Left) > 0 || len(list(t, p.Work)) > 0 {
		t.Errorf("%+v, %v", swept, err)
	}
}

func TestFolderOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	for owner, ok := range map[int]bool{os.Getuid(): true, anybody: true, os.Getuid() + 1: false} {
		root, err := openFolder(dir, owner)
		if (err == nil) != ok {
			t.Errorf("owner %d: %v", owner, err)
		}
		if err == nil {
			_ = root.Close()
		}
	}
}

// TestGuardSweepsFirst: a job whose sweep did not happen is swept before the next one.
func TestGuardSweepsFirst(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	p.begin(t, comment())
	write(t, p.Home, ".bashrc", "evil")
	write(t, p.Work, "repo/.git/hooks/pre-commit", "evil")
	if _, _, err := p.Guard(push().read(t), today); err == nil || !strings.Contains(err.Error(), "was not swept; it is now: run this job again") {
		t.Errorf("%v", err)
	}
	if left := slices.Concat(list(t, p.Home), list(t, p.Work)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, _, err := p.Guard(push().read(t), today); err != nil {
		t.Errorf("the job, run again: %v", err)
	}
}

// TestGuardDoesNotBelieveASweep: a job can run sweep itself, by the runner's sudo rule, go on, and keep
// the hook at its end from running.
func TestGuardDoesNotBelieveASweep(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	p.begin(t, comment())
	sweepNow := func() {
		t.Helper()
		if swept, err := p.Sweep(false); err != nil || len(swept.Left) > 0 {
			t.Fatalf("%+v, %v", swept, err)
		}
	}
	// Nothing is left: the next job begins, with the actions that the runner has fetched for it.
	sweepNow()
	write(t, p.Work, "_actions/fetched", "")
	last, _ := p.lastJob()
	if swept, err := p.sweepBefore(last); err != nil || len(list(t, p.Work)) != 2 {
		t.Errorf("%+v, %v; work holds %v", swept, err, list(t, p.Work))
	}
	// A process that goes on could have written anything.
	sweepNow()
	write(t, p.Home, ".bashrc", "evil")
	write(t, p.Work, "_actions/actions/checkout/index.js", "evil")
	runJob(t, p.Work, "(setsid env -i /bin/sleep 1000 </dev/null >/dev/null 2>&1 &)")
	if len(running(t)) != 1 {
		t.Fatalf("running: %v", running(t))
	}
	if _, _, err := p.Guard(push().read(t), today); err == nil || !strings.Contains(err.Error(), "run this job again") {
		t.Errorf("%v", err)
	}
	if left := slices.Concat(list(t, p.Home), list(t, p.Work), running(t)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	// One that has ended left only files.
	sweepNow()
	write(t, p.Home, ".bashrc", "evil")
	write(t, p.Temp[0], "evil", "")
	if _, _, err := p.Guard(push().read(t), today); err != nil {
		t.Error(err)
	}
	if left := slices.Concat(list(t, p.Home), list(t, p.Temp[0])); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestPlantedInWork: what is in an emptied work folder before the runner's process for the next job is
// nobody's but the last job's.
func TestPlantedInWork(t *testing.T) {
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	self, err := readProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	earlier, later := &worker{self.pid, self.start - 1000}, &worker{self.pid, self.start + 1_000_000}
	write(t, p.Work, "_temp/file", "")
	for name, make := range map[string]func(string) error{
		"file": func(at string) error { return os.WriteFile(at, nil, 0o644) }, "_actions": func(at string) error { return os.Mkdir(at, 0o755) },
		"link": func(at string) error { return os.Symlink("/", at) },
	} {
		at := filepath.Join(p.Work, name)
		if planted, err := p.plantedInWork(later); planted || err != nil {
			t.Errorf("without %s: %t, %v", name, planted, err)
		}
		if err := make(at); err != nil {
			t.Fatal(err)
		}
		root, err := openFolder(p.Work, p.uid)
		if err != nil {
			t.Fatal(err)
		}
		if !root.bornBefore(name, time.Now().Add(time.Hour)) {
			t.Skip("this file system keeps no birth times")
		}
		_ = root.Close()
		if planted, err := p.plantedInWork(later); !planted || err != nil {
			t.Errorf("%s before the runner's process: %t, %v", name, planted, err)
		}
		if planted, err := p.plantedInWork(earlier); planted || err != nil {
			t.Errorf("%s after the runner's process: %t, %v", name, planted, err)
		}
		_ = os.Remove(at)
	}
}

// TestSweepSubordinateUsers: a job in a user namespace is somebody else to the rest of the machine.
func TestSweepSubordinateUsers(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	const other, stranger = 170_007, 370_007
	p := testPolicy(t, StrangersByComment)
	p.uid, p.subordinate = os.Getuid(), []idRange{{165_536, 65_536}}
	p.begin(t, comment())
	for _, uid := range []uint32{other, stranger} {
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Env, cmd.Dir = []string{}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Skipf("needs root: %v", err)
		}
		write(t, p.Temp[0], fmt.Sprint(uid), "")
		if err := os.Chown(filepath.Join(p.Temp[0], fmt.Sprint(uid)), int(uid), int(uid)); err != nil {
			t.Skipf("needs root: %v", err)
		}
	}
	swept, err := p.Sweep(false)
	if err != nil || len(swept.Ended) != 1 || len(swept.Left) > 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	if names := fmt.Sprint(list(t, p.Temp[0])); names != fmt.Sprintf("[%d]", stranger) {
		t.Errorf("temp holds %s", names)
	}
	if now := running(t); len(now) != 1 {
		t.Errorf("running: %v", now)
	}
}

func TestSubordinateOf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "subuid")
	if found, err := subordinateOf(name, "runner", 54321); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	write(t, filepath.Dir(name), "subuid", "root:1:2\nrunner:100000:65536\n\n54321:300000:10\nrunner2:5:5\n")
	if found, err := subordinateOf(name, "runner", 54321); err != nil || fmt.Sprint(found) != "[{100000 65536} {300000 10}]" {
		t.Errorf("%v, %v", found, err)
	}
	write(t, filepath.Dir(name), "subuid", "runner:x:65536\n")
	if found, err := subordinateOf(name, "runner", 54321); err == nil {
		t.Errorf("%v", found)
	}
}

// TestSweepSpools: a job cannot leave a command for cron or at.
func TestSweepSpools(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersRefused)
	p.uid = os.Getuid()
	spools := t.TempDir()
	p.spools = []string{filepath.Join(spools, "cron"), filepath.Join(spools, "absent"), filepath.Join(spools, "link")}
	write(t, spools, "cron/older", "")
	if err := os.Symlink("cron", filepath.Join(spools, "link")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // files of the last second count as the job's
	p.begin(t, push())
	write(t, spools, "cron/runner", "@reboot evil\n")
	if swept, err := p.Sweep(false); err != nil || len(swept.Removed) != 1 {
		t.Errorf("%+v, %v", swept, err)
	}
	if names := fmt.Sprint(list(t, spools)); names != "[cron cron/older link]" {
		t.Errorf("left: %s", names)
	}
}

// TestGuardIsAskedOnce: a job cannot have itself guarded again, under another name.
func TestGuardIsAskedOnce(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	p := testPolicy(t, StrangersByComment)
	p.uid = os.Getuid()
	self, err := readProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	p.begin(t, comment())
	last, _ := p.lastJob()
	last.Worker, last.Swept = &worker{self.pid, self.start}, true
	if err := p.save(p.recordFile(), last); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Guard(push().read(t), today); err == nil || !strings.Contains(err.Error(), "still runs on this machine") {
		t.Errorf("%v", err)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if below, _ := filepath.Rel(dir, name); err == nil && below != "." {
			names = append(names, below)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
