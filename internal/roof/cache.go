package roof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pawl/internal/disk"
	"pawl/internal/machine"
)

// Folder returns where this user's peaks lie: $XDG_CACHE_HOME/pawl/peaks. It is empty
// where the user has no cache folder.
func Folder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "pawl", "peaks")
}

// Path returns the file of a device class. A class may come from another machine, so
// it is made a plain name first.
func Path(folder, class string) string { return filepath.Join(folder, machine.Slug(class)+".json") }

// Load reads the peaks of a device class; nil when there are none.
func Load(folder, class string) (*Peaks, error) {
	path := Path(folder, class)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read peaks: %w", err)
	}
	p, err := Decode(raw)
	if err == nil && p.DeviceClass != class {
		err = fmt.Errorf("they are those of %q", p.DeviceClass)
	}
	if err != nil {
		return nil, fmt.Errorf("read peaks %s: %w", path, err)
	}
	return p, nil
}

// Decode reads peaks as Encode writes them.
func Decode(raw []byte) (*Peaks, error) {
	p := &Peaks{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Save replaces the peaks of their device class and returns the file's path.
func Save(folder string, p *Peaks) (string, error) {
	if err := p.check(); err != nil {
		return "", fmt.Errorf("save peaks: %w", err)
	}
	if folder == "" {
		return "", errors.New("save peaks: this user has no cache folder; set XDG_CACHE_HOME")
	}
	raw, err := p.Encode()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("save peaks: %w", err)
	}
	path := Path(folder, p.DeviceClass)
	return path, disk.Write(path, raw)
}

// Encode renders the peaks as indented JSON.
func (p *Peaks) Encode() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encode peaks: %w", err)
	}
	return buf.Bytes(), nil
}
