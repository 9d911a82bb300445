package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/disk"
)

// MakeHome creates the folder .pawl with a .gitignore that lists the parts of it that do not belong
// into git. The user's own .gitignore stays.
func MakeHome(home string) error {
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	file := filepath.Join(home, ".gitignore")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return disk.Write(file, []byte("runs/\nhistory.db*\n"))
	}
	return nil
}
