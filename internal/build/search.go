package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// searchPath lists where a compiler looks for headers before its own folders.
type searchPath struct {
	quote   []string // for quoted names only
	folders []string
	forced  []string // headers that flags include
}

// searchFlags are followed by a folder or header.
var searchFlags = map[string]string{
	"-I": "-I", "--include-directory": "-I", "--include-path": "-I",
	"-isystem": "-isystem", "--system-include": "-isystem",
	"-iquote": "-iquote", "-idirafter": "-idirafter", "--include-directory-after": "-idirafter",
	"-include": "-include", "--include": "-include", "--pre-include": "-include", "-imacros": "-include", "--imacros": "-include",
}

// flags returns all flags of the compiler, including those of its environment.
func (r *recipe) flags() []string {
	if r.compiler.Name != "nvcc" {
		return slices.Concat(r.compiler.Command[1:], r.compile)
	}
	return slices.Concat(r.compiler.Command[1:], strings.Fields(os.Getenv("NVCC_PREPEND_FLAGS")), r.compile, strings.Fields(os.Getenv("NVCC_APPEND_FLAGS")))
}

func (r *recipe) searchPath() searchPath {
	named := parseSearchFlags(r.flags(), r.compiler.Name == "nvcc")
	system := named["-isystem"]
	// A folder that is named as both is searched as the latter.
	plain := slices.DeleteFunc(named["-I"], func(folder string) bool { return slices.Contains(system, folder) })
	return searchPath{
		quote: named["-iquote"],
		folders: slices.Concat(plain, folderList("CPATH"), system,
			folderList("C_INCLUDE_PATH"), folderList("CPLUS_INCLUDE_PATH"), named["-idirafter"]),
		forced: named["-include"],
	}
}

// folderList returns the folders of an environment variable; an empty one is the
// folder that the compiler runs in.
func folderList(variable string) []string { return filepath.SplitList(os.Getenv(variable)) }

// parseSearchFlags returns the values of the search flags, by the flag's usual name.
func parseSearchFlags(flags []string, commas bool) map[string][]string {
	named := flagValues(unnested(flags), searchFlags)
	if commas { // nvcc takes several at once
		for name, values := range named {
			named[name] = strings.Split(strings.Join(values, ","), ",")
		}
	}
	return named
}

// flagValues returns the values of flags, by the flag's usual name. A value is in the next word,
// after =, or for flags of one dash in the same word.
func flagValues(words []string, usual map[string]string) map[string][]string {
	values := map[string][]string{}
	waiting := ""
	for _, word := range words {
		name, value, hasValue := strings.Cut(word, "=")
		switch {
		case waiting != "":
			values[waiting] = append(values[waiting], word)
			waiting = ""
		case usual[word] != "":
			waiting = usual[word]
		case hasValue && usual[name] != "":
			values[usual[name]] = append(values[usual[name]], value)
		default:
			for flag, name := range usual {
				if value, ok := strings.CutPrefix(word, flag); ok && !strings.HasPrefix(flag, "--") {
					values[name] = append(values[name], value)
				}
			}
		}
	}
	return values
}

// passedOn are flags whose value is passed to another program that reads headers.
var passedOn = []string{"-Xcompiler", "--compiler-options", "-Xpreprocessor", "-Xclang"}

// unnested returns the flags, including those that one program passes to another.
func unnested(flags []string) []string {
	split := func(words string) []string {
		return strings.FieldsFunc(words, func(c rune) bool { return c == ',' || c == ' ' })
	}
	var all []string
	inside := false
	for _, flag := range flags {
		name, value, hasValue := strings.Cut(flag, "=")
		words, preprocessor := strings.CutPrefix(flag, "-Wp,")
		switch {
		case inside:
			all = append(all, split(flag)...)
			inside = false
		case slices.Contains(passedOn, flag):
			inside = true
		case hasValue && slices.Contains(passedOn, name):
			all = append(all, split(value)...)
		case preprocessor:
			all = append(all, split(words)...)
		default:
			all = append(all, flag)
		}
	}
	return all
}

// candidates returns the paths that are tried for an include of a file in from, in
// order.
func (s searchPath) candidates(from string, inc include) []string {
	if filepath.IsAbs(inc.name) {
		return []string{inc.name}
	}
	var paths []string
	if inc.quoted {
		paths = append(paths, from+inc.name)
		for _, folder := range s.quote {
			paths = append(paths, inFolder(folder, inc.name))
		}
	}
	for _, folder := range s.folders {
		paths = append(paths, inFolder(folder, inc.name))
	}
	return paths
}

// inFolder returns the path exactly as a compiler opens it.
func inFolder(folder, name string) string {
	if folder == "" || folder == "." {
		return name
	}
	return strings.TrimSuffix(folder, "/") + "/" + name
}
