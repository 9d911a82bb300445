package cli

import (
	"fmt"
	"strings"

	"pawl/internal/disk"
	"pawl/internal/run"
	"pawl/internal/term"
	"pawl/internal/unit"
	"pawl/internal/worker"
)

// follower shows a run's events as progress on stderr.
type follower struct {
	progress *term.Progress
	stage    string // the stage that the line shows: "build", or a row
}

func newFollower(e *env) *follower {
	return &follower{progress: term.NewProgress(e.stderr)}
}

func (f *follower) follow(event run.Event) {
	if event.Row != "" { // what is no row's leaves the line, and its name, as they are
		f.progress.Name(event.Row)
	}
	switch event.Kind {
	case run.Build:
		f.progress.Part(event.Done, event.Total)
		f.show("build", fmt.Sprintf("building %d/%d  %s", event.Done, event.Total, event.Text))
	case run.Verify:
		f.progress.Part(event.Done, event.Total)
		f.show("verify", strings.TrimRight(fmt.Sprintf("verifying %d/%d  %s  %s", event.Done+1, event.Total, event.Row, event.Text), " "))
	case run.Measure:
		text := fmt.Sprintf("measuring %d/%d  %s", event.Done+1, event.Total, event.Row)
		if event.Samples > 0 {
			text += fmt.Sprintf("  %s samples", unit.Count(event.Samples))
		}
		if event.MedianS > 0 {
			text += "  " + unit.Duration(event.MedianS)
		}
		if event.HalfWidth > 0 && event.HalfWidth < 1 { // for the ratio, where there is one
			text += " ± " + unit.PercentPlain(event.HalfWidth)
		}
		f.progress.Part(event.Done, event.Total)
		f.show("measure", text) // one stage: rows that take turns change all the time
	case run.Profile:
		f.progress.Part(event.Done, event.Total)
		f.show("profile", fmt.Sprintf("profiling %d/%d  %s", event.Done+1, event.Total, event.Row))
	case run.Tune:
		f.progress.Part(event.Done, event.Total)
		f.show("tune", tuneLine(event))
	case run.Note:
		f.progress.Line("pawl: " + event.Text)
		if strings.Contains(event.Text, worker.Waiting) {
			f.show("wait", "waiting for the other pawl")
		}
	case run.Stage:
		f.stage = ""
	case run.RowDone, run.Finished:
	}
}

// show begins a stage, or updates its progress.
func (f *follower) show(stage, text string) {
	if f.stage == stage {
		f.progress.Set(text)
		return
	}
	f.stage = stage
	f.progress.Stage(text)
}

func (f *follower) done() { f.progress.Done() }

// relative returns a path relative to the working folder, where that is shorter.
func relative(path string) string { return disk.Shown(path) }
