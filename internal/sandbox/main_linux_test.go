//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test binary plays all parts: the worker (the tests), stage 1, and, when
// its first argument is "helper", the program in the sandbox.
func TestMain(m *testing.M) {
	if EnterIfAsked(os.Args) {
		return
	}
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		helper(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	code := m.Run()
	os.RemoveAll(programsDir)
	os.Exit(code)
}

func helper(name string, args []string) {
	switch name {
	case "descriptors":
		dir, err := os.Open("/proc/self/fd")
		if err != nil {
			fmt.Println(err)
			return
		}
		names, _ := dir.Readdirnames(-1)
		for _, n := range names {
			target, _ := os.Readlink("/proc/self/fd/" + n)
			// What this program opened itself: the listing, the runtime's poller
			// and its eye on the processor quota.
			if strings.HasPrefix(target, "anon_inode:[event") || strings.HasSuffix(target, "/fd") ||
				strings.HasPrefix(target, "/sys/fs/cgroup/") {
				continue
			}
			fmt.Println(n, target)
		}
		for fd := 3; fd <= 4; fd++ {
			b, _ := io.ReadAll(os.NewFile(uintptr(fd), "extra"))
			fmt.Printf("read %d %s\n", fd, b)
		}
	case "status":
		b, err := os.ReadFile("/proc/self/status")
		fmt.Printf("%s%v\n", b, err)
	case "busy": // garbage, goroutines and preemption
		deadline := time.Now().Add(time.Second)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				var keep [][]byte
				for i := 0; time.Now().Before(deadline); i++ {
					keep = append(keep, make([]byte, 1<<16))
					if len(keep) == 64 {
						keep = nil
					}
					for j, n := 0, 0; j < 1e5; j++ {
						n += j
					}
				}
			})
		}
		wg.Go(func() {
			for time.Now().Before(deadline) {
				runtime.GC()
				runtime.Gosched()
			}
		})
		wg.Wait()
		fmt.Println("ok")
	case "panic":
		var p *int
		*p = 1
	case "connect":
		connectTo(args[0])
	case "network":
		talk(args)
	case "dial":
		dialed(args[0])
	case "start-network":
		startNetwork()
	case "capabilities":
		b, err := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "Cap") {
				fmt.Print(strings.ReplaceAll(line, "\t", ""))
			}
		}
		fmt.Print(err, "\n")
	case "wait": // until the other end closes
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "worker": // starts a program that never ends and says which
		p, err := Start(Command{Path: args[0], Args: args, Policy: Policy{Read: System()}, Mode: Require})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p.Pid())
		_, _ = p.Wait()
	case "builder": // starts a program whose child never ends and says which
		mode, err := ParseMode(args[0])
		if err == nil {
			_, err = Start(Command{
				Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 & sleep 0.3; echo $!; wait"},
				Stdout: os.Stdout, Policy: Policy{Read: System(), Processes: true, Unnamed: true}, Mode: mode,
			})
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		select {}
	case "nobody": // a worker without privileges
		secret, input, scratch := args[1], args[2], args[3]
		for _, try := range [][]string{{"read", secret}, {"read", input}, {"write", scratch + "/x"}, {"socket", "2", "2"}, {"fork"}} {
			var out bytes.Buffer
			c := Command{
				Path: args[0], Args: append([]string{"tries"}, try...), Mode: Require,
				Policy: Policy{Read: append(System(), input), Write: []string{scratch}},
			}
			p, err := runTo(&out, c)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(try[0], strings.TrimSpace(out.String()), p.Attempts())
		}
	}
}

// runTo runs a command to its end with its output going to w.
func runTo(w io.Writer, c Command) (*Process, error) {
	r, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c.Stdout, c.Stderr = out, out
	p, err := Start(c)
	out.Close()
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, r); err != nil {
		return nil, err
	}
	_, err = p.Wait()
	return p, err
}

// self returns a command that runs a helper of this test binary.
func self(t testing.TB, args ...string) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{
		Path: exe, Args: append([]string{exe, "helper"}, args...),
		Env:    []string{"GORACE=atexit_sleep_ms=0"}, // the race detector would sleep a second
		Policy: Policy{Read: System()}, Mode: Require,
	}
}

func run(t testing.TB, c Command) (string, *Process) {
	t.Helper()
	if c.Mode == Require {
		needsAll(t)
	}
	var out bytes.Buffer
	p, err := runTo(&out, c)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), p
}

// needsAll skips a test where this kernel lacks a part of the sandbox.
func needsAll(t testing.TB) {
	t.Helper()
	if missing := Probe().Missing; len(missing) > 0 {
		t.Skipf("this kernel cannot give the whole sandbox: %s", strings.Join(missing, ", "))
	}
}

// programs builds the C programs of testdata, once for all tests, and returns
// the folder they are in. TestMain removes it.
func programs(t testing.TB) string {
	t.Helper()
	needsAll(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	dir, err := buildPrograms()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var buildPrograms = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pawl-sandbox-test")
	if err != nil {
		return "", err
	}
	programsDir = dir
	for _, args := range [][]string{
		{"-std=gnu11", "-O1", "-o", filepath.Join(dir, "tries"), "testdata/tries.c", "-ldl", "-lpthread"},
		{"-std=gnu11", "-O1", "-o", filepath.Join(dir, "cuda"), "testdata/cuda.c", "-ldl"},
		{"-O1", "-shared", "-fPIC", "-o", filepath.Join(dir, "answer.so"), "testdata/answer.c"},
	} {
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("cc: %w\n%s", err, out)
		}
	}
	return dir, os.Chmod(dir, 0o755) // for the test that is nobody
})

var programsDir string

// attempts returns the descriptions alone.
func attempts(p *Process) []string {
	var out []string
	for _, a := range p.Attempts() {
		out = append(out, a.What)
	}
	return out
}

// ended waits until a process that is not a child is gone, or a zombie that
// nobody has asked about yet.
func ended(pid int) bool {
	for range 6000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return true
		}
		if strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " Z") {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	return strings.TrimSpace(line), err
}

func errorName(out string) string {
	n, err := strconv.Atoi(out)
	if err != nil {
		return out
	}
	return unix.ErrnoName(unix.Errno(n))
}

// addressOf returns where a thread's memory is to be read.
func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
