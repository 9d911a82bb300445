package run

import (
	"context"
	"path/filepath"
	"slices"

	"pawl/internal/git"
)

// builtFrom are the extensions of files that a kernel may be built from, or compared by.
var builtFrom = []string{".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hh", ".hpp", ".inc", ".py"}

// Loose lists the files that the project uses and git does not have: without them the commit is not the
// code that is measured. It looks once.
func (r *Run) Loose(ctx context.Context) ([]string, error) {
	if !r.looked {
		r.loose, r.looseErr = loose(ctx, r)
		r.looked = true
	}
	return r.loose, r.looseErr
}

func loose(ctx context.Context, r *Run) ([]string, error) {
	named := []string{filepath.Base(r.Spec.File)}
	for _, k := range r.Spec.Kernels {
		if filepath.IsLocal(k.Source) {
			named = append(named, filepath.ToSlash(k.Source))
		}
	}
	missing, err := git.Missing(ctx, r.Spec.Dir, named)
	if err != nil {
		return nil, err
	}
	loose, err := git.Loose(ctx, r.Spec.Dir, builtFrom)
	if err != nil {
		return nil, err
	}
	loose = append(loose, missing...)
	slices.Sort(loose)
	return slices.Compact(loose), nil
}
