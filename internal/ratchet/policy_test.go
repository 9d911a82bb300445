package ratchet

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/result"
)

func TestMoveRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*Candidate)
		why   string
	}{
		"dirty tree":     {func(c *Candidate) { c.Commit.Dirty = true }, "files have changed since its commit"},
		"no commit":      {func(c *Candidate) { c.Commit = nil }, "no commit to rebuild it from"},
		"other class":    {func(c *Candidate) { c.Class = "nvidia-a100" }, "measured on nvidia-a100"},
		"fault":          {func(c *Candidate) { c.Row.Fault = &result.Fault{Message: "it crashed"} }, "it crashed"},
		"rejected":       {func(c *Candidate) { c.Row.Verdict = result.Rejected }, "verdict is rejected"},
		"incorrect":      {func(c *Candidate) { c.Row.Verdict = result.Incorrect }, "verdict is incorrect"},
		"broken":         {func(c *Candidate) { c.Row.Verdict = result.Broken }, "verdict is broken"},
		"regression":     {func(c *Candidate) { c.Row.Verdict = result.Regression }, "verdict is regression"},
		"inconclusive":   {func(c *Candidate) { c.Row.Verdict = result.Inconclusive }, "verdict is inconclusive"},
		"incomparable":   {func(c *Candidate) { c.Row.Verdict = result.Incomparable }, "verdict is incomparable"},
		"sandbox":        {func(c *Candidate) { c.Row.Sandbox = &result.Sandbox{Attempts: []string{"open a socket"}} }, "open a socket"},
		"over roof":      {func(c *Candidate) { c.Row.Reasons = []result.Reason{result.OverRoof} }, "faster than the measured peaks of the device"},
		"not measured":   {func(c *Candidate) { c.Row.Timing = nil }, "not measured"},
		"zero":           {func(c *Candidate) { c.Row.Timing.Stats.Median = 0 }, "not valid"},
		"negative":       {func(c *Candidate) { c.Row.Timing.Samples.Seconds[1] = -1 }, "not valid"},
		"NaN":            {func(c *Candidate) { c.Row.Timing.Stats.High = math.NaN() }, "not valid"},
		"no samples":     {func(c *Candidate) { c.Row.Timing.Samples.Seconds = nil }, "not valid"},
		"no identity":    {func(c *Candidate) { c.Row.Identity = "" }, "no identity"},
		"dropped":        {func(c *Candidate) { c.Row.Dropped = true }, "its commit has no config"},
		"no name":        {func(c *Candidate) { c.Row.Config = "../x" }, "not the name"},
		"same code":      {func(c *Candidate) { c.Row.Identity = "identity 1" }, "the baseline already"},
		"no duet":        {func(c *Candidate) { c.Change = nil }, "not measured in turns"},
		"not paired":     {func(c *Candidate) { c.Change.Paired = false }, "not measured in turns"},
		"not confirmed":  {func(c *Candidate) { c.Change.Confirmed = false }, "confirmed"},
		"slower":         {func(c *Candidate) { c.Change.Median, c.Change.High = 0.02, 0.03 }, "not shown to be faster"},
		"perhaps faster": {func(c *Candidate) { c.Change.High = 0.001 }, "not shown to be faster"},
		"NaN change":     {func(c *Candidate) { c.Change.Median = math.NaN() }, "not shown to be faster"},
		"moved since":    {func(c *Candidate) { c.Against = sha(9) }, "has moved to commit 1111111 in the meantime"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFile(class, "x.json")
			former, err := f.Move(candidate("small", 1, 2))
			if err != nil {
				t.Fatal(err)
			}
			before, _ := f.encode()
			c := candidate("small", 2, 1.8).against(former, -0.1)
			test.spoil(&c)
			_, err = f.Move(c)
			refused(t, err, test.why)
			if after, _ := f.encode(); string(before) != string(after) {
				t.Error("a refusal changed the file")
			}
		})
	}
}

