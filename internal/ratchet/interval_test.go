package ratchet

import (
	"context"
	"testing"
)

func TestIntervals(t *testing.T) {
	p := newProject(t)
	var want []Interval
	for i, change := range []float64{0, -0.1, -0.2} {
		p.moves++
		c := candidate("c", p.moves, 2-float64(i)/4)
		put(t, p.store, func(f *File) error {
			if former := f.Entry("attention", "c"); former != nil {
				c = c.against(former, change)
			}
			f.put(c, ByCheck, "")
			return nil
		})
		p.commit("move")
		e := load(t, p.store).Entry("attention", "c")
		want = append(want, Interval{e.LowMS, e.HighMS})
		if i == 1 {
			write(t, p.store.Path(class), []byte("nonsense"))
			p.commit("damage")
			p.git("checkout", "--quiet", "HEAD~1", "--", ".")
			p.commit("repair")
		}
	}
	moves := load(t, p.store).Entry("attention", "c").Moves
	for versions, from := range map[int]int{1: 2, 100: 0} {
		got, err := p.store.Intervals(t.Context(), class, versions)
		if err != nil || len(got) != len(moves)-from {
			t.Fatalf("of %d versions: %v, %v", versions, got, err)
		}
		for i := from; i < len(moves); i++ {
			if got[moves[i].Sum] != want[i] {
				t.Errorf("move %d: %v, want %v", i, got[moves[i].Sum], want[i])
			}
		}
	}
	if got, err := p.store.Intervals(t.Context(), "other-class", 9); err != nil || len(got) > 0 {
		t.Errorf("of a class without a file: %v, %v", got, err)
	}
	if _, err := p.store.Intervals(t.Context(), "../x", 9); err == nil {
		t.Error("a path was taken for a class")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.store.Intervals(ended, class, 9); err == nil {
		t.Error("went on after the end")
	}
}
