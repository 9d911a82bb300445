package foreign

import (
	"cmp"
	"fmt"
	"time"

	"pawl/internal/result"
)

// readPytest reads the output of pytest-benchmark's --benchmark-json or --benchmark-save.
func readPytest(src source, c *collector) error {
	s := &scanner{source: src}
	var commit result.Commit
	r := c.report
	err := s.fields(map[string]func() error{
		"benchmarks":   func() error { return s.array(func(int) error { return pytestBenchmark(s, c) }) },
		"machine_info": func() error { return pytestMachine(s, &r.Machine) },
		"commit_info": func() error {
			return s.fields(map[string]func() error{
				"id":    into(&commit.SHA, s.optional),
				"dirty": into(&commit.Dirty, s.flag),
			})
		},
		"datetime": func() error { return s.moment(&r.Started) },
	})
	if commit.SHA != "" && commit.SHA != "unversioned" {
		r.Commit = &commit
	}
	return err
}

// moment reads a time of day, if that is what the text says.
func (s *scanner) moment(target *time.Time) error {
	text, err := s.optional()
	if at, wrong := time.Parse(time.RFC3339, text); wrong == nil {
		*target = at
	}
	return err
}

func pytestMachine(s *scanner, m *result.Fingerprint) error {
	return s.fields(map[string]func() error{
		"system":  into(&m.OS, s.optional),
		"release": into(&m.Kernel, s.optional),
		"machine": into(&m.Arch, s.optional),
		"cpu": func() error {
			if s.next() != '{' {
				return s.skip()
			}
			return s.fields(map[string]func() error{
				"brand_raw": into(&m.CPU.Model, s.optional),
				"count":     figure(s, &m.CPU.Cores),
			})
		},
		"python_version": func() error {
			version, err := s.optional()
			m.Compilers = map[string]string{"python": version}
			return err
		},
	})
}

func pytestBenchmark(s *scanner, c *collector) error {
	at := s.here()
	var name, full string
	var data []float64
	var median float64
	err := s.fields(map[string]func() error{
		"name":     into(&name, s.optional),
		"fullname": into(&full, s.optional),
		"stats": func() error {
			return s.fields(map[string]func() error{
				"data":   into(&data, func() ([]float64, error) { return s.times(1) }),
				"median": figure(s, &median),
			})
		},
	})
	if err != nil {
		return err
	}
	name = cmp.Or(full, name)
	row, isNew := c.only(name, "")
	switch {
	case !isNew:
		return s.fail(at, fmt.Sprintf("%q is there twice", name), "a file holds one run: give one of them")
	case len(data) > 0:
		add(row, data...)
	case isTime(median):
		summarised(row, median, "a median", "pytest --benchmark-json, or --benchmark-save with --benchmark-save-data, writes the samples")
	default:
		return s.fail(at, fmt.Sprintf("%q has no samples: expected stats.data", name), "write the file again with pytest --benchmark-json")
	}
	return nil
}
