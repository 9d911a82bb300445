package main

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// A floor is a rule for imports.
type floor struct {
	rooms string // whom it is for: folders of internal, or cmd
	uses  string // the only rooms that they may import
	not   string // or: the rooms that they may not import
	why   string
}

var floorsAnalyzer = &analysis.Analyzer{
	Name: "floors",
	Doc:  "reports imports that do not go down",
	Run:  checkFloors,
}

func checkFloors(pass *analysis.Pass) (any, error) {
	folder := folder(pass)
	here, inside := strings.CutPrefix(folder, "internal/")
	if inside && !slices.ContainsFunc(floors, func(f floor) bool { return below(here, f.rooms) }) {
		pass.Reportf(pass.Files[0].Package, "%s is on no floor: give it a rule in tools/lint/rules.go", folder)
	}
	for _, file := range pass.Files {
		test := strings.HasSuffix(filename(pass, file), "_test.go")
		for _, i := range file.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return nil, err
			}
			if room, ok := strings.CutPrefix(imported, "pawl/internal/"); ok && !test {
				for _, f := range floors {
					if below(here, f.rooms) && (f.not == "" && !below(room, f.uses) || below(room, f.not)) {
						pass.Reportf(i.Pos(), "%s must not import %s: %s", folder, imported, f.why)
					}
				}
			}
			for _, f := range confined {
				if below(imported, f.uses) && !below(here, f.rooms) {
					pass.Reportf(i.Pos(), "%s must not import %s: %s", folder, imported, f.why)
				}
			}
		}
	}
	return nil, nil
}

// below reports whether a room is one of the rooms, or inside one.
func below(room, rooms string) bool {
	return slices.ContainsFunc(strings.Fields(rooms), func(r string) bool {
		return room == r || strings.HasPrefix(room, r+"/")
	})
}

// folder returns the folder of the package, seen from the top of the sources.
func folder(pass *analysis.Pass) string {
	of, _, _ := strings.Cut(pass.Pkg.Path(), " ")
	return strings.TrimPrefix(strings.TrimSuffix(of, "_test"), "pawl/")
}

// location returns the path of a file, seen from the top of the sources.
func location(pass *analysis.Pass, name string) string {
	return path.Join(folder(pass), filepath.Base(name))
}
