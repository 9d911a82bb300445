// Package history answers what people ask about past runs: it joins the store, which has the runs,
// with git, which knows the order of commits.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/store"
)

// History is the open history of a project.
type History struct {
	*store.DB

	root string // the project's folder
}

// branchRefs are where a clone may have the branch of segments.
var branchRefs = []string{"refs/remotes/origin/" + Branch, "refs/heads/" + Branch}

// Open opens the history of the project in root. address is that of a database; "": the history is a
// file of the project. With store.Create it is made where there is none. Where the clone has a branch of
// segments, its runs are added to the file, as far as they are new and it can be written.
func Open(ctx context.Context, root, address string, mode store.Mode) (*History, error) {
	home := filepath.Join(root, ".pawl")
	branch := ""
	if address == "" {
		branch = branchOf(ctx, root)
	}
	if branch != "" {
		mode = store.Create
	}
	if mode == store.Create && address == "" {
		if err := git.MakeHome(home); err != nil {
			return nil, fmt.Errorf("open the history: %w", err)
		}
	}
	db, err := store.Open(ctx, store.In(home, address), mode)
	if errors.Is(err, store.ErrNone) {
		return nil, &diag.Problem{
			Message: err.Error(), Hint: "pawl check and pawl bench record what they measure; pawl history import .pawl/runs adds the runs that are there",
		}
	}
	if err != nil {
		return nil, err
	}
	h := &History{db, root}
	if branch != "" && h.Frozen() == nil {
		if _, err := h.ImportBranch(ctx, branch); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// branchOf returns the ref of the branch of segments that the clone has; "": it has none.
func branchOf(ctx context.Context, root string) string {
	for _, ref := range branchRefs {
		if _, err := git.Resolve(ctx, root, ref); err == nil {
			return ref
		}
	}
	return ""
}

// UserName returns who is at work, as far as git or the machine knows.
func (h *History) UserName(ctx context.Context) string {
	if name := git.UserName(ctx, h.root); name != "" {
		return name
	}
	if known, err := user.Current(); err == nil {
		return known.Username
	}
	return ""
}

// Line is the order of a branch's commits. Branches that were merged count as their merges.
type Line struct {
	Branch  string   // as people name it: origin/main
	Commits []string // the oldest first

	at map[string]int
}

// At returns the place of a commit, from 0; ok: it is on the line.
func (l *Line) At(sha string) (int, bool) {
	at, ok := l.at[sha]
	return at, ok
}

// Line returns the order of a branch; "": of the main branch. A project without git, or without a
// main branch, has an empty line.
func (h *History) Line(ctx context.Context, branch string) (*Line, error) {
	if branch == "" {
		var ok bool
		var err error
		if branch, ok, err = git.MainBranch(ctx, h.root); err != nil || !ok {
			return &Line{}, err
		}
	}
	shas, err := git.Line(ctx, h.root, branch)
	if err != nil {
		return nil, err
	}
	slices.Reverse(shas)
	line := &Line{Branch: branch, Commits: shas, at: make(map[string]int, len(shas))}
	for i, sha := range shas {
		line.at[sha] = i
	}
	return line, nil
}

// Point is a point of a series with its place on a line, and what people have noted about it.
type Point struct {
	store.Point

	At    int          `json:"at"` // place of its commit on the line, from 0
	Notes []store.Note `json:"notes,omitempty"`
}

// Invalid reports whether somebody has marked the point as wrong.
func (p *Point) Invalid() bool {
	return slices.ContainsFunc(p.Notes, func(n store.Note) bool { return n.Kind == store.Invalid })
}

// Points lists the points of the series that a filter selects that are on a line, in its order; those
// of a commit by the time of their runs. Pull requests and trees with changes are on no line.
func (h *History) Points(ctx context.Context, f store.Filter, line *Line) ([]Point, error) {
	f.Scope = store.Main
	found, err := h.DB.Points(ctx, f)
	if err != nil {
		return nil, err
	}
	notes, err := h.DB.Notes(ctx)
	if err != nil {
		return nil, err
	}
	of := map[string][]store.Note{}
	for _, n := range notes {
		of[n.Run] = append(of[n.Run], n)
	}
	points := make([]Point, 0, len(found))
	for _, p := range found {
		at, on := line.At(p.Run.Commit)
		if !on {
			continue
		}
		point := Point{Point: p, At: at}
		for _, n := range of[p.Run.ID] {
			if n.About(&p.Row) {
				point.Notes = append(point.Notes, n)
			}
		}
		points = append(points, point)
	}
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.At, b.At) })
	return points, nil
}
