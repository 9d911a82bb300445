package check

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pawl/internal/lab"
	"pawl/internal/result"
	"pawl/internal/spec"
)

// Before anything is timed a check says how long starting processes takes, where that is long.
func TestForecast(t *testing.T) {
	kernels := 0
	row := func(cell string, edit func(*verified)) *verified {
		kernels++
		job := &lab.Job{Config: &spec.Config{}}
		job.Variant.Kernel = &spec.Kernel{Name: fmt.Sprint("k", kernels), Cell: cell}
		v := &verified{built: &built{planned: &planned{candidate: job}}}
		v.base = &side{job: job, plays: true}
		edit(v)
		return v
	}
	plays := func(*verified) {}
	for name, test := range map[string]struct {
		start time.Duration
		rows  []*verified
		want  []string // nil: it says nothing
	}{
		"quick":         {time.Second, []*verified{row(spec.CellPython, plays)}, nil},
		"slow":          {20 * time.Second, []*verified{row(spec.CellPython, plays), row(spec.CellPython, plays)}, []string{"measuring 2 rows takes at least 2 minutes", "20.0 s here"}},
		"not whole":     {22 * time.Second, []*verified{row(spec.CellPython, plays), row(spec.CellPython, plays)}, []string{"at least 2 minutes"}},
		"shared cells":  {9 * time.Second, []*verified{row(spec.CellCUDA, plays), row(spec.CellCUDA, plays)}, nil},
		"device code":   {20 * time.Second, []*verified{row(spec.CellCUDA, plays), row(spec.CellCUDA, plays)}, []string{"takes at least 1 minute:"}},
		"wrong answers": {time.Minute, []*verified{row(spec.CellPython, func(v *verified) { v.incorrect = true })}, nil},
		"broken":        {time.Minute, []*verified{row(spec.CellPython, func(v *verified) { v.fault = &result.Fault{} })}, nil},
	} {
		c := &check{total: len(test.rows)}
		c.Duet.Budget = 10 * time.Second
		got := c.duration(test.rows, func(*lab.Job) time.Duration { return test.start })
		if (got != "") != (test.want != nil) {
			t.Errorf("%s: %q", name, got)
		}
		for _, text := range test.want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q should contain %q", name, got, text)
			}
		}
	}
}

// Others who use the machine are named before anything is timed.
func TestCrowd(t *testing.T) {
	for busy, want := range map[float64]string{0: "", 0.5: "", 1.26: "other programs use 1.3 cores of this machine"} {
		if got := crowd(&busy); (got != "") != (want != "") || !strings.HasPrefix(got, want) {
			t.Errorf("%g: %q", busy, got)
		}
	}
	if got := crowd(nil); got != "" {
		t.Errorf("nothing known: %q", got)
	}
}
