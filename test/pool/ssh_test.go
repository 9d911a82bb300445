package pool

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// newSSH starts an sshd on loopback with its own keys and port, and returns its site and the words of a
// command that runs a worker there.
func newSSH(t *testing.T) (s *site, launch string) {
	t.Helper()
	sshd := "/usr/sbin/sshd" // insists on being called by its path
	for _, program := range []string{sshd, "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here: tools/setup installs it on Debian-like systems", program)
		}
	}
	s = newSite(t)
	in := func(name string) string { return filepath.Join(s.dir, name) }
	for _, key := range []string{"host", "user"} {
		s.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f", in(key))
	}
	port := freePorts(t, 1)[0]
	s.write("sshd.conf", fmt.Sprintf("ListenAddress 127.0.0.1\nPort %d\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\n"+
		"UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n", port, in("host"), in("user.pub")), 0o600)
	host, _ := os.ReadFile(in("host.pub"))
	s.write("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, host), 0o600)
	if os.Getuid() == 0 { // where it keeps its privileges apart
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Skip(err)
		}
	}
	log, err := os.Create(in("sshd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	daemon := s.command(sshd, "-D", "-e", "-f", in("sshd.conf"))
	daemon.Stdout, daemon.Stderr = log, log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = daemon.Wait() }()
	eventually(t, "sshd listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	ssh := fmt.Sprintf("ssh -F none -T -o BatchMode=yes -o IdentitiesOnly=yes -o UserKnownHostsFile=%s -p %d -i %s 127.0.0.1", in("known"), port, in("user"))
	if out, err := s.command(append(strings.Fields(ssh), "true")...).CombinedOutput(); err != nil {
		t.Skipf("this user cannot log in by ssh: %v\n%s", err, out)
	}
	return s, ssh + " " + in("worker")
}

// A connection is lost in the middle: its worker ends, and another does its work.
func TestSSH(t *testing.T) {
	t.Parallel()
	s, launch := newSSH(t)
	dir := s.project("bench", fmt.Sprintf("  far: {launch: %s, workers: 2}\n", launch), 1, 8, 1)
	r := s.start(dir, "bench", "--pool", "far", "--json", "--budget", "5s", "--min-samples", "600", "--max-samples", "600")
	eventually(t, "two workers measure", func() bool { return s.measuring() == 2 })
	for pid, line := range started(s.dir) {
		if strings.HasPrefix(line, "ssh ") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			break
		}
	}
	report := r.report()
	mustMeasure(t, report, 8)
	if n := len(s.lines("workers")); n != 3 || !warned(report, "1 worker of the pool was lost") {
		t.Errorf("%d workers were started; %+v", n, report.Warnings)
	}
	eventually(t, "no pawl is left", func() bool { return len(pawls(s.dir)) == 0 })
}

// A run that is killed takes its workers with it, on the other side of a connection, too.
func TestSSHOfAKilledRun(t *testing.T) {
	t.Parallel()
	s, launch := newSSH(t)
	dir := s.project("bench", fmt.Sprintf("  far: {launch: %s, workers: 2}\n", launch), 1, 8, 1)
	r := s.start(dir, "bench", "--pool", "far", "--json", "--budget", "5s", "--min-samples", "600")
	eventually(t, "two workers measure", func() bool { return s.measuring() == 2 })
	_ = r.Process.Kill()
	<-r.done
	eventually(t, "no pawl is left", func() bool { return len(pawls(s.dir)) == 0 })
}
