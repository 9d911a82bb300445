package cli

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"pawl/internal/dash"
	"pawl/internal/store"
	"pawl/internal/unit"
)

// exportedRuns is how many runs have a page of their own in an export.
const exportedRuns = 300

// exportPages writes the pages of pawl serve as files.
func exportPages(ctx context.Context, e *env, opts *historyExportOptions, selector string) error {
	if selector != "" {
		return usage("export %s -o %s: pages are of all kernels", selector, opts.output)
	}
	h, err := opts.open(ctx, e, store.Read)
	if err != nil {
		return err
	}
	defer h.Close()
	folder, err := opts.folder()
	if err != nil {
		return err
	}
	root, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	dir := filepath.Clean(strings.TrimSuffix(opts.output, "/"))
	shown := newLater(e)
	defer shown.Done()
	o := dash.Options{History: h, Root: root, Project: filepath.Base(root), Tool: version, Now: time.Now}
	n, err := dash.Export(ctx, o, dir, exportedRuns, func(done, known int) {
		shown.set("exporting: %s of %s", unit.Count(done), unit.Plural(known, "file", "files"))
	})
	shown.Done()
	if err != nil {
		return err
	}
	e.print("%s: %s\n", filepath.Join(dir, "index.html"), unit.Plural(n, "file", "files"))
	return nil
}
