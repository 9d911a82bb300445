package sandbox

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A program under test can make as many different attempts as it likes, so the list must be
// bounded, in number and in length.
const (
	maxAttempts   = 64
	maxAttemptLen = 512
)

// attemptLog collects attempts, each kind once, in the order first seen.
type attemptLog struct {
	mu      sync.Mutex
	list    []Attempt
	further int
}

func (l *attemptLog) add(what string) {
	what = printable(what)
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.list, func(a Attempt) bool { return a.What == what }); i >= 0 {
		l.list[i].Count++
		return
	}
	if len(l.list) == maxAttempts {
		l.further++
		return
	}
	l.list = append(l.list, Attempt{What: what, Count: 1})
}

func (l *attemptLog) snapshot() ([]Attempt, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list), l.further
}

// printable bounds a description and removes control characters that could affect a terminal: paths
// come from the program under test.
func printable(s string) string {
	cut := len(s) > maxAttemptLen
	if cut {
		s = s[:maxAttemptLen]
	}
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if cut {
		s += "…"
	}
	return s
}
