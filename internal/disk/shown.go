package disk

import (
	"os"
	"path/filepath"
)

// Shown returns a path as messages name it: from the working folder, where that is
// shorter.
func Shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, absolute); err == nil && len(short) < len(absolute) {
		return short
	}
	return path
}
