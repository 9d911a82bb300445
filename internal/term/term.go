// Package term writes for people: colour where it is wanted, aligned tables,
// a progress line that leaves nothing behind, and commands to copy into a shell.
package term

import (
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth is what is assumed of a reader whose width is not known.
const defaultWidth = 80

func descriptor(w io.Writer) (fd int, ok bool) {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	return int(file.Fd()), true
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	fd, ok := descriptor(w)
	return ok && term.IsTerminal(fd)
}

// Width returns the number of columns of the terminal w, 80 where that is not known.
func Width(w io.Writer) int {
	if fd, ok := descriptor(w); ok {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
	}
	return defaultWidth
}

// ColorEnabled reports whether to write colours to w. The user's word comes
// first: NO_COLOR turns them off, CLICOLOR_FORCE and FORCE_COLOR on (off when
// 0). Otherwise they go to terminals that are not dumb.
func ColorEnabled(w io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("FORCE_COLOR") == "0" {
		return false
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	if os.Getenv("FORCE_COLOR") != "" {
		return true
	}
	return !dumb() && IsTerminal(w)
}

func dumb() bool { return os.Getenv("TERM") == "dumb" }
