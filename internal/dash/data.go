package dash

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"sync"

	"pawl/internal/history"
	"pawl/internal/store"
)

// track is one series on main's line.
type track struct {
	Series store.Series
	Line   []place
	Off    int // points of commits that the line does not have: somebody else's main is ahead, or history was rewritten

	points int
}

// tracks keeps the tracks that were asked for last.
type tracks struct {
	mu    sync.Mutex
	by    map[string]*track
	order []string
	size  int // in points
}

const mostPoints = 60_000 // that are kept; a point takes about 700 bytes

// codeOf names a series in a few letters, for addresses that list many.
func codeOf(s store.Series) string {
	sum := sha256.Sum256([]byte(s.Kernel + "\x00" + s.Config + "\x00" + s.Class))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5])[:codeLength])
}

const codeLength = 5

// track returns a series with its line.
func (s *Server) track(ctx context.Context, of store.Series) (*track, error) {
	stamp, err := s.stamp(ctx)
	if err != nil {
		return nil, err
	}
	key := codeOf(of) + of.Kernel + "\x00" + of.Config + "\x00" + of.Class + "\x00" + stamp
	t := &s.tracks
	t.mu.Lock()
	found := t.by[key]
	t.mu.Unlock()
	if found != nil {
		return found, nil
	}
	points, err := s.db().Points(ctx, store.Filter{Kernel: literal(of.Kernel), Config: literal(of.Config), Class: of.Class, Scope: store.Main, Kinds: history.OnLine})
	if err != nil {
		return nil, err
	}
	// A filter without a config has them all.
	points = slices.DeleteFunc(points, func(p store.Point) bool { return p.Kernel != of.Kernel || p.Config != of.Config || p.Class != of.Class })
	made, err := s.onLine(ctx, points)
	if err != nil {
		return nil, err
	}
	line, _, err := s.commits(ctx)
	if err != nil {
		return nil, err
	}
	one := &track{Series: of, Line: chain(made, line), Off: len(points) - len(made), points: len(made)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]*track{}
	}
	if t.by[key] == nil {
		t.by[key], t.order, t.size = one, append(t.order, key), t.size+one.points
		for t.size > mostPoints && len(t.order) > 1 {
			t.size -= t.by[t.order[0]].points
			delete(t.by, t.order[0])
			t.order = t.order[1:]
		}
	}
	return one, nil
}

// literal makes a pattern that only one name matches.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// onLine puts points in the order of main's commits, with what people noted about them. Those of other
// commits are left out, unless the project has no commits at all: then they are in the order of time.
func (s *Server) onLine(ctx context.Context, points []store.Point) ([]history.Point, error) {
	line, _, err := s.commits(ctx)
	if err != nil {
		return nil, err
	}
	notes, err := s.notes(ctx)
	if err != nil {
		return nil, err
	}
	made := make([]history.Point, 0, len(points))
	for i, p := range points {
		at, on := line.At(p.Run.Commit)
		if len(line.Commits) == 0 {
			at, on = i, true
		}
		if on {
			made = append(made, history.Point{Point: p, At: at, Notes: about(notes, &p)})
		}
	}
	slices.SortStableFunc(made, func(a, b history.Point) int { return cmp.Compare(a.At, b.At) })
	return made, nil
}

// notes returns what people have noted, by run.
func (s *Server) notes(ctx context.Context) (map[string][]store.Note, error) {
	all, err := s.db().Notes(ctx)
	by := map[string][]store.Note{}
	for _, n := range all {
		by[n.Run] = append(by[n.Run], n)
	}
	return by, err
}

func about(notes map[string][]store.Note, p *store.Point) (found []store.Note) {
	for _, n := range notes[p.Run.ID] {
		if n.About(&p.Row) {
			found = append(found, n)
		}
	}
	return found
}

// db returns the history's store.
func (s *Server) db() *store.DB { return s.History.DB }
