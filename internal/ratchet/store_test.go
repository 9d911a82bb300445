package ratchet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestStore(t *testing.T) {
	s := Open(t.TempDir())
	if f := load(t, s); len(f.Entries) != 0 {
		t.Errorf("%+v", f)
	}
	if classes, err := s.Classes(); err != nil || len(classes) != 0 {
		t.Errorf("%v, %v", classes, err)
	}
	put(t, s, moveTo(candidate("small", 1, 2)))
	f := load(t, s)
	samples, err := f.Samples(f.Entry("attention", "small"))
	if err != nil || len(samples) != 3 || samples[0] != 0.002 {
		t.Errorf("%v, %v", samples, err)
	}
	if classes, err := s.Classes(); err != nil || fmt.Sprint(classes) != "["+class+"]" {
		t.Errorf("%v, %v", classes, err)
	}
	// The lock lies in a folder that git ignores.
	ignore, err := os.ReadFile(filepath.Join(s.dir, ".pawl", ".gitignore"))
	if err != nil || !strings.Contains(string(ignore), "runs/") {
		t.Errorf("%q, %v", ignore, err)
	}
	for _, bad := range []string{"", "../x", "A", "a/b", "a.", ".."} {
		if _, err := s.Load(bad); err == nil {
			t.Errorf("class %q was taken", bad)
		}
		if err := s.Update(t.Context(), bad, func(*File) error { return nil }); err == nil {
			t.Errorf("class %q was taken", bad)
		}
	}
}

func TestUpdateKeepsTheSamplesInUse(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s, moveTo(candidate("small", 1, 2)))
	put(t, s, moveTo(candidate("large", 1, 50)))
	for i := range 3 {
		former := load(t, s).Entry("attention", "small")
		put(t, s, moveTo(candidate("small", 2+i, 1.5-0.1*float64(i)).against(former, -0.1)))
	}
	f := load(t, s)
	if len(f.samples) != 2 || !f.complete() {
		t.Errorf("%d blocks for 2 entries", len(f.samples))
	}
	files, _ := os.ReadDir(filepath.Dir(s.Path(class)))
	if len(files) != 2 {
		t.Errorf("left behind: %v", files)
	}
}

