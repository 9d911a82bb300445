package git

import (
	"context"
	"fmt"
)

// Create makes a repository of a folder, with one commit of everything in it. It neither needs nor
// uses the user's settings.
func Create(ctx context.Context, dir, message string) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main", "--template="},
		{"add", "--all", "--force"},
		{
			"-c", "user.name=pawl", "-c", "user.email=pawl@localhost", "-c", "commit.gpgsign=false",
			"commit", "--quiet", "--no-verify", "--message", message,
		},
	} {
		if _, err := work(ctx, dir, args...); err != nil {
			return fmt.Errorf("make a git repository of %s: %w", dir, err)
		}
	}
	return nil
}
