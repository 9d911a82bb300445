package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// A branch of files is one that no source is on: a folder of files without history. Its only commit has
// no parent, so what is no longer in it takes no room in any clone.

// BranchFile is a file of such a branch.
type BranchFile struct {
	Name string
	SHA  string // of its content
	Size int64
}

// BranchFiles lists the files at the top of a commit, by name.
func BranchFiles(ctx context.Context, dir, ref string) ([]BranchFile, error) {
	out, err := run(ctx, dir, "ls-tree", "-z", "--long", "--full-tree", ref)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", ref, err)
	}
	var files []BranchFile
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || fields[1] != "blob" || !strings.HasPrefix(fields[0], "100") {
			continue // no file
		}
		size, _ := strconv.ParseInt(fields[3], 10, 64)
		files = append(files, BranchFile{Name: name, SHA: fields[2], Size: size})
	}
	return files, nil
}

// Content returns what a file of a branch has in it.
func Content(ctx context.Context, dir string, file BranchFile) ([]byte, error) {
	var out bytes.Buffer
	if err := stream(ctx, slowPatience, dir, nil, &out, "cat-file", "blob", file.SHA); err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name, err)
	}
	return out.Bytes(), nil
}

// AddContent stores the content of a file in the repository. Nothing refers to it yet.
func AddContent(ctx context.Context, dir, name string, content []byte) (BranchFile, error) {
	var out bytes.Buffer
	if err := stream(ctx, slowPatience, dir, bytes.NewReader(content), &out, "hash-object", "-w", "--stdin"); err != nil {
		return BranchFile{}, fmt.Errorf("store %s: %w", name, err)
	}
	return BranchFile{Name: name, SHA: strings.TrimSpace(out.String()), Size: int64(len(content))}, nil
}

// CommitFiles makes a commit without parents that has these files at its top.
func CommitFiles(ctx context.Context, dir, message string, files []BranchFile) (string, error) {
	var list, tree bytes.Buffer
	for _, file := range files {
		if file.Name == "" || path.Base(file.Name) != file.Name || strings.ContainsAny(file.Name, "\x00\n") {
			return "", fmt.Errorf("make a commit: %q is no name of a file", file.Name)
		}
		fmt.Fprintf(&list, "100644 blob %s\t%s\x00", file.SHA, file.Name)
	}
	if err := stream(ctx, patience, dir, &list, &tree, "mktree", "-z"); err != nil {
		return "", fmt.Errorf("make a commit: %w", err)
	}
	return line(ctx, dir, "make a commit", "-c", "user.name=pawl", "-c", "user.email=pawl@users.noreply.localhost", "-c", "commit.gpgsign=false",
		"commit-tree", strings.TrimSpace(tree.String()), "-m", message)
}

// ErrNoBranch means that a remote has no branch of this name.
var ErrNoBranch = errors.New("no such branch")

// Last fetches a branch and returns its last commit, or ErrNoBranch.
func (r Remote) Last(ctx context.Context, branch string) (string, error) {
	var out bytes.Buffer
	doing := fmt.Sprintf("look for branch %s of %s", branch, r.Name)
	if err := command(ctx, slowPatience, r.Dir, r.env(), nil, &out, "ls-remote", "--heads", r.Name, "refs/heads/"+branch); err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	if strings.TrimSpace(out.String()) == "" {
		return "", fmt.Errorf("%s: %w", doing, ErrNoBranch)
	}
	return r.Tip(ctx, branch)
}

// Replace makes a commit the only one of a branch of files, if that has not changed since it was seen:
// was is what it had then, "" that it was not there. It is the one push of pawl that replaces what is
// there, and only for branches that no source is on.
func (r Remote) Replace(ctx context.Context, sha, branch, was string) error {
	return command(ctx, slowPatience, r.Dir, r.env(), nil, io.Discard, "push", "--quiet", "--force-with-lease=refs/heads/"+branch+":"+was, r.Name, sha+":refs/heads/"+branch)
}
