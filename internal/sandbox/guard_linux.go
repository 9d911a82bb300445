//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The kernel ends a program whose parent has ended, but not that program's children: cc's compiler
// proper would go on. So the first program that may have children comes with a guard, a process
// that is told which groups run, and ends the remaining ones when its pipe closes.

const guardName = "guard"

func init() { Register(guardName, func() { watchOver(os.NewFile(0, "groups")) }) }

// watchOver reads "+group" and "-group" lines, and ends the remaining groups at their end.
func watchOver(in *os.File) {
	running := map[int]bool{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := lines.Text()
		if group, err := strconv.Atoi(strings.TrimLeft(line, "+-")); err == nil && group > 1 {
			if line[0] == '+' {
				running[group] = true
			} else {
				delete(running, group)
			}
		}
	}
	for group := range running {
		_ = unix.Kill(-group, unix.SIGKILL) // fails when nobody is left
	}
}

// guard starts the guard; nil if that fails: then children may outlive a killed parent.
var guard = sync.OnceValue(func() *os.File {
	in, out, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer in.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		out.Close()
		return nil
	}
	defer null.Close()
	c := Command{}
	c.Self(guardName)
	// A session of its own: what ends this process's group must not end the guard.
	proc, err := os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{in, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		out.Close()
		return nil
	}
	go func() { _, _ = proc.Wait() }() // it ends after this process, or was killed
	return out
})

// guarding tells the guard that a group runs, or no longer does.
func guarding(mark string, group int) {
	if out := guard(); out != nil {
		_, _ = fmt.Fprintf(out, "%s%d\n", mark, group) // fails when the guard was killed
	}
}
