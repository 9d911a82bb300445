package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/run"
	"pawl/internal/term"
	"pawl/internal/unit"
)

// follower shows a run's events as progress on stderr.
type follower struct {
	progress *term.Progress
	stage    string
}

func newFollower(e *env) *follower {
	return &follower{progress: term.NewProgress(e.stderr, true)}
}

func (f *follower) follow(event run.Event) {
	switch event.Kind {
	case run.Build:
		f.progress.Set(fmt.Sprintf("building %d/%d  %s", event.Done, event.Total, event.Text))
	case run.Measure:
		text := fmt.Sprintf("measuring %d/%d  %s", event.Done+1, event.Total, event.Row)
		if event.Samples > 0 {
			text += fmt.Sprintf("  %s samples", unit.Count(event.Samples))
		}
		if event.MedianS > 0 {
			text += fmt.Sprintf("  %s ± %s", unit.Duration(event.MedianS), unit.PercentPlain(event.HalfWidth))
		}
		f.progress.Set(text)
	case run.Note:
		f.progress.Line("pawl: " + event.Text)
	case run.Stage, run.RowDone, run.Finished:
	}
}

func (f *follower) done() { f.progress.Done() }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return unit.Count(n) + " " + many
}

// relative shortens a path below the working folder.
func relative(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	short, err := filepath.Rel(here, path)
	if err != nil || strings.HasPrefix(short, "..") {
		return path
	}
	return short
}
