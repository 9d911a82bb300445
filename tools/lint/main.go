// Command lint checks pawl's sources: go vet's passes, staticcheck, and the rules of the
// house, which are in rules.go. It is a tool of go vet, which runs it on one package at a
// time and remembers the packages without findings:
//
//	go vet -vettool=bin/lint -whole ./...
//	bin/lint fmt                            format the sources below this folder
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "fmt" {
		if err := formatAll("."); err != nil {
			fmt.Fprintln(os.Stderr, "lint:", err)
			os.Exit(1)
		}
		return
	}
	// go vet takes a package that it has only asked for facts about for one without findings,
	// and asks only for facts about the imports of the packages that it is given. So runs on
	// a part of the sources, which leave out this flag, must not share their memory with runs
	// on all of them.
	flag.Bool("whole", false, "all packages are checked")
	unitchecker.Main(forFacts(analyzers(), os.Args)...)
}

// analyzers returns everything that is checked. The names in quotes are those that a nolint
// comment uses.
func analyzers() []*analysis.Analyzer {
	var all []*analysis.Analyzer
	add := func(linter string, analyzers ...*analysis.Analyzer) {
		for _, a := range analyzers {
			all = append(all, named(linter, a))
		}
	}
	add("govet", vet.Suite...) // the compiler's own doubts
	for _, a := range slices.Concat(saChecks, simple.Analyzers, stylecheck.Analyzers) {
		if why := match(notChecked, a.Analyzer.Name); why == "" {
			add("staticcheck", a.Analyzer) // real bugs, and code that has a plainer form
		}
	}
	add("unused", unusedAnalyzer)            // code that nothing reaches
	add("errorlint", errorlintAnalyzer())    // errors compared with == miss the wrapped ones
	add("ineffassign", ineffassign.Analyzer) // a value that nobody reads is often a mistake
	add("errcheck", errcheckAnalyzer)        // an error that nobody looks at
	add("floors", floorsAnalyzer)            // the floors of the house
	add("forbidden", forbiddenAnalyzer)      // only the faces talk to the terminal and end the process
	add("comments", commentsAnalyzer)        // every package and every exported name has a comment
	add("gofumpt", formatAnalyzer)           // gofmt, and a little stricter
	return append(all, nolintAnalyzer(all))  // a nolint comment names its linter and its reason
}

// errorlintAnalyzer also asks for errors to be wrapped with %w.
func errorlintAnalyzer() *analysis.Analyzer {
	a := errorlint.NewAnalyzer()
	if err := a.Flags.Set("errorf", "true"); err != nil {
		panic(err)
	}
	return a
}

// unusedAnalyzer reports what the analyzer of the same name only returns.
var unusedAnalyzer = &analysis.Analyzer{
	Name:     "unused",
	Doc:      "reports code that nothing reaches",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		place := func(o unused.Object) string { return fmt.Sprint(o.Position.Filename, o.Position.Line, o.Name) }
		used := map[string]bool{}
		for _, o := range found.Used {
			used[place(o)] = true
		}
		for _, o := range found.Unused {
			if o.Kind != "type param" && !used[place(o)] {
				pass.Reportf(position(pass, o.Position), "%s %s is unused", o.Kind, o.Name)
			}
		}
		return nil, nil
	},
}

// A rule is a pattern and the reason for it.
type rule struct{ pattern, why string }

// match returns the reason of the first rule that matches one of the names, or "".
func match(rules []rule, names ...string) string {
	for _, r := range rules {
		if slices.ContainsFunc(names, regexp.MustCompile(r.pattern).MatchString) {
			return r.why
		}
	}
	return ""
}
