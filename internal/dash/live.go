package dash

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/store"
	"pawl/internal/tune"
)

// A run that goes on is followed by its folder: events.jsonl, and of a search the journal of its trials.
// A page shows how far it has come; its script asks for it again whenever the server says that there is
// something new.

// going is a run that has not ended.
type going struct {
	ID      string
	Started time.Time
	Last    time.Time // when it was heard of last
	Stage   string
	Done    int
	Total   int
	Silent  bool // it has said nothing for long: it may have been killed
}

// silence is after how long a run may have been killed.
const silence = 10 * time.Minute

// forgotten is after how long a run that never ended is not listed any more.
const forgotten = 24 * time.Hour

// goings lists the runs that have not ended, the newest first.
func (s *Server) goings() ([]going, error) {
	past, err := run.List(s.Root)
	if err != nil {
		return nil, err
	}
	var found []going
	for _, p := range past[:min(len(past), 200)] {
		if _, err := os.Stat(p.Path()); err == nil {
			continue
		}
		info, err := os.Stat(filepath.Join(p.Dir, "events.jsonl"))
		if err != nil || s.Now().Sub(info.ModTime()) > forgotten {
			continue
		}
		found = append(found, s.goingOf(p, info.ModTime()))
	}
	return found, nil
}

func (s *Server) goingOf(p run.Past, heard time.Time) going {
	g := going{ID: p.ID, Last: heard, Silent: s.Now().Sub(heard) > silence}
	events, _ := p.Events()
	for i, e := range events {
		if i == 0 {
			g.Started = e.Time
		}
		switch e.Kind {
		case run.Stage:
			g.Stage = e.Text
		case run.Note, run.Finished:
		default:
			g.Stage, g.Done, g.Total = string(e.Kind), e.Done, e.Total
			if e.Row != "" {
				g.Stage += " " + e.Row
			}
		}
	}
	return g
}

type searchesPage struct {
	frame
	Runs  []*store.Run
	Going []going
}

// searches lists searches, those that go on first.
func (s *Server) searches(w http.ResponseWriter, r *http.Request) {
	p := searchesPage{frame: s.frame("Searches", "searches")}
	var err error
	if p.Runs, err = s.db().Runs(r.Context(), store.Filter{Kinds: []result.Kind{result.KindTune}, Limit: 100}); err != nil {
		s.fail(w, r, err)
		return
	}
	if !s.Public {
		if p.Going, err = s.goings(); err != nil {
			s.fail(w, r, fmt.Errorf("list the runs that go on: %w", err))
			return
		}
	}
	s.show(w, http.StatusOK, "searches", p)
}

type livePage struct {
	frame
	Going going
	Of    *tune.Progress // nil: the run is no search
	Hunt  *hunt
	Ended bool
}

// openLive finds a run's folder. Its ID is compared with those that there are, and never part of a path.
func (s *Server) openLive(id string) (run.Past, error) {
	if s.Public {
		return run.Past{}, notFound("runs that go on are not public")
	}
	p, err := run.Open(s.Root, id)
	if errors.Is(err, fs.ErrNotExist) {
		return p, notFound("there is no such run in this project's folder")
	}
	return p, err
}

// live shows a run while it goes on.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	past, err := s.openLive(r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	info, err := os.Stat(filepath.Join(past.Dir, "events.jsonl"))
	if err != nil {
		s.fail(w, r, notFound("the run has written no events"))
		return
	}
	p := livePage{frame: s.frame("Live", "searches"), Going: s.goingOf(past, info.ModTime())}
	if _, err := os.Stat(past.Path()); err == nil {
		p.Ended = true
	}
	if p.Of, err = tune.ReadProgress(past.Dir); err == nil {
		p.Title = "Search of " + p.Of.Kernel
		p.Hunt = huntOf(p.Of.Space, p.Of.Trials, len(p.Of.Configs))
	} else if !errors.Is(err, fs.ErrNotExist) {
		p.Of = nil // its first line is not written yet
	}
	s.show(w, http.StatusOK, "live", p)
}

// How a run is followed.
const (
	lookEvery = 500 * time.Millisecond
	beatEvery = 15 * time.Second
)

// follow tells a page whenever a run has written something (server-sent events), until the run ends, or the visitor
// has logged out.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	past, err := s.openLive(r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		s.fail(w, r, &failure{http.StatusServiceUnavailable, "too many visitors follow runs", "reload the page to see how far it is"})
		return
	}
	defer work(r)()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	send := func(event string, data any) bool {
		raw, err := json.Marshal(data)
		if err != nil {
			return false
		}
		_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second)) // a visitor who does not read loses the stream
		_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, raw)
		return err == nil && out.Flush() == nil
	}
	look, beat := time.NewTicker(lookEvery), time.NewTicker(beatEvery)
	defer look.Stop()
	defer beat.Stop()
	last := int64(-1)
	for s.mayRead(r) {
		size := sizeOf(past.Dir, "events.jsonl") + sizeOf(past.Dir, "trials.jsonl")
		if size != last && !send("changed", map[string]int64{"bytes": size}) {
			return
		}
		last = size
		if _, err := os.Stat(past.Path()); err == nil {
			send("ended", map[string]string{"run": site{}.Run(past.ID)})
			return
		}
		select {
		case <-s.done:
			return
		case <-r.Context().Done():
			return
		case <-look.C:
		case <-beat.C:
			if !send("beat", struct{}{}) {
				return
			}
		}
	}
}

func sizeOf(dir, name string) int64 {
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	return info.Size()
}
