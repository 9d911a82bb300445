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
	out, err := run(ctx, dir, "remote")
	if err != nil {
		return nil, fmt.Errorf("list the remotes of %s: %w", dir, err)
	}
	return strings.Fields(out), nil
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
