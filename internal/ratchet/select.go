package ratchet

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
)

// Select chooses names by patterns kernel[/config], in which * ? and [abc] match as in file names;
// without a pattern it chooses all. A pattern that matches nothing is an error. The names need not
// be in any pawl.yaml: the baseline of a removed kernel may still exist.
func Select(names, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return names, nil
	}
	chosen := map[string]bool{}
	var problems diag.Errors
	for _, pattern := range patterns {
		full := pattern
		if !strings.Contains(pattern, "/") {
			full += "/*"
		}
		if _, err := path.Match(full, ""); err != nil {
			problems = append(problems, &diag.Problem{
				Message: fmt.Sprintf("%q is no selector", pattern),
				Hint:    "write kernel or kernel/config; * stands for any characters, ? for one, [abc] for one of several",
			})
			continue
		}
		found := false
		for _, name := range names {
			if match, _ := path.Match(full, name); match {
				chosen[name], found = true, true
			}
		}
		if !found {
			problems = append(problems, &diag.Problem{Message: fmt.Sprintf("nothing here matches %q", pattern), Hint: diag.Meant(pattern, names)})
		}
	}
	if problems != nil {
		return nil, problems
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !chosen[name] }), nil
}