func TestMove(t *testing.T) {
	f := newFile(class, "x.json")
	first, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	if m := first.Moved(); m.By != ByCheck || m.Change != nil || m.From != nil || m.Prev != "" || m.Who != "ann" || m.Run != "run-1" {
		t.Errorf("first move: %+v", m)
	}
	second, err := f.Move(candidate("small", 2, 1.8).against(first, -0.1))
	if err != nil {
		t.Fatal(err)
	}
	if f.Entry("attention", "small") != second || second.MedianMS != 1.8 || second.Commit != sha(2) || second.Cells != 6 || second.Pairs != 240 {
		t.Errorf("%+v", second)
	}
	want := Move{
		By: ByCheck, Who: "ann", Run: "run-2", Time: started.Add(2 * time.Hour), Commit: sha(2), MedianMS: 1.8,
		Change: &Change{Median: -0.1, Low: -0.103, High: -0.097}, From: &From{MedianMS: 2, Commit: sha(1)}, Prev: first.Moved().Sum,
	}
	if diff := cmp.Diff(want, second.Moved(), cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Sum" }, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A longer time is no obstacle: the machine may be slower today; the duet judges.
	if _, err := f.Move(candidate("small", 3, 2.5).against(second, -0.2)); err != nil {
		t.Error(err)
	}
	if it, _ := f.item("attention/small"); it.problem != "" || len(it.moves) != 3 {
		t.Errorf("%+v", it)
	}
}

func TestAccept(t *testing.T) {
	f := newFile(class, "x.json")
	former, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	c := candidate("small", 2, 2.2).against(former, 0.1)
	c.Row.Verdict = result.Regression
	_, err = f.Accept(c, " \n ")
	refused(t, err, "no reason")
	wrong := c
	wrong.Against = sha(5)
	_, err = f.Accept(wrong, "why")
	refused(t, err, "has moved to commit 1111111 since")
	dirty := c
	dirty.Commit = &result.Commit{SHA: sha(2), Dirty: true}
	_, err = f.Accept(dirty, "why")
	refused(t, err, "files have changed")

	entry, err := f.Accept(c, "correct for\n  NaN\x1b[2J inputs")
	if err != nil {
		t.Fatal(err)
	}
	if m := entry.Moved(); m.By != ByAccept || m.Reason != "correct for NaN [2J inputs" || m.Change.Median != 0.1 {
		t.Errorf("%+v", m)
	}
	if m, ok := entry.AcceptedSince(former); !ok || m.Sum != entry.Moved().Sum {
		t.Errorf("%+v, %v", m, ok)
	}
	if _, ok := entry.AcceptedSince(entry); ok {
		t.Error("accepted since itself")
	}
	if _, ok := former.AcceptedSince(nil); ok {
		t.Error("a check is no accept")
	}
	_, err = f.Accept(c, "again")
	refused(t, err, "the baseline already")

	// Without a duet a reason is enough; invalid changes are not recorded.
	c = candidate("small", 3, 2.4)
	c.Row.Verdict = result.Incomparable
	if entry, err = f.Accept(c, "other toolchain"); err != nil || entry.Moved().Change != nil {
		t.Errorf("%+v, %v", entry, err)
	}
	c = candidate("small", 4, 2.4).against(entry, math.NaN())
	if entry, err = f.Accept(c, "why not"); err != nil || entry.Moved().Change != nil {
		t.Errorf("%+v, %v", entry, err)
	}
}

func TestReset(t *testing.T) {
	f := newFile(class, "x.json")
	first, err := f.Move(candidate("small", 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	by := Actor{Who: "bob", Time: started, Commit: sha(7)}
	if _, err := f.Reset("attention/small", by, ""); err == nil {
		t.Error("reset without a reason")
	}
	if _, err := f.Reset("attention/none", by, "why"); err == nil {
		t.Error("reset of nothing")
	}
	removed, err := f.Reset("attention/small", by, "the kernel is gone")
	if err != nil || f.Entry("attention", "small") != nil || len(removed.Moves) != 2 {
		t.Fatalf("%+v, %v", removed, err)
	}
	if m := last(removed.Moves); m.By != ByReset || m.Prev != first.Moved().Sum || m.From.MedianMS != 2 || m.Who != "bob" {
		t.Errorf("%+v", m)
	}
	if _, err := f.Reset("attention/small", by, "again"); err == nil || !strings.Contains(err.Error(), "removed already") {
		t.Errorf("%v", err)
	}
	// It may come back, and its moves continue.
	again, err := f.Move(candidate("small", 3, 9))
	if err != nil || len(again.Moves) != 3 || len(f.Removed) != 0 {
		t.Fatalf("%+v, %v", again, err)
	}
	if it, _ := f.item("attention/small"); it.problem != "" {
		t.Error(it.problem)
	}
}

func TestCandidateOf(t *testing.T) {
	former := &Entry{Commit: sha(1), Identity: "identity 1"}
	change := &result.Change{Median: 0.05}
	report := &result.Report{DeviceClass: class, ID: "run", Commit: &result.Commit{SHA: sha(2)}, Finished: started}
	for name, test := range map[string]struct {
		sides []*result.Side
		want  *result.Change
	}{
		"no sides":    {nil, nil},
		"best":        {[]*result.Side{{Role: result.Base, Change: &result.Change{}}, {Role: result.Best, Commit: sha(1), Change: change}}, change},
		"older best":  {[]*result.Side{{Role: result.Best, Commit: sha(3), Change: change}}, nil},
		"best failed": {[]*result.Side{{Role: result.Best, Commit: sha(1)}}, nil},
		"base is the same code": {[]*result.Side{
			{Role: result.Base, Commit: sha(4), Row: &result.Row{Identity: "identity 1"}, Change: change},
		}, change},
		"base is other code": {[]*result.Side{
			{Role: result.Base, Commit: sha(4), Row: &result.Row{Identity: "identity 4"}, Change: change},
		}, nil},
	} {
		c := CandidateOf(report, &result.Row{Sides: test.sides}, former, "ann")
		if c.Change != test.want || (c.Against == sha(1)) != (test.want != nil) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if c := CandidateOf(report, &result.Row{}, nil, "ann"); c.Class != class || c.Run != "run" || c.Who != "ann" || !c.Time.Equal(started) {
		t.Errorf("%+v", c)
	}
}

func TestFingerprint(t *testing.T) {
	gpu := result.Fingerprint{Arch: "amd64", Kernel: "6.1", GPU: &result.GPU{Name: "NVIDIA H200", Driver: "580.1"}}
	row := &result.Row{Cell: "cuda", Build: &result.Build{Compiler: "nvcc 13"}}
	a := FingerprintOf(gpu, row)
	if a.Device != "NVIDIA H200" || a.Driver != "580.1" || a.Compiler != "nvcc 13" || len(a.ID) != 12 {
		t.Errorf("%+v", a)
	}
	gpu.Kernel = "6.2"
	if b := FingerprintOf(gpu, row); b != a {
		t.Error("another kernel of the system is another fingerprint")
	}
	gpu.GPU = &result.GPU{Name: "NVIDIA H200", Driver: "590.0"}
	if b := FingerprintOf(gpu, row); b.ID == a.ID {
		t.Error("another driver has the same fingerprint")
	}
	if b := FingerprintOf(result.Fingerprint{CPU: result.CPU{Model: "EPYC"}}, &result.Row{}); b.Device != "EPYC" {
		t.Errorf("%+v", b)
	}
}

func TestWho(t *testing.T) {
	for _, name := range []string{"GITHUB_ACTOR", "GITLAB_USER_LOGIN"} {
		t.Setenv(name, "")
	}
	t.Setenv("GIT_AUTHOR_NAME", "Git User")
	t.Setenv("GIT_AUTHOR_EMAIL", "g@example.com")
	if got := Who(t.Context(), t.TempDir()); got != "Git User" {
		t.Errorf("%q", got)
	}
	t.Setenv("GITLAB_USER_LOGIN", "lab")
	t.Setenv("GITHUB_ACTOR", "octo\ncat")
	if got := Who(t.Context(), t.TempDir()); got != "octo cat" {
		t.Errorf("%q", got)
	}
}

func TestSelect(t *testing.T) {
	names := []string{"attention/large", "attention/small", "gone/x"}
	for pattern, want := range map[string][]string{
		"attention":   {"attention/large", "attention/small"},
		"*/small":     {"attention/small"},
		"gone/x":      {"gone/x"},
		"*":           names,
		"a*/[ls]*":    {"attention/large", "attention/small"},
		"attention/?": nil,
		"atention":    nil,
		"[":           nil,
	} {
		got, err := Select(names, []string{pattern})
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", pattern, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", pattern, diff)
		}
	}
	if got, err := Select(names, nil); err != nil || len(got) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	_, err := Select(names, []string{"atention/small", "x"})
	if err == nil || !strings.Contains(err.Error(), "did you mean attention/small?") {
		t.Errorf("%v", errors.Unwrap(err))
	}
}
