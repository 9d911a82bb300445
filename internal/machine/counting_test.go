package machine

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"pawl/internal/result"
)

// recordedPerf answers as kernels did on machines with a PMU and without one.
type recordedPerf struct {
	refuse map[string]error     // by name
	values map[string][3]uint64 // value, time enabled, time running
	most   int                  // counters in a group; 0: any number

	opened []string // name, thread, and the leader's number
	names  []string // by descriptor
	groups map[int]int
	closed int
}

func (r *recordedPerf) open(a *unix.PerfEventAttr, tid, group int) (int, error) {
	name := ""
	for _, known := range slices.Concat(counterGroups...) {
		if known.kind == a.Type && known.config == a.Config {
			name = known.name
		}
	}
	if err := r.refuse[name]; err != nil {
		return 0, err
	}
	if r.groups == nil {
		r.groups = map[int]int{}
	}
	fd := len(r.names)
	leader := fd
	if group >= 0 {
		leader = group
	}
	if r.most > 0 && r.groups[leader] >= r.most {
		return 0, unix.EINVAL
	}
	r.groups[leader]++
	r.names = append(r.names, name)
	r.opened = append(r.opened, name+" "+strconv.Itoa(tid)+" "+strconv.Itoa(leader))
	return fd, nil
}

func (r *recordedPerf) read(fd int, into []byte) (int, error) {
	for i, v := range r.values[r.names[fd]] {
		binary.NativeEndian.PutUint64(into[8*i:], v)
	}
	return 24, nil
}

func (r *recordedPerf) close(int) { r.closed++ }

