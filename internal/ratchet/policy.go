package ratchet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/term"
)

// Refusal says why a result does not become the baseline.
type Refusal struct {
	Name string // kernel/config
	Why  string
	Hint string
}

// Error says what was refused and why.
func (r *Refusal) Error() string { return r.Name + " does not become the baseline: " + r.Why }

// Move makes a result the baseline when it is the first of its name, or when a confirmed duet found
// it faster than the present entry. (The caller asks the gate how much faster it must be.) The
// error is a Refusal.
func (f *File) Move(c Candidate) (*Entry, error) {
	if err := f.presentable(c); err != nil {
		return nil, err
	}
	if err := c.timed(); err != nil {
		return nil, err
	}
	switch c.Row.Verdict {
	case result.Regression, result.Inconclusive, result.Incomparable:
		return nil, c.refuse("its verdict is "+string(c.Row.Verdict), "pawl baseline accept --reason … makes it the baseline anyway")
	}
	former := f.Entries[c.Row.Name()]
	switch {
	case former == nil:
	case c.Row.Is(former.Identity):
		return nil, c.refuse("it is the baseline already", "")
	case c.Change == nil || !c.Change.Paired:
		return nil, c.refuse("it was not measured in turns with the baseline's version", "")
	case c.Against != former.Commit:
		return nil, c.refuse(movedMeanwhile(former), "run pawl check again")
	case !c.Change.Confirmed:
		return nil, c.refuse("no second set of cells confirmed that it is faster", "")
	case !(c.Change.Median < 0) || !(c.Change.High < 0):
		return nil, c.refuse("it is not shown to be faster", "")
	}
	return f.put(c, ByCheck, ""), nil
}

// Anchor binds the entry to the candidate's commit: it is the same version, and the commit that it
// was built from is no longer available, as after a squash merge. The stored times stay. The error
// is a Refusal.
func (f *File) Anchor(c Candidate, reason string) (*Entry, error) {
	if err := f.presentable(c); err != nil {
		return nil, err
	}
	name := c.Row.Name()
	former := f.Entries[name]
	reason = oneLine(reason)
	switch {
	case reason == "":
		return nil, c.refuse("no reason was given", "")
	case former == nil || !c.Row.Is(former.Identity):
		return nil, c.refuse("it is not the best-known version", "")
	case former.Commit != c.Gone:
		return nil, c.refuse(movedMeanwhile(former), "run pawl check again")
	}
	moved := *former
	moved.Commit, moved.Params, moved.Vars, moved.Key = c.Commit.SHA, c.Row.Params, c.Row.Vars, c.Row.Key
	moved.Identity, moved.Code = c.Row.Identity, c.Row.Code // in today's form
	return f.set(&moved, former.Moves, Move{
		By: ByAnchor, Who: c.Who, Reason: reason, Run: c.Run, Time: stamp(c.Time), Commit: moved.Commit, MedianMS: moved.MedianMS,
		From: &From{MedianMS: former.MedianMS, Commit: former.Commit},
	}), nil
}

func movedMeanwhile(former *Entry) string {
	return fmt.Sprintf("the baseline has moved to commit %s in the meantime", git.Short(former.Commit))
}

// Accept makes a result the baseline because somebody wants it, with a reason. The error is a
// Refusal.
func (f *File) Accept(c Candidate, reason string) (*Entry, error) {
	if err := f.presentable(c); err != nil {
		return nil, err
	}
	name := c.Row.Name()
	reason = oneLine(reason)
	former := f.Entries[name]
	if former != nil && c.Row.Is(former.Identity) && former.Commit == c.Gone {
		return f.Anchor(c, reason)
	}
	if err := c.timed(); err != nil {
		return nil, err
	}
	switch {
	case reason == "":
		return nil, c.refuse("no reason was given", "say with --reason why the slower version is wanted")
	case former != nil && c.Row.Is(former.Identity):
		return nil, c.refuse("it is the baseline already", "")
	case former != nil && c.Change != nil && c.Against != former.Commit:
		return nil, c.refuse(fmt.Sprintf("the baseline has moved to commit %s since it was measured", git.Short(former.Commit)), "run pawl check again")
	}
	return f.put(c, ByAccept, reason), nil
}

// Actor says who removes an entry, and when.
type Actor struct {
	Who    string
	Time   time.Time
	Commit string // HEAD at the time; may be empty
}

// Reset removes an entry and keeps its moves. An entry that was edited by hand is removed too, with
// the moves that are still valid.
func (f *File) Reset(name string, by Actor, reason string) (*Removed, error) {
	reason = oneLine(reason)
	entry := f.Entries[name]
	moves := []Move(nil)
	switch {
	case reason == "":
		return nil, fmt.Errorf("reset %s: no reason was given", name)
	case entry != nil:
		moves = entry.Moves
	case f.Removed[name] != nil:
		if it, _ := f.item(name); it.problem == "" {
			return nil, fmt.Errorf("reset %s: it is removed already", name)
		}
		moves = f.Removed[name].Moves
	default:
		return nil, fmt.Errorf("reset %s: there is no such entry", name)
	}
	moves = fitting(f.Class, name, moves)
	m := Move{By: ByReset, Who: by.Who, Reason: reason, Time: stamp(by.Time), Commit: by.Commit, From: last(moves).end()}
	r := &Removed{Name: name, Moves: appendMove(f.Class, name, moves, m)}
	r.Sum = r.sum(f.Class)
	f.Removed[name] = r
	delete(f.Entries, name)
	return r, nil
}

