package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A program that works on a project reads its sources. A checkout also leaves tokens in
// .git/config, and .pawl holds the baseline and the reports of earlier runs: these are withheld, by
// whatever name they can be reached in the project.

// withheld are folders in a project that hold no sources.
var withheld = []string{".git", ".pawl"}

// Withheld reports whether a path relative to a project leads into a withheld folder.
func Withheld(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(name string) bool { return slices.Contains(withheld, name) })
}

// ProjectRoot returns the repository that a folder is in, else the folder itself. A repository that
// contains a home folder is no project.
func ProjectRoot(dir string) string {
	if whole, err := filepath.Abs(dir); err == nil {
		dir = whole
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for root := dir; !Broad(root) && root != filepath.Dir(root); root = filepath.Dir(root) {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			return root
		}
	}
	return dir
}

// Broad reports whether a folder is a home folder or contains one: too much to grant for the sake
// of a program or a project in it.
func Broad(dir string) bool {
	homes := []string{os.Getenv("HOME")}
	if who, err := user.Current(); err == nil {
		homes = append(homes, who.HomeDir) // in a container job HOME may be another
	}
	return dir == "/" || slices.ContainsFunc(homes, func(home string) bool {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		return filepath.IsAbs(home) && (home == dir || strings.HasPrefix(home, dir+"/"))
	})
}

// Sources lists what may be read of a project.
type Sources struct {
	Read  []string // the largest files and folders that contain nothing withheld
	Links []string // files that are left out: hard links to withheld files
	Whole bool     // Read is the folder itself
}

// SourcesOf finds what may be read in a folder. Symbolic links are left out: their targets in the
// project are reachable by their own name. Of a project in a home folder itself only the files
// beside pawl.yaml are taken.
func SourcesOf(root string) Sources {
	if Broad(root) {
		var s Sources
		found, _ := os.ReadDir(root)
		for _, entry := range found {
			if entry.Type().IsRegular() && !strings.HasPrefix(entry.Name(), ".") {
				s.Read = append(s.Read, filepath.Join(root, entry.Name()))
			}
		}
		return s
	}
	w := &walk{}
	list, whole := w.entries(root)
	if w.several && len(w.kept) > 0 {
		// Only now: inspecting every file that git keeps takes a while.
		if w.secret = linked(w.kept); len(w.secret) > 0 {
			list, whole = w.entries(root)
		}
	}
	if whole {
		return Sources{Read: []string{root}, Whole: true}
	}
	return Sources{Read: list, Links: w.links}
}

// inode identifies a file.
type inode struct{ device, number uint64 }

// walk is one over a project.
type walk struct {
	kept    []string       // withheld files
	several bool           // some file has another name
	secret  map[inode]bool // files with another name that are withheld
	links   []string       // their other names
}

// entries returns the entries of one folder, and whether it may be read as a whole.
func (w *walk) entries(dir string) (list []string, whole bool) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist) // what this process cannot list, the program cannot either
	}
	whole = true
	for _, entry := range found {
		path := filepath.Join(dir, entry.Name())
		switch {
		case slices.Contains(withheld, entry.Name()):
			w.kept, whole = append(w.kept, path), false
		case entry.IsDir():
			if inner, ok := w.entries(path); ok {
				list = append(list, path)
			} else {
				list, whole = append(list, inner...), false
			}
		case entry.Type()&fs.ModeSymlink != 0:
		case w.isSecret(entry):
			w.links, whole = append(w.links, path), false
		default:
			list = append(list, path)
		}
	}
	return list, whole
}

// isSecret reports whether a file is known to be withheld by another name.
func (w *walk) isSecret(entry fs.DirEntry) bool {
	info, err := entry.Info()
	if err != nil {
		return false
	}
	id, several := inodeOf(info)
	w.several = w.several || several
	return several && w.secret[id]
}

func inodeOf(info fs.FileInfo) (id inode, several bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{uint64(stat.Dev), stat.Ino}, stat.Nlink > 1 && info.Mode().IsRegular()
}

// linked returns the files below some folders that have more than one name. In a worktree
// .git is a file that names the folder.
func linked(folders []string) map[inode]bool {
	found := map[inode]bool{}
	for i := 0; i < len(folders); i++ {
		info, err := os.Lstat(folders[i])
		if err != nil {
			continue
		}
		if text, isFile := readPointer(folders[i], info); isFile {
			folders = append(folders, text...)
		}
		_ = filepath.WalkDir(folders[i], func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return nil // what cannot be read has no names that matter
			}
			if info, err := entry.Info(); err == nil {
				if id, several := inodeOf(info); several {
					found[id] = true
				}
			}
			return nil
		})
	}
	return found
}

// readPointer returns the folders that the .git of a worktree or submodule names: its own
// and the one that it shares.
func readPointer(path string, info fs.FileInfo) (folders []string, isFile bool) {
	if !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return nil, false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	folder, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if !ok {
		return nil, false
	}
	folder = absolute(filepath.Dir(path), strings.TrimSpace(folder))
	folders = []string{folder}
	if common, err := os.ReadFile(filepath.Join(folder, "commondir")); err == nil {
		folders = append(folders, absolute(folder, strings.TrimSpace(string(common))))
	}
	return folders, true
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Without returns the paths without those in one folder: a path that contains it is replaced by its
// other contents. Links are resolved.
func Without(hole string, paths []string) []string {
	var left []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && (inside(hole, real) || inside(real, hole)) {
			left = append(left, around(real, hole)...)
			continue
		}
		left = append(left, path)
	}
	return left
}

// around returns the entries of a folder and of those below it without one folder, as few as
// possible. Symbolic links are left out.
func around(folder, hole string) []string {
	switch {
	case inside(hole, folder):
		return nil
	case !inside(folder, hole):
		return []string{folder}
	}
	var left []string
	found, _ := os.ReadDir(folder) // what cannot be listed is not granted
	for _, entry := range found {
		if entry.Type()&fs.ModeSymlink == 0 {
			left = append(left, around(filepath.Join(folder, entry.Name()), hole)...)
		}
	}
	return left
}

// inside reports whether a path is a folder or in it.
func inside(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
