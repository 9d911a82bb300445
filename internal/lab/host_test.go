package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/judge"
	"pawl/internal/measure"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
	"pawl/internal/worker/puppet"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl's worker and cells.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "gpu-worker" {
		beWorkerWithGPU()
		return
	}
	if filepath.Base(os.Args[0]) == realPawl {
		bePawl()
		return
	}
	if !puppet.StandIn(os.Args, os.Stdin, os.Stdout) {
		os.Exit(puppet.Run(m))
	}
}

const hostYAML = `version: 1
kernels:
  k:
    source: k.c
    entry: k
    launch: {threads: THREADS}
    args: [{name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
configs:
  small: {N: 1024, THREADS: 1}
  huge: {N: 1_000_000_000, THREADS: 100}
`

// newLab returns a lab whose cells do what scripts say.
func newLab(t *testing.T) *Lab {
	t.Helper()
	t.Parallel()
	command, err := puppet.Worker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := New(run.New(t.TempDir(), time.Now(), nil), &result.Report{}, Options{Sandbox: "auto", Worker: command, Timeout: 10 * time.Second})
	t.Cleanup(b.Close)
	return b
}

// scripted returns a job on a config of hostYAML, built.
func scripted(t *testing.T, config string, script puppet.Script) *Job {
	t.Helper()
	s, err := spec.Parse("pawl.yaml", []byte(hostYAML))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Kernels[0].Configs {
		if c.Name == config {
			job := NewJob(".", s.Kernels[0].Default(), c)
			job.Artifact = build.NewArtifact([]byte(script.String()), "k")
			job.Record.Build = &result.Build{}
			return job
		}
	}
	t.Fatalf("no config %s", config)
	return nil
}

