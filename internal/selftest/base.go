package selftest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"

	"pawl/internal/diag"
	"pawl/internal/git"
)

// problem lists the keys of a kernel that say what it must compute, and where it is judged. The
// other keys say how.
var problem = []string{"oracle", "tolerance", "deterministic", "configs"}

// before makes the pawl.yaml of the commit before the corpus. Under every subject's name it has the
// honest kernel that the subject names, for the subject's problem.
func before(corpus []byte, subjects []Subject) ([]byte, error) {
	var file struct {
		Version int                       `yaml:"version"`
		Fuzz    any                       `yaml:"fuzz"`
		Kernels map[string]map[string]any `yaml:"kernels"`
	}
	if err := yaml.UnmarshalWithOptions(corpus, &file, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	honest := map[string]map[string]any{}
	for _, s := range subjects {
		from, own := file.Kernels[s.Honest], file.Kernels[s.Kernel]
		if from == nil || own == nil {
			return nil, fmt.Errorf("kernels %s and %s: expected both in the corpus", s.Kernel, s.Honest)
		}
		made := maps.Clone(from)
		for _, key := range problem {
			delete(made, key)
			if value, has := own[key]; has {
				made[key] = value
			}
		}
		honest[s.Kernel] = made
	}
	maps.Copy(file.Kernels, honest)
	return yaml.Marshal(file)
}

// commit makes a repository of a kind's folder. Its only commit is the honest one; the corpus is
// the change in the working tree.
func commit(ctx context.Context, dir, kind string) error {
	file := filepath.Join(dir, "pawl.yaml")
	corpus, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	subjects := slices.DeleteFunc(Subjects(), func(s Subject) bool { return s.Kind != kind })
	honest, err := before(corpus, subjects)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, honest, 0o644); err != nil {
		return err
	}
	err = git.Create(ctx, dir, "honest kernels")
	if errors.Is(err, git.ErrNoProgram) {
		return &diag.Problem{Message: "the corpus is compared with an honest commit, which needs git, and git is not installed", Hint: "install git"}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, corpus, 0o644)
}
