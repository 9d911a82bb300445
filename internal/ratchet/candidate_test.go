package ratchet

import (
	"testing"

	"pawl/internal/result"
)

// gone makes a candidate the very version of an entry whose commit nobody has.
func (c Candidate) gone(former *Entry) Candidate {
	c.Row.Identity, c.Row.Timing, c.Row.Verdict, c.Row.Key = former.Identity, nil, result.Unchanged, "another key"
	c.Gone = former.Commit
	return c
}

func TestAnchor(t *testing.T) {
	f := newFile(class, "x.json")
	former, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c := candidate("small", 2, 3).gone(former)
	_, err = f.Anchor(c, "")
	refused(t, err, "no reason")
	other := candidate("small", 2, 3)
	other.Gone = former.Commit
	_, err = f.Anchor(other, "why")
	refused(t, err, "not the best-known version")
	late := c
	late.Gone = sha(9)
	_, err = f.Anchor(late, "why")
	refused(t, err, "has moved to commit 1111111 in the meantime")
	dirty := c
	dirty.Commit = &result.Commit{SHA: sha(2), Dirty: true}
	_, err = f.Anchor(dirty, "why")
	refused(t, err, "files have changed")

	c.Row.Vars = map[string]string{"M": "64"} // as the config calls it now
	now, err := f.Anchor(c, "commit 1111111 cannot be had any more")
	if err != nil {
		t.Fatal(err)
	}
	if f.Entry("attention", "small") != now || now.Commit != sha(2) || now.Key != "another key" || now.Vars["M"] != "64" || now.MedianMS != 2 || now.Samples != former.Samples || !now.Time.Equal(former.Time) {
		t.Errorf("%+v", now)
	}
	if m := now.Moved(); m.By != ByAnchor || *m.From != (From{2, sha(1)}) || m.MedianMS != 2 || m.Reason != "commit 1111111 cannot be had any more" || m.Run != "run-2" {
		t.Errorf("%+v", m)
	}
	if it, _ := f.item("attention/small"); it.problem != "" {
		t.Error(it.problem)
	}
	if _, ok := now.AcceptedSince(former); ok {
		t.Error("another commit excuses a slowdown")
	}
}

// The present baseline can be accepted when its commit is gone: the accept binds it to another.
func TestAcceptAnchors(t *testing.T) {
	f := newFile(class, "x.json")
	former, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c := candidate("small", 2, 3).gone(former)
	c.Gone = ""
	_, err = f.Accept(c, "why")
	refused(t, err, "it was not measured")
	now, err := f.Accept(candidate("small", 2, 3).gone(former), "squashed")
	if err != nil || now.Commit != sha(2) || now.Moved().By != ByAnchor || now.Moved().Reason != "squashed" {
		t.Errorf("%+v, %v", now, err)
	}
}

// A stored time comes with the way it was measured.
func TestRemeasured(t *testing.T) {
	f := newFile(class, "x.json")
	first, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c := candidate("small", 2, 1.7).against(first, -0.1)
	c.Change.Cells = []result.CellChange{{Pairs: 30}, {Pairs: 30}, {Pairs: 30}, {Pairs: 40, Set: 1}, {Pairs: 41, Set: 1}}
	c.Change.Pairs = 171
	again := c.Remeasured(candidate("small", 2, 1.8).Row.Timing)
	now, err := f.Move(again)
	if err != nil {
		t.Fatal(err)
	}
	if now.MedianMS != 1.8 || now.Cells != 2 || now.Pairs != 81 || now.Moved().Change.Median != -0.1 {
		t.Errorf("%+v", now)
	}
	if c.Row.Timing.Stats.Median != 1.7e-3 || len(c.Change.Cells) != 5 || c.Change.Pairs != 171 {
		t.Errorf("the report's own has changed: %+v", c.Change)
	}
}

func TestCandidateOfAGoneCommit(t *testing.T) {
	former := &Entry{Commit: sha(1), Identity: "identity 1"}
	report := &result.Report{Commit: &result.Commit{SHA: sha(2)}}
	row := &result.Row{Identity: "identity 1", Moved: &result.Moved{From: sha(1)}}
	if c := CandidateOf(report, row, former, ""); c.Gone != "" {
		t.Errorf("gone: %s", c.Gone)
	}
	row.Moved.Anchor = true
	if c := CandidateOf(report, row, former, ""); c.Gone != sha(1) {
		t.Errorf("gone: %q", c.Gone)
	}
}

// An entry that an older pawl stored has the identity of the whole file. It is the same version, and
// is stored in today's form when it is written again.
func TestFormerIdentity(t *testing.T) {
	f := newFile(class, "x.json")
	former, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c := candidate("small", 2, 1.5).against(former, -0.25)
	c.Row.Former = former.Identity
	_, err = f.Move(c)
	refused(t, err, "it is the baseline already")
	_, err = f.Accept(c, "why")
	refused(t, err, "it is the baseline already")
	report := &result.Report{Commit: c.Commit}
	row := &result.Row{Sides: []*result.Side{{Role: result.Base, Row: c.Row, Change: c.Change}}}
	if found := CandidateOf(report, row, former, ""); found.Against != former.Commit {
		t.Errorf("the base is the entry's version, and measured against %q", found.Against)
	}
	c.Gone = former.Commit
	now, err := f.Anchor(c, "commit 1111111 cannot be had any more")
	if err != nil || now.Identity != "identity 2" || now.Code != "code 2" || now.Commit != sha(2) || now.MedianMS != former.MedianMS {
		t.Errorf("%+v, %v", now, err)
	}
}

func TestAuditOfAnchors(t *testing.T) {
	p := newProject(t)
	p.move("small", ByCheck, "", 0)
	p.commit("baseline")
	anchor := func(digit int, reason string) {
		put(p, p.store, func(f *File) error {
			_, err := f.Anchor(candidate("small", digit, 3).gone(f.Entry("attention", "small")), reason)
			return err
		})
	}
	anchor(5, "squashed")
	p.commit("bound to another commit")
	p.move("small", ByCheck, "", -0.1)
	p.commit("and on")
	p.finds("")
	if a := p.audit(); len(a.Reasons) != 1 || a.Reasons[0].Move.By != ByAnchor {
		t.Errorf("%+v", a.Reasons)
	}
	anchor(6, "squashed again")
	p.forge("small", func(e *Entry) { e.Moves[3].Reason = "" })
	p.finds("", "unreasoned attention/small")
	p.forge("small", func(e *Entry) { e.Moves[3].Reason, e.Moves[3].MedianMS, e.MedianMS = "why", 2.5, 2.5 })
	p.finds("", "worse attention/small")
}
