package cli

import (
	"testing"

	"pawl/internal/run"
	"pawl/internal/term"
)

func TestTuneLine(t *testing.T) {
	failed := map[string]int{"wrong answer": 12, "compile error": 61, "crash": 8, "timeout": 0}
	for name, test := range map[string]struct {
		event run.Event
		want  string
	}{
		"begins":      {run.Event{Kind: run.Tune}, "tune 0"},
		"no best yet": {run.Event{Kind: run.Tune, Done: 3, Total: 300, Search: &run.Search{LeftS: 1190, Failed: map[string]int{"crash": 3}}}, "tune 3/300  3 failed  20m left  3 crash"},
		"goes on": {
			run.Event{Kind: run.Tune, Done: 1134, Total: 2300, MedianS: 45.7e-6, Search: &run.Search{Gain: 0.1234, Failed: failed, LeftS: 95, Busy: 0.714, Params: "BLOCK_M=128 BLOCK_N=64"}},
			"tune 1,134/2,300  45.7 µs −12.3%  81 failed  95s left  busy 71%  61 compile error, 12 wrong answer, 8 crash  best: BLOCK_M=128 BLOCK_N=64",
		},
		"energy, and no better": {run.Event{Kind: run.Tune, Done: 9, MedianS: 0.0125, Search: &run.Search{Unit: "J", Gain: -0.01}}, "tune 9  12.5 mJ +1.0%"},
	} {
		if got := tuneLine(test.event); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What matters has room in 80 columns, beside the bar and the time.
func TestTuneLineFits(t *testing.T) {
	beside := term.DisplayWidth("████████████ 19:59  ")
	line := tuneLine(run.Event{Kind: run.Tune, Done: 234, Total: 300, MedianS: 456e-6, Search: &run.Search{Gain: 0.123, Failed: map[string]int{"crash": 81}, LeftS: 1140, Busy: 0.71}})
	if at := term.DisplayWidth(line[:len(line)-len("  81 crash")]); at+beside >= 80 {
		t.Errorf("%d columns beside %d: %q", at, beside, line)
	}
}
