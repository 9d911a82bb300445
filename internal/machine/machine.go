// Package machine reads the facts of the host that a timing depends on: what it is (Fingerprint),
// how it is at one moment (State) and what it did between two moments (Meter). It reads /proc and
// /sys and starts no process. It leaves out every fact that this machine does not give: an absent
// fact is never a zero.
package machine

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// host reads the facts below a root folder: "/", or a copied tree in tests.
type host struct{ root string }

var live = host{root: "/"}

func (h host) path(name string) string { return filepath.Join(h.root, name) }

// text returns the content of a file without the white space around it, or "" when
// it cannot be read. Most of these files exist on some machines only.
func (h host) text(name string) string {
	data, err := os.ReadFile(h.path(name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// head is like text for files that grow with the machine and of which only the
// beginning matters.
func (h host) head(name string, most int64) string {
	file, err := os.Open(h.path(name))
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return ""
	}
	return string(data)
}

func (h host) integer(name string) (int64, bool) {
	n, err := strconv.ParseInt(h.text(name), 10, 64)
	return n, err == nil
}

func (h host) exists(name string) bool {
	_, err := os.Lstat(h.path(name))
	return err == nil
}

// glob returns the names, below the root, that match a pattern.
func (h host) glob(pattern string) []string {
	found, err := filepath.Glob(h.path(pattern))
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(found))
	for _, path := range found {
		if name, err := filepath.Rel(h.root, path); err == nil {
			names = append(names, name)
		}
	}
	return names
}
