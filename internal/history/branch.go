package history

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl/internal/diag"
	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/store"
)

// Where runners are thrown away and no database is there, the runs of the main branch are kept in a
// branch of files: compressed segments, each with the runs of some days. The branch is bounded. A
// segment is named by the start of its first run, so that names sort by time.

// Branch is the name of the branch, unless another is given.
const Branch = "pawl-history"

// PushOptions say what is added to which branch.
type PushOptions struct {
	Remote git.Remote
	Branch string
	Most   int64 // bytes of all segments; older ones are dropped
}

// DefaultMost is what a branch may take: years of a project with some runs a day, and a second to fetch.
const DefaultMost = 64 << 20

const (
	smallSegment = 1 << 20 // smaller ones are merged
	mostSmall    = 16      // as soon as there are so many
	pushTries    = 5
)

// Pushed is what became of the branch.
type Pushed struct {
	Added   int
	Dropped int // segments
	Merged  int // segments that became one
	Bytes   int64
	Tries   int
}

// Push adds reports to the branch. If somebody else pushes meanwhile, it begins again with theirs.
func Push(ctx context.Context, opts PushOptions, entries []store.Entry) (*Pushed, error) {
	for _, e := range entries {
		if err := mainsOwn(e.Report); err != nil {
			return nil, err
		}
	}
	for tries := 1; ; tries++ {
		was, err := opts.Remote.Last(ctx, opts.Branch)
		if errors.Is(err, git.ErrNoBranch) {
			was, err = "", nil
		}
		if err != nil {
			return nil, err
		}
		made, sha, err := opts.next(ctx, was, entries)
		if err != nil || made.Added == 0 {
			return made, err
		}
		made.Tries = tries
		refused := opts.Remote.Replace(ctx, sha, opts.Branch, was)
		if refused == nil {
			return made, nil
		}
		now, err := opts.Remote.Last(ctx, opts.Branch)
		switch {
		case err != nil && !errors.Is(err, git.ErrNoBranch):
			return nil, errors.Join(refused, err)
		case now == was: // nobody was faster: the push itself is refused
			return nil, &diag.Problem{
				Message: fmt.Sprintf("push to %s of %s: %v", opts.Branch, opts.Remote.Name, refused),
				Hint:    "the job needs permission to write contents, and no rule may protect this branch: pawl replaces its only commit each time",
			}
		case tries == pushTries:
			return nil, fmt.Errorf("push to %s of %s: %w; tried %d times, and others pushed each time", opts.Branch, opts.Remote.Name, refused, tries)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(tries) * 200 * time.Millisecond):
		}
	}
}

// RecordOptions say which report is added to the branch.
type RecordOptions struct {
	Report string // the file, or the folder or zip that it lies in
	Push   PushOptions
}

// Record adds a report of the main branch to the branch of segments.
func Record(ctx context.Context, opts RecordOptions) (*Pushed, error) {
	entry, err := readReport(opts.Report)
	if err != nil {
		return nil, err
	}
	return Push(ctx, opts.Push, []store.Entry{entry})
}

// mainsOwn refuses reports that are not of the branch itself.
func mainsOwn(r *result.Report) error {
	why := ""
	switch {
	case r.Origin != nil && (r.Origin.Pull != 0 || r.Origin.Fork):
		why = "it is of a pull request"
	case r.Commit == nil:
		why = "it names no commit"
	case r.Commit.Dirty:
		why = "files differed from its commit"
	default:
		return nil
	}
	return &diag.Problem{Message: fmt.Sprintf("run %.40s is not added to the branch: %s", r.ID, why), Hint: "only runs of the main branch are kept there; pawl history import takes any"}
}