// If the baseline cannot be replaced, the entries on disk keep their samples.
func TestSamplesOutliveAFailedWrite(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s, moveTo(candidate("small", 1, 2)))
	f := load(t, s)
	old := f.Entry("attention", "small")
	if _, err := f.Move(candidate("small", 2, 1).against(old, -0.5)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(s.Path(class)), os.MkdirAll(filepath.Join(s.Path(class), "folder"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := s.write(f, nil); err == nil {
		t.Fatal("a folder was replaced by a file")
	}
	raw, err := os.ReadFile(s.samplesPath(class))
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := decodeBlocks(raw); err != nil || len(kept) != 2 || kept[old.Samples.SHA256] == "" {
		t.Errorf("%d blocks, want the old one and the new one (%v)", len(kept), err)
	}
}

func TestUpdateThatChangesNothingWritesNothing(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s, func(*File) error { return nil })
	if _, err := os.Stat(s.Path(class)); err == nil {
		t.Error("an empty baseline was written")
	}
	put(t, s, moveTo(candidate("small", 1, 2)))
	before, _ := os.Stat(s.Path(class))
	put(t, s, func(*File) error { return nil })
	stop := errors.New("stop")
	if err := s.Update(t.Context(), class, func(f *File) error {
		clear(f.Entries)
		return stop
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
	if after, _ := os.Stat(s.Path(class)); !os.SameFile(before, after) {
		t.Error("written anew")
	}
}

// A file that is not a baseline as pawl wrote it is never overwritten.
func TestNothingIsWrittenOverWhatOthersWrote(t *testing.T) {
	for name, spoil := range map[string]func(string) string{
		"truncated":    func(text string) string { return text[:len(text)/2] },
		"empty":        func(string) string { return "" },
		"edited":       func(text string) string { return strings.Replace(text, `"median_ms": 2,`, `"median_ms": 1,`, 1) },
		"other schema": func(text string) string { return strings.Replace(text, `"schema": 1`, `"schema": 7`, 1) },
		"other class":  func(text string) string { return strings.Replace(text, class, "nvidia-a100", 1) },
		"conflict":     func(text string) string { return "<<<<<<< HEAD\n" + text },
	} {
		t.Run(name, func(t *testing.T) {
			s := Open(t.TempDir())
			put(t, s, moveTo(candidate("small", 1, 2)))
			raw, _ := os.ReadFile(s.Path(class))
			spoiled := []byte(spoil(string(raw)))
			write(t, s.Path(class), spoiled)
			if _, err := s.Load(class); err == nil || !strings.Contains(err.Error(), class+".json:") || !strings.Contains(err.Error(), "hint: ") {
				t.Errorf("Load: %v", err)
			}
			if err := s.Update(t.Context(), class, moveTo(candidate("large", 1, 2))); err == nil {
				t.Error("Update went through")
			}
			if after, _ := os.ReadFile(s.Path(class)); !bytes.Equal(after, spoiled) {
				t.Error("it was overwritten")
			}
		})
	}
}

// An entry edited by hand can be removed, and then updates work again.
func TestResetOfAnEditedEntry(t *testing.T) {
	s := Open(t.TempDir())
	put(t, s, moveTo(candidate("small", 1, 2)))
	put(t, s, moveTo(candidate("large", 1, 50)))
	raw, _ := os.ReadFile(s.Path(class))
	write(t, s.Path(class), bytes.Replace(raw, []byte(`"median_ms": 2,`), []byte(`"median_ms": 1,`), 1))
	refused(t, s.Update(t.Context(), class, moveTo(candidate("small", 2, 1))), "edited by hand")
	put(t, s, func(f *File) error {
		_, err := f.Reset("attention/small", Actor{Time: started}, "edited by mistake")
		return err
	})
	if f := load(t, s); len(f.Entries) != 1 || len(f.Removed) != 1 {
		t.Errorf("%+v", f)
	}
	put(t, s, moveTo(candidate("small", 2, 1)))
}

func TestSamplesThatAreGone(t *testing.T) {
	for name, spoil := range map[string]func(path string){
		"missing": func(path string) { _ = os.Remove(path) },
		"damaged": func(path string) { write(t, path, []byte("hello")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := Open(t.TempDir())
			put(t, s, moveTo(candidate("small", 1, 2)))
			spoil(s.samplesPath(class))
			f := load(t, s) // the numbers can still be used
			if _, err := f.Samples(f.Entry("attention", "small")); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
			put(t, s, moveTo(candidate("large", 1, 50))) // they hinder nobody
			f = load(t, s)
			if _, err := f.Samples(f.Entry("attention", "large")); err != nil {
				t.Error(err)
			}
			if lost, err := s.Recover(t.Context(), class); err != nil || !slices.Equal(lost, []string{"attention/small"}) {
				t.Errorf("lost %q, %v", lost, err)
			}
			put(t, s, func(f *File) error { // the way out
				_, err := f.Reset("attention/small", Actor{Time: started}, "its samples are lost")
				return err
			})
			put(t, s, moveTo(candidate("small", 1, 2)))
			if bare := load(t, s).Bare(); bare != nil {
				t.Errorf("without samples: %q", bare)
			}
		})
	}
	t.Run("not to be read", func(t *testing.T) {
		s := Open(t.TempDir())
		put(t, s, moveTo(candidate("small", 1, 2)))
		if err := errors.Join(os.Remove(s.samplesPath(class)), os.Mkdir(s.samplesPath(class), 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(t.Context(), class, moveTo(candidate("large", 1, 50))); err == nil {
			t.Error("written over")
		}
	})
}

// Many writers and readers at once: no update is lost, and nobody ever sees an entry without its
// samples.
func TestConcurrentUpdates(t *testing.T) {
	s := Open(t.TempDir())
	const writers, each = 4, 8
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				c := candidate(fmt.Sprintf("c%d", w), i, 2+float64(i))
				err := s.Update(context.Background(), class, func(f *File) error {
					if former := f.Entry("attention", c.Row.Config); former != nil {
						_, err := f.Move(c.against(former, -0.1))
						return err
					}
					_, err := f.Move(c)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			f, err := s.Load(class)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range f.Names() {
				if _, err := f.Samples(f.Entries[name]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	writing.Wait()
	close(done)
	reading.Wait()
	f := load(t, s)
	for w := range writers {
		if e := f.Entry("attention", fmt.Sprintf("c%d", w)); e == nil || len(e.Moves) != each {
			t.Errorf("writer %d: %+v", w, e)
		}
	}
}

func TestLockCanBeGivenUp(t *testing.T) {
	s := Open(t.TempDir())
	lock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Update(ctx, class, func(*File) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	// After somebody deletes the runs folder, the next writer does not share the old lock.
	if err := os.RemoveAll(filepath.Join(s.dir, ".pawl", "runs")); err != nil {
		t.Fatal(err)
	}
	put(t, s, moveTo(candidate("small", 1, 2)))
	lock.Close()
}
