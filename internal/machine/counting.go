package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pawl/internal/result"
)

// Counting is a set of counters that are counting what the threads of a process do.
type Counting struct {
	host   host
	kernel perf
	names  []string
	open   map[string][]int // descriptors, one for each thread
	absent map[string]result.Uncounted
}

// perf is the kernel's perf events; tests replace it.
type perf interface {
	open(attributes *unix.PerfEventAttr, tid, group int) (fd int, err error)
	read(fd int, into []byte) (n int, err error)
	close(fd int)
}

// Count starts to count what the threads of a process do, and those that they start from now on.
// The hardware counters among the names form one group: the processor counts all of them or none.
// A counter that cannot be opened for every thread is absent. The threads in except are not
// counted. The caller closes the Counting.
func Count(pid int, names []string, except ...int) *Counting {
	return count(live, systemPerf{}, pid, names, except...)
}

func count(h host, kernel perf, pid int, names []string, except ...int) *Counting {
	c := &Counting{host: h, kernel: kernel, open: map[string][]int{}, absent: map[string]result.Uncounted{}}
	for _, name := range names {
		if _, known := findCounter(name); !known {
			c.miss(result.Uncounted{Name: name, Why: "this version of pawl knows no such counter", Hint: "install the same version of pawl on both sides"})
		}
		c.names = append(c.names, name)
	}
	threads := h.threads(pid)
	for _, tid := range threads {
		if !slices.Contains(except, tid) {
			c.attach(tid)
		}
	}
	if len(threads) == 0 {
		for _, name := range c.names {
			c.miss(result.Uncounted{Name: name, Why: "the process has ended"})
		}
	}
	return c
}

// threads lists the threads of a process.
func (h host) threads(pid int) (tids []int) {
	entries, err := os.ReadDir(h.path(fmt.Sprintf("proc/%d/task", pid)))
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if tid, err := strconv.Atoi(entry.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// attach opens the counters for one thread.
func (c *Counting) attach(tid int) {
	const alone = -1
	leader := alone
	for _, name := range c.names {
		if _, gone := c.absent[name]; gone {
			continue
		}
		counter, _ := findCounter(name)
		group := leader
		if counter.kind == software {
			group = alone
		}
		fd, err := c.kernel.open(counter.attributes(), tid, group)
		if errors.Is(err, unix.EINVAL) && group != alone {
			// The group is larger than this PMU: the kernel takes turns, and the value is scaled.
			fd, err = c.kernel.open(counter.attributes(), tid, alone)
		}
		switch {
		case errors.Is(err, unix.ESRCH):
			return // the thread has ended
		case err != nil:
			c.miss(c.host.why(counter, err))
			continue
		}
		c.open[name] = append(c.open[name], fd)
		if leader == alone && counter.kind != software {
			leader = fd
		}
	}
}

// miss records that a counter is absent. Some threads may have it: a part would be taken for the
// whole.
func (c *Counting) miss(why result.Uncounted) {
	if _, known := c.absent[why.Name]; known {
		return
	}
	c.absent[why.Name] = why
}

// Read returns the counts so far.
func (c *Counting) Read() result.Counts {
	var out result.Counts
	for _, name := range c.names {
		if _, gone := c.absent[name]; !gone {
			if sum, err := c.sum(name); err != nil {
				c.miss(result.Uncounted{Name: name, Why: err.Error()})
			} else if sum.EnabledS > 0 && sum.RunningS == 0 {
				c.miss(result.Uncounted{
					Name: name, Why: "something else held the processor's counters all the time",
					Hint: "end other profilers; sysctl kernel.nmi_watchdog=0 frees one counter",
				})
			} else {
				out.Counts = append(out.Counts, sum)
				continue
			}
		}
		out.Absent = append(out.Absent, c.absent[name])
	}
	return out
}

// sum adds a counter's values of all threads. A thread's value is scaled to the time that the
// thread ran, if the counter had to share the PMU with others.
func (c *Counting) sum(name string) (result.Count, error) {
	counter, _ := findCounter(name)
	out := result.Count{Name: name, Unit: counter.unit}
	var raw [24]byte
	for _, fd := range c.open[name] {
		if n, err := c.kernel.read(fd, raw[:]); err != nil {
			return out, fmt.Errorf("its value cannot be read: %w", err)
		} else if n != len(raw) {
			return out, fmt.Errorf("its value cannot be read: %d bytes, expected %d", n, len(raw))
		}
		value := float64(binary.NativeEndian.Uint64(raw[:]))
		enabled, running := binary.NativeEndian.Uint64(raw[8:]), binary.NativeEndian.Uint64(raw[16:])
		if running > 0 && running < enabled {
			value *= float64(enabled) / float64(running)
		}
		out.Value += value
		out.EnabledS += float64(enabled) / 1e9
		out.RunningS += float64(running) / 1e9
	}
	if counter.unit == seconds {
		out.Value /= 1e9
	}
	return out, nil
}

// Close stops counting.
func (c *Counting) Close() {
	for _, fds := range c.open {
		for _, fd := range fds {
			c.kernel.close(fd)
		}
	}
	c.open = nil
}

// The values of kernel.perf_event_paranoid up to which a process without privileges may count what
// its threads do: in user mode, and with what the kernel does for them.
const (
	paranoidUser   = 2
	paranoidKernel = 1
)

// why says why a counter cannot be opened, and what helps.
func (h host) why(c counter, err error) result.Uncounted {
	out := result.Uncounted{Name: c.name}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		out.Why, out.Hint = h.refused(c)
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.EINVAL):
		if out.Why = "this processor has no such counter"; c.kind != software && !h.hasPMU() {
			out.Why = "Linux sees no counters in this processor: most virtual machines hide them"
			out.Hint = "measure on bare metal, or give the virtual machine a PMU (QEMU: -cpu host,pmu=on)"
		}
	case errors.Is(err, unix.ENOSYS):
		out.Why, out.Hint = "this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		out.Why, out.Hint = "there are too many threads for the descriptors that a process may have", "ulimit -n 65536"
	default:
		out.Why = fmt.Sprintf("the kernel refuses it: %v", err)
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		out.Why += " (" + unix.ErrnoName(number) + ")"
	}
	return out
}

