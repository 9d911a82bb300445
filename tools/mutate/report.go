package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// readEquivalent reads which mutants change nothing that anybody could notice, and
// why: lines of a mutant's key, a tab and the argument.
func readEquivalent(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, why, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("%s: no argument (after a tab) for: %s", path, key)
		}
		out[key] = strings.TrimSpace(why)
	}
	return out, nil
}

func summary(out io.Writer, t *target, sampled []*mutant, known map[string]outcome, equivalent map[string]string) error {
	var dead, same, untried int
	var alive []*mutant
	for _, m := range sampled {
		r, tried := known[m.Key]
		switch {
		case equivalent[m.Key] != "":
			same++
		case !tried:
			untried++
		case r.Status == killed:
			dead++
		default:
			alive = append(alive, m)
		}
	}
	for _, m := range alive {
		fmt.Fprintf(out, "survived line %d, %s (%s)\n", m.Line, m.Key, known[m.Key].By)
	}
	rate := 0.0
	if judged := dead + len(alive); judged > 0 {
		rate = 100 * float64(dead) / float64(judged)
	}
	_, err := fmt.Fprintf(out, "%s: %d mutants, %d equivalent, %d killed, %d survived, %d not tried: %.1f%% killed\n",
		t.path, len(sampled), same, dead, len(alive), untried, rate)
	return err
}