// presentable refuses results that nobody could want as a baseline: those that cannot be trusted,
// and those that no commit can be built from again.
func (f *File) presentable(c Candidate) error {
	row := c.Row
	why, hint := "", ""
	switch {
	case c.Class != f.Class:
		why = fmt.Sprintf("it was measured on %s, and this is the baseline of %s", c.Class, f.Class)
	case !entryName.MatchString(row.Name()):
		why = "that is not the name of a kernel and a config"
	case row.Fault != nil:
		why = row.Fault.Message
	case row.Verdict == result.Broken || row.Verdict == result.Incorrect || row.Verdict == result.Rejected:
		why = "its verdict is " + string(row.Verdict)
	case row.Sandbox != nil && len(row.Sandbox.Attempts) > 0:
		why = "it attempted something that its sandbox refuses: " + row.Sandbox.Attempts[0]
	case slices.Contains(row.Reasons, result.OverRoof):
		why = "it claims to be faster than the measured peaks of the device"
	case row.Identity == "":
		why = "it has no identity"
	case row.Dropped:
		why, hint = "its commit has no config "+row.Config, "remove the config in a separate change, before the one that makes it slower"
	case c.Commit == nil || c.Commit.SHA == "":
		why, hint = "there is no commit to rebuild it from", "put the project under git and commit it"
	case c.Commit.Dirty:
		why, hint = "files have changed since its commit", "commit them and measure again"
	default:
		if it, ok := f.item(row.Name()); ok && it.problem != "" {
			why, hint = "the current entry was edited by hand: "+it.problem, "pawl baseline verify shows what to do"
		} else {
			return nil
		}
	}
	return c.refuse(why, hint)
}

// put stores the candidate.
func (f *File) put(c Candidate, by By, reason string) *Entry {
	name, t := c.Row.Name(), c.Row.Timing
	e := &Entry{
		Name: name, MedianMS: short(t.Stats.Median * 1e3), LowMS: short(t.Stats.Low * 1e3), HighMS: short(t.Stats.High * 1e3),
		GFLOPS: short(t.Stats.GFLOPS), GBps: short(t.Stats.GBps), Commit: c.Commit.SHA, Time: stamp(c.Time),
		Params: c.Row.Params, Vars: c.Row.Vars, Cell: c.Row.Cell, Identity: c.Row.Identity, Code: c.Row.Code, Key: c.Row.Key,
		Fingerprint: FingerprintOf(c.Machine, c.Row), Samples: f.samples.add(t.Samples.Kept()),
	}
	m := Move{By: by, Who: c.Who, Reason: reason, Run: c.Run, Time: e.Time, Commit: e.Commit, MedianMS: e.MedianMS}
	var story []Move
	if former := f.Entries[name]; former != nil {
		story = former.Moves
		m.From = &From{MedianMS: former.MedianMS, Commit: former.Commit}
		if c.Change != nil && finite(c.Change.Median, c.Change.Low, c.Change.High) {
			m.Change = &Change{Median: short(c.Change.Median), Low: short(c.Change.Low), High: short(c.Change.High)}
			e.Cells, e.Pairs = len(c.Change.Cells), c.Change.Pairs
		}
	} else if removed := f.Removed[name]; removed != nil {
		story = removed.Moves
		delete(f.Removed, name)
	}
	return f.set(e, story, m)
}

// set stores an entry after one more move.
func (f *File) set(e *Entry, story []Move, m Move) *Entry {
	name := e.Name
	e = plain(e)
	e.Name = name
	e.Moves = appendMove(f.Class, name, story, m)
	e.Sum = e.sum(f.Class)
	f.Entries[name] = e
	return e
}

// plain returns a value as it will be read back: a compiler's version line need not be valid UTF-8,
// and its checksum would not match afterwards.
func plain[T any](v *T) *T {
	back := new(T)
	if err := json.Unmarshal(compact(v), back); err != nil {
		panic(fmt.Sprintf("ratchet: %v", err))
	}
	return back
}

func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// short keeps seven digits: more than the precision of the measurement, and diffs stay readable.
func short(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 7, 64), 64)
	return v
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// oneLine puts a reason on one line, for tables and diffs.
func oneLine(text string) string {
	return strings.Join(strings.Fields(term.Plain(strings.ToValidUTF8(text, "\uFFFD"))), " ")
}

// Who names the person who runs pawl in dir: the account that started the CI job, else git's user.
func Who(ctx context.Context, dir string) string {
	return cmp.Or(oneLine(os.Getenv("GITHUB_ACTOR")), oneLine(os.Getenv("GITLAB_USER_LOGIN")), oneLine(git.UserName(ctx, dir)))
}