// next makes the commit that has the reports, too.
func (o PushOptions) next(ctx context.Context, was string, entries []store.Entry) (*Pushed, string, error) {
	dir, made := o.Remote.Dir, &Pushed{}
	var files []git.BranchFile
	if was != "" {
		all, err := git.BranchFiles(ctx, dir, was)
		if err != nil {
			return nil, "", err
		}
		files = segmentsOf(all)
	}
	// The last small segments are read: what is added may be there, and they may have to be merged.
	small := len(files)
	for small > 0 && files[small-1].Size < smallSegment {
		small--
	}
	var recent []store.Entry
	known := map[string]bool{}
	for _, file := range files[small:] {
		got, err := o.read(ctx, file)
		if err != nil {
			return nil, "", err
		}
		for _, e := range got.entries {
			known[e.Report.ID] = true
		}
		recent = append(recent, got.entries...)
	}
	var fresh []store.Entry
	for _, e := range entries {
		if !known[e.Report.ID] {
			known[e.Report.ID] = true
			fresh = append(fresh, e)
		}
	}
	if made.Added = len(fresh); made.Added == 0 {
		return made, "", nil
	}
	segment := fresh
	if len(files)-small+1 >= mostSmall {
		made.Merged = len(files) - small
		segment, files = append(recent, fresh...), files[:small]
	}
	file, err := writeSegment(ctx, dir, segment)
	if err != nil {
		return nil, "", err
	}
	files = segmentsOf(append(files, file))
	for _, file := range files {
		made.Bytes += file.Size
	}
	for len(files) > 1 && made.Bytes > o.Most {
		made.Bytes -= files[0].Size
		made.Dropped++
		files = files[1:]
	}
	sha, err := git.CommitFiles(ctx, dir, "Runs of the main branch, for pawl history", files)
	return made, sha, err
}

func (o PushOptions) read(ctx context.Context, file git.BranchFile) (*parsed, error) {
	return readSegment(ctx, o.Remote.Dir, file)
}

func readSegment(ctx context.Context, dir string, file git.BranchFile) (*parsed, error) {
	packed, err := git.Content(ctx, dir, file)
	if err != nil {
		return nil, err
	}
	lines, err := unpackLines(file.Name, packed)
	if err != nil {
		return nil, err
	}
	return parseLines(file.Name, lines)
}

// writeSegment stores a segment of reports.
func writeSegment(ctx context.Context, dir string, entries []store.Entry) (git.BranchFile, error) {
	slices.SortStableFunc(entries, func(a, b store.Entry) int {
		return cmp.Or(a.Report.Started.Compare(b.Report.Started), strings.Compare(a.Report.ID, b.Report.ID))
	})
	var lines bytes.Buffer
	for _, e := range entries {
		if err := writeReport(&lines, e); err != nil {
			return git.BranchFile{}, err
		}
	}
	packed, err := packLines(lines.Bytes())
	if err != nil {
		return git.BranchFile{}, err
	}
	first := entries[0].Report
	return git.AddContent(ctx, dir, first.Started.UTC().Format("20060102T150405Z")+"-"+shortDigest(packed)+segmentEnding, packed)
}

// segmentsOf returns the segments among files, by time. Other files are none of pawl's, and are not
// kept.
func segmentsOf(files []git.BranchFile) []git.BranchFile {
	kept := slices.DeleteFunc(slices.Clone(files), func(f git.BranchFile) bool { return !strings.HasSuffix(f.Name, segmentEnding) })
	slices.SortFunc(kept, func(a, b git.BranchFile) int { return strings.Compare(a.Name, b.Name) })
	return kept
}

// ImportBranch adds the runs of a branch of segments, as the clone has it. Segments that were added
// before are not read again.
func (h *History) ImportBranch(ctx context.Context, ref string) (*Imported, error) {
	files, err := git.BranchFiles(ctx, h.root, ref)
	if err != nil {
		return nil, err
	}
	mark := "segments of " + ref
	seen, err := h.Mark(ctx, mark)
	if err != nil {
		return nil, err
	}
	made, names := &Imported{}, []string{}
	for _, file := range segmentsOf(files) {
		names = append(names, file.SHA)
		if strings.Contains(seen, file.SHA) {
			continue
		}
		got, err := readSegment(ctx, h.root, file)
		if err == nil {
			err = h.add(ctx, made, got)
		}
		if err != nil {
			return made, err
		}
	}
	if now := strings.Join(names, " "); now != seen {
		err = h.SetMark(ctx, mark, now)
	}
	return made, err
}
