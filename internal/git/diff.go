package git

import (
	"context"
	"strings"
)

// Changed lists the files that differ between head and where it left base, by their paths from the
// top folder. A renamed file is listed under both names.
func Changed(ctx context.Context, dir, base, head string) ([]string, error) {
	from, err := MergeBase(ctx, dir, base, head)
	if err != nil {
		return nil, err
	}
	out, err := line(ctx, dir, "compare "+Short(from)+" with "+Short(head), "diff-tree", "-r", "-z", "--no-renames", "--name-only", from, head)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}

// Files lists the files that git has below dir, by their paths from the top folder.
func Files(ctx context.Context, dir string) ([]string, error) {
	out, err := line(ctx, dir, "list the files of "+dir, "ls-files", "-z", "--full-name", wholeTree)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}
