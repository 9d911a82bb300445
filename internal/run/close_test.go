package run

import (
	"os"
	"slices"
	"testing"
	"time"

	"pawl/internal/result"
)

// A run that nobody saves leaves no open file.
func TestClose(t *testing.T) {
	open := func() int { entries, _ := os.ReadDir("/proc/self/fd"); return len(entries) }
	before, root := open(), t.TempDir()
	for range 20 {
		r := New(root, time.Now(), nil)
		r.Close()
		r.Emit(Event{Kind: Note})
		r.Close()
		r.Close()
		r.Emit(Event{Kind: Note, Text: "late"})
		if past, err := (Past{Dir: r.Dir}).Events(); err != nil || len(past) != 1 {
			t.Errorf("%v, %v", past, err)
		}
	}
	if after := open(); after != before {
		t.Errorf("%d open files, %d before", after, before)
	}
	full := New(root, time.Now(), nil)
	full.Emit(Event{Kind: Note})
	if err := os.Mkdir(full.Dir+"/report.json", 0o755); err != nil { // saving fails
		t.Fatal(err)
	}
	saved, err := full.Save(&result.Report{})
	if after := open(); err == nil || after != before {
		t.Errorf("%d open files, %d before; %v", after, before, err)
	}
	_ = os.Remove(saved.Path)
}

// A listener may call the run's methods. Every listener hears the events in their order.
func TestListenerCallsRun(t *testing.T) {
	r := New(t.TempDir(), time.Now(), nil)
	var first, second, late []string
	r.Listen(func(e Event) {
		first = append(first, e.Text)
		if e.Text == "1" {
			r.Listen(func(e Event) { late = append(late, e.Text) })
			r.Emit(Event{Kind: Note, Text: "2"})
			if _, err := r.Save(&result.Report{}); err != nil {
				t.Error(err)
			}
			r.Close()
		}
	})
	r.Listen(func(e Event) { second = append(second, e.Text) })
	done := make(chan bool)
	go func() { r.Emit(Event{Kind: Note, Text: "1"}); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("a listener that calls the run waits for itself")
	}
	want := []string{"1", "2", r.Dir + "/report.json"}
	if !slices.Equal(first, want) || !slices.Equal(second, want) || !slices.Equal(late, want[1:]) {
		t.Errorf("heard %q, %q and %q; want %q", first, second, late, want)
	}
}

func TestListenerPanics(t *testing.T) {
	r := Quiet(time.Now(), nil)
	var heard []string
	r.Listen(func(e Event) {
		if heard = append(heard, e.Text); e.Text == "1" {
			panic("listener")
		}
	})
	func() {
		defer func() { _ = recover() }()
		r.Emit(Event{Text: "1"})
	}()
	done := make(chan bool)
	go func() { r.Emit(Event{Text: "2"}); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("the lock is still held")
	}
	if !slices.Equal(heard, []string{"1", "2"}) {
		t.Errorf("%q", heard)
	}
}
