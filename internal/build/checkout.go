package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"pawl/internal/git"
	"pawl/internal/result"
)

// A check builds earlier versions from checkouts of their own. An absolute path in
// flags, in CPATH, or behind a link leads out of such a checkout into the user's,
// where the changed headers are: both versions would be built from them, and a change
// would be taken for none. So a build of another version reads nothing of the user's
// checkout but a compiler that is installed in it, and what PAWL_BUILD_READ names
// there that is in no version: git has none of it.

// ofCheckout returns the paths without what is in the user's checkout: a folder that
// the checkout lies in is replaced by what else is there.
func ofCheckout(checkout string, paths []string) []string {
	var left []string
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil && (holds(checkout, real) || below(real, checkout)) {
			left = append(left, around(real, checkout)...)
			continue
		}
		left = append(left, path)
	}
	return left
}

// around are the entries of a folder and of those below it without one folder, as few
// as can be. Links are left out, as in sandbox.SourcesOf.
func around(folder, hole string) []string {
	switch {
	case holds(hole, folder):
		return nil
	case !below(folder, hole):
		return []string{folder}
	}
	var left []string
	found, _ := os.ReadDir(folder) // what cannot be listed is not granted
	for _, entry := range found {
		if entry.Type()&os.ModeSymlink == 0 {
			left = append(left, around(filepath.Join(folder, entry.Name()), hole)...)
		}
	}
	return left
}

// toolsIn are what may be read of the user's checkout: a compiler that is installed
// there, as in a virtual environment, and untracked folders. What the compiler says that
// it reads does not count: flags in CC and folders in CPATH are in that, too. Of a script
// only the file is taken, and of an installation none where its folders are the
// checkout's own: what lies there may be the project's headers.
func (f *fence) toolsIn(checkout string) []string {
	var place folderSet
	switch {
	case f.compiler.Name == "nvrtc": // found by its files, never by flags
		place = slices.Clone(f.compiler.Folders)
	case isScript(f.compiler.Command[0]):
		place.add(f.compiler.Command[0])
	case f.compiler.Name == "nvcc":
		place.addToolkit(f.compiler.Command[0])
	default:
		place.addProgram(f.compiler.Command[0], f.compiler.Target)
	}
	tools := slices.DeleteFunc(place, func(path string) bool {
		return !below(checkout, path) || filepath.Dir(path) == checkout && slices.Contains(installed, filepath.Base(path))
	})
	var named folderSet
	named.add(namedFolders(readVariable)...)
	for _, path := range named {
		if !below(checkout, path) {
			continue
		}
		if tracked, err := git.Tracks(path); err == nil && !tracked {
			tools = append(tools, path)
		}
	}
	return tools
}

// isScript reports whether a program is a text that another program runs.
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var begin [2]byte
	_, err = file.Read(begin[:])
	return err == nil && string(begin[:]) == "#!"
}

// strayed reports whether a file, links resolved, is the user's checkout's and not
// this version's own.
func (f *fence) strayed(real string) bool {
	return f.checkout != "" && holds(f.checkout, real) && !holds(f.project, real) &&
		!slices.ContainsFunc(f.tools(), func(tool string) bool { return holds(tool, real) })
}

// stray is the first file of a list that is the user's checkout's; "" where none is.
func (f *fence) stray(dir string, list []lookup) string {
	if f.checkout == "" {
		return ""
	}
	for _, l := range list {
		if l.absent {
			continue
		}
		path := verbatim(dir, l.path)
		known, ok := f.places.Load(path)
		if !ok {
			real, _ := filepath.EvalSymlinks(path) // "": it is gone, and found out elsewhere
			known = f.strayed(real)
			f.places.Store(path, known)
		}
		if known.(bool) {
			return l.path
		}
	}
	return ""
}

// places remembers which paths lead into the user's checkout.
type places = sync.Map

// strayFault refuses an artifact of one version that was made from another's files.
func (f *fence) strayFault(source, path string) *result.Fault {
	return &result.Fault{
		Stage: stage, Cause: result.CauseCompile,
		Message: fmt.Sprintf("this version of %s would be built from %s, a file of the working tree in %s", source, path, f.checkout),
		Hint:    strayRemedy,
	}
}

const strayRemedy = "every version is built from its own files: name them relative to pawl.yaml in flags, sources and links, and not in CPATH and its kin"
