package term

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// journal is what was written, each write with the time it came at.
type journal struct {
	start  time.Time
	writes []string
	times  []time.Duration
}

func newJournal() *journal { return &journal{start: time.Now()} }

func (j *journal) Write(data []byte) (int, error) {
	j.writes = append(j.writes, string(data))
	j.times = append(j.times, time.Since(j.start))
	return len(data), nil
}

func columns(n int) func() int { return func() int { return n } }

func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, lines, columns(20))
		p.Stage("building")
		for i := range 12 {
			time.Sleep(time.Second)
			p.Part(i, 12) // a bar is for terminals
			p.Set(fmt.Sprintf("building %d of 12, a text that is wider than twenty columns", i+1))
		}
		p.Line("warning: something")
		p.Stage("measuring\nall")
		p.Set("measuring 1 of 2")
		p.Set("measuring 2 of 2")
		p.Done()
		p.Set("too late")
		p.Line("too late")
		p.Stage("too late")
		p.Done()
		want := []string{
			"building\n",
			"building 5 of 12, a text that is wider than twenty columns\n",
			"building 10 of 12, a text that is wider than twenty columns\n",
			"warning: something\n",
			"building 12 of 12, a text that is wider than twenty columns\n",
			"measuring all\n",
			"measuring 2 of 2\n",
		}
		if diff := cmp.Diff(want, out.writes); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProgressRepeatsNothingButStages(t *testing.T) {
	out := newJournal()
	p := newProgress(out, lines, columns(80))
	p.Set("first") // begins a stage
	p.Stage("measuring")
	p.Set("measuring")
	p.Stage("measuring")
	p.Done()
	if diff := cmp.Diff([]string{"first\n", "measuring\n", "measuring\n"}, out.writes); diff != "" {
		t.Error(diff)
	}
}

func TestProgressLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, live, columns(12))
		p.Stage("start")
		time.Sleep(250 * time.Millisecond)
		p.Set("250 ms")
		p.Line("kept") // nothing drawn yet, so nothing to clear
		time.Sleep(100 * time.Millisecond)
		p.Set("350 ms, and long")
		time.Sleep(10 * time.Millisecond)
		p.Line("kept too\n")
		p.Set("360 ms")
		time.Sleep(time.Second)
		p.Set("360 ms") // as it stands: no redraw
		time.Sleep(time.Second)
		p.Done()
		p.Done()
		p.Set("too late")
		time.Sleep(time.Second)

		want := []string{
			"kept\n",
			clearLine + "250 ms",
			clearLine + "kept too\n" + "250 ms",
			clearLine + "360 ms",
			clearLine + "0:01  360…",
			clearLine + "0:02  360…",
			clearLine,
		}
		if diff := cmp.Diff(want, out.writes); diff != "" {
			t.Error(diff)
		}
		times := []time.Duration{250, 300, 360, 400, 1000, 2000, 2360}
		for i := range times {
			times[i] *= time.Millisecond
		}
		if diff := cmp.Diff(times, out.times); diff != "" {
			t.Error(diff)
		}
	})
}

func TestProgressLiveIsTruncatedAndPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, live, columns(12))
		time.Sleep(quietAtFirst)
		p.Set("a\x1b[2Jbc\ndefghijkl")
		p.Done()
		if diff := cmp.Diff([]string{clearLine + "a [2Jbc de…", clearLine}, out.writes); diff != "" {
			t.Error(diff)
		}
	})
}

// What follows a name stays on a short line: the name gives way, in its middle.
func TestProgressShortensNames(t *testing.T) {
	const name = "blocked_saxpy_with_a_long_name/small"
	for _, test := range []struct {
		columns int
		name    string
		want    string
	}{
		{80, name, "measuring 1/2  blocked_saxpy_with_a_long_name/small  20 samples"},
		{50, name, "measuring 1/2  blocked_sax…name/small  20 samples"},
		{10, name, "measurin…"},
		{40, "", "measuring 1/2  blocked_saxpy_with_a_lo…"},
		{46, "böse_Größen_ändern_sich_auch/größer", "measuring 1/2  böse_Größ…h/größer  20 samples"},
	} {
		synctest.Test(t, func(t *testing.T) {
			out := newJournal()
			p := newProgress(out, live, columns(test.columns))
			time.Sleep(quietAtFirst)
			p.Name(test.name)
			shown := test.name
			if shown == "" {
				shown = name
			}
			p.Set("measuring 1/2  " + shown + "  20 samples")
			p.Done()
			if diff := cmp.Diff([]string{clearLine + test.want, clearLine}, out.writes); diff != "" {
				t.Errorf("%d columns: %s", test.columns, diff)
			}
		})
	}
}

func TestProgressBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, live, columns(80))
		p.begin = time.Time{}
		for _, part := range [][2]int{{0, 4}, {1, 4}, {4, 4}, {9, 4}, {-1, 4}, {0, 1}, {0, 0}} {
			p.Part(part[0], part[1])
			p.Set(fmt.Sprintf("verifying %d/%d", part[0], part[1]))
			time.Sleep(redrawEvery)
		}
		p.Done()
		bar := func(full int) string { return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + " " }
		var want []string
		for _, text := range []string{
			bar(0) + "verifying 0/4", bar(barWidth/4) + "verifying 1/4", bar(barWidth) + "verifying 4/4", bar(barWidth) + "verifying 9/4", bar(0) + "verifying -1/4",
			"verifying 0/1", "verifying 0/0", "",
		} {
			want = append(want, clearLine+text)
		}
		if diff := cmp.Diff(want, out.writes); diff != "" {
			t.Error(diff)
		}
	})
}

// On a terminal the time moves while nothing else does. A pipe has no use for that.
func TestProgressShowsThatTimePasses(t *testing.T) {
	for _, test := range []struct {
		mode progressMode
		want []string
	}{
		{live, []string{clearLine + "measuring", clearLine + "0:01  measuring", clearLine + "0:02  measuring", clearLine}},
		{lines, []string{"measuring\n"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			out := newJournal()
			p := newProgress(out, test.mode, columns(80))
			p.Stage("measuring")
			time.Sleep(2500 * time.Millisecond)
			p.Done()
			time.Sleep(5 * time.Second)
			if diff := cmp.Diff(test.want, out.writes); diff != "" {
				t.Error(diff)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		minutes := &Progress{start: time.Now().Add(-83 * time.Second)}
		if got := minutes.elapsed(); got != "1:23  " {
			t.Errorf("83 seconds are %q", got)
		}
	})
}

func TestProgressDrawsAtMostTenTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, live, columns(80))
		for i := range 10_000 {
			p.Set(fmt.Sprintf("sample %d", i))
			time.Sleep(time.Millisecond)
		}
		p.Done()
		if n := len(out.writes); n < 90 || n > 100 {
			t.Errorf("%d writes in ten seconds", n)
		}
		for i := 1; i < len(out.times)-1; i++ {
			if gap := out.times[i] - out.times[i-1]; gap < redrawEvery {
				t.Errorf("redrawn after %v", gap)
			}
		}
	})
}

func TestProgressOfQuickWorkShowsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := newJournal()
		p := newProgress(out, live, columns(80))
		p.Stage("quick")
		time.Sleep(100 * time.Millisecond)
		p.Done()
		time.Sleep(time.Second)
		if len(out.writes) != 0 {
			t.Errorf("wrote %q", out.writes)
		}
	})
}

func TestProgressFromManyGoroutines(t *testing.T) {
	for _, mode := range []progressMode{live, lines} {
		out := newJournal() // not safe by itself: the race detector sees an unlocked write
		p := newProgress(out, mode, columns(80))
		p.begin = time.Time{}
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				for j := range 50 {
					p.Stage(fmt.Sprintf("stage %d %d", i, j))
					p.Set(fmt.Sprintf("set %d %d", i, j))
					p.Line(fmt.Sprintf("line %d %d", i, j))
				}
			})
		}
		group.Wait()
		p.Done()
		if n := strings.Count(strings.Join(out.writes, ""), "line "); n != 400 {
			t.Errorf("%d lines, want 400", n)
		}
	}
}

func TestProgressOnATerminal(t *testing.T) {
	clearEnvironment(t)
	master, terminal := pseudoTerminal(t, 10)
	p := NewProgress(terminal)
	p.start = time.Now().Add(time.Hour) // however slow this machine is
	p.Stage("measuring attention")
	readUntil(t, master, clearLine+"measurin…")
	p.Line("kept")
	readUntil(t, master, clearLine+"kept\r\nmeasurin…")
	p.Done()
	readUntil(t, master, clearLine)
}

func TestProgressOnADumbTerminal(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("TERM", "dumb")
	master, terminal := pseudoTerminal(t, 10)
	p := NewProgress(terminal)
	p.Stage("measuring attention")
	p.Done()
	readUntil(t, master, "measuring attention\r\n")
}

// readUntil reads what the terminal got, and fails when it is not want.
func readUntil(t *testing.T, master *os.File, want string) {
	t.Helper()
	var got []byte
	for len(got) < len(want) {
		chunk := make([]byte, len(want)-len(got))
		n, err := master.Read(chunk)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, chunk[:n]...)
	}
	if string(got) != want {
		t.Fatalf("the terminal got %q, want %q", got, want)
	}
}
