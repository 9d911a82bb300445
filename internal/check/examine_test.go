package check

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pawl/internal/lab"
	"pawl/internal/ratchet"
	"pawl/internal/result"
	"pawl/internal/run"
	"pawl/internal/spec"
)

// GPU rows are examined several at a time, those of one kernel in one room; host rows, and rows
// that may have failed because of the others, have the machine alone.
func TestExamineAll(t *testing.T) {
	t.Parallel()
	var rows []*verified
	for _, name := range []string{"a/1", "a/2", "host/1", "host/2", "b/1", "c/1", "c/2", "d/1"} {
		cell := spec.CellCUDA
		if name[:1] == "h" {
			cell = spec.CellHost
		}
		kernel, config := name[:len(name)-2], name[len(name)-1:]
		job := &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: kernel, Cell: cell}}, Config: &spec.Config{Name: config}}
		note := result.Warning{Message: "of the exam"}
		b := &built{planned: &planned{candidate: job}}
		rows = append(rows, &verified{built: b, state: state{notes: []result.Warning{note}}, exam: &exam{notes: []result.Warning{note}}})
	}
	for _, examiners := range []int{1, 3} {
		var lock sync.Mutex
		busy, most := 0, 0
		rooms, tried, beside := map[string]*examRoom{}, map[string]int{}, map[string]int{}
		examine := func(_ context.Context, v *verified, room *examRoom) {
			name := v.candidate.Name()
			lock.Lock()
			busy++
			most = max(most, busy)
			tried[name]++
			first := tried[name] == 1
			if seen := rooms[v.candidate.Variant.Kernel.Name]; seen != nil && seen != room && name != "b/1" && name != "d/1" {
				t.Errorf("%s is examined in another room", name)
			}
			rooms[v.candidate.Variant.Kernel.Name] = room
			lock.Unlock()
			time.Sleep(5 * time.Millisecond)
			room.device.Share()
			if name == "b/1" && first {
				v.fault = &result.Fault{Cause: result.CauseMemory, Message: "there is none left"}
			}
			if name == "a/2" && first {
				v.fault = &result.Fault{Cause: result.CauseLaunch}
			}
			if name == "c/1" {
				v.fault = &result.Fault{Cause: result.CauseCheat}
			}
			v.verification = &result.Verification{}
			if name == "d/1" && first { // nothing was verified, and nothing is wrong
				v.verification.Skipped++
			}
			room.device.Alone(func() {
				lock.Lock()
				beside[name] = busy
				lock.Unlock()
			})
			room.device.Leave()
			lock.Lock()
			busy--
			lock.Unlock()
		}
		c := &check{run: run.Quiet(time.Now(), nil)}
		for _, v := range rows {
			v.state = state{notes: slices.Clone(v.exam.notes)}
		}
		c.examineAll(t.Context(), rows, examiners, examine)
		want := 1
		if examiners > 1 {
			want = 2
		}
		for _, v := range rows {
			name, times := v.candidate.Name(), 1
			if name == "b/1" || name == "d/1" {
				times = want
			}
			if tried[name] != times {
				t.Errorf("%d examiners: %s was examined %d times, expected %d", examiners, name, tried[name], times)
			}
			notes := []string{"of the exam"}
			if name == "b/1" && times == 2 {
				notes = append(notes, "it was verified again, alone: beside other kernels it failed (memory: there is none left)")
			}
			var got []string
			for _, note := range v.notes {
				got = append(got, note.Message)
			}
			if !slices.Equal(got, notes) {
				t.Errorf("%d examiners: %s has the notes %q", examiners, name, got)
			}
			if cell := v.candidate.Cell(); cell == spec.CellHost && beside[name] != 1 {
				t.Errorf("%s is examined beside %d others", name, beside[name]-1)
			}
		}
		if failed := rows[4].fault != nil; failed != (examiners == 1) {
			t.Errorf("%d examiners: the crowded row failed is %t", examiners, failed)
		}
		if beside["b/1"] != 1 && examiners > 1 {
			t.Error("the crowded row was not alone the second time")
		}
		if (most > 1) != (examiners > 1) || most > examiners {
			t.Errorf("%d examiners: %d at a time", examiners, most)
		}
	}
}

