package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	quietAtFirst = 300 * time.Millisecond // so that quick work does not flicker
	redrawEvery  = 100 * time.Millisecond
	lineEvery    = 5 * time.Second
)

const barWidth = 12 // leaves room for a median beside it in 80 columns

const clearLine = "\r\x1b[K"

type progressMode int

const (
	live progressMode = iota
	lines
)

// Progress shows what is going on. On a terminal that is one line, drawn over
// and over and gone at the end; it shows the seconds since the Progress was made. Elsewhere it is whole lines: one when a stage
// begins, at most one every five seconds while it lasts, and its last words when
// it ends. All methods may be called from any goroutine; Done must be called.
type Progress struct {
	mode  progressMode
	w     io.Writer
	width func() int

	mu    sync.Mutex
	text  string      // latest, plain
	bar   string      // live: before the text
	name  string      // live: the part of the text that gives way where the line is too long
	shown string      // live: on the terminal now; lines: printed last
	last  time.Time   // of the latest draw or line
	start time.Time   // live: from which the time is counted
	begin time.Time   // before which live draws nothing
	timer *time.Timer // live: the redraw that is due, nil when none is
	tick  *time.Timer // live: draws the next second, nil before the first draw
	done  bool
}

// NewProgress makes a Progress that writes to w.
func NewProgress(w io.Writer) *Progress {
	mode := lines
	if IsTerminal(w) && !dumb() {
		mode = live
	}
	return newProgress(w, mode, func() int { return Width(w) })
}

func newProgress(w io.Writer, mode progressMode, width func() int) *Progress {
	now := time.Now()
	return &Progress{mode: mode, w: w, width: width, start: now, begin: now.Add(quietAtFirst)}
}

// Stage says that something new begins.
func (p *Progress) Stage(text string) { p.update(text, true) }

// Set says how far the stage has come. The first Set begins a stage when none
// has.
func (p *Progress) Set(text string) { p.update(text, false) }

func (p *Progress) update(text string, begins bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	if begins && p.mode == lines {
		p.printText()
		p.shown = "" // a stage that has the name of the one before is said too
	}
	p.text = Plain(text)
	switch {
	case p.mode == live:
		p.schedule()
	case begins || p.last.IsZero() || time.Since(p.last) >= lineEvery:
		p.printText()
	}
}

// Part says how much of the stage is done: on a terminal a bar shows it from the next
// Stage or Set on.
func (p *Progress) Part(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar = ""; total > 1 {
		full := barWidth * min(max(done, 0), total) / total
		p.bar = strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + " "
	}
}

// Name says which part of the text is a name: where a line of the terminal is too short for the text, the
// name loses its middle, so that what follows it stays.
func (p *Progress) Name(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = Plain(name)
}

// Line writes a line that stays, above the progress line where there is one.
// The text may be styled.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	if p.mode == live {
		text = Wrap(text, p.width())
	}
	text = strings.TrimRight(text, "\n") + "\n"
	if p.shown == "" || p.mode == lines {
		p.write(text)
		return
	}
	p.write(clearLine + text + p.shown)
}

// Done ends the progress: the live line is cleared, and in plain lines the last
// words of the stage are said. What is set later is not shown.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return
	}
	p.done = true
	for _, timer := range []*time.Timer{p.timer, p.tick} {
		if timer != nil {
			timer.Stop()
		}
	}
	switch p.mode {
	case live:
		if p.shown != "" {
			p.write(clearLine)
		}
	case lines:
		p.printText()
	}
}

// schedule draws now, or when the next redraw is allowed.
func (p *Progress) schedule() {
	if p.timer != nil {
		return
	}
	due := p.last.Add(redrawEvery)
	if due.Before(p.begin) {
		due = p.begin
	}
	wait := time.Until(due)
	if wait <= 0 {
		p.draw()
		return
	}
	p.timer = time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		if !p.done {
			p.draw()
		}
	})
}

func (p *Progress) draw() {
	// The last column stays free: a cursor behind it is on the next line on some
	// terminals.
	text := truncate(p.bar+p.elapsed()+p.shortened(p.width()-1-DisplayWidth(p.bar+p.elapsed())), p.width()-1)
	p.last = time.Now()
	p.await()
	if text == p.shown {
		return
	}
	p.shown = text
	p.write(clearLine + text)
}

// shortened returns the text, in this many columns if its name can give way so far.
func (p *Progress) shortened(width int) string {
	const least = 9 // columns of a name that can still be told from others
	excess := DisplayWidth(p.text) - width
	if excess <= 0 || p.name == "" {
		return p.text
	}
	return strings.Replace(p.text, p.name, withoutMiddle(p.name, max(least, DisplayWidth(p.name)-excess)), 1)
}

// await draws again when the next second is over, though nothing is set meanwhile: a line that stands
// still looks like a program that hangs.
func (p *Progress) await() {
	if p.tick != nil {
		return
	}
	p.tick = time.AfterFunc(time.Second-time.Since(p.start)%time.Second, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tick = nil
		if !p.done {
			p.schedule()
		}
	})
}

// elapsed returns how long the work takes already; "" in the first second.
func (p *Progress) elapsed() string {
	seconds := int(time.Since(p.start).Seconds())
	if seconds < 1 {
		return ""
	}
	return fmt.Sprintf("%d:%02d  ", seconds/60, seconds%60)
}

// printText prints the latest text as a line, unless it is there already.
func (p *Progress) printText() {
	if p.text == "" || p.text == p.shown {
		return
	}
	p.shown = p.text
	p.last = time.Now()
	p.write(p.text + "\n")
}

// write does not fail: what cannot be shown is no reason to end a run.
func (p *Progress) write(text string) { _, _ = io.WriteString(p.w, text) }
