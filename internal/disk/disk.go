// Package disk writes files atomically: a reader sees the old file or the new one, never half of
// one. It also knows how pawl's own files are encoded and where its cache lies.
package disk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces the file at path with data, or leaves it as it was.
func Write(path string, data []byte) error { return Stream(path, all(data)) }

// Replace is Write for one of many files that can be made again: a process that is killed leaves the old file or the
// new one, but nothing waits for the disk, and a machine that loses its power may leave an empty one.
func Replace(path string, data []byte) error {
	return replace(path, all(data), func(*os.File) error { return nil })
}

// Stream is Write for what is made piece by piece: the file is replaced once all of it is written.
func Stream(path string, write func(io.Writer) error) error {
	return replace(path, write, (*os.File).Sync) // a rename may reach the disk before the data does
}

func all(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func replace(path string, write func(io.Writer) error, sync func(*os.File) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	defer func() {
		if err != nil {
			temp.Close()
			_ = os.Remove(temp.Name())
			err = fmt.Errorf("write %s: %w", path, cause(err))
		}
	}()
	if err = write(temp); err != nil {
		return err
	}
	if err = temp.Chmod(0o644); err != nil {
		return err
	}
	if err = sync(temp); err != nil {
		return err
	}
	if err = temp.Close(); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// JSON encodes a value as pawl's own files have it: indented, <, > and & as they are, and a final
// newline.
func JSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return out.Bytes(), err
}

// Cache returns a folder of this user's cache: $XDG_CACHE_HOME/pawl/name. It is empty where the user
// has no cache folder.
func Cache(name string) string {
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "pawl", name)
}

// cause drops the temporary file's name, which says nothing to the user.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok { //nolint:errorlint // the outermost error is the one made here
		return p.Err
	}
	return err
}
