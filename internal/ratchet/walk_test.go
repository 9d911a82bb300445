package ratchet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// copied returns another file with the same content.
func copied(t *rapid.T, f *File) *File {
	raw, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse("x.json", class, raw)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// story makes versions the way pawl does: checks, accepts and resets on branches, and merges that
// take for each name one side or the other.
type story struct {
	*rapid.T
	versions []version
	moves    int
}

func (s *story) add(f *File, parents ...int) {
	raw, err := f.encode()
	if err != nil {
		s.Fatal(err)
	}
	s.versions = append(s.versions, version{commit: fmt.Sprintf("commit %d", len(s.versions)), parents: parents, content: blockHash(string(raw)), file: f})
}

func (s *story) step(f *File) {
	s.moves++
	c := candidate(rapid.SampledFrom([]string{"a", "b"}).Draw(s.T, "config"), s.moves, rapid.Float64Range(1, 1.4).Draw(s.T, "ms"))
	c.Row.Identity = fmt.Sprint("identity ", s.moves)
	c.Commit.SHA = fmt.Sprintf("%040d", s.moves)
	name := c.Row.Name()
	former := f.Entries[name]
	var err error
	switch how := rapid.SampledFrom([]By{ByCheck, ByCheck, ByAccept, ByReset}).Draw(s.T, "by"); {
	case former == nil:
		_, err = f.Move(c)
	case how == ByCheck:
		_, err = f.Move(c.against(former, -rapid.Float64Range(0.01, 0.5).Draw(s.T, "faster")))
	case how == ByAccept:
		_, err = f.Accept(c.against(former, rapid.Float64Range(-0.5, 0.5).Draw(s.T, "change")), "meant")
	default:
		_, err = f.Reset(name, Actor{Time: started}, "meant")
	}
	if err != nil {
		s.Fatal(err)
	}
}

// merge takes each name from one of two files, unless the other has continued from there.
func (s *story) merge(a, b *File) *File {
	out := copied(s.T, a)
	for _, name := range b.allNames() {
		inA, hasA := a.item(name)
		inB, _ := b.item(name)
		ahead := extends(sums(inB.moves), sums(inA.moves))
		behind := extends(sums(inA.moves), sums(inB.moves))
		if hasA && (behind || !ahead && rapid.Bool().Draw(s.T, "keep")) {
			continue
		}
		delete(out.Entries, name)
		delete(out.Removed, name)
		if e := b.Entries[name]; e != nil {
			out.Entries[name] = e
		} else {
			out.Removed[name] = b.Removed[name]
		}
	}
	return copied(s.T, out)
}

func honest(t *rapid.T) *story {
	s := &story{T: t}
	first := newFile(class, "x.json")
	s.step(first)
	s.add(first)
	tips := []int{0}
	for range rapid.IntRange(1, 12).Draw(t, "commits") {
		at := rapid.IntRange(0, len(tips)-1).Draw(t, "tip")
		switch rapid.SampledFrom([]string{"commit", "commit", "branch", "merge"}).Draw(t, "what") {
		case "branch":
			tips = append(tips, tips[at])
		case "merge":
			other := tips[rapid.IntRange(0, len(tips)-1).Draw(t, "other")]
			if other != tips[at] {
				s.add(s.merge(s.versions[tips[at]].file, s.versions[other].file), tips[at], other)
				tips[at] = len(s.versions) - 1
			}
		default:
			f := copied(t, s.versions[tips[at]].file)
			for range rapid.IntRange(1, 3).Draw(t, "moves") {
				s.step(f)
			}
			s.add(f, tips[at])
			tips[at] = len(s.versions) - 1
		}
	}
	return s
}

func (s *story) findings() (standing []Finding) {
	w := &walk{path: "x.json", keys: map[string]int{}}
	stands := w.all(s.versions)
	for i, f := range w.findings {
		if stands[i] {
			standing = append(standing, f)
		}
	}
	return standing
}

func TestHonestHistoriesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := honest(t)
		for i := range s.versions {
			prefix := &story{T: t, versions: s.versions[:i+1]}
			if found := prefix.findings(); len(found) > 0 {
				t.Fatalf("version %d: %+v", i, found)
			}
		}
	})
}