func TestHostOpensACellForEverySide(t *testing.T) {
	b := newLab(t)
	sides := []*Job{scripted(t, "small", puppet.Script{}), scripted(t, "small", puppet.Script{Reach: true}), scripted(t, "small", puppet.Script{})}
	host, m := hosted(b, sides...)
	places, err := host.Open(t.Context(), m, []int{2, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range places {
		if p.Cell == nil || p.Index != 0 || slices.ContainsFunc(places[:i], func(o measure.Place) bool { return o.Cell == p.Cell }) {
			t.Errorf("side %d: %+v", i, p)
		}
		if row := sides[i].Record; row.Trust != "author" || row.Sandbox == nil {
			t.Errorf("side %d: trust %q, sandbox %+v", i, row.Trust, row.Sandbox)
		}
	}
	// In the order they are asked for: a cell's number is that of its opening.
	if a, b, c := places[2].Cell.Info.Cell, places[0].Cell.Info.Cell, places[1].Cell.Info.Cell; a > b || b > c {
		t.Errorf("opened as cells %d, %d, %d", a, b, c)
	}
	if errs := host.Close(t.Context(), make([]error, 3)); slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		t.Error(errs)
	}
	if row := sides[1].Record; row.Flush != "none" {
		t.Errorf("flush %q", row.Flush)
	}
	if sides[1].Record.Sandbox.Level == "off" {
		t.Skip("this system confines nothing")
	}
	// A version's attempts in one cell stay recorded, though it does not try again in the next.
	if len(sides[1].Record.Sandbox.Attempts) == 0 {
		t.Fatal("an attempt to reach the network is not noticed")
	}
	sides[1].Artifact = sides[0].Artifact
	if _, err := host.Open(t.Context(), m, []int{0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	host.Close(t.Context(), make([]error, 3))
	if len(sides[1].Record.Sandbox.Attempts) == 0 || len(sides[0].Record.Sandbox.Attempts) > 0 {
		t.Errorf("attempts %v; of another side %v", sides[1].Record.Sandbox.Attempts, sides[0].Record.Sandbox.Attempts)
	}
}

// A side that cannot be loaded is named, and the others' cells do not stay behind.
func TestHostNamesTheSideThatCannotBeLoaded(t *testing.T) {
	b := newLab(t)
	host, m := hosted(b, scripted(t, "small", puppet.Script{}), scripted(t, "small", puppet.Script{Crash: "load"}))
	_, err := host.Open(t.Context(), m, []int{0, 1})
	side := measure.SideOf(err)
	var fault *result.Fault
	if side != 1 || !errors.As(err, &fault) || fault.Cause != result.CauseExit {
		t.Errorf("side %d: %v", side, err)
	}
	for i, seat := range host.seats {
		if seat != nil {
			t.Errorf("side %d still has a cell", i)
		}
	}
}

// A worker that does not get as far as opening a cell says nothing of any side.
func TestHostWithoutAWorker(t *testing.T) {
	b := newLab(t)
	sides := []*Job{scripted(t, "small", puppet.Script{}), scripted(t, "small", puppet.Script{})}
	host, m := hosted(b, sides...)
	client, err := b.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
	b.Worker = []string{"false"}
	err = host.seatEach(t.Context(), &seating{host.teams[m.Team], []int{0, 1}, make([]*Lease, 2)}, sides)
	if err == nil || measure.SideOf(err) != -1 {
		t.Errorf("side %d: %v", measure.SideOf(err), err)
	}
}

// A fault that closing reveals is reported for its side; one that was known before is not reported
// again.
func TestHostCloses(t *testing.T) {
	b := newLab(t)
	dies := puppet.Script{Crash: "ping"}
	host, m := hosted(b, scripted(t, "small", dies), scripted(t, "small", dies), scripted(t, "small", puppet.Script{}))
	if _, err := host.Open(t.Context(), m, []int{0, 1, 2}); err != nil {
		t.Fatal(err)
	}
	known := errors.New("known")
	errs := host.Close(t.Context(), []error{known, nil, nil})
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Error(errs)
	}
	if again := host.Close(t.Context(), make([]error, 3)); slices.ContainsFunc(again, func(err error) bool { return err != nil }) {
		t.Errorf("closed twice: %v", again)
	}
}

// All configs that share cells have room there, whichever comes first.
func TestHostHasRoomForEveryConfig(t *testing.T) {
	b := newLab(t)
	small, huge := scripted(t, "small", puppet.Script{}), scripted(t, "huge", puppet.Script{})
	host, _ := hosted(b, small, small)
	alone, _ := b.requests(huge, Purpose{})
	before, _ := b.requests(small, host.purpose)
	if before.Memory >= alone.Memory || before.Threads >= alone.Threads {
		t.Fatalf("the huge config is not larger: %+v, %+v", before, alone)
	}
	host.Admit("huge", []*Job{huge, huge})
	host.Admit("small", []*Job{small, small})
	if after, _ := b.requests(small, host.purpose); after.Memory != alone.Memory || after.Threads != alone.Threads {
		t.Errorf("%d bytes and %d threads, want %d and %d", after.Memory, after.Threads, alone.Memory, alone.Threads)
	}
}

// Where cells take long to open, those of later visits are opened in parallel, as many as half of
// the cores can: here three. A visit then gets its own cells, in its order, and cells that are not
// needed are closed.
func TestHostOpensAhead(t *testing.T) {
	cells, m := hosted(newLab(t), scripted(t, "small", puppet.Script{}), scripted(t, "small", puppet.Script{}))
	cells.Expect(t.Context(), m, [][]int{{0, 1}, {1, 0}})
	if len(cells.ahead) > 0 {
		t.Error("cells that are there at once are opened ahead")
	}
	sides := twoVersions(t)
	host, m := hosted(labWithGPU(t, ""), sides...)
	host.Expect(t.Context(), m, [][]int{{0, 1}, {1, 0}, {1, 0}, {0, 1}})
	if len(host.ahead) != 3 {
		t.Fatalf("%d visits are ready", len(host.ahead))
	}
	if sides[0].Record.Trust != "" {
		t.Errorf("a row knows of a cell that it has not had: %q", sides[0].Record.Trust)
	}
	seen := map[uint64]bool{}
	for visit, order := range [][]int{{1, 0}, {1, 0}, {0, 1}, {0, 1}} {
		places, err := host.Open(t.Context(), m, order)
		if err != nil {
			t.Fatal(err)
		}
		number := places[0].Cell.Info.Cell
		if seen[number] || (number > 3) != (visit == 3) || places[order[0]].Index != 0 || places[order[1]].Index != 1 {
			t.Errorf("visit %d has cell %d: %+v", visit, number, places)
		}
		seen[number] = true
		if sides[0].Record.Trust != "harness" {
			t.Errorf("trust %q", sides[0].Record.Trust)
		}
		host.Close(t.Context(), make([]error, 2))
	}
	host.Expect(t.Context(), m, [][]int{{0, 1}, {1, 0}})
	if host.Release(t.Context()); len(host.ahead) > 0 {
		t.Errorf("%d visits are still ready", len(host.ahead))
	}
	host.Expect(t.Context(), m, [][]int{{0, 1}}) // one is not worth it
	if len(host.ahead) > 0 {
		t.Errorf("%d visits are ready", len(host.ahead))
	}
}

// counted counts how often a host is opened.
type counted struct {
	*Host
	opened int
}

func (h *counted) Open(ctx context.Context, m *measure.Match, order []int) ([]measure.Place, error) {
	h.opened++
	return h.Host.Open(ctx, m, order)
}

// hosted returns a host and a match of these versions there.
func hosted(b *Lab, sides ...*Job) (*Host, *measure.Match) {
	host := b.NewHost()
	return host, host.Admit("m", sides)
}

func ignore(*measure.Match, measure.Progress) {}

func TestPlayOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verdicts []result.Verdict // as it is settled, again and again
		sets     []int            // the cells of each set, in the end
	}{
		"what passes is not confirmed": {[]result.Verdict{result.Maintained}, []int{4}},
		"what improves is confirmed":   {[]result.Verdict{result.Improvement, result.Maintained}, []int{4, 4}},
		"undecided, and then it fails": {[]result.Verdict{result.Inconclusive, result.Regression, result.Regression}, []int{5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLab(t)
			b.Sandbox = "off"
			job := scripted(t, "small", puppet.Script{Micros: 200})
			settled := 0
			inner, m := hosted(b, job, job)
			duel := &Duel{Match: m, Settle: func() result.Verdict {
				settled++
				return test.verdicts[min(settled, len(test.verdicts))-1]
			}}
			opts := measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: time.Millisecond}
			host := &counted{Host: inner}
			PlayOut(t.Context(), host, []*Duel{duel}, opts, ignore)
			if err := duel.Match.Err(); err != nil {
				t.Fatal(err)
			}
			sets := make([]int, len(test.sets))
			for _, c := range duel.Match.Cells {
				sets[c.Set]++
			}
			if settled != len(test.verdicts) || !slices.Equal(sets, test.sets) || host.opened != len(duel.Match.Cells) {
				t.Errorf("settled %d times after %v cells, want %d and %v", settled, sets, len(test.verdicts), test.sets)
			}
		})
	}
}

