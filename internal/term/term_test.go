package term

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal opens a pair: what is written to the terminal can be read from
// the master.
func pseudoTerminal(t *testing.T, columns uint16) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("needs pseudo-terminals: unlock: %v", err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("needs pseudo-terminals: number: %v", err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return master, terminal
}

func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{"NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR"} {
		t.Setenv(name, "")
	}
	t.Setenv("TERM", "xterm")
}

func TestTerminal(t *testing.T) {
	clearEnvironment(t)
	_, terminal := pseudoTerminal(t, 132)
	if !IsTerminal(terminal) {
		t.Error("a terminal is not one")
	}
	if got := Width(terminal); got != 132 {
		t.Errorf("width is %d, want 132", got)
	}
	if !ColorEnabled(terminal) {
		t.Error("no colour on a terminal")
	}
	t.Setenv("TERM", "dumb")
	if ColorEnabled(terminal) {
		t.Error("colour on a dumb terminal")
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	if ColorEnabled(terminal) {
		t.Error("colour in spite of NO_COLOR")
	}
}

func TestNotATerminal(t *testing.T) {
	clearEnvironment(t)
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if IsTerminal(file) || IsTerminal(&bytes.Buffer{}) {
		t.Error("a file or a buffer is a terminal")
	}
	if Width(file) != 80 || Width(&bytes.Buffer{}) != 80 {
		t.Error("the width of what has none is not 80")
	}
	for _, test := range []struct {
		variable, value string
		want            bool
	}{
		{"TERM", "xterm", false},
		{"CLICOLOR_FORCE", "1", true},
		{"CLICOLOR_FORCE", "0", false},
		{"FORCE_COLOR", "1", true},
		{"FORCE_COLOR", "0", false},
	} {
		t.Run(test.variable+"="+test.value, func(t *testing.T) {
			t.Setenv(test.variable, test.value)
			if got := ColorEnabled(file); got != test.want {
				t.Errorf("colour: %v, want %v", got, test.want)
			}
			t.Setenv("NO_COLOR", "1")
			if ColorEnabled(file) {
				t.Error("colour in spite of NO_COLOR")
			}
		})
	}
}

func TestStyle(t *testing.T) {
	on := Style{Color: true}
	for _, test := range []struct{ got, want string }{
		{on.Bold("x"), "\x1b[1mx\x1b[0m"},
		{on.Dim("x"), "\x1b[2mx\x1b[0m"},
		{on.Red("x"), "\x1b[31mx\x1b[0m"},
		{on.Green("x"), "\x1b[32mx\x1b[0m"},
		{on.Yellow("x"), "\x1b[33mx\x1b[0m"},
		{on.Red(""), ""},
		{Style{}.Red("x"), "x"},
		{Style{}.Bold("x"), "x"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}

func TestDisplayWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "µ→−δ·…": 6, "52.1 → 54.8 µs": 14, "e\u0301": 1, "日本": 4, "a\u200bb": 2, "🚀": 2, "한": 2,
	} {
		if got := DisplayWidth(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abc def", 5, "abc…"},
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"abcdef", -3, ""},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"µ→−δ", 3, "µ→…"},
	} {
		got := truncate(test.text, test.width)
		if got != test.want {
			t.Errorf("%q to %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
