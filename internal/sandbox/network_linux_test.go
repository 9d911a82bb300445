//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// talk is the program in the sandbox: it listens, has a child of its own connect, and then tries to
// reach the addresses that it is given.
func talk(outside []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println("listen:", err)
		return
	}
	child := exec.Command("/proc/self/exe", "helper", "dial", listener.Addr().String())
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		fmt.Println("start:", err)
		return
	}
	conn, err := listener.Accept()
	if err != nil {
		fmt.Println("accept:", err)
		return
	}
	said := make([]byte, 64)
	n, err := conn.Read(said)
	fmt.Println("heard:", string(said[:n]), err)
	_, _ = conn.Write([]byte("and hello"))
	_ = conn.Close()
	fmt.Println("child:", child.Wait())
	connectTo("") // under the name of a process
	if local, err := net.Listen("unix", "@any name"); err == nil {
		go func() { _, _ = local.Accept() }()
		fmt.Println("inside:", attempt("unix", "@any name"))
	}
	for _, address := range outside {
		network, place, _ := strings.Cut(address, " ")
		fmt.Println("outside:", address, attempt(network, place))
	}
}

func attempt(network, address string) string {
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return "no: " + err.Error()
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		return "no: " + err.Error()
	}
	return "reached"
}

func dialed(address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Println("dial:", err)
		return
	}
	_, _ = conn.Write([]byte("hello"))
	said := make([]byte, 64)
	n, err := conn.Read(said)
	fmt.Println("answer:", string(said[:n]), err)
}

// loopbackCommand is a program in a network of its own that tries to reach the given addresses.
func loopbackCommand(t *testing.T, outside ...string) Command {
	t.Helper()
	c := self(t, append([]string{"network"}, outside...)...)
	c.Policy.Processes, c.Policy.Loopback, c.Policy.LocalSockets = true, true, true
	return c
}

// Asking which addresses a network has is refused, and an attempt only where there is none to ask of.
func TestNetlink(t *testing.T) {
	needsNetwork(t)
	dir := programs(t)
	for _, own := range []bool{false, true} {
		c := Command{Path: filepath.Join(dir, "tries"), Args: []string{"tries", "socket", "16", "3"}, Policy: Policy{Read: System(), Processes: true, LocalSockets: true, Loopback: own}, Mode: Require}
		out, p := run(t, c)
		if got := errorName(out); got != "EACCES" {
			t.Errorf("own network %v: %s", own, got)
		}
		if named := len(p.Attempts()) > 0; named == own {
			t.Errorf("own network %v: attempts %q", own, attempts(p))
		}
	}
}

// Two processes of a sandbox reach each other over 127.0.0.1, and nothing else: not this machine's
// own 127.0.0.1, not its other addresses, no other machine, and no socket with a name.
func TestLoopback(t *testing.T) {
	needsNetwork(t)
	var outside []string
	listen := func(network, address string) {
		listener, err := net.Listen(network, address)
		if err != nil {
			t.Logf("%s: %v", address, err)
			return
		}
		t.Cleanup(func() { _ = listener.Close() })
		outside = append(outside, network+" "+listener.Addr().String())
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				t.Errorf("%s was reached", listener.Addr())
				_ = conn.Close()
			}
		}()
	}
	listen("tcp", "127.0.0.1:0")
	listen("tcp", "[::1]:0")
	listen("unix", t.TempDir()+"/socket")
	listen("unix", fmt.Sprintf("@nv_target_process_%d", os.Getpid()))
	addresses, _ := net.InterfaceAddrs()
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && !ip.IP.IsLoopback() && ip.IP.To4() != nil {
			listen("tcp", net.JoinHostPort(ip.IP.String(), "0"))
		}
	}
	outside = append(outside, "tcp 192.0.2.1:80", "udp 127.0.0.1:53", "udp 192.0.2.1:53")
	for _, mode := range []Mode{Auto, Require} {
		c := loopbackCommand(t, outside...)
		c.Mode, c.Policy.Peers = mode, true
		out, p := run(t, c)
		for _, want := range []string{"heard: hello <nil>", "answer: and hello <nil>", "child: <nil>", "\nhello <nil>\n", "inside: reached"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in\n%s", mode, want, out)
			}
		}
		if refused := strings.Count(out, " no: "); refused != len(outside) || strings.Count(out, "reached") != 1 {
			t.Errorf("%v: %d of %d addresses are out of reach:\n%s", mode, refused, len(outside), out)
		}
		if p.Level().Landlock == 0 || p.Level().Seccomp != SeccompNotify {
			t.Errorf("%v: %v", mode, p.Level())
		}
	}
}