// An undecided match is tried once more, for twice as long, and then left undecided.
func TestUndecidedHasTwiceTheBudget(t *testing.T) {
	b := newLab(t)
	b.Sandbox = "off"
	job := scripted(t, "small", puppet.Script{Micros: 200})
	host, m := hosted(b, job, job)
	var spent []time.Duration
	duel := &Duel{Match: m, Settle: func() result.Verdict {
		spent = append(spent, m.Spent)
		return result.Inconclusive
	}}
	opts := measure.DuetOptions{Options: measure.Default(), Floor: 1} // never narrow enough
	opts.Budget = 300 * time.Millisecond
	PlayOut(t.Context(), host, []*Duel{duel}, opts, ignore)
	if len(spent) != 2 || spent[1]-spent[0] < 2*opts.Budget || m.Stopped != "budget" {
		t.Errorf("settled after %v, stopped by %s", spent, m.Stopped)
	}
}

// An interrupt before the second set leaves the result of the first undecided.
func TestPlayOutWithoutConfirmation(t *testing.T) {
	b := newLab(t)
	b.Sandbox = "off"
	slower, base := scripted(t, "small", puppet.Script{Micros: 240}), scripted(t, "small", puppet.Script{Micros: 200})
	host, m := hosted(b, slower, base)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opts := measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: time.Millisecond}
	found := func() judge.Case {
		return judge.Case{Gate: spec.DefaultGate, Base: &judge.Opponent{Change: m.Change(1, make([]result.Role, 2), opts), Median: 200e-6}}
	}
	duel := &Duel{Match: m, Settle: func() result.Verdict {
		cancel()
		verdict, _ := judge.Provisional(found())
		return verdict
	}}
	PlayOut(ctx, host, []*Duel{duel}, opts, ignore)
	if err := m.Err(); err != nil || len(m.Cells) != 4 || duel.verdict != result.Regression {
		t.Fatalf("%v, %d cells, %s", err, len(m.Cells), duel.verdict)
	}
	if verdict, why := judge.Verdict(found()); verdict != result.Inconclusive || !slices.Equal(why, []result.Reason{result.Unconfirmed}) {
		t.Errorf("%s %v", verdict, why)
	}
}

