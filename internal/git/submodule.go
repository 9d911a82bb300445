package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// populate fills the submodules of a tree that the user has in the clone whose git folder is given;
// the user builds without the others, too. They come from that clone when it has the commit, else
// from the clone's own source. A note names those that are not available. The clone's configuration
// is not changed, which `git submodule init` would do: worktrees share it.
func populate(ctx context.Context, tree, gitFolder string) (notes []string, err error) {
	modules, err := submodules(ctx, tree)
	if err != nil {
		return nil, err
	}
	for _, module := range modules {
		url, err := run(ctx, tree, "config", "--file", filepath.Join(gitFolder, "config"), "--get", "submodule."+module.name+".url")
		if err != nil {
			continue
		}
		local := filepath.Join(gitFolder, "modules", filepath.FromSlash(module.name))
		options := []string{"-c", "submodule." + module.name + ".url=" + strings.TrimSuffix(url, "\n")}
		if _, err := run(ctx, local, "cat-file", "-e", module.commit+"^{commit}"); err == nil {
			options = []string{"-c", "protocol.file.allow=always", "-c", "submodule." + module.name + ".url=" + local}
		}
		if _, err := work(ctx, tree, append(options, "submodule", "--quiet", "update", "--", module.path)...); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			// A half-fetched submodule would make the tree look changed.
			folder := filepath.Join(tree, filepath.FromSlash(module.path))
			if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)); err != nil {
				return nil, err
			}
			notes = append(notes, fmt.Sprintf("submodule %s could not be fetched: %v", module.path, err))
			continue
		}
		inner, err := populate(ctx, filepath.Join(tree, filepath.FromSlash(module.path)), local)
		if err != nil {
			return nil, err
		}
		notes = append(notes, inner...)
	}
	return notes, nil
}

type submodule struct{ name, path, commit string }

// submodules lists those that a tree's commit has.
func submodules(ctx context.Context, tree string) ([]submodule, error) {
	file := filepath.Join(tree, ".gitmodules")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	out, err := run(ctx, tree, "config", "--file", file, "-z", "--get-regexp", `^submodule\..*\.path$`)
	if err != nil {
		if foundNothing(err) { // none
			return nil, nil
		}
		return nil, fmt.Errorf("read .gitmodules: %w", err)
	}
	var modules []submodule
	for record := range strings.SplitSeq(out, "\x00") {
		key, path, ok := strings.Cut(record, "\n")
		if !ok {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		// A name becomes a path below the git folder; git refuses such ones, too.
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "=") {
			continue
		}
		entry, err := run(ctx, tree, "--literal-pathspecs", "ls-tree", "-z", "HEAD", "--", path)
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(strings.SplitN(entry, "\t", 2)[0])
		if len(fields) == 3 && fields[1] == "commit" {
			modules = append(modules, submodule{name: name, path: path, commit: fields[2]})
		}
	}
	return modules, nil
}
