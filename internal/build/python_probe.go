package build

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// installation lists the modules of a Python interpreter, as it reports them.
type installation struct {
	Stdlib []string `json:"stdlib"` // top-level names
	Path   []string `json:"path"`   // folders that it imports from, except those that variables name

	State string `json:"state"` // state of these folders when it was asked
}

// packages are installed modules by name, each with the folders of the packages of that name.
type packages map[string][]string

// has reports whether a module is installed.
func (p packages) has(name string) bool {
	_, known := p[name]
	return known
}

// installationQuestion is asked with -I: nothing is imported from the current folder or from the
// project's folders in PYTHONPATH.
const installationQuestion = `
import json, site, sys
names = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
print()
print(json.dumps({"stdlib": sorted(names), "path": [p for p in sys.path if p] + [site.getusersitepackages()]}))
`

// pythonCommand returns the command that starts Python, as workers find it.
func pythonCommand() string { return cmp.Or(os.Getenv("PAWL_PYTHON"), "python3") }

// pythonTool asks the Python that cells run in, once.
type pythonTool struct {
	find      func() *installation
	installed onceMap[packages] // outside of a project and a checkout
}

func newPythonTool(c *cache) *pythonTool {
	return &pythonTool{find: sync.OnceValue(func() *installation { return findPython(c) })}
}

// outside returns the installed modules that are not the project's own; nil where nothing is known.
func (t *pythonTool) outside(fence *fence) packages {
	found := t.find()
	if found == nil {
		return nil
	}
	return t.installed.get(fence.project+"\x00"+fence.checkout, func() packages { return found.without(fence) })
}

// findPython returns the interpreter's modules; nil where there is no interpreter, and so nothing
// that could run a kernel.
func findPython(c *cache) *installation {
	program, err := exec.LookPath(pythonCommand())
	if err != nil {
		return nil
	}
	id, err := pythonID(program)
	if err != nil {
		return nil
	}
	kept := &installation{}
	if c.readNote("compilers", id, kept) && kept.State == kept.state() {
		return kept
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-I", "-c", installationQuestion)
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n") // start-up files may print before it
	asked := &installation{}
	if json.Unmarshal([]byte(lines[len(lines)-1]), asked) != nil {
		return nil
	}
	asked.State = asked.state()
	c.writeNote("compilers", id, asked)
	return asked
}

// pythonID identifies an interpreter and its environment.
func pythonID(program string) (string, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}
	id, err := fileID(path, []string{path}) // in a virtual environment it is a link
	if err != nil {
		return "", err
	}
	d := newDigest("python 1")
	d.add([]string{id, os.Getenv("HOME"), os.Getenv("VIRTUAL_ENV"), stamp(filepath.Join(filepath.Dir(filepath.Dir(path)), "pyvenv.cfg"))})
	if isScript(path) {
		d.add(os.Environ()) // its choice may depend on any variable
	}
	return d.hex(), nil
}

// state changes whenever the folders may have changed: a package has been installed, or a .pth file
// names another folder.
func (i *installation) state() string {
	d := newDigest("python state")
	for _, folder := range i.Path {
		d.add(folder)
		info, err := os.Stat(folder)
		if err != nil {
			continue
		}
		d.number(uint64(info.ModTime().UnixNano()))
		files, _ := filepath.Glob(filepath.Join(folder, "*.pth"))
		for _, file := range files {
			d.add(stamp(file))
		}
	}
	return d.hex()
}

// without returns what is installed outside of a project. It also excludes the user's checkout of
// another version, so that all versions see the same. A virtual environment may lie in a project.
func (i *installation) without(fence *fence) packages {
	left := packages{"sitecustomize": nil, "usercustomize": nil}
	for _, name := range i.Stdlib {
		left[name] = nil
	}
	var folders folderSet
	folders.add(i.Path...)
	folders.add(namedFolders("PYTHONPATH")...)
	for _, folder := range folders {
		own := holds(fence.project, folder) || fence.checkout != "" && holds(fence.checkout, folder)
		if own && !slices.Contains([]string{"site-packages", "dist-packages"}, filepath.Base(folder)) {
			continue
		}
		entries, _ := os.ReadDir(folder) // a zip file has none, and is the standard library
		for _, entry := range entries {
			name := entry.Name()
			if !entry.IsDir() && entry.Type()&os.ModeSymlink == 0 && moduleName(name) == "" {
				continue
			}
			name, _, _ = strings.Cut(name, ".")
			known := left[name]
			if entry.IsDir() {
				known = append(known, filepath.Join(folder, entry.Name()))
			}
			left[name] = known
		}
	}
	return left
}
