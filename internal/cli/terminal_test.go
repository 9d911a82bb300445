package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/calibrate"
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
	if !strings.Contains(piped.String(), "  before → after ") || !strings.HasSuffix(piped.String(), "\n\n1 regression, measured at different times\n") {
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
	if !strings.Contains(text, "before → after") || !strings.Contains(text, "95% interval") || !strings.HasSuffix(text, "\n\n1 regression, measured at different times\n") {
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

// Messages are wrapped at words where stderr is a terminal, and whole lines elsewhere; paths and
// quantities stay whole.
func TestMessagesFitTheTerminal(t *testing.T) {
	const path = "/a/very/long/path/of/a/folder/that/somebody/has/and/wants/to/copy/whole/into/a/shell"
	say := func(e *env) {
		e.warn("%s has a baseline, and this is a sentence that is much longer than any line of such a terminal", path)
		e.hint("the median went from where it was, 55.8 → 359 µs, and nobody knows at all why it did that")
	}
	var piped strings.Builder
	say(&env{stderr: &piped})
	if strings.Count(piped.String(), "\n") != 2 {
		t.Errorf("a pipe has\n%s", piped.String())
	}
	master, terminal := openTerminal(t, 50)
	shown := make(chan string)
	go func() {
		raw, _ := io.ReadAll(master)
		shown <- strings.ReplaceAll(string(raw), "\r\n", "\n")
	}()
	say(&env{stderr: terminal})
	terminal.Close()
	text := <-shown
	for line := range strings.Lines(text) {
		if n := term.DisplayWidth(strings.TrimRight(line, "\n")); n > 50 && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, path) || !strings.Contains(text, "55.8 → 359 µs") || !strings.Contains(text, "\n  ") || strings.Join(strings.Fields(text), " ") != strings.Join(strings.Fields(piped.String()), " ") {
		t.Errorf("a terminal has\n%s", text)
	}
}

// The path of the peaks is on one line, where a terminal does not break it.
func TestPathOfPeaksStaysWhole(t *testing.T) {
	path := "/" + strings.Repeat("folder/", 9) + "peaks.json"
	master, terminal := openTerminal(t, 80)
	shown := make(chan string)
	go func() {
		raw, _ := io.ReadAll(master)
		shown <- strings.ReplaceAll(string(raw), "\r\n", "\n")
	}()
	if err := showPeaks(&env{stdout: terminal, stderr: terminal}, &calibrateOptions{}, &calibrate.Peaks{}, nil, path); err != nil {
		t.Error(err)
	}
	terminal.Close()
	if text := <-shown; !strings.Contains(text, "  peaks:\n    "+path+"\n") {
		t.Errorf("a terminal has\n%s", text)
	}
}
