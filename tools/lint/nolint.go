package main

import (
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
)

// linters are the names that a nolint comment may use.
var linters []string

// named puts an analyzer's findings under the name of a linter, and leaves out those that
// a nolint comment on the same line silences:
//
//	os.Exit(code) //nolint:forbidden // as the real main does
func named(linter string, a *analysis.Analyzer) *analysis.Analyzer {
	linters = append(linters, linter)
	run := a.Run
	a.Requires = append(slices.Clip(a.Requires), silencers)
	a.Run = func(pass *analysis.Pass) (any, error) {
		own := *pass
		own.Report = func(d analysis.Diagnostic) {
			if pass.ResultOf[silencers].(*silence).of(pass.Fset.Position(d.Pos), linter) {
				return
			}
			d.Message += " (" + linter
			if a.Name != linter {
				d.Message += " " + a.Name
			}
			d.Message += ")"
			pass.Report(d)
		}
		return run(&own)
	}
	return a
}

// A silence holds the nolint comments of a package. Analyzers ask it at the same time.
type silence struct {
	mutex    sync.Mutex
	comments []*nolint
}

// A nolint is one comment.
type nolint struct {
	at      token.Pos
	file    string
	line    int
	linters map[string]bool // whether it has silenced something
}

func (s *silence) of(at token.Position, linter string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, c := range s.comments {
		if _, ok := c.linters[linter]; ok && c.file == at.Filename && c.line == at.Line {
			c.linters[linter] = true
			return true
		}
	}
	return false
}

var (
	begins = regexp.MustCompile(`^//\s*nolint\b`)
	whole  = regexp.MustCompile(`^//nolint:([a-z,]+) // *\S`)
)

// silencers collects the nolint comments.
var silencers = &analysis.Analyzer{
	Name:       "silencers",
	Doc:        "collects nolint comments",
	ResultType: reflect.TypeFor[*silence](),
	Run: func(pass *analysis.Pass) (any, error) {
		found := &silence{}
		eachNolint(pass, func(c *ast.Comment) {
			if parts := whole.FindStringSubmatch(c.Text); parts != nil {
				at := pass.Fset.Position(c.Pos())
				n := &nolint{at: c.Pos(), file: at.Filename, line: at.Line, linters: map[string]bool{}}
				for linter := range strings.SplitSeq(parts[1], ",") {
					n.linters[linter] = false
				}
				found.comments = append(found.comments, n)
			}
		})
		return found, nil
	},
}

// nolintAnalyzer checks the nolint comments themselves, after all others have run.
func nolintAnalyzer(others []*analysis.Analyzer) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "nolint",
		Doc:      "reports nolint comments without a linter or a reason, and those that silence nothing",
		Requires: append(slices.Clip(others), silencers),
		Run: func(pass *analysis.Pass) (any, error) {
			eachNolint(pass, func(c *ast.Comment) {
				if !whole.MatchString(c.Text) {
					pass.Reportf(c.Pos(), "a nolint comment names its linter and its reason: //nolint:errcheck // why")
				}
			})
			for _, c := range pass.ResultOf[silencers].(*silence).comments {
				for linter, used := range c.linters {
					if !slices.Contains(linters, linter) {
						pass.Reportf(c.at, "no linter is called %s", linter)
					} else if !used {
						pass.Reportf(c.at, "%s finds nothing here: remove the nolint comment", linter)
					}
				}
			}
			return nil, nil
		},
	}
}

func eachNolint(pass *analysis.Pass, do func(*ast.Comment)) {
	for _, file := range pass.Files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if begins.MatchString(c.Text) {
					do(c)
				}
			}
		}
	}
}