// The configs of a kernel of device code are shared by all examiners; each goes on with the next
// kernel in the same room. What fails in cells that another kernel had before is examined again.
func TestExamineAllOfFewKernels(t *testing.T) {
	t.Parallel()
	const examiners = 4
	var rows []*verified
	for _, group := range []struct {
		kernel   string
		configs  int
		launcher bool
	}{{"many", 10, false}, {"launched", 6, true}, {"a", 1, false}, {"b", 1, false}, {"c", 1, false}, {"d", 1, false}} {
		kernel := &spec.Kernel{Name: group.kernel, Cell: spec.CellCUDA, Launcher: group.launcher}
		for i := range group.configs {
			job := &lab.Job{Variant: spec.Variant{Kernel: kernel}, Config: &spec.Config{Name: strconv.Itoa(i)}}
			rows = append(rows, &verified{built: &built{planned: &planned{candidate: job}}, exam: &exam{}})
		}
	}
	var lock sync.Mutex
	rooms, tried, busy := map[string]map[*examRoom]bool{}, map[string]int{}, map[*examRoom]bool{}
	c := &check{run: run.Quiet(time.Now(), nil)}
	c.examineAll(t.Context(), rows, examiners, func(_ context.Context, v *verified, room *examRoom) {
		kernel, name := v.candidate.Variant.Kernel.Name, v.candidate.Name()
		lock.Lock()
		if rooms[kernel] == nil {
			rooms[kernel] = map[*examRoom]bool{}
		}
		rooms[kernel][room] = true
		tried[name]++
		if busy[room] {
			t.Error("two rows are examined in one room")
		}
		busy[room] = true
		first := tried[name] == 1
		lock.Unlock()
		time.Sleep(3 * time.Millisecond)
		v.verification = &result.Verification{}
		switch {
		case name == "many/3" && first:
			room.used, v.incorrect = true, true
		case name == "many/4" && first:
			room.used, v.verification.Findings = true, []result.Finding{{}}
		case name == "many/5" && first:
			v.fault = &result.Fault{Cause: result.CauseLaunch} // in fresh cells
		}
		lock.Lock()
		busy[room] = false
		lock.Unlock()
	})
	all := map[*examRoom]bool{}
	for kernel, seen := range rooms {
		for room := range seen {
			all[room] = true
		}
		if kernel == "launched" && len(seen) != 1 || kernel == "many" && len(seen) < 2 {
			t.Errorf("%s was examined in %d rooms", kernel, len(seen))
		}
	}
	if len(all) > examiners {
		t.Errorf("%d rooms for %d examiners", len(all), examiners)
	}
	for _, v := range rows {
		name, want := v.candidate.Name(), 1
		if name == "many/3" || name == "many/4" {
			want = 2
		}
		if failed := v.doubtful(); tried[name] != want || failed != (name == "many/5") {
			t.Errorf("%s was examined %d times, and failed: %t", name, tried[name], failed)
		}
	}
}

