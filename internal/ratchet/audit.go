package ratchet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/unit"
)

// Kind is the kind of a finding.
type Kind string

// The kinds there are.
const (
	Edited     Kind = "edited"     // changed by something other than pawl
	Rewritten  Kind = "rewritten"  // does not continue the moves that were there before
	Worse      Kind = "worse"      // slower than before, and no reason is given
	Unreasoned Kind = "unreasoned" // accepted or reset without a reason
	Vanished   Kind = "vanished"   // removed without a reset
	Unreadable Kind = "unreadable" // not a valid baseline
	NoSamples  Kind = "no samples" // missing, or not those that the entry names
)

// Finding is something that should not have happened to a baseline.
type Finding struct {
	Kind   Kind   `json:"kind"`
	Commit string `json:"commit,omitempty"` // the commit that introduced it; empty: it is not committed
	Name   string `json:"name,omitempty"`   // kernel/config; empty: the whole file
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

// Audit is the comparison of a baseline with its history.
type Audit struct {
	Class    string    `json:"class"`
	Entries  int       `json:"entries"`
	Commits  int       `json:"commits"`           // inspected
	Shallow  bool      `json:"shallow,omitempty"` // the clone has no older ones
	Oldest   string    `json:"oldest,omitempty"`  // the oldest inspected commit
	Findings []Finding `json:"findings"`
	Settled  []Finding `json:"settled,omitempty"` // corrected since
	Reasons  []Event   `json:"reasons,omitempty"` // intended moves, with their reasons
}

// Event is a move in the history of a name.
type Event struct {
	Name     string `json:"name"`
	Recorded string `json:"recorded,omitempty"` // the commit that introduced it; empty: it is not committed
	Move     Move   `json:"move"`
}

// ErrNone means that there is no baseline, and never was.
var ErrNone = errors.New("there is no baseline")

// Audited lists the device classes that have a file, or had one.
func (s *Store) Audited(ctx context.Context) ([]string, error) {
	classes, err := s.Classes()
	if err != nil {
		return nil, err
	}
	if _, ok, err := git.Head(ctx, s.dir); err != nil || !ok {
		return classes, err
	}
	files, err := git.Touched(ctx, s.dir, Folder)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		class, isFile := strings.CutSuffix(strings.TrimPrefix(file, Folder+"/"), ".json")
		if isFile && classSlug.MatchString(class) {
			classes = append(classes, class)
		}
	}
	slices.Sort(classes)
	return slices.Compact(classes), nil
}

// Audit walks the history of a class's file and lists what should not have happened to it and has
// not been corrected since. The error is git.ErrNoRepository where there is no history to walk, and
// ErrNone where there is no baseline.
func (s *Store) Audit(ctx context.Context, class string) (*Audit, error) {
	versions, err := s.versions(ctx, class)
	if err != nil {
		return nil, err
	}
	if len(versions) == 1 && versions[0].absent() {
		return nil, fmt.Errorf("%w of %s", ErrNone, class)
	}
	a := &Audit{Class: class, Commits: len(versions) - 1}
	if a.Commits > 0 {
		a.Oldest = versions[0].commit
		if a.Shallow, err = git.IsShallow(ctx, s.dir); err != nil {
			return nil, err
		}
	}
	w := &walk{path: disk.Shown(s.Path(class)), keys: map[string]int{}}
	standing := w.all(versions)
	for i, found := range w.findings {
		if standing[i] {
			a.Findings = append(a.Findings, found)
		} else {
			a.Settled = append(a.Settled, found)
		}
	}
	if now := versions[len(versions)-1].file; now != nil {
		a.Entries = len(now.Entries)
		doubted := map[string]bool{} // entries that have a finding already
		for _, found := range a.Findings {
			doubted[found.Name] = true
		}
		bare, err := s.auditSamples(ctx, class, now, doubted)
		if err != nil {
			return nil, err
		}
		a.Findings = append(a.Findings, bare...)
	}
	intended := slices.DeleteFunc(events(versions), func(e Event) bool { return e.Move.By == ByCheck })
	a.Reasons = append(intended, w.chosen...)
	slices.SortStableFunc(a.Reasons, func(a, b Event) int { return strings.Compare(a.Name, b.Name) })
	return a, nil
}

// auditSamples compares the present entries with the samples file. Samples can be missing from a
// commit, for example after a merge that took one side's file; if git's history still has them, the
// next writer restores them.
func (s *Store) auditSamples(ctx context.Context, class string, now *File, doubted map[string]bool) ([]Finding, error) {
	path := disk.Shown(s.samplesPath(class))
	commit, err := s.samplesCommit(ctx, class)
	if err != nil {
		return nil, err
	}
	remedy := fmt.Sprintf("run git checkout HEAD -- %s, or pawl check --update-baseline, which restores them from git's history", path)
	if commit != "" {
		if _, err := s.recover(ctx, now); err != nil {
			return nil, err
		}
	}
	var out []Finding
	for _, name := range now.Names() {
		entry := now.Entries[name]
		samples, err := now.Samples(entry)
		if err == nil && !doubted[name] {
			err = entry.contradicts(samples)
		}
		if err != nil {
			if commit != "" {
				remedy = fmt.Sprintf("the commit that has them, in %s; or pawl baseline reset %s --reason …, and pawl check --update-baseline measures it again", path, name)
			}
			out = append(out, Finding{Kind: NoSamples, Commit: commit, Name: name, What: err.Error(), Remedy: remedy})
		}
	}
	return out, nil
}