// refused explains a missing permission.
func (h host) refused(c counter) (why, hint string) {
	most, what := int64(paranoidUser), ""
	if c.inside {
		most, what = paranoidKernel, ", and it happens inside the kernel"
	}
	level, known := h.integer("proc/sys/kernel/perf_event_paranoid")
	switch {
	case !known:
		return "this process may not count" + what, "grant it CAP_PERFMON"
	case level > most:
		return fmt.Sprintf("kernel.perf_event_paranoid is %d%s", level, what), fmt.Sprintf("sysctl kernel.perf_event_paranoid=%d, or grant CAP_PERFMON", most)
	}
	return fmt.Sprintf("it is refused although kernel.perf_event_paranoid is %d: containers refuse perf_event_open", level), "docker run --cap-add PERFMON, or a seccomp profile that allows perf_event_open"
}

// hasPMU reports whether Linux knows a PMU of the cores: cpu, cpu_core and cpu_atom, armv8_pmuv3.
func (h host) hasPMU() bool {
	return slices.ContainsFunc(h.glob("sys/bus/event_source/devices/*"), func(device string) bool {
		name := device[strings.LastIndexByte(device, '/')+1:]
		return name == "cpu" || strings.HasPrefix(name, "cpu_") || strings.HasPrefix(name, "arm") && strings.Contains(name, "pmu")
	})
}

// systemPerf asks the kernel.
type systemPerf struct{}

func (systemPerf) open(attributes *unix.PerfEventAttr, tid, group int) (int, error) {
	const everyCore = -1
	return unix.PerfEventOpen(attributes, tid, everyCore, group, unix.PERF_FLAG_FD_CLOEXEC)
}

func (systemPerf) read(fd int, into []byte) (int, error) { return unix.Read(fd, into) }

func (systemPerf) close(fd int) { _ = unix.Close(fd) }
