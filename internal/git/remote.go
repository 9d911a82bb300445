package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// remotesOf lists the remotes of the clone that holds dir.
func remotesOf(ctx context.Context, dir string) ([]string, error) {
	out, err := line(ctx, dir, "list the remotes of "+dir, "remote")
	return strings.Fields(out), err
}

// mainRemote returns the remote that is asked where nobody named one: origin or, where it
// has another name, the only one there is; "" where nothing says which.
func mainRemote(remotes []string) string {
	switch {
	case slices.Contains(remotes, "origin"):
		return "origin"
	case len(remotes) == 1:
		return remotes[0]
	}
	return ""
}

func besides(remotes []string, asked string) []string {
	return slices.DeleteFunc(remotes, func(remote string) bool { return remote == asked })
}

var errNoRemote = errors.New("it has no remote")

// fetch gets commits from the main remote and returns its name. Without commits it fetches what the
// clone follows.
func fetch(ctx context.Context, dir, depth string, shas ...string) (remote string, err error) {
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return "", err
	}
	remote = mainRemote(remotes)
	switch {
	case remote != "":
		return remote, fetchFrom(ctx, dir, remote, depth, shas...)
	case len(remotes) == 0:
		return "", errNoRemote
	}
	return "", fmt.Errorf("none of its remotes (%s) is called origin", strings.Join(remotes, ", "))
}

// fetchFrom leaves no trace but objects: no tags, no FETCH_HEAD, no submodules. depth
// is an option, or empty.
func fetchFrom(ctx context.Context, dir, remote, depth string, shas ...string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
	if depth != "" {
		args = append(args, depth)
	}
	_, err := work(ctx, dir, append(append(args, remote), shas...)...)
	return err
}

// depthOf returns how much of the history to fetch: in a complete clone a depth would make it
// shallow.
func depthOf(shallow bool) string {
	if shallow {
		return "--depth=1"
	}
	return ""
}

// NamedBase returns where the working tree that holds dir left a named branch, tag or commit. A ref
// that the clone does not have is fetched; a clone of a single branch, for example, does not have
// main.
func NamedBase(ctx context.Context, dir, ref string) (Base, error) {
	sha, err := Resolve(ctx, dir, ref)
	if missing, ok := errors.AsType[*NoCommitError](err); ok {
		sha, err = fetchNamed(ctx, dir, missing)
	}
	if err == nil {
		sha, err = MergeBase(ctx, dir, "HEAD", sha)
	}
	if err != nil {
		return Base{}, err
	}
	return Base{Ref: ref, SHA: sha}, nil
}

// fetchNamed fetches a ref that this clone does not have.
func fetchNamed(ctx context.Context, dir string, missing *NoCommitError) (string, error) {
	ref := missing.Commit
	if fullHash.MatchString(ref) {
		return ref, Fetch(ctx, dir, ref)
	}
	remote, name, err := remoteOf(ctx, dir, ref)
	if err != nil {
		return "", err
	}
	if name == "" || remote == "" {
		missing.Others = branches(ctx, dir)
		return "", missing
	}
	missing.Remote = remote
	sha, err := tipOf(ctx, dir, remote, name)
	if err == nil && sha == "" {
		missing.Absent, missing.Others = true, append(branches(ctx, dir), remoteBranches(ctx, dir, remote)...)
		return "", missing
	}
	if err == nil {
		err = fetchFrom(ctx, dir, remote, depthOf(missing.Shallow), sha)
	}
	if err == nil {
		return sha, nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	missing.Cause = err
	return "", missing
}

// remoteOf returns the branch or tag of a remote that a name may mean; none where it is no plain
// name (HEAD~2), or there is no remote to ask.
func remoteOf(ctx context.Context, dir, ref string) (remote, name string, err error) {
	if ref == "" || strings.HasPrefix(ref, "\"") || strings.ContainsAny(ref, "~^:?*[\\ ") || strings.Contains(ref, "@{") {
		return "", "", nil
	}
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return "", "", err
	}
	for _, prefix := range []string{"refs/remotes/", "refs/heads/", "refs/tags/"} {
		ref = strings.TrimPrefix(ref, prefix)
	}
	for _, remote := range remotes {
		if name, ok := strings.CutPrefix(ref, remote+"/"); ok {
			return remote, name, nil
		}
	}
	return mainRemote(remotes), ref, nil
}

// tipOf asks a remote for the commit of a branch or else a tag; "" where it has neither.
func tipOf(ctx context.Context, dir, remote, name string) (string, error) {
	wanted := []string{"refs/heads/" + name, "refs/tags/" + name + "^{}", "refs/tags/" + name}
	out, err := work(ctx, dir, append([]string{"ls-remote", "--quiet", remote}, wanted...)...)
	if err != nil {
		return "", err
	}
	tips := map[string]string{}
	for line := range strings.Lines(out) {
		sha, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		tips[ref] = sha
	}
	for _, ref := range wanted {
		if tips[ref] != "" {
			return tips[ref], nil
		}
	}
	return "", nil
}

// branches returns the branch names of this clone, to suggest for a mistyped one.
func branches(ctx context.Context, dir string) []string {
	out, err := run(ctx, dir, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

func remoteBranches(ctx context.Context, dir, remote string) []string {
	out, err := work(ctx, dir, "ls-remote", "--quiet", "--heads", remote)
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "\trefs/heads/"); ok {
			names = append(names, name, remote+"/"+name)
		}
	}
	return names
}
