// Package dash shows the history of a project in a browser: an overview of all kernels, the course of
// each, every run, what moved, comparisons and searches, some of them while they run. A JSON API, figures
// for Prometheus and badges are made of the same answers.
//
// It reads and never writes. Pages are made on the server, with pictures as SVG: a browser without
// scripts shows all of them. Everything that a page needs is in the binary. Whatever a report holds is
// text to it: no page has inline script or style, and none would be run.
package dash

import (
	"context"
	"net/http"
	"time"

	"pawl/internal/history"
)

// Options say what is served and to whom.
type Options struct {
	History *history.History
	Root    string   // the project's folder, where runs are followed while they run
	Project string   // its name, for titles
	Tool    string   // version of pawl
	Token   string   // that visitors must have; "": none
	Public  bool     // anybody may read: what says something about the machine's user is left out
	Hosts   []string // names that requests may be sent to, besides those of this machine and addresses
	Now     func() time.Time
	Log     func(string) // hears of errors that visitors are not told; may be nil
}

// Server answers requests.
type Server struct {
	Options
	assets  map[string]asset
	sheets  map[string]string // version of each asset, by its name
	pages   pages
	tracks  tracks
	line    lineCache
	logins  logins
	work    chan struct{} // room for answers that are being made
	streams chan struct{} // room for visitors who follow a run
	done    <-chan struct{}
}

// How much is done at the same time: each reader of the history has a cache of its own, and every
// follower a connection.
const (
	mostWork    = 2
	mostStreams = 64
)

// New returns a server. Runs are followed until ctx ends.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{Options: o, work: make(chan struct{}, mostWork), streams: make(chan struct{}, mostStreams), logins: newLogins(), done: ctx.Done()}
	var err error
	s.assets, s.sheets, err = loadAssets()
	return s, err
}

// Handler returns what answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	pages := map[string]maker{
		"/{$}": (*Server).overview, "/kernel": (*Server).kernel, "/runs": (*Server).runs, "/run/{id}": (*Server).run, "/moved": (*Server).moved,
		"/compare": (*Server).compare, "/moved.atom": (*Server).feed, "/moved.txt": (*Server).digest, "/badge.svg": (*Server).badge, "/metrics": (*Server).metrics,
		"/run/{id}/report.json": (*Server).document,
		"/api/v1/{$}":           (*Server).apiRoot, "/api/v1/series": (*Server).apiSeries, "/api/v1/points": (*Server).apiPoints, "/api/v1/line": (*Server).apiLine, "/api/v1/runs": (*Server).apiRuns,
		"/api/v1/runs/{id}": (*Server).apiRun, "/api/v1/moved": (*Server).apiMoved, "/api/v1/notes": (*Server).apiNotes,
	}
	for pattern, make := range pages {
		mux.Handle(pattern, s.cached(make))
	}
	mux.HandleFunc("/searches", s.searches)
	mux.HandleFunc("/live/{id}", s.live)
	mux.HandleFunc("/live/{id}/events", s.follow)
	mux.HandleFunc("/static/{name}", s.static)
	mux.HandleFunc("/login", s.login)
	mux.HandleFunc("/logout", s.logout)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, notFound("there is no such page")) })
	return s.guard(mux)
}
