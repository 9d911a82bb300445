package lab

import (
	"testing"

	"pawl/internal/build"
	"pawl/internal/spec"
)

// Kernels of device code are examined in the cells of the kernel before them, each side in that of
// the same side. A kernel that cannot be loaded there gets a fresh cell.
func TestExaminersInheritCells(t *testing.T) {
	t.Parallel()
	l := labWithGPU(t, "")
	examiner := func(code string, footprint int64, launcher bool) *Examiner {
		sides := twoVersions(t)
		for i, job := range sides {
			job.Artifact = build.NewArtifact([]byte(code), "k")
			job.Artifact.Key = code + string(rune('0'+i))
			job.Variant.Kernel.Launcher = launcher
		}
		return l.NewExaminer(Exam{Answers: &Answers{Oracle: &spec.Oracle{}}, Reference: sides[1]}, sides[0], footprint, 1)
	}
	cells := func(e *Examiner) (ids [3]uint64) {
		t.Helper()
		if _, err := e.Bench(t.Context(), [3]*spec.Instance{e.sides[examined].Instance, e.sides[reference].Instance}); err != nil {
			t.Fatal(err)
		}
		return [3]uint64{e.seats[examined].Cell.Info.Cell, e.seats[reference].Cell.Info.Cell, e.judge.Info.Cell}
	}
	first := examiner("one", 8, false)
	before := cells(first)
	inherit := func(e, from *Examiner, want bool) {
		t.Helper()
		if got := e.Inherit(from); got != want {
			t.Errorf("cells of kernels were inherited: %t", got)
		}
		if err := from.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}

	second := examiner("other", 8, false)
	inherit(second, first, true)
	if after := cells(second); after != before {
		t.Errorf("cells %v after %v", after, before)
	}
	if trust := second.sides[examined].Record.Trust; trust != "harness" {
		t.Errorf("trust %q", trust)
	}

	larger := examiner("one", 9, false) // whose answers take more memory to compare
	inherit(larger, second, true)
	after := cells(larger)
	if after[examined] != before[examined] || after[reference] != before[reference] || after[2] == before[2] {
		t.Errorf("cells %v after %v", after, before)
	}

	launcher := examiner("one", 8, true)
	inherit(launcher, larger, false)
	apart := cells(launcher)
	if apart[examined] == after[examined] || apart[reference] == after[reference] || apart[2] != after[2] {
		t.Errorf("cells %v after %v", apart, after)
	}

	refused := examiner(refusedCode, 8, false)
	third := examiner("one", 8, false)
	cells(third)
	inherit(refused, third, true)
	if _, err := refused.Bench(t.Context(), [3]*spec.Instance{}); err == nil || refused.seats[examined] != nil || refused.used[examined] != nil {
		t.Errorf("%v: cells %v and %v", err, refused.seats, refused.used)
	}
	for _, e := range []*Examiner{launcher, refused} {
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