// contradicts reports where an entry's median is not that of its samples. If only some samples are
// kept, the median must lie among the middle ones.
func (e *Entry) contradicts(seconds []float64) error {
	sorted := slices.Sorted(slices.Values(seconds))
	n, reach := len(sorted), 0
	if e.Samples.Count < e.Samples.Of {
		reach = int(2 * math.Sqrt(float64(n))) // four standard errors of its rank
	}
	if n == 0 {
		return nil
	}
	const digits = 1 + 2e-5 // rounding of the numbers in the file
	low, high := sorted[max(0, (n-1)/2-reach)]*1e3, sorted[min(n-1, n/2+reach)]*1e3
	if e.MedianMS < low/digits || e.MedianMS > high*digits {
		return fmt.Errorf("its median is %s, but the median of its samples is %s", unit.Duration(e.MedianMS/1e3), unit.Duration((sorted[(n-1)/2]+sorted[n/2])/2))
	}
	return nil
}

// samplesCommit returns the commit that last changed the samples file; "": none did.
func (s *Store) samplesCommit(ctx context.Context, class string) (string, error) {
	raw, _ := readFile(s.samplesPath(class)) // an unreadable file belongs to no commit; the findings report it
	committed, err := git.Show(ctx, s.dir, "HEAD", Folder+"/"+class+samplesEnding)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !bytes.Equal(raw, committed) {
		return "", nil
	}
	for _, ending := range []string{samplesEnding, ".json"} {
		commits, err := git.Log(ctx, s.dir, Folder+"/"+class+ending)
		if err != nil {
			return "", err
		}
		if len(commits) > 0 {
			return commits[0].SHA, nil
		}
	}
	return "", nil
}

// History returns the history of each name of a class that exists or existed, from the moves in the
// file and the commits that introduced them.
func (s *Store) History(ctx context.Context, class string) ([]Event, error) {
	versions, err := s.versions(ctx, class)
	if errors.Is(err, git.ErrNoRepository) {
		var f *File
		if f, err = s.Read(class); err == nil {
			versions = []version{{file: f}}
		}
	}
	if err != nil {
		return nil, err
	}
	return events(versions), nil
}

// events returns the moves of all versions, by name, in their order.
func events(versions []version) []Event {
	var out []Event
	seen := map[string]bool{}
	for _, v := range versions {
		if v.file == nil {
			continue
		}
		for _, name := range v.file.allNames() {
			it, _ := v.file.item(name)
			for _, m := range it.moves {
				if key := name + " " + m.Sum; !seen[key] {
					seen[key] = true
					out = append(out, Event{Name: name, Recorded: v.commit, Move: m})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// version is the file in one commit, or, last, as it is now.
type version struct {
	commit  string
	who     string
	time    time.Time
	parents []int  // versions before
	content string // hash of the whole file
	file    *File
	err     error // why it cannot be read
}

func (v version) absent() bool { return v.file == nil && v.err == nil }

// versions reads all versions of the file, each after its parents.
func (s *Store) versions(ctx context.Context, class string) ([]version, error) {
	if err := checkClass(class); err != nil {
		return nil, err
	}
	path := Folder + "/" + class + ".json"
	commits, err := git.Log(ctx, s.dir, path)
	if err != nil {
		return nil, err
	}
	slices.Reverse(commits)
	versions := make([]version, len(commits), len(commits)+1)
	shas, index, hasChild := make([]string, len(commits)), map[string]int{}, make([]bool, len(commits))
	for i, c := range commits {
		versions[i].commit, shas[i], index[c.SHA] = c.SHA, c.SHA, i
		versions[i].who, versions[i].time = c.Author, c.Time
		for _, parent := range c.Parents {
			if at, known := index[parent]; known {
				versions[i].parents = append(versions[i].parents, at)
				hasChild[at] = true
			}
		}
	}
	if len(shas) > 0 {
		err := git.Versions(ctx, s.dir, path, shas, func(i int, raw []byte, present bool) error {
			if present {
				versions[i].content = blockHash(string(raw))
				versions[i].file, versions[i].err = parse(path, class, raw)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", path, err)
		}
	}
	now := version{}
	for i, has := range hasChild {
		if !has {
			now.parents = append(now.parents, i)
		}
	}
	raw, err := readFile(s.Path(class))
	if err != nil {
		return nil, err
	}
	if raw != nil {
		now.content = blockHash(string(raw))
		now.file, now.err = s.Read(class)
	}
	return append(versions, now), nil
}
