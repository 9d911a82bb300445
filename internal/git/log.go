package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Commit is a commit that touched a path.
type Commit struct {
	SHA     string
	Parents []string // those among the commits that touched the path
	Author  string
	Time    time.Time
	Subject string
}

// Log returns the commits that touched a path relative to dir, the newest first and each before its
// parents. It includes merges that chose between versions: git's usual simplification hides a merge
// that dropped one.
func Log(ctx context.Context, dir, path string) ([]Commit, error) {
	if _, ok, err := Head(ctx, dir); err != nil || !ok {
		if err == nil {
			err = ErrNoRepository
		}
		return nil, fmt.Errorf("read the history of %s: %w", path, err)
	}
	out, err := work(ctx, dir, "--literal-pathspecs", "-c", "log.showSignature=false", "-c", "log.follow=false",
		"log", "--full-history", "--simplify-merges", "--topo-order", "-z", logFormat, "HEAD", "--", path)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", path, err)
	}
	commits, err := logged(out)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", path, err)
	}
	return commits, nil
}

// logFormat is how git writes a commit for logged.
const logFormat = "--format=%H%x1f%P%x1f%ct%x1f%an%x1f%s"

// logged reads what git has logged.
func logged(out string) ([]Commit, error) {
	var commits []Commit
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if record == "" {
			continue
		}
		fields := strings.SplitN(record, "\x1f", 5)
		if len(fields) != 5 {
			return nil, fmt.Errorf("git wrote %q", record)
		}
		seconds, _ := strconv.ParseInt(fields[2], 10, 64)
		commits = append(commits, Commit{
			SHA: fields[0], Parents: strings.Fields(fields[1]), Time: time.Unix(seconds, 0).UTC(), Author: fields[3], Subject: fields[4],
		})
	}
	return commits, nil
}

// Between returns the commits of a branch after one that it grew from, the oldest first. Branches
// that were merged count as their merges.
func Between(ctx context.Context, dir, from, to string) ([]Commit, error) {
	doing := fmt.Sprintf("read the history from %s to %s", Short(from), Short(to))
	if base, err := MergeBase(ctx, dir, from, to); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	} else if base != from {
		return nil, fmt.Errorf("%s: the second has not grown from the first", doing)
	}
	out, err := work(ctx, dir, "-c", "log.showSignature=false", "log", "--first-parent", "--reverse", "-z", logFormat, from+".."+to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return logged(out)
}

// Line returns the commits of a branch, the newest first. Branches that were merged count as their
// merges: of each commit only the first parent is followed.
func Line(ctx context.Context, dir, branch string) ([]string, error) {
	out, err := work(ctx, dir, "rev-list", "--first-parent", branch, "--")
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", branch, err)
	}
	return strings.Fields(out), nil
}

// MainBranch returns the branch that changes go to: the remote's main branch, else this clone's. ok:
// there is one.
func MainBranch(ctx context.Context, dir string) (ref string, ok bool, err error) {
	remotes, err := remotesOf(ctx, dir)
	if errors.Is(err, ErrNoRepository) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	for _, branch := range mainBranches(remotes) {
		_, err := Resolve(ctx, dir, branch[0])
		if err == nil {
			return branchName(ctx, dir, branch[1]), true, nil
		}
		if !errors.Is(err, ErrNoCommit) {
			return "", false, err
		}
	}
	return "", false, nil
}

// Touched lists the files below a folder, both relative to dir, that any commit
// added, changed or removed.
func Touched(ctx context.Context, dir, folder string) ([]string, error) {
	out, err := work(ctx, dir, "--literal-pathspecs", "-c", "log.showSignature=false",
		"log", "--full-history", "--relative", "--no-renames", "--name-only", "--format=", "-z", "HEAD", "--", folder)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", folder, err)
	}
	names := slices.Compact(slices.Sorted(strings.SplitSeq(out, "\x00")))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}

// Show returns a file, whose path is relative to dir, from a commit. The error is fs.ErrNotExist
// where the commit does not have it.
func Show(ctx context.Context, dir, sha, path string) ([]byte, error) {
	var data []byte
	err := Versions(ctx, dir, path, []string{sha}, func(_ int, raw []byte, present bool) error {
		if !present {
			return fmt.Errorf("%s in commit %s: %w", path, Short(sha), fs.ErrNotExist)
		}
		data = raw
		return nil
	})
	return data, err
}

// Versions reads a file, whose path is relative to dir, from each of these
// commits, in their order, with one git process for all.
func Versions(ctx context.Context, dir, path string, shas []string, visit func(i int, raw []byte, present bool) error) error {
	prefix, err := line(ctx, dir, "find the repository of "+dir, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	full := prefix + path
	if strings.Contains(full, "\n") {
		return fmt.Errorf("read %q from git: a line break in a name cannot be asked for", full)
	}
	var request strings.Builder
	for _, sha := range shas {
		fmt.Fprintf(&request, "%s:%s\n", sha, full)
	}
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := stream(ctx, slowPatience, dir, strings.NewReader(request.String()), writer, "cat-file", "--batch")
		writer.CloseWithError(err)
		done <- err
	}()
	answers := bufio.NewReaderSize(reader, 1<<16)
	for i := range shas {
		raw, present, err := object(answers)
		if err == nil {
			err = visit(i, raw, present)
		}
		if err != nil {
			reader.CloseWithError(err)
			if gitErr := <-done; gitErr != nil && !errors.Is(gitErr, err) {
				err = errors.Join(err, gitErr)
			}
			return err
		}
	}
	return <-done
}

// object reads one answer of cat-file --batch.
func object(r *bufio.Reader) (raw []byte, present bool, err error) {
	header, err := r.ReadString('\n')
	if err != nil {
		return nil, false, fmt.Errorf("read from git: %w", err)
	}
	if strings.HasSuffix(header, " missing\n") {
		return nil, false, nil
	}
	var sha, kind string
	var size int
	if n, _ := fmt.Sscanf(header, "%s %s %d\n", &sha, &kind, &size); n < 3 {
		return nil, false, fmt.Errorf("read from git: it wrote %q", header)
	}
	raw = make([]byte, size+1) // and the line break after it
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, false, fmt.Errorf("read from git: %w", err)
	}
	return raw[:size], kind == "blob", nil
}

// Recent returns at most this many commits that made a path relative to dir what it
// is now, the newest first. Versions that a merge did not take are left out.
func Recent(ctx context.Context, dir, path string, most int) ([]string, error) {
	out, err := line(ctx, dir, "read the history of "+path, "--literal-pathspecs", "-c", "log.showSignature=false", "-c", "log.follow=false",
		"log", "--max-count="+strconv.Itoa(most), "--format=%H", "HEAD", "--", path)
	return strings.Fields(out), err
}