// Duels of one group are confirmed independently, and an interrupt ends them all.
func TestPlayOutOfSeveral(t *testing.T) {
	b := newLab(t)
	b.Sandbox = "off"
	job := scripted(t, "small", puppet.Script{Micros: 200})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	host := b.NewHost()
	var duels []*Duel
	verdicts := []result.Verdict{result.Maintained, result.Regression}
	for i := range verdicts {
		duels = append(duels, &Duel{Match: host.Admit("m", []*Job{job, job}), Settle: func() result.Verdict { return verdicts[i] }})
	}
	opts := measure.DuetOptions{Options: measure.Default(), Floor: measure.DefaultFloor, Visit: time.Millisecond}
	PlayOut(ctx, host, duels, opts, func(m *measure.Match, _ measure.Progress) {
		if len(m.Cells) == 6 { // in the middle of the confirmation
			cancel()
		}
	})
	if n := len(duels[0].Match.Cells); n != 4 {
		t.Errorf("what passes has %d cells", n)
	}
	if err := duels[1].Match.Err(); err == nil || len(duels[1].Match.Cells) != 6 {
		t.Errorf("%v after %d cells", err, len(duels[1].Match.Cells))
	}
}

// Cells that were opened ahead end with their worker; later visits get new ones.
func TestExpectedOfAWorkerThatEnds(t *testing.T) {
	sides := twoVersions(t)
	b := labWithGPU(t, "")
	host, m := hosted(b, sides...)
	orders := [][]int{{0, 1}, {1, 0}, {1, 0}, {0, 1}}
	host.Expect(t.Context(), m, orders)
	if len(host.ahead) == 0 {
		t.Fatal("none was opened ahead")
	}
	b.worker.Close()
	<-b.worker.Gone()
	for visit, order := range orders {
		places, err := host.Open(t.Context(), m, order)
		side := measure.SideOf(err)
		if err != nil {
			t.Fatal(side, err)
		}
		for side, place := range places {
			if _, err := place.Cell.Prepare(t.Context(), wire.Prepare{}); err != nil && strings.Contains(err.Error(), "the worker ended") {
				t.Errorf("visit %d, side %d: %v", visit, side, err)
			}
		}
		host.Close(t.Context(), make([]error, len(sides)))
	}
}

// Kernels share a cell: the versions of the next take the place of the last one's. What cannot be
// loaded ends the cell, and the next kernel gets a fresh one.
func TestKernelsShareACell(t *testing.T) {
	t.Parallel()
	host := labWithGPU(t, "").NewHost()
	var matches []*measure.Match
	var teams [][]*Job
	for _, code := range []string{"code", "other", refusedCode} {
		sides := twoVersions(t)
		for _, job := range sides {
			job.Artifact = build.NewArtifact([]byte(code), "k")
			job.Artifact.Key = code
		}
		teams = append(teams, sides)
		matches = append(matches, host.Admit(code, sides))
	}
	open := func(m *measure.Match, order ...int) (uint64, error) {
		t.Helper()
		places, err := host.Open(t.Context(), m, order)
		if err != nil {
			return 0, err
		}
		if places[0].Cell != places[1].Cell || places[order[0]].Index != 0 || places[order[1]].Index != 1 {
			t.Errorf("%+v", places)
		}
		return places[0].Cell.Info.Cell, nil
	}
	first, err := open(matches[0], 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := open(matches[1], 1, 0); err != nil || second != first {
		t.Errorf("cells %d and %d, %v", first, second, err)
	}
	for i, want := range []string{"way 1", "way 0"} { // as they were loaded
		if r := teams[1][i].Record; r.Trust != "harness" || r.Flush != want {
			t.Errorf("side %d: trust %q, flush %q", i, r.Trust, r.Flush)
		}
	}
	if again, err := open(matches[0], 0, 1); err != nil || again != first {
		t.Errorf("cells %d and %d, %v", first, again, err)
	}
	host.Close(t.Context(), make([]error, 2))
	for i, team := range teams[:2] {
		if team[0].Record.PeakMemory == 0 {
			t.Errorf("kernel %d: no memory", i)
		}
	}
	second, err := open(matches[1], 0, 1)
	if err != nil || second == first {
		t.Errorf("cells %d and %d, %v", first, second, err)
	}
	if _, err := open(matches[2], 1, 0); measure.SideOf(err) != 1 {
		t.Errorf("side %d: %v", measure.SideOf(err), err)
	}
	if third, err := open(matches[1], 0, 1); err != nil || third == second {
		t.Errorf("cells %d and %d, %v", second, third, err)
	}
	host.Close(t.Context(), make([]error, 2))
}
