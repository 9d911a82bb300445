package build

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"pawl/internal/git"
	"pawl/internal/result"
	"pawl/internal/sandbox"
)

// A check builds earlier versions from checkouts of their own. An absolute path in flags, in CPATH,
// or behind a link leads out of such a checkout into the user's, where the changed headers are:
// both versions would be built from them, and a change would go unnoticed. So a build of another
// version reads only two parts of the user's checkout: a compiler that is installed in it, and the
// paths in PAWL_BUILD_READ that are in no version, because git tracks none of them.

// Apart returns the project whose files no build and no run in dir may read: that of the user's own
// folder, if dir is another version's; "" if it is not.
func Apart(own, dir string) string {
	if own == "" {
		return ""
	}
	if checkout := sandbox.ProjectRoot(own); checkout != sandbox.ProjectRoot(dir) {
		return checkout
	}
	return ""
}

// ownTools returns the parts of the user's checkout that may be read: a compiler that is installed
// there, as in a virtual environment, and untracked folders. The folders that the compiler says it
// reads do not count, because they include flags in CC and folders in CPATH. For a script only the
// file is taken. An installation is not taken if its folders are the checkout's own: the files
// there may be the project's headers.
func (f *fence) ownTools() []string {
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
		return !below(f.checkout, path) || filepath.Dir(path) == f.checkout && slices.Contains(installed, filepath.Base(path))
	})
	return append(tools, f.exempt...)
}

// untrackedIn returns the folders of the user's checkout that PAWL_BUILD_READ names and in which
// git tracks nothing.
func untrackedIn(ctx context.Context, checkout string) []string {
	var named folderSet
	named.add(namedFolders(readVariable)...)
	return slices.DeleteFunc(named, func(path string) bool {
		if !below(checkout, path) {
			return true
		}
		tracked, err := git.Tracks(ctx, path)
		return err != nil || tracked
	})
}

// importPath returns the folders in PYTHONPATH that are in the user's checkout: modules imported
// from these are the project's. For another version they are refused as stray.
func (f *fence) importPath() []string {
	var found folderSet
	found.add(namedFolders("PYTHONPATH")...)
	return slices.DeleteFunc(found, func(folder string) bool { return !holds(cmp.Or(f.checkout, f.project), folder) })
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

// strayed reports whether a file, links resolved, belongs to the user's checkout and not to this
// version's own.
func (f *fence) strayed(real string) bool {
	return f.checkout != "" && holds(f.checkout, real) && !holds(f.project, real) && !oneHolds(f.tools(), real)
}

// stray returns the first file of a list that belongs to the user's checkout; "" if none does.
func (f *fence) stray(dir string, list []lookup) string {
	if f.checkout == "" {
		return ""
	}
	for _, l := range list {
		if l.absent {
			continue
		}
		path := verbatim(dir, l.path)
		if f.places.get(path, func() bool {
			real, _ := filepath.EvalSymlinks(path) // "": it is gone, which is noticed elsewhere
			return f.strayed(real)
		}) {
			return l.path
		}
	}
	return ""
}

// strayFault returns the fault for an artifact of one version that was made from another's files.
func (f *fence) strayFault(source, path string) *result.Fault {
	return newFault(result.CauseCompile, strayRemedy, "this version of %s would be built from %s, a file of the working tree in %s", source, path, f.checkout)
}

const strayRemedy = "every version is built from its own files: name them relative to pawl.yaml in flags, sources and links, and not in CPATH or similar variables"
