package dash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl/internal/diag"
	"pawl/internal/disk"
	"pawl/internal/pattern"
)

// marker lists the files of an export, one a line. It has a file's name before the file is there: the next export
// knows also what one left that was stopped.
const marker = "pawl-pages.txt"

// folder is where pages are written to. Files of an earlier export stay until they are replaced, and those that are
// not replaced until the end: visitors see pages all the time.
type folder struct {
	dir     string
	earlier map[string]bool
	written []string
	list    *os.File // the marker
}

// openFolder opens a folder that is new, empty or of an earlier export.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("export the pages: %w", err)
	}
	f := &folder{dir: dir, earlier: map[string]bool{}}
	list, err := os.ReadFile(f.path(marker))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("export the pages: %w", err)
		}
		if len(entries) > 0 {
			return nil, &diag.Problem{
				Message: fmt.Sprintf("export the pages: %s has other files, such as %s", dir, entries[0].Name()), Hint: "expected a new or empty folder, or one of an earlier export, which has a " + marker,
			}
		}
	case err != nil:
		return nil, fmt.Errorf("export the pages: %w", err)
	}
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSpace(name); name == filepath.Base(name) && exported.MatchString(name) {
			f.earlier[name] = true
		}
	}
	if f.list, err = os.OpenFile(f.path(marker), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("export the pages: %w", err)
	}
	return f, nil
}

// exported is what files of an export are called.
var exported = pattern.New(`^[a-z0-9][A-Za-z0-9._-]*\.(html|css|js|svg|json|atom)$`)

func (f *folder) path(name string) string { return filepath.Join(f.dir, name) }

// write writes a file, unless one is there that is of no export.
func (f *folder) write(name string, body []byte) error {
	if !f.earlier[name] {
		if _, err := os.Lstat(f.path(name)); err == nil {
			return &diag.Problem{
				Message: fmt.Sprintf("export the pages: %s is there already, and no export of pawl has written it", f.path(name)), Hint: "move it away, or export into another folder",
			}
		}
		if _, err := f.list.WriteString(name + "\n"); err != nil {
			return fmt.Errorf("export the pages: %w", err)
		}
	}
	f.written = append(f.written, name)
	if err := disk.Replace(f.path(name), body); err != nil {
		return fmt.Errorf("export the pages: %w", err)
	}
	return nil
}

// finish removes what the earlier export had and this one has not.
func (f *folder) finish() error {
	slices.Sort(f.written)
	for name := range f.earlier {
		if _, still := slices.BinarySearch(f.written, name); still {
			continue
		}
		if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("export the pages: remove what an earlier export has left: %w", err)
		}
	}
	return disk.Write(f.path(marker), []byte(strings.Join(f.written, "\n")+"\n"))
}

func (f *folder) close() { f.list.Close() }
