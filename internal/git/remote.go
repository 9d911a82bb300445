package git

import (
	"context"
	"strings"
)

// RemoteURL returns the address of the remote that changes go to, as git has it, which may hold a
// password; "": there is none.
func RemoteURL(ctx context.Context, dir string) (string, error) {
	remotes, err := remotesOf(ctx, dir)
	if err != nil {
		return "", err
	}
	name := mainRemote(remotes)
	if name == "" && len(remotes) == 1 {
		name = remotes[0]
	}
	if name == "" {
		return "", nil
	}
	out, err := run(ctx, dir, "remote", "get-url", "--", name)
	return strings.TrimSpace(out), err
}
