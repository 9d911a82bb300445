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
	names map[string][]string
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
	cache *cache

	done  sync.Once
	found *installation

	mu   sync.Mutex
	seen map[string]*installation // outside of a project and a checkout
}

// outside returns the installed modules that are not the project's own; nil where nothing is known.
func (t *pythonTool) outside(fence *fence) *installation {
	found := t.find()
	if found == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := fence.project + "\x00" + fence.checkout
	if t.seen[id] == nil {
		if t.seen == nil {
			t.seen = map[string]*installation{}
		}
		t.seen[id] = found.without(fence)
	}
	return t.seen[id]
}

// find returns the interpreter's modules; nil where there is no interpreter, and so nothing that
// could run a kernel.
func (t *pythonTool) find() *installation {
	t.done.Do(func() {
		program, err := exec.LookPath(pythonCommand())
		if err != nil {
			return
		}
		id, err := pythonID(program)
		if err != nil {
			return
		}
		kept := &installation{}
		if t.cache.readNote("compilers", id, kept) && kept.State == kept.state() {
			t.found = kept
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, "-I", "-c", installationQuestion)
		cmd.Dir, cmd.WaitDelay = "/", time.Second
		out, err := cmd.Output()
		if err != nil {
			return
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n") // start-up files may print before it
		asked := &installation{}
		if json.Unmarshal([]byte(lines[len(lines)-1]), asked) != nil {
			return
		}
		asked.State = asked.state()
		t.cache.writeNote("compilers", id, asked)
		t.found = asked
	})
	return t.found
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
func (i *installation) without(fence *fence) *installation {
	left := &installation{Stdlib: i.Stdlib, names: map[string][]string{}}
	for _, name := range slices.Concat(i.Stdlib, []string{"sitecustomize", "usercustomize"}) {
		left.names[name] = nil
	}
	var folders folderSet
	folders.add(i.Path...)
	folders.add(namedFolders("PYTHONPATH")...)
	for _, folder := range folders {
		own := holds(fence.project, folder) || fence.checkout != "" && holds(fence.checkout, folder)
		if own && !slices.Contains([]string{"site-packages", "dist-packages"}, filepath.Base(folder)) {
			continue
		}
		left.Path = append(left.Path, folder)
		entries, _ := os.ReadDir(folder) // a zip file has none, and is the standard library
		for _, entry := range entries {
			name := entry.Name()
			if !entry.IsDir() && entry.Type()&os.ModeSymlink == 0 && moduleName(name) == "" {
				continue
			}
			name, _, _ = strings.Cut(name, ".")
			if entry.IsDir() {
				left.names[name] = append(left.names[name], filepath.Join(folder, entry.Name()))
			} else if _, known := left.names[name]; !known {
				left.names[name] = nil
			}
		}
	}
	return left
}

// has reports whether a module is installed.
func (i *installation) has(name string) bool {
	_, known := i.names[name]
	return known
}

// folders returns the folders of an installed package.
func (i *installation) folders(name string) []string { return i.names[name] }
