package cli

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"pawl/internal/term"
	"pawl/internal/unit"
)

// later shows how far work is that is usually done before anybody wonders: from the third second on.
type later struct {
	*term.Progress

	from time.Time
}

const laterAfter = 2 * time.Second

func newLater(e *env) *later {
	return &later{term.NewProgress(e.stderr), time.Now().Add(laterAfter)}
}

func (l *later) set(format string, args ...any) {
	if time.Now().After(l.from) {
		l.Set(fmt.Sprintf(format, args...))
	}
}

// counted returns a writer that shows how many lines of something are written.
func (l *later) counted(w io.Writer, doing, one, many string) io.Writer {
	return &lineCounter{Writer: w, wrote: func(n int) { l.set("%s: %s", doing, unit.Plural(n, one, many)) }}
}

type lineCounter struct {
	io.Writer
	lines int
	wrote func(lines int)
}

func (c *lineCounter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.lines += bytes.Count(data[:n], []byte("\n"))
	c.wrote(c.lines)
	return n, err
}