// Without the policy there is no such network.
func TestNoLoopback(t *testing.T) {
	needsAll(t)
	c := loopbackCommand(t)
	c.Policy.Loopback = false
	if out, p := run(t, c); !strings.Contains(out, "listen: ") || len(p.Attempts()) == 0 {
		t.Errorf("%s, %v", out, p.Attempts())
	}
}

// A kernel that cannot judge connections one by one gives no such network.
func TestLoopbackNeedsAListener(t *testing.T) {
	needsNetwork(t)
	for _, pretend := range []older{{NoNotify: true}, {NoSeccomp: true}} {
		c := loopbackCommand(t)
		c.pretend, c.Mode = pretend, Auto
		if p, err := Start(c); err == nil {
			_ = p.Kill()
			_, _ = p.Wait()
			t.Errorf("%+v: it started", pretend)
		}
	}
}

// Who may not make namespaces is told so.
func TestLoopbackWithoutTheRight(t *testing.T) {
	needsNetwork(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can give the right up for a child")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Root without CAP_SYS_ADMIN, as in a container.
	out, err := exec.Command("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", exe, "helper", "start-network").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil || !strings.Contains(string(out), ErrNoNetwork.Error()) || !strings.Contains(string(out), "operation not permitted") {
		t.Errorf("%s, %v", out, err)
	}
}

func startNetwork() {
	exe, _ := os.Executable()
	p, err := Start(Command{Path: exe, Args: []string{exe, "helper", "network"}, Stdout: os.Stdout, Policy: Policy{
		Read: append(System(), exe), Processes: true, Loopback: true, LocalSockets: true,
	}})
	if err != nil {
		fmt.Println(errors.Is(err, ErrNoNetwork), err)
		return
	}
	_, _ = p.Wait()
}

// Whoever is not root makes a user namespace for it, where the system lets him.
func TestLoopbackOfAnybody(t *testing.T) {
	needsNetwork(t)
	if os.Geteuid() != 0 {
		t.Skip("the other tests are by somebody who is not root")
	}
	const nobody = 65534
	root := t.TempDir()
	exe := filepath.Join(root, "helper")
	image, err := os.ReadFile("/proc/self/exe")
	for _, err := range []error{err, os.WriteFile(exe, image, 0o755), os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(exe, "helper", "start-network")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	switch {
	case strings.Contains(string(out), "true start sandboxed"):
		t.Skipf("%s", out)
	case err != nil || !strings.Contains(string(out), "answer: and hello <nil>"):
		t.Errorf("%s, %v", out, err)
	}
}

// A program that reads counters keeps the one capability that they take, and no other.
func TestCounters(t *testing.T) {
	needsAll(t)
	if os.Geteuid() != 0 {
		t.Skip("nobody but root has it to give")
	}
	for _, counters := range []bool{true, false} {
		c := self(t, "capabilities")
		c.Policy.Counters = counters
		out, _ := run(t, c)
		want := fmt.Sprintf("%016x", 0)
		if counters {
			want = fmt.Sprintf("%016x", uint64(1)<<unix.CAP_PERFMON)
		}
		for _, set := range []string{"CapPrm:", "CapEff:", "CapBnd:"} {
			if !strings.Contains(out, set+want) {
				t.Errorf("counters %v: no %s%s in\n%s", counters, set, want, out)
			}
		}
	}
}

func TestLoopbackNeedsProcesses(t *testing.T) {
	c := self(t, "wait")
	c.Policy.Loopback = true
	if _, err := Start(c); err == nil {
		t.Error("a network for a single process")
	}
}

// needsNetwork skips where no namespace can be made.
func needsNetwork(t *testing.T) {
	t.Helper()
	needsAll(t)
	c := loopbackCommand(t)
	p, err := Start(c)
	if errors.Is(err, ErrNoNetwork) {
		t.Skip(err)
	}
	if err == nil {
		_ = p.Kill()
		_, err = p.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
}
