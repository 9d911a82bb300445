package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/term"
)

// On a terminal a report fits its width, and its last line says what it came to: stderr does not say
// it again. A pipe has whole rows, and the last line on stderr.
func TestTerminalAndPipe(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	master, terminal := openTerminal(t, 80)
	old, slow := filepath.Join(t.TempDir(), "old.csv"), filepath.Join(t.TempDir(), "new.csv")
	for file, scale := range map[string]float64{old: 1, slow: 1.2} {
		text := "name,time_ms\n"
		for i := range 30 {
			text += fmt.Sprintf("attention/training,%g\n", scale*(1+0.001*float64(i%7)))
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var piped, said, repeated strings.Builder
	if code := Run(t.Context(), nil, &piped, &repeated, []string{"compare", old, slow}); code != exitFailed || repeated.String() != "pawl: 1 regression\n" {
		t.Errorf("exit code %d, %q", code, repeated.String())
	}
	if !strings.Contains(piped.String(), "  before ") || !strings.HasSuffix(piped.String(), "\n\n1 regression\n") {
		t.Errorf("a pipe has\n%s", piped.String())
	}
	shown := make(chan string)
	go func() {
		raw, _ := io.ReadAll(master) // fails when the terminal is closed
		shown <- strings.ReplaceAll(string(raw), "\r\n", "\n")
	}()
	if code := Run(t.Context(), nil, terminal, &said, []string{"compare", old, slow}); code != exitFailed || said.Len() > 0 {
		t.Errorf("exit code %d, %q", code, said.String())
	}
	terminal.Close()
	text := <-shown
	for line := range strings.Lines(text) {
		if n := term.DisplayWidth(strings.TrimRight(line, "\n")); n > 80 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(text, "  before") || !strings.Contains(text, "95% interval") || !strings.HasSuffix(text, "\n\n1 regression\n") {
		t.Errorf("a terminal has\n%s", text)
	}
}

func openTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	return master, terminal
}