// machineWith returns a machine with two threads of process 7, and files besides.
func machineWith(t *testing.T, files map[string]string) host {
	t.Helper()
	h := host{t.TempDir()}
	for _, folder := range []string{"proc/7/task/7", "proc/7/task/9"} {
		if err := os.MkdirAll(h.path(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// Values of all threads are added; those of a counter that shared the PMU are scaled.
func TestCounts(t *testing.T) {
	kernel := &recordedPerf{values: map[string][3]uint64{
		"cycles": {3_000_000, 1_000_000, 1_000_000}, "instructions": {6_000_000, 1_000_000, 250_000}, "task-clock": {1_000_000, 1_000_000, 1_000_000},
	}}
	c := count(machineWith(t, nil), kernel, 7, []string{"cycles", "instructions", "task-clock"})
	got := c.Read()
	want := result.Counts{Counts: []result.Count{
		{Name: "cycles", Value: 6_000_000, EnabledS: 0.002, RunningS: 0.002},
		{Name: "instructions", Value: 48_000_000, EnabledS: 0.002, RunningS: 0.0005},
		{Name: "task-clock", Unit: "s", Value: 0.002, EnabledS: 0.002, RunningS: 0.002},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// One group of hardware counters for each thread; the kernel's own need none.
	if got := strings.Join(kernel.opened, ", "); got != "cycles 7 0, instructions 7 0, task-clock 7 2, cycles 9 3, instructions 9 3, task-clock 9 5" {
		t.Error(got)
	}
	c.Close()
	if kernel.closed != 6 {
		t.Errorf("%d descriptors of 6 were closed", kernel.closed)
	}
	if got := count(machineWith(t, nil), kernel, 7, []string{"cycles"}, 9, 10).Read(); len(got.Counts) != 1 || got.Counts[0].Value != 3_000_000 {
		t.Errorf("without a thread: %+v", got)
	}
}

// A group that the PMU cannot hold is counted in turns.
func TestCountsOfASmallPMU(t *testing.T) {
	kernel := &recordedPerf{most: 1}
	c := count(machineWith(t, nil), kernel, 7, []string{"L1-dcache-loads", "dTLB-load-misses"})
	defer c.Close()
	if got := strings.Join(kernel.opened[:2], ", "); got != "L1-dcache-loads 7 0, dTLB-load-misses 7 1" || len(c.Read().Absent) > 0 {
		t.Error(got, c.Read().Absent)
	}
}

// What cannot be counted is absent, with the reason and the remedy, and never a zero.
func TestAbsentCounters(t *testing.T) {
	const pmu, paranoid = "sys/bus/event_source/devices/cpu/type", "proc/sys/kernel/perf_event_paranoid"
	for name, test := range map[string]struct {
		files   map[string]string
		counter string
		err     error
		values  [3]uint64
		why     string
		hint    string
	}{
		"a virtual machine":           {nil, "cycles", unix.ENOENT, [3]uint64{}, "most virtual machines hide them (ENOENT)", "pmu=on"},
		"another PMU is no core's":    {map[string]string{"sys/bus/event_source/devices/power/type": "9"}, "cycles", unix.ENOENT, [3]uint64{}, "most virtual machines hide them", "bare metal"},
		"a processor without it":      {map[string]string{pmu: "4"}, "stalled-cycles-backend", unix.ENOENT, [3]uint64{}, "this processor has no such counter (ENOENT)", ""},
		"ARM":                         {map[string]string{"sys/bus/event_source/devices/armv8_pmuv3_0/type": "8"}, "cycles", unix.ENOENT, [3]uint64{}, "this processor has no such counter", ""},
		"a paranoid kernel":           {map[string]string{paranoid: "4\n", pmu: "4"}, "cycles", unix.EACCES, [3]uint64{}, "kernel.perf_event_paranoid is 4 (EACCES)", "sysctl kernel.perf_event_paranoid=2"},
		"a usual one, of its insides": {map[string]string{paranoid: "2\n"}, "context-switches", unix.EACCES, [3]uint64{}, "kernel.perf_event_paranoid is 2, and it happens inside the kernel", "perf_event_paranoid=1, or grant CAP_PERFMON"},
		"a container":                 {map[string]string{paranoid: "1\n"}, "cycles", unix.EPERM, [3]uint64{}, "containers refuse perf_event_open (EPERM)", "--cap-add PERFMON"},
		"a hidden level":              {nil, "cycles", unix.EPERM, [3]uint64{}, "this process may not count", "CAP_PERFMON"},
		"a kernel without":            {nil, "task-clock", unix.ENOSYS, [3]uint64{}, "no perf events", "CONFIG_PERF_EVENTS"},
		"too many threads":            {nil, "task-clock", unix.EMFILE, [3]uint64{}, "too many threads", "ulimit"},
		"anything else":               {nil, "task-clock", unix.EIO, [3]uint64{}, "the kernel refuses it: input/output error (EIO)", ""},
		"held by others":              {nil, "cycles", nil, [3]uint64{0, 1000, 0}, "something else held", "nmi_watchdog"},
		"of a later version":          {nil, "topdown-retiring", nil, [3]uint64{}, "knows no such counter", "same version"},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := &recordedPerf{refuse: map[string]error{test.counter: test.err}, values: map[string][3]uint64{test.counter: test.values}}
			c := count(machineWith(t, test.files), kernel, 7, []string{test.counter, "page-faults"})
			defer c.Close()
			got := c.Read()
			if len(got.Counts) != 1 || got.Counts[0].Name != "page-faults" || len(got.Absent) != 1 || got.Absent[0].Name != test.counter {
				t.Fatalf("%+v", got)
			}
			if a := got.Absent[0]; !strings.Contains(a.Why, test.why) || !strings.Contains(a.Hint, test.hint) || test.hint == "" && a.Hint != "" {
				t.Errorf("%+v", a)
			}
			if diff := cmp.Diff(got, c.Read()); diff != "" {
				t.Errorf("read again: %s", diff)
			}
		})
	}
}

// A thread that ends while counters are opened is not missed.
func TestThreadsThatEnd(t *testing.T) {
	kernel := &recordedPerf{refuse: map[string]error{"cycles": unix.ESRCH}}
	c := count(machineWith(t, nil), kernel, 7, []string{"cycles"})
	if got := c.Read(); len(got.Absent) > 0 {
		t.Errorf("%+v", got)
	}
	if got := count(machineWith(t, nil), kernel, 8, []string{"cycles"}).Read(); len(got.Absent) != 1 || got.Absent[0].Why != "the process has ended" {
		t.Errorf("%+v", got)
	}
}

// Without a privilege a process may count what its threads do in user mode; of what happens inside
// the kernel nothing would be left then.
func TestCountersOfUserMode(t *testing.T) {
	for _, c := range slices.Concat(counterGroups...) {
		excluded := c.attributes().Bits&unix.PerfBitExcludeKernel != 0
		if inside := c.name == "context-switches" || c.name == "cpu-migrations"; excluded == inside {
			t.Errorf("%s: the kernel is excluded: %t", c.name, excluded)
		}
	}
}

// ownTime is the processor time of this process.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

// This kernel counts what this process does: page faults one by one, and time.
func TestCountsHere(t *testing.T) {
	names := slices.Concat(CounterGroups()...)
	c := Count(os.Getpid(), names)
	defer c.Close()
	const pages = 1000
	memory, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(memory); at += os.Getpagesize() {
		memory[at] = 1
	}
	for began := ownTime(t); ownTime(t)-began < 20*time.Millisecond; {
	}
	got := c.Read()
	if len(got.Counts)+len(got.Absent) != len(names) {
		t.Fatalf("%d counters and %d absent ones of %d", len(got.Counts), len(got.Absent), len(names))
	}
	for _, a := range got.Absent {
		t.Logf("%s: %s; %s", a.Name, a.Why, a.Hint)
		if a.Why == "" {
			t.Errorf("%s: no reason", a.Name)
		}
	}
	for _, v := range got.Counts {
		t.Logf("%+v", v)
		switch {
		case v.Name == "page-faults" && (v.Value < pages || v.Value > 2*pages),
			v.Name == "task-clock" && (v.Value < 0.015 || v.Value > 20), v.Name == "instructions" && v.Value < 1e6,
			math.IsNaN(v.Value), v.RunningS > v.EnabledS*1.001:
			t.Errorf("%+v", v)
		}
	}
	if slices.ContainsFunc(got.Absent, func(a result.Uncounted) bool { return a.Name == "page-faults" }) && os.Getenv("PAWL_NO_PERF") == "" {
		t.Error("page faults are not counted; where perf_event_open is refused, set PAWL_NO_PERF")
	}
}
