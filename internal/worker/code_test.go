package worker

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A cell whose program has changed since its hello is ended at the next check.
func TestCodeThatWasChanged(t *testing.T) {
	for what, says := range map[string]string{
		"patched":               "is not mapped as it was",
		"patched and left open": "is not mapped as it was",
		"honest":                "",
	} {
		t.Run(what, func(t *testing.T) {
			c := connect(t)
			cell := openLying(t, c, what)
			_, err := cell.Sample(t.Context(), wire.Sample{Count: 1, Repeat: 1})
			if err == nil {
				_, err = cell.Close(t.Context())
			}
			if says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if causeOf(err) != result.CauseForged || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
		})
	}
}

// A cell that is killed while the worker checks it has not changed its code.
func TestCodeOfAKilledCell(t *testing.T) {
	w := witness{proc: "/proc"}
	for range 200 {
		cmd := exec.Command("cat") // which answers once all its libraries are loaded
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		before, err := w.readCode(cmd.Process.Pid)
		if err != nil || len(before) == 0 {
			t.Fatal(before, err)
		}
		killed := time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		for {
			what, err := w.compareCode(cmd.Process.Pid, before)
			if what != "" || err != nil {
				t.Fatal(what, err)
			}
			if now, _ := w.readCode(cmd.Process.Pid); len(now) == 0 {
				break
			}
		}
		killed.Stop()
		_ = cmd.Wait()
	}
}

// A cell that prevents the check is ended too; one that has exited is not accused.
func TestCodeThatCannotBeRead(t *testing.T) {
	c, p := sleeping(t)
	file := fmt.Sprintf("%d/smaps", c.proc.Pid())
	p.write(file, someSmaps)
	var err error
	if c.code.first, err = c.witness.readCode(c.proc.Pid()); err != nil || len(c.code.first) != 3 {
		t.Fatal(c.code.first, err)
	}
	c.pause.stopped = true
	if err := c.examineCode(true); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(p.folder, file)); err != nil {
		t.Fatal(err)
	}
	if err := c.examineCode(true); err != nil {
		t.Errorf("of one that is gone: %v", err)
	}
	p.write(file+"/folder", "") // reading it is an error
	if err := c.examineCode(true); causeOf(err) != result.CauseForged {
		t.Error(err)
	}
}

const someSmaps = `00400000-00500000 r-xp 00000000 fe:00 77                     /usr/bin/pawl
Size:               1024 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
00500000-00600000 rw-p 00100000 fe:00 77                     /usr/bin/pawl
Anonymous:            64 kB
7f0000000000-7f0000001000 r--p 00000000 fe:00 78             /usr/lib/libc.so.6 (deleted)
Anonymous:             4 kB
7f0000001000-7f0000002000 r-xp 00000000 00:00 0
Anonymous:             4 kB
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0              [vdso]
Anonymous:             0 kB
`

func TestParseCode(t *testing.T) {
	before := parseCode([]byte(someSmaps))
	if len(before) != 3 || before[region{"7f0000000000-7f0000001000", "r--p", "78"}] != 4 {
		t.Errorf("%v", before)
	}
	for change, says := range map[[2]string]string{
		{"x", "x"}: "",
		{"Anonymous:             0 kB\nVmFlags", "Anonymous:             4 kB\nVmFlags"}:   "4 KiB at 00400000-00500000",
		{"Anonymous:             4 kB\n7f0000001000", "Anonymous:     0 kB\n7f0000001000"}: "",
		{"00400000-00500000 r-xp", "00400000-00500000 rwxp"}:                               "00400000-00500000 is not mapped",
		{"00400000-00500000 r-xp", "00400000-00480000 r-xp"}:                               "00400000-00500000 is not mapped",
		{"[vdso]\nAnonymous:             0", "[vdso]\nAnonymous:             8"}:           "8 KiB at 7ffd00000000",
		{" (deleted)", ""}: "",
	} {
		if got := before.changed(parseCode([]byte(strings.Replace(someSmaps, change[0], change[1], 1)))); !strings.Contains(got, says) || (got == "") != (says == "") {
			t.Errorf("%q: %q, want %q", change, got, says)
		}
	}
}

func FuzzParseCode(f *testing.F) {
	f.Add([]byte(someSmaps))
	f.Add([]byte("0-1 r-xp 0 0 1 x\nAnonymous: -3 kB\n-\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		now := parseCode(raw)
		if what := now.changed(now); what != "" {
			t.Error(what)
		}
	})
}
