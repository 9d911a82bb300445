package main

import (
	"encoding/gob"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// forFacts leaves out what is not needed when go vet only asks for facts. go vet shows the
// tool every package that pawl imports, so that analyzers can remember something about it:
// that a function is deprecated, or formats like Printf. The others have nothing to do there.
func forFacts(analyzers []*analysis.Analyzer, arguments []string) []*analysis.Analyzer {
	var unit struct {
		VetxOnly   bool // only facts are asked for
		ImportPath string
	}
	file := arguments[len(arguments)-1]
	if !strings.HasSuffix(file, ".cfg") {
		return analyzers
	}
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &unit) != nil || !unit.VetxOnly {
		return analyzers // what is wrong with the file, unitchecker says
	}
	// Staticcheck's own form of the code costs more than all the rest. What would be learned
	// from it is hardly worth it: functions that have no effect (those of the standard library
	// are known by name) or that never return nil. So it is made only of pawl's packages, and
	// of strings, for the sake of strings.NewReplacer, whose arguments come in pairs.
	cheap := unit.ImportPath != "strings" && !strings.HasPrefix(unit.ImportPath, "pawl/")

	var kept []*analysis.Analyzer
	seen := map[*analysis.Analyzer]bool{}
	var visit func(a *analysis.Analyzer)
	visit = func(a *analysis.Analyzer) {
		if seen[a] {
			return
		}
		seen[a] = true
		for _, r := range a.Requires {
			visit(r)
		}
		for _, f := range a.FactTypes {
			gob.Register(f) // facts about other packages are read, whoever is left out here
		}
		costly := slices.ContainsFunc(a.Requires, func(r *analysis.Analyzer) bool { return r.Name == "buildir" })
		if len(a.FactTypes) > 0 && !(cheap && costly) {
			kept = append(kept, a)
		}
	}
	for _, a := range analyzers {
		visit(a)
	}
	return kept
}
