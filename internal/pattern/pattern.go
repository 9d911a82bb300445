// Package pattern has regular expressions that are compiled when they are first used. pawl starts
// itself as a worker, as a cell and as a sandbox's first stage, dozens of times in a check: compiling
// all expressions of the program took half of such a start.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. Its methods are those of regexp.Regexp that are used most.
type Pattern struct {
	text     string
	compiled func() *regexp.Regexp
}

// New returns the pattern of an expression. One that does not compile panics when it is first used:
// a test of this package compiles all that the sources have.
func New(text string) *Pattern {
	return &Pattern{text: text, compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the expression.
func (p *Pattern) String() string { return p.text }

// Regexp returns the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp { return p.compiled() }

// MatchString reports whether a text has a match.
func (p *Pattern) MatchString(s string) bool { return p.compiled().MatchString(s) }

// Match reports whether a text has a match.
func (p *Pattern) Match(b []byte) bool { return p.compiled().Match(b) }

// FindString returns the first match; "" where there is none.
func (p *Pattern) FindString(s string) string { return p.compiled().FindString(s) }

// FindStringSubmatch returns the first match and its groups; nil where there is none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

// FindSubmatch returns the first match and its groups; nil where there is none.
func (p *Pattern) FindSubmatch(b []byte) [][]byte { return p.compiled().FindSubmatch(b) }

// FindAllString returns at most n matches; all of them where n is negative.
func (p *Pattern) FindAllString(s string, n int) []string { return p.compiled().FindAllString(s, n) }

// ReplaceAllString replaces all matches; $1 in the replacement is the first group.
func (p *Pattern) ReplaceAllString(s, by string) string { return p.compiled().ReplaceAllString(s, by) }
