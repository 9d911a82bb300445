//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// connectTo is the program in the sandbox: it listens under a name of its own and
// connects to that, or to another.
func connectTo(name string) {
	if name == "" {
		name = fmt.Sprintf("@nv_target_process_%d", os.Getpid())
		listener, err := net.Listen("unix", name)
		if err != nil {
			fmt.Println(err)
			return
		}
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(conn, "hello")
				conn.Close()
			}
		}()
	}
	conn, err := net.Dial("unix", name)
	if err != nil {
		fmt.Println(err)
		return
	}
	said := make([]byte, 5)
	n, err := conn.Read(said)
	fmt.Println(string(said[:n]), err)
}

func TestPeers(t *testing.T) {
	outside := fmt.Sprintf("@nv_target_process_%d", os.Getpid())
	for _, name := range []string{outside, "@nv_target_process_pawl", t.TempDir() + "/socket"} {
		listener, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(conn, "fooled")
				conn.Close()
			}
		}()
		c := self(t, "connect", name)
		c.Policy.LocalSockets, c.Policy.Processes, c.Policy.Peers = true, true, true
		if out, p := run(t, c); !strings.Contains(out, "operation not permitted") || len(p.Attempts()) == 0 {
			t.Errorf("to %s, outside: %s, %v", name, out, p.Attempts())
		}
	}
	for _, peers := range []bool{true, false} {
		c := self(t, "connect", "")
		c.Policy.LocalSockets, c.Policy.Processes, c.Policy.Peers = true, true, peers
		out, p := run(t, c)
		if ok := out == "hello <nil>"; ok != peers || peers != (len(p.Attempts()) == 0) {
			t.Errorf("to itself, peers %v: %s, %v", peers, out, p.Attempts())
		}
	}
}
