package build

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl/internal/pattern"
	"pawl/internal/sandbox"
)

// why says what keeps compilers from a file, links resolved, and what to do about it; folder is the
// one that would have to be allowed.
func (f *fence) why(real, folder string) (why, remedy string) {
	switch {
	case f.isLink(real):
		return "is a hard link to a file in .git or .pawl", "compilers may not read these folders: put a copy in its place"
	case holds(f.project, real) && sandbox.Withheld(nameIn(f.project, real)):
		return "is in .git or .pawl", "compilers may not read these folders: move the file elsewhere in the project"
	case f.strayed(real):
		return "is in the working tree, but another version is being built", strayRemedy
	case holds(f.project, real): // else it would be allowed
		return "is directly in a home folder", fmt.Sprintf("for a pawl.yaml in a home folder, only the files beside it are read: move the project into a separate folder, such as %s",
			filepath.Join(f.project, "kernels"))
	case private(folder):
		return "is outside the folders that a compiler may read", fmt.Sprintf("do not allow %s, which holds more than sources: put a copy of the file into the project", folder)
	}
	return "is outside the folders that a compiler may read", allow(folder)
}

// allow says how to let compilers read a folder.
func allow(folder string) string {
	return fmt.Sprintf("compilers may read the project, their own folders and the system's; allow another folder with %s=%s", readVariable, folder)
}

// private reports whether a folder should never be allowed to compilers: it is a home or the
// system's configuration, or above one, or one of the hidden folders in a home, where keys are.
func private(folder string) bool {
	if sandbox.Broad(folder) || slices.Contains([]string{"/tmp", "/var", "/var/tmp", "/home", "/opt", "/mnt", "/srv", "/media"}, folder) || filepath.Dir(folder) == "/home" ||
		oneHolds([]string{"/etc", "/proc", "/sys", "/dev", "/run", "/boot"}, folder) {
		return true
	}
	for above := folder; above != "/"; above = filepath.Dir(above) {
		name := filepath.Base(above)
		if strings.HasPrefix(name, ".") && !slices.Contains([]string{".local", ".cache", ".conda"}, name) && sandbox.Broad(filepath.Dir(above)) {
			return true
		}
	}
	return false
}

// refusal matches the messages of compilers, assemblers and linkers about a file that they could
// not open.
var refusal = pattern.New(`Permission denied|[Ff]ile not found|[Cc]ould not find|[Nn]o such file|cannot (?:open|find|read)|can't open|could not open|unable to open`)

// quoting is what stands around paths in messages.
const quoting = " \t\r:;,'\"`()[]<>‘’“”"

// hint explains a failure by the file that was refused, as far as the compiler's output names it.
func (f *fence) hint(dir, output string, args []string) string {
	if f.mode == sandbox.Off {
		return ""
	}
	failed, denied := false, false
	for line := range strings.Lines(output) {
		if !refusal.MatchString(line) {
			continue
		}
		failed, denied = true, denied || strings.Contains(line, "Permission denied")
		for word := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune(quoting, c) || c == '\n' }) {
			if hint := f.explain(dir, strings.TrimPrefix(word, "@"), false); hint != "" {
				return hint
			}
		}
	}
	for _, arg := range args {
		for _, flag := range []string{"-I", "-L", "--include-path="} {
			if folder, ok := strings.CutPrefix(arg, flag); ok && failed {
				if hint := f.explain(dir, folder, true); hint != "" {
					return hint
				}
			}
		}
	}
	if denied {
		return "a file was not readable: " + allow("FOLDER")
	}
	return ""
}

// explain says why a file, or a folder to search, cannot be read; "" where it can, or does not
// exist. The path comes from untrusted code. For files outside the project the answer reveals only
// that they exist.
func (f *fence) explain(dir, word string, search bool) string {
	path := within(dir, word)
	if oneHolds([]string{"/proc", "/sys", "/dev"}, path) {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() != search {
		return ""
	}
	own := holds(f.project, path)
	if why := unreadable(word, path, info); own && why != "" {
		return why
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || f.allows(path) {
		return ""
	}
	if !own {
		real = filepath.Clean(path)
	}
	folder := real
	if !info.IsDir() {
		folder = filepath.Dir(real)
	}
	why, remedy := f.why(real, folder)
	if real != filepath.Clean(path) {
		why = "leads to " + real + ", which " + why
	}
	return fmt.Sprintf("%s %s: %s", word, why, remedy)
}

// unreadable explains why a file's mode keeps a compiler from it, sandbox or not. In a
// sandbox root has no rights but those of its user.
func unreadable(name, path string, info fs.FileInfo) string {
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !known:
	case os.Geteuid() == 0 && owner.Uid != 0 && info.Mode().Perm()&0o044 == 0:
		return fmt.Sprintf("%s belongs to another user, and in a sandbox even root cannot read it: run pawl as that user, or chmod go+r it", name)
	case os.Geteuid() != 0 && unix.Access(path, unix.R_OK) != nil:
		who := strconv.Itoa(int(owner.Uid))
		if found, err := user.LookupId(who); err == nil {
			who = found.Username
		}
		return fmt.Sprintf("%s belongs to %s and its mode %v does not let you read it: chmod it, or use a copy", name, who, info.Mode().Perm())
	}
	return ""
}

// idle lists the entries of the user's variables that have no effect.
func idle() []string {
	var notes []string
	for _, folder := range folderList(readVariable) {
		switch _, err := os.Stat(folder); {
		case folder == "":
		case !filepath.IsAbs(folder):
			notes = append(notes, fmt.Sprintf("%s names %s, which is not an absolute path: it is ignored", readVariable, folder))
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s names %s, which does not exist: it is ignored", readVariable, folder))
		case sandbox.Withheld(folder):
			notes = append(notes, fmt.Sprintf("%s names %s, but .git and .pawl cannot be allowed: it is ignored", readVariable, folder))
		}
	}
	for name := range strings.SplitSeq(os.Getenv(envVariable), ",") {
		if name != "" && len(variables([]string{name})) == 0 {
			notes = append(notes, fmt.Sprintf("%s names %s, but that variable is not set: it is ignored", envVariable, name))
		}
	}
	return notes
}
