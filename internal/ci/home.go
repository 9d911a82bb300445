package ci

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"
)

// manifest describes a home folder, so that it can be put back.
type manifest struct {
	Home    string            `json:"home"`
	Entries map[string]*entry `json:"entries"` // by path below Home
}

// entry is one file, folder or link. Only small files are kept whole.
type entry struct {
	Mode  fs.FileMode `json:"mode"`
	UID   int         `json:"uid"`
	GID   int         `json:"gid"`
	Size  int64       `json:"size,omitempty"`
	Inode uint64      `json:"inode,omitempty"`
	Ctime int64       `json:"ctime,omitempty"` // nanoseconds; no user can set it
	Link  string      `json:"link,omitempty"`
	Data  []byte      `json:"data,omitempty"`
	Whole bool        `json:"whole,omitempty"` // Data is all of the file
}

const (
	maxEntries  = 200_000  // in a home folder
	maxKept     = 64 << 10 // of a file whose content is kept
	maxKeptSize = 64 << 20 // of all of them
)

// takeManifest describes what is below a folder, except for the folders that are outside.
func takeManifest(home string, owner int, outside func(string) relation) (*manifest, error) {
	root, err := openFolder(home, owner)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	made := &manifest{Home: home, Entries: map[string]*entry{}}
	kept := 0
	err = walk(root, func(name string, info fs.FileInfo) error {
		if outside(name) == skipped {
			return fs.SkipDir
		}
		if len(made.Entries) == maxEntries {
			return fmt.Errorf("%s holds more than %d files: name the folders that jobs do not need under ignore", home, maxEntries)
		}
		e := entryOf(info)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			e.Link, err = root.Readlink(name)
			if err != nil {
				return err
			}
		case info.Mode().IsRegular() && info.Size() <= maxKept:
			if e.Data, err = readWhole(root, name); err != nil {
				return err
			}
			e.Whole = true
			if kept += len(e.Data); kept > maxKeptSize {
				return fmt.Errorf("%s holds more than %d MiB of small files: name the folders that jobs do not need under ignore", home, maxKeptSize>>20)
			}
		}
		made.Entries[name] = e
		return nil
	})
	return made, err
}

func entryOf(info fs.FileInfo) *entry {
	e := &entry{Mode: info.Mode()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		e.UID, e.GID = int(stat.Uid), int(stat.Gid)
		if info.Mode().IsRegular() {
			e.Size, e.Inode, e.Ctime = info.Size(), stat.Ino, stat.Ctim.Nano()
		}
	}
	return e
}

// walk visits everything below a root, folders before what is in them. It follows no link: visit
// gets links as links. Where visit returns fs.SkipDir nothing below is visited.
func walk(root *folder, visit func(name string, info fs.FileInfo) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || name == "." && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if err = visit(name, info); errors.Is(err, fs.SkipDir) && !entry.IsDir() {
			return nil
		}
		return err
	})
}

// readWhole reads a small file that is no link.
func readWhole(root *folder, name string) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKept+1))
	if err == nil && len(text) > maxKept {
		err = fmt.Errorf("%s grows while it is read", name)
	}
	return text, err
}

// restore puts a home folder back into the state of the manifest and tells what it did. With dry it
// only tells.
func (m *manifest) restore(owner int, outside func(string) relation, dry bool, tell *Swept) error {
	root, err := openFolder(m.Home, owner)
	if err != nil {
		return err
	}
	defer root.Close()
	seen := map[string]bool{}
	visited := 0
	err = walk(root, func(name string, info fs.FileInfo) error {
		if outside(name) == skipped {
			return fs.SkipDir
		}
		if visited++; visited > 2*maxEntries {
			return fmt.Errorf("%s: more than %d files", m.Home, 2*maxEntries)
		}
		was, known := m.Entries[name]
		if !known && info.IsDir() && outside(name) == above {
			return nil
		}
		if !known || was.Mode.Type() != info.Mode().Type() {
			tell.remove(root, name, dry)
			return fs.SkipDir
		}
		seen[name] = true
		changed, err := was.differs(root, name, info)
		if err != nil || !changed {
			return err
		}
		return was.put(root, name, dry, tell, "changed")
	})
	if err != nil {
		return err
	}
	for _, name := range sortedKeys(m.Entries) { // a folder comes before what is in it
		if !seen[name] && outside(name) != skipped {
			if err := m.Entries[name].put(root, name, dry, tell, "removed"); err != nil {
				return err
			}
		}
	}
	return nil
}

func sortedKeys(entries map[string]*entry) []string {
	names := make([]string, 0, len(entries))
	for name := range entries {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// differs reports whether a file of the same type is no longer as it was.
func (e *entry) differs(root *folder, name string, info fs.FileInfo) (bool, error) {
	now := entryOf(info)
	if now.Mode != e.Mode || now.UID != e.UID || now.GID != e.GID {
		return e.Mode&fs.ModeSymlink == 0, nil
	}
	switch {
	case e.Mode&fs.ModeSymlink != 0:
		link, err := root.Readlink(name)
		return link != e.Link, err
	case !e.Mode.IsRegular() || now.Size == e.Size && now.Inode == e.Inode && now.Ctime == e.Ctime:
		return false, nil
	case !e.Whole || now.Size != e.Size:
		return true, nil
	}
	text, err := readWhole(root, name)
	return !bytes.Equal(text, e.Data), err
}

// put makes one entry as it was.
func (e *entry) put(root *folder, name string, dry bool, tell *Swept, how string) error {
	if e.Mode.IsRegular() && !e.Whole || e.Mode.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 {
		tell.Left = append(tell.Left, fmt.Sprintf("%s was %s by the job, and no copy of it is kept: put it back, then run pawl ci guard --manifest", path.Join(root.path, name), how))
		return nil
	}
	tell.Restored = append(tell.Restored, path.Join(root.path, name))
	if dry {
		return nil
	}
	if e.Mode.IsDir() {
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return e.own(root, name, syscall.O_DIRECTORY)
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	if e.Mode&fs.ModeSymlink != 0 {
		if err := root.Symlink(e.Link, name); err != nil {
			return err
		}
		return root.Lchown(name, e.UID, e.GID)
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(e.Data)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return e.own(root, name, 0)
}

// own gives a file or folder its owner and mode back, through a handle and never through a link.
func (e *entry) own(root *folder, name string, flag int) error {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|flag, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Chown(e.UID, e.GID); err != nil {
		return err
	}
	return file.Chmod(e.Mode)
}
