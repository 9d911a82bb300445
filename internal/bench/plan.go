package bench

import (
	"fmt"
	"slices"

	"pawl/internal/diag"
	"pawl/internal/lab"
	"pawl/internal/spec"
)

// plan resolves every selected kernel on every selected config.
func (b *bench) plan() ([]*measured, error) {
	used := make([]bool, len(b.Set))
	var rows []*measured
	for _, s := range b.run.Selections {
		variant := s.Kernel.Default()
		for i, set := range b.Set {
			if !slices.ContainsFunc(s.Kernel.Params, func(p *spec.Param) bool { return p.Name == set.Name }) {
				continue
			}
			used[i] = true
			var err error
			if variant, err = variant.With(set.Name, set.Value); err != nil {
				return nil, err
			}
		}
		rivals, err := b.rivals(s.Kernel)
		if err != nil {
			return nil, err
		}
		answers, unknown := b.answers(s.Kernel)
		for _, config := range s.Configs {
			p := &measured{Job: lab.NewJob(b.Spec.Dir, variant, config)}
			for _, rival := range rivals {
				p.rivals = append(p.rivals, &measured{Job: rival.Job(b.Spec.Dir, config)})
			}
			if len(rivals) > 0 {
				p.exam = &exam{unknown: unknown}
				if answers != nil {
					p.exam.Exam = answers.On(config)
				}
			}
			rows = append(rows, p)
		}
	}
	for i, set := range b.Set {
		if !used[i] {
			names := paramNames(b.run.Selections)
			if len(names) == 0 {
				return nil, fmt.Errorf("--set %s: no selected kernel has params", set.Name)
			}
			return nil, fmt.Errorf("no selected kernel has a param %q (%s)", set.Name, diag.Meant(set.Name, names))
		}
	}
	return rows, nil
}

// rivals finds the rivals that a kernel is measured against.
func (b *bench) rivals(k *spec.Kernel) ([]*lab.Rival, error) {
	var out []*lab.Rival
	for _, name := range b.Against {
		found, err := lab.FindRival(b.Spec, k, name)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, nil
}

func paramNames(selections []spec.Selection) []string {
	var names []string
	for _, s := range selections {
		for _, p := range s.Kernel.Params {
			names = append(names, p.Name)
		}
	}
	return names
}