// Any other change of the last version is found, and is still found when honest moves follow.
func TestHarmIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := honest(t)
		tip := len(s.versions) - 1
		f := copied(t, s.versions[tip].file)
		names := f.allNames()
		name := names[rapid.IntRange(0, len(names)-1).Draw(t, "name")]
		entry := f.Entries[name]
		how := rapid.SampledFrom([]string{"delete", "older", "edit", "forge"}).Draw(t, "harm")
		switch {
		case how == "delete" || entry == nil:
			delete(f.Entries, name)
			delete(f.Removed, name)
		case how == "older" && len(entry.Moves) > 1:
			older := *entry
			older.Moves = entry.Moves[:len(entry.Moves)-1]
			end := last(older.Moves)
			if end.By == ByReset {
				f.Removed[name] = &Removed{Name: name, Moves: older.Moves}
				f.Removed[name].Sum = f.Removed[name].sum(class)
				delete(f.Entries, name)
				break
			}
			older.MedianMS, older.Commit = end.MedianMS, end.Commit
			older.Sum = older.sum(class)
			f.Entries[name] = &older
		case how == "edit":
			edited := *entry
			edited.MedianMS *= 0.9
			f.Entries[name] = &edited
		default:
			forged := *entry
			forged.Identity += "x"
			forged.Sum = forged.sum(class)
			f.Entries[name] = &forged
		}
		s.add(f, tip)
		if len(s.findings()) == 0 {
			t.Fatalf("%s of %s was not found", how, name)
		}
		after := copied(t, f)
		if other := after.Entries[name]; other != nil { // somebody improves on it
			if it, _ := after.item(name); it.problem == "" {
				c := candidate("a", 9, 1).against(other, -0.1)
				c.Row.Kernel, c.Row.Config, _ = strings.Cut(name, "/")
				c.Row.Identity = "later"
				if _, err := after.Move(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.add(after, len(s.versions)-1)
		if len(s.findings()) == 0 {
			t.Fatalf("%s of %s was forgotten", how, name)
		}
	})
}

// unreadable is a version that is no baseline.
func (s *story) unreadable(parents ...int) {
	n := len(s.versions)
	s.versions = append(s.versions, version{commit: fmt.Sprintf("commit %d", n), parents: parents, content: fmt.Sprint(n), err: errors.New("it is not JSON")})
}

// What an unreadable version hides is still known after it.
func TestBehindAnUnreadableVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := newFile(class, "x.json")
		former, err := first.Move(candidate("a", 1, 2))
		if err != nil {
			t.Fatal(err)
		}
		second := copied(t, first)
		if _, err := second.Move(candidate("a", 2, 1.8).against(former, -0.1)); err != nil {
			t.Fatal(err)
		}
		empty := newFile(class, "x.json")
		for name, test := range map[string]struct {
			then *File
			kind Kind // "": all is well again
		}{
			"it is put back":    {second, ""},
			"it went back":      {first, Rewritten},
			"its entry is gone": {empty, Vanished},
		} {
			s := &story{T: t}
			s.add(first)
			s.add(copied(t, first), 0)
			s.add(second, 0)
			order := []int{1, 2}
			if rapid.Bool().Draw(t, "the other side first") {
				order = []int{2, 1}
			}
			s.unreadable(order...)
			if found := s.findings(); len(found) != 1 || found[0].Kind != Unreadable {
				t.Fatalf("%+v", found)
			}
			s.add(copied(t, test.then), 3)
			found := s.findings()
			if test.kind == "" && found != nil || test.kind != "" && (len(found) != 1 || found[0].Kind != test.kind) {
				t.Fatalf("%s: %+v", name, found)
			}
		}
	})
}
