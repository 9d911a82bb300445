package history

import (
	"errors"
	"strings"
	"testing"

	"pawl/internal/diag"
	"pawl/internal/result"
	"pawl/internal/store"
	"pawl/internal/trend"
)

// Without duets, a reference row of the same runs tells a slower machine from a slower kernel.
func TestReferenceTellsTheMachine(t *testing.T) {
	const commits, from, jump = 30, 15, 1.3
	dir, shas := project(t, commits)
	h := opened(t, dir)
	timed := func(kernel string, n int, level float64) *result.Row {
		m := 1e-3 * level * (1 + 0.002*float64(n%3-1))
		return &result.Row{
			Kernel: kernel, Config: "n_1m", Cell: "host", Class: "host", Verdict: result.Maintained,
			Timing: &result.Timing{Repeat: 1, Stats: result.Stats{Median: m, Low: 0.999 * m, High: 1.001 * m}},
		}
	}
	for n, sha := range shas {
		level := 1.0
		if n >= from {
			level = jump
		}
		r := report(n, sha)
		r.Rows = []*result.Row{timed("saxpy", n, level), timed("moves", n, level), timed("stays", n, 1)}
		if _, err := h.Add(t.Context(), store.Entry{Report: r}); err != nil {
			t.Fatal(err)
		}
	}
	for reference, want := range map[string]trend.Cause{"moves/n_1m": trend.Machine, "stays/n_1m": trend.Kernel, "": trend.Unknown} {
		found, err := h.Trends(t.Context(), store.Filter{Kernel: "saxpy"}, "", reference)
		if err != nil || len(found) != 1 {
			t.Fatalf("%d trends, %v", len(found), err)
		}
		changes := found[0].Times.Changes
		if len(changes) != 1 || changes[0].Commit != shas[from] || changes[0].Cause != want {
			t.Errorf("reference %q: %+v, want a change by %s", reference, changes, want)
		}
	}
	if _, err := h.Trends(t.Context(), store.Filter{Kernel: "saxpy"}, "", "nobody/n_1m"); !errors.As(err, new(*diag.Problem)) {
		t.Errorf("a reference that nobody has measured: %v", err)
	}
}

// Trends stand in the order of the numbers in their names.
func TestTrendsInOrder(t *testing.T) {
	dir, shas := project(t, 1)
	h := opened(t, dir)
	r := report(0, shas[0])
	want := []string{"gemm2/n_4", "gemm2/n_16", "gemm10/n_4"}
	for _, name := range []string{"gemm10/n_4", "gemm2/n_16", "gemm2/n_4"} {
		row := *r.Rows[0]
		row.Kernel, row.Config, _ = strings.Cut(name, "/")
		r.Rows = append(r.Rows, &row)
	}
	r.Rows = r.Rows[1:]
	if _, err := h.Add(t.Context(), store.Entry{Report: r}); err != nil {
		t.Fatal(err)
	}
	trends, err := h.Trends(t.Context(), store.Filter{}, "", "")
	if err != nil || len(trends) != len(want) {
		t.Fatalf("%d trends, %v", len(trends), err)
	}
	for i, one := range trends {
		if got := one.Kernel + "/" + one.Config; got != want[i] {
			t.Errorf("trend %d is of %s, want %s", i, got, want[i])
		}
	}
}
