package build

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	readsFolder = "reads"
	mostLists   = 8 // of files looked for, per recipe
)

// lookup is a path that a compilation looked for: of a file that it read, or of a missing one that
// it might have read.
type lookup struct {
	path   string
	absent bool
}

func filesRead(paths []string) []lookup {
	list := make([]lookup, len(paths))
	for i, path := range paths {
		list[i].path = path
	}
	return list
}

// reads returns the lists of files that compilations of a recipe looked for, the
// newest first.
func (c *cache) reads(recipe string) [][]lookup {
	if c.err != nil {
		return nil
	}
	path := c.readsPath(recipe)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return parseReads(string(data))
}

func (c *cache) readsPath(recipe string) string {
	return filepath.Join(c.dir, readsFolder, recipe[:2], recipe)
}

// The marks that begin the lines of a list.
const (
	readMark   = "+"
	absentMark = "-"
)

// parseReads needs no validation: a damaged list leads to no artifact.
func parseReads(text string) [][]lookup {
	var lists [][]lookup
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph == "" {
			continue
		}
		var list []lookup
		for line := range strings.SplitSeq(paragraph, "\n") {
			list = append(list, lookup{path: line[1:], absent: line[:1] == absentMark})
		}
		lists = append(lists, list)
	}
	return lists
}

func formatReads(lists [][]lookup) string {
	var text strings.Builder
	for _, list := range lists {
		for _, l := range list {
			mark := readMark
			if l.absent {
				mark = absentMark
			}
			text.WriteString(mark + l.path + "\n")
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// addReads puts a list of files before the others of its recipe and returns by how many bytes the
// lists grew.
func (c *cache) addReads(recipe string, deps []dependency) (int64, error) {
	list := make([]lookup, len(deps))
	for i, dep := range deps {
		if strings.Contains(dep.Path, "\n") {
			return 0, fmt.Errorf("%q has a line break in its name", dep.Path)
		}
		list[i] = lookup{path: dep.Path, absent: dep.SHA256 == ""}
	}
	path := c.readsPath(recipe)
	before, _ := os.ReadFile(path)
	lists := slices.DeleteFunc(parseReads(string(before)), func(old []lookup) bool { return slices.Equal(old, list) })
	lists = append([][]lookup{list}, lists...)
	text := formatReads(lists[:min(len(lists), mostLists)])
	if text == string(before) {
		return 0, nil
	}
	return int64(len(text) - len(before)), c.replace(path, []byte(text))
}
