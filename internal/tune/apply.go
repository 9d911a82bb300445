package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/git"
	"pawl/internal/patch"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// Edit is what makes a suggestion the defaults of its kernel.
type Edit struct {
	File          string // pawl.yaml
	Before, After []byte
}

// NewEdit makes the edit of a report's suggestion; nil where it suggests nothing. The file must list
// the values; what else has changed in it since the search does not matter.
func NewEdit(s *spec.Spec, t *result.Tuning) (*Edit, error) {
	winner := t.Suggested()
	if winner == nil {
		return nil, nil
	}
	before, err := os.ReadFile(s.File)
	if err != nil {
		return nil, fmt.Errorf("read the spec again: %w", err)
	}
	after, err := spec.Apply(before, s.File, t.Kernel, winner.Params)
	if err != nil {
		return nil, err
	}
	return &Edit{s.File, before, after}, nil
}

// Write writes the edited file, whole or not at all.
func (e *Edit) Write() error {
	now, err := os.ReadFile(e.File)
	if err == nil && string(now) != string(e.Before) {
		err = errors.New("somebody changed it meanwhile")
	}
	if err == nil {
		err = disk.Write(e.File, e.After)
	}
	if err != nil {
		return fmt.Errorf("write the new defaults to %s: %w", e.File, err)
	}
	return nil
}

// Patch returns the edit as git apply takes it, in the top folder of the file's repository.
func (e *Edit) Patch(ctx context.Context) string {
	name := filepath.Base(e.File)
	if file, err := filepath.Abs(e.File); err == nil {
		if top, err := git.Root(ctx, filepath.Dir(file)); err == nil {
			if rel, err := filepath.Rel(top, file); err == nil {
				name = filepath.ToSlash(rel)
			}
		}
	}
	return patch.Unified(name, string(e.Before), string(e.After))
}

// Last returns the report of the newest search of a kernel that ended, in the project of a folder.
func Last(dir, kernel string) (*result.Report, run.Past, error) {
	all, err := run.List(dir)
	if err != nil {
		return nil, run.Past{}, err
	}
	for _, past := range all {
		if _, err := os.Stat(filepath.Join(past.Dir, journalFile)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		report, err := past.Report()
		if err == nil && report.Tuning != nil && report.Tuning.Kernel == kernel {
			return report, past, nil
		}
	}
	return nil, run.Past{}, &diag.Problem{Message: fmt.Sprintf("there is no search of %s that ended", kernel), Hint: "pawl tune " + kernel + " searches; --resume goes on with one that was killed"}
}
