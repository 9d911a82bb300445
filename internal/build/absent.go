package build

import (
	"path/filepath"
	"slices"
	"strings"
)

// lookups returns the files that compiling a recipe read, and the paths where it found none: every
// name that one of the user's files includes or asks for, in every folder that is searched before
// the one that has it. A file that exists but was not read counts as read: __has_include may have
// seen it. Files that flags name are looked up as well, and libraries in every folder that is
// searched for them.
func (run *batch) lookups(r *recipe, made *product) []lookup {
	read := slices.Concat(made.paths, made.assembled, made.linked, made.libraries)
	slices.Sort(read)
	read = slices.Compact(read)
	list := filesRead(read)
	if r.cuda != nil && r.cuda.runtime != nil {
		return list // nothing else could have been read
	}
	known := map[string]bool{}
	for _, path := range read {
		known[filepath.Clean(path)] = true
	}
	fence := run.fenceOf(r)
	search, system := r.searchPath(), r.compiler.systemFolders()
	asked := map[string]bool{}
	ask := func(path string) bool { // reports whether a readable file is there
		exists, before := asked[path]
		if before {
			return exists
		}
		place, read := verbatim(r.dir, path), known[filepath.Clean(path)]
		exists = isFile(place)
		if exists && !read && !fence.allows(place) {
			// The key is in the report, and must not depend on files that a stranger's source may
			// only ask for.
			exists = false
		} else if !exists || !read {
			list = append(list, lookup{path: path, absent: !exists})
		}
		asked[path] = exists
		return exists
	}
	look := func(from string, inc include) {
		for _, path := range search.candidates(from, inc) {
			if !system.have(path) && ask(path) && !inc.next {
				return
			}
		}
	}
	for _, name := range search.forced {
		look("", include{name: name, quoted: true})
	}
	for _, path := range slices.Concat(r.named(), r.shadowing(slices.Concat(made.linked, made.ignored))) {
		if !known[filepath.Clean(path)] && (!system.have(path) || isFile(path)) {
			ask(path)
			known[filepath.Clean(path)] = true
		}
	}
	for _, path := range made.paths {
		if system.have(path) {
			continue
		}
		if found := run.includes.file(verbatim(r.dir, path)); found != nil {
			for _, inc := range found.list {
				look(path[:strings.LastIndex(path, "/")+1], inc)
			}
		}
	}
	return list
}

// folders are absolute paths.
type folders []string

// have reports whether a file is in one of the folders; a path relative to the project is the
// user's, wherever the project is.
func (f folders) have(path string) bool {
	return filepath.IsAbs(path) && oneHolds(f, filepath.Clean(path))
}

// systemFolders returns the folders of the compiler's own headers and the system's.
func (c *compiler) systemFolders() folders {
	all := folders{"/usr/include", "/usr/lib", "/usr/local/include"}
	program := c.Command[0]
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		real = program
	}
	for _, path := range []string{program, real} {
		prefix := filepath.Dir(filepath.Dir(path))
		for _, name := range []string{"include", "lib", "lib64", "targets"} {
			all = append(all, filepath.Join(prefix, name))
		}
		if c.Target != "" {
			all = append(all, filepath.Join(prefix, c.Target))
		}
	}
	return all
}
