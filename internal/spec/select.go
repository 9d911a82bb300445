package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/diag"
)

// Selection is a kernel with the configs chosen for it.
type Selection struct {
	Kernel  *Kernel
	Configs []*Config
}

// Select chooses by patterns kernel[/config], in which * ? and [abc] match as
// in file names; no pattern chooses everything. The result is in file order. A
// pattern that matches nothing is an error.
func (s *Spec) Select(patterns []string) ([]Selection, error) {
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	chosen := map[row]bool{}
	var problems diag.Errors
	for _, pattern := range patterns {
		if p := s.mark(pattern, chosen); p != nil {
			problems = append(problems, p)
		}
	}
	if problems != nil {
		return nil, problems
	}
	var selections []Selection
	for _, k := range s.Kernels {
		configs := slices.DeleteFunc(slices.Clone(k.Configs), func(c *Config) bool { return !chosen[row{k, c}] })
		if len(configs) > 0 {
			selections = append(selections, Selection{Kernel: k, Configs: configs})
		}
	}
	return selections, nil
}

// OnlyAnswers reports whether a kernel is there for others: it is their oracle or the rival of their
// tolerance, and has no oracle of its own.
func (s *Spec) OnlyAnswers(k *Kernel) bool {
	return k.Oracle == nil && slices.ContainsFunc(s.Kernels, func(other *Kernel) bool { return other != k && other.asks(k.Name) })
}

// Without returns the selections without those kernels, except where a pattern has the kernel's name, or where
// nothing else is selected.
func Without(all []Selection, patterns []string, left func(*Kernel) bool) []Selection {
	some := slices.DeleteFunc(slices.Clone(all), func(one Selection) bool {
		named := slices.ContainsFunc(patterns, func(pattern string) bool {
			name, _, _ := strings.Cut(pattern, "/")
			return name == one.Kernel.Name
		})
		return !named && left(one.Kernel)
	})
	if len(some) == 0 {
		return all
	}
	return some
}

// IsReference reports whether a kernel is timed only when it is named.
func IsReference(k *Kernel) bool { return k.Reference }

// row is a kernel at a config.
type row struct {
	kernel *Kernel
	config *Config
}

// mark adds what a pattern matches to chosen, or says why nothing does.
func (s *Spec) mark(pattern string, chosen map[row]bool) *diag.Problem {
	kernelPattern, configPattern, hasConfig := strings.Cut(pattern, "/")
	if !hasConfig {
		configPattern = "*"
	}
	for _, p := range []string{kernelPattern, configPattern} {
		if _, err := path.Match(p, ""); err != nil {
			return &diag.Problem{
				Message: fmt.Sprintf("%s is not a valid selector", quote(pattern)),
				Hint:    "write kernel or kernel/config; * stands for any characters, ? for one, [abc] for one of several",
			}
		}
	}
	var configs []string // those that could have been meant
	found := false
	for _, k := range s.Kernels {
		if match, _ := path.Match(kernelPattern, k.Name); !match {
			continue
		}
		for _, c := range k.Configs {
			configs = append(configs, c.Name)
			if match, _ := path.Match(configPattern, c.Name); match {
				chosen[row{k, c}], found = true, true
			}
		}
	}
	if found {
		return nil
	}
	if configs != nil {
		return &diag.Problem{
			Message: fmt.Sprintf("no config of %s matches %s", kernelPattern, quote(configPattern)),
			Hint:    diag.Meant(configPattern, slices.Compact(slices.Sorted(slices.Values(configs)))),
		}
	}
	p := &diag.Problem{
		Message: fmt.Sprintf("no kernel matches %s", quote(kernelPattern)),
		Hint:    diag.Meant(kernelPattern, s.kernelNames()),
	}
	for _, k := range s.Kernels {
		for _, c := range k.Configs {
			if !hasConfig && c.Name == pattern {
				p.Hint = fmt.Sprintf("%s is a config; write '*/%s'", pattern, pattern)
			}
		}
	}
	return p
}
