package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Recent returns at most this many commits that made a path relative to dir what it
// is now, the newest first. Versions that a merge did not take are left out.
func Recent(ctx context.Context, dir, path string, most int) ([]string, error) {
	out, err := ask(ctx, patience, dir, "--literal-pathspecs", "-c", "log.showSignature=false", "-c", "log.follow=false",
		"log", "--max-count="+strconv.Itoa(most), "--format=%H", "HEAD", "--", path)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", path, err)
	}
	return strings.Fields(out), nil
}
