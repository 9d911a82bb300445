package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A compiler lists the headers that it read, and a linker its inputs. Neither lists the other files
// that flags name: profiles, version scripts, lists of symbols. So every word that may be a file's
// name is looked up.

// named returns the files that the flags of a recipe may name, relative to its folder: each word,
// and the part of a word after =, after a comma, or after a flag's letter. A missing file counts
// too, if the word looks like a file: a profile is used once it exists.
func (r *recipe) named() []string {
	libraryFolders, _ := r.linkLibraries()
	var found []string
	words := slices.Concat(r.flags(), r.link)
	for i, word := range words {
		profile := strings.HasPrefix(word, "-fprofile") || strings.HasPrefix(word, "-fauto-profile")
		for _, piece := range namePieces(word) {
			info, err := os.Stat(verbatim(r.dir, piece))
			switch {
			case err == nil && info.IsDir() && profile:
				found = append(found, profilesIn(r.dir, piece)...)
			case err == nil && info.IsDir():
			case err == nil || profile || strings.ContainsAny(piece, "./"):
				found = append(found, piece)
			}
			if filepath.IsAbs(piece) || !strings.ContainsAny(piece, "./") || !isLinkWord(words, i) {
				continue
			}
			for _, folder := range libraryFolders { // where scripts are looked for, too
				found = append(found, inFolder(folder, piece))
			}
		}
		if word == "-fprofile-use" || word == "-fprofile-instr-use" {
			found = append(found, defaultProfile)
		}
	}
	return found
}

// defaultProfile is what clang reads where a profile is not named, or by its folder.
const defaultProfile = "default.profdata"

// namePieces returns the parts of a word that may be a file's name.
func namePieces(word string) []string {
	pieces := []string{word}
	for i, c := range word {
		if c == '=' || c == ',' {
			pieces = append(pieces, word[i+1:])
		}
	}
	for _, part := range strings.FieldsFunc(word, func(c rune) bool { return c == '=' || c == ',' }) {
		pieces = append(pieces, part)
		if len(part) > 2 && part[0] == '-' && part[1] != '-' { // -Tscript
			pieces = append(pieces, part[2:])
		}
	}
	pieces = slices.DeleteFunc(pieces, func(piece string) bool {
		return piece == "" || piece[0] == '-' || strings.ContainsAny(piece, "\n\x00")
	})
	slices.Sort(pieces)
	return slices.Compact(pieces)
}

// isLinkWord reports whether the linker sees a word of the flags.
func isLinkWord(words []string, i int) bool {
	word := words[i]
	return !strings.HasPrefix(word, "-") || strings.HasPrefix(word, "-Wl,") || strings.HasPrefix(word, "-T") ||
		i > 0 && words[i-1] == "-Xlinker"
}

// profilesIn returns the files in a folder of profiles, and the one that clang would look
// for.
func profilesIn(dir, folder string) []string {
	found := []string{inFolder(folder, defaultProfile)}
	_ = filepath.WalkDir(verbatim(dir, folder), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // what cannot be listed is not read either
		}
		if name, err := filepath.Rel(verbatim(dir, folder), path); err == nil {
			found = append(found, inFolder(folder, name))
		}
		return nil
	})
	return found
}

// linkWords returns the flags of the link, including those that are passed on to the linker.
func (r *recipe) linkWords() []string {
	var words []string
	for _, word := range slices.Concat(r.compiler.Command[1:], r.link) {
		if rest, ok := strings.CutPrefix(word, "-Wl,"); ok {
			words = append(words, strings.Split(rest, ",")...)
		} else if word != "-Xlinker" && word != "--linker-options" {
			words = append(words, word)
		}
	}
	return words
}

var libraryFlags = map[string]string{"-L": "-L", "--library-path": "-L", "-l": "-l", "--library": "-l"}

// linkLibraries returns the folders that libraries are looked for in, and their names.
func (r *recipe) linkLibraries() (folders, names []string) {
	values := flagValues(r.linkWords(), libraryFlags)
	return append(values["-L"], folderList("LIBRARY_PATH")...), values["-l"]
}

// shadowing returns the paths at which a library would be taken instead of one that was linked, or
// in addition: in every folder that flags name.
func (r *recipe) shadowing(linked []string) []string {
	folders, libraries := r.linkLibraries()
	var names []string
	for _, name := range libraries {
		if file, exact := strings.CutPrefix(name, ":"); exact {
			names = append(names, file)
			continue
		}
		names = append(names, "lib"+name+".so", "lib"+name+".a")
	}
	for _, path := range linked { // with what the compiler and scripts name
		if !filepath.IsAbs(path) {
			names = append(names, path)
		}
		base, _, _ := strings.Cut(filepath.Base(path), ".")
		if strings.HasPrefix(base, "lib") {
			names = append(names, base+".so", base+".a")
		}
	}
	slices.Sort(names)
	var paths []string
	for _, folder := range folders {
		for _, name := range slices.Compact(names) {
			paths = append(paths, inFolder(folder, name))
		}
	}
	return paths
}