// The timed samples of many rows of device code are verified several rows at a time, each once.
func TestExamineAllTimedSamples(t *testing.T) {
	t.Parallel()
	of := func(cells ...string) (rows []*judged) {
		for i, cell := range cells {
			job := &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k", Cell: cell}}, Config: &spec.Config{Name: strconv.Itoa(i)}}
			rows = append(rows, &judged{played: &played{verified: &verified{built: &built{planned: &planned{candidate: job}}}}})
		}
		return rows
	}
	ten := of(slices.Repeat([]string{spec.CellCUDA}, 10)...)
	for _, test := range []struct {
		rows            []*judged
		examiners, want int
	}{
		{ten, 4, 3},
		{ten, 2, 2},
		{ten, 1, 1},
		{ten[:5], 4, 1},
		{ten[:1], 4, 1},
		{ten[:6], 4, 2},
		{append(of(spec.CellHost), ten...), 4, 1},
		{append(of(spec.CellPython), ten...), 4, 1},
	} {
		if got := looks(test.rows, test.examiners); got != test.want {
			t.Errorf("%d rows, %d examiners: %d at a time, want %d", len(test.rows), test.examiners, got, test.want)
		}
	}
	for n := range len(ten) + 1 {
		for most := range 4 {
			var lock sync.Mutex
			busy, seen := 0, map[*judged]int{}
			rooms := map[*examRoom][]string{}
			lookAtAll(t.Context(), ten[:n], most+1, func(_ context.Context, j *judged, room *examRoom) {
				lock.Lock()
				seen[j]++
				rooms[room] = append(rooms[room], j.candidate.Config.Name)
				if busy++; busy > most+1 {
					t.Errorf("%d at a time, want %d", busy, most+1)
				}
				lock.Unlock()
				time.Sleep(time.Millisecond)
				lock.Lock()
				busy--
				lock.Unlock()
			})
			for _, j := range ten[:n] {
				if seen[j] != 1 {
					t.Errorf("row %s of %d was looked at %d times", j.candidate.Config.Name, n, seen[j])
				}
			}
			for _, names := range rooms {
				if !slices.IsSorted(names) {
					t.Errorf("one room had the rows %v", names)
				}
			}
		}
	}
}

// The longest of a kernel's configs is examined first.
func TestExamineAllLongestFirst(t *testing.T) {
	t.Parallel()
	kernel := &spec.Kernel{Name: "k", Cell: spec.CellCUDA}
	var rows []*verified
	for i, flops := range []float64{3, 1, 9, 4, 9, 2} {
		job := &lab.Job{Variant: spec.Variant{Kernel: kernel}, Config: &spec.Config{Name: strconv.Itoa(i)}, Instance: &spec.Instance{Flops: flops}}
		rows = append(rows, &verified{built: &built{planned: &planned{candidate: job}}, exam: &exam{}})
	}
	plan := slices.Clone(rows)
	var lock sync.Mutex
	var begun []float64
	c := &check{run: run.Quiet(time.Now(), nil)}
	c.examineAll(t.Context(), rows, 2, func(_ context.Context, v *verified, _ *examRoom) {
		lock.Lock()
		begun = append(begun, v.candidate.Instance.Flops)
		lock.Unlock()
		time.Sleep(20 * time.Millisecond)
	})
	if !slices.Equal(begun[:2], []float64{9, 9}) || begun[len(begun)-1] > 2 {
		t.Errorf("examined in the order %v", begun)
	}
	if !slices.Equal(rows, plan) {
		t.Error("the plan's order has changed")
	}
}

// A kernel that was examined alone is not examined again: nobody else can be the reason that it failed.
func TestExamineAllOfOneKernel(t *testing.T) {
	t.Parallel()
	job := &lab.Job{Variant: spec.Variant{Kernel: &spec.Kernel{Name: "k", Cell: spec.CellCUDA}}, Config: &spec.Config{Name: "c"}}
	row := &verified{built: &built{planned: &planned{candidate: job}}, exam: &exam{}}
	tried := 0
	c := &check{run: run.Quiet(time.Now(), nil)}
	c.examineAll(t.Context(), []*verified{row}, 4, func(_ context.Context, v *verified, _ *examRoom) {
		tried++
		v.fault = &result.Fault{Cause: result.CauseTimeout}
	})
	if tried != 1 || row.fault == nil {
		t.Errorf("examined %d times, fault %v", tried, row.fault)
	}
}

// A kernel that once did not end in time may do so again: it does not become the baseline.
func TestLateExamination(t *testing.T) {
	t.Parallel()
	for cause, why := range map[result.Cause]string{result.CauseTimeout: "it did not end in time when it was first verified", result.CauseMemory: ""} {
		row := &judged{played: &played{verified: &verified{built: &built{planned: &planned{}}, first: &result.Fault{Cause: cause}, exam: &exam{}}}}
		row.verification = &result.Verification{Passed: 1, Integrity: result.Clean}
		row.entries.counts = &ratchet.Entry{}
		if got := (&check{}).unproven(row); got != why {
			t.Errorf("%s: %q", cause, got)
		}
	}
}
