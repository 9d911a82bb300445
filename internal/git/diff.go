package git

import (
	"context"
	"slices"
	"strings"
)

// Changed lists the files that differ between head and where it left base, by their paths from the
// top folder. A renamed file is listed under both names. A head that left base in several places (it
// merged two branches that base has merged, too) is compared with each of them: beside one alone, a
// merge that dropped the other's changes would look as if it changed nothing.
func Changed(ctx context.Context, dir, base, head string) ([]string, error) {
	bases, err := MergeBases(ctx, dir, base, head)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, from := range bases {
		out, err := line(ctx, dir, "compare "+Short(from)+" with "+Short(head), "diff-tree", "-r", "-z", "--no-renames", "--name-only", from, head)
		if err != nil {
			return nil, err
		}
		names = append(names, strings.FieldsFunc(out, func(r rune) bool { return r == 0 })...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Files lists the files that git has below dir, by their paths from the top folder.
func Files(ctx context.Context, dir string) ([]string, error) {
	out, err := line(ctx, dir, "list the files of "+dir, "ls-files", "-z", "--full-name", wholeTree)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}
