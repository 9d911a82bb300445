package cell

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/dtype"
	"pawl/internal/native/core"
	"pawl/internal/native/dl"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// Fields that a launch of testdata/witness.c records.
const (
	flushes = iota
	flushed
	firstIn
	firstOut
	firstInOut
	cores
	onCore
	repeated
)

// witness is a host cell on a thread of its own, with testdata/witness.c in it.
type witness struct {
	t    *testing.T
	host *host
	path string
	do   chan func()
	dl   *dl.Library
}

// made are shared objects by the macros they were compiled with.
var made = map[string][]byte{}

// witnessed returns a shared object of the kernel with these macros, in a file of its
// own: one that is loaded again under the same name is the same.
func witnessed(t *testing.T, macros ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler here")
	}
	path := filepath.Join(t.TempDir(), "witness.so")
	key := strings.Join(macros, " ")
	if made[key] == nil {
		args := append([]string{"-shared", "-fPIC", "-O1", "-o", path, "testdata/witness.c", "-DABI=2"}, macros...)
		if said, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if made[key], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, made[key], 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func newWitness(t *testing.T, macros ...string) *witness {
	t.Helper()
	w := &witness{t: t, host: newHost(), path: witnessed(t, macros...), do: make(chan func())}
	var err error
	if w.dl, err = dl.Open(w.path); err != nil {
		t.Fatal(err)
	}
	w.host.flush = func(_ uintptr, bytes int) { w.call("witness_flush", uintptr(bytes)) }
	w.host.spin = func(int) { time.Sleep(10 * time.Millisecond) }
	go func() {
		runtime.LockOSThread() // and never unlock: a thread that was pinned is not used again
		for f := range w.do {
			f()
		}
	}()
	t.Cleanup(func() { close(w.do) })
	return w
}

func (w *witness) call(name string, args ...uintptr) int64 {
	w.t.Helper()
	f, err := w.dl.Lookup(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return int64(f.Call(args...))
}

func (w *witness) launches() int { return int(w.call("witness_launches")) }

// seen returns a field of all launches from one on.
func (w *witness) seen(field, from int) []int64 {
	var out []int64
	for launch := from; launch < w.launches(); launch++ {
		out = append(out, w.call("witness", uintptr(launch), uintptr(field)))
	}
	return out
}

// answer has the cell's thread answer a request.
func answer[Request, Reply any](w *witness, f func(Request) (Reply, error), m Request) (reply Reply, err error) {
	done := make(chan struct{})
	w.do <- func() {
		defer close(done)
		reply, err = f(m)
	}
	<-done
	return reply, err
}

const witnessSize = 3000

var witnessArgs = []wire.Arg{
	{Name: "x", DType: "f32", Buffer: true, Count: witnessSize, Shape: []int64{witnessSize}, Role: "in"},
	{Name: "y", DType: "f32", Buffer: true, Count: witnessSize, Shape: []int64{witnessSize}, Role: "out"},
	{Name: "z", DType: "f32", Buffer: true, Count: witnessSize, Shape: []int64{witnessSize}, Role: "inout"},
	{Name: "n", DType: "i64", Value: strconv.Itoa(witnessSize)},
}

const witnessSeed = 11

// prepare loads the kernel and gives it its arguments.
func (w *witness) prepare(m wire.Prepare) *wire.Prepared {
	w.t.Helper()
	if _, err := answer(w, w.host.load, &wire.Load{Path: w.path}); err != nil {
		w.t.Fatal(err)
	}
	m.Args, m.Seed = witnessArgs, witnessSeed
	reply, err := answer(w, w.host.prepare, &m)
	if err != nil {
		w.t.Fatal(err)
	}
	return reply
}

type sampled struct {
	*wire.Sampled
	seconds, ghz []float64
}

func (w *witness) sample(m wire.Sample) (sampled, error) {
	return answer(w, func(m *wire.Sample) (sampled, error) {
		reply, err := w.host.sample(m)
		if err != nil {
			return sampled{}, err
		}
		err = reply.Unpack(reply.Pack())
		return sampled{Sampled: reply, seconds: reply.Seconds, ghz: reply.GHz}, err
	}, &m)
}

func (w *witness) mustSample(m wire.Sample) sampled {
	w.t.Helper()
	s, err := w.sample(m)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// contents returns an argument's first elements as bits, after this many steps.
func contents(number, batch, steps int) int64 {
	return int64(binary.LittleEndian.Uint32(wholeOf(number, batch, steps)))
}

func wholeOf(number, batch, steps int) []byte {
	data, fill, key := make([]byte, 4*witnessSize), oracle.Defaults(dtype.F32), oracle.Key(witnessSeed, number, batch)
	oracle.Generate(data, dtype.F32, fill, key)
	for step := 1; step <= steps; step++ {
		oracle.Mutate(data, dtype.F32, fill, key, step)
	}
	return data
}

func all(value int64, times int) []int64 { return slices.Repeat([]int64{value}, times) }

// A cold sample starts with all arguments out of the caches, a hot one with none
// flushed.
func TestColdSamplesAreFlushed(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	w.mustSample(wire.Sample{Count: 5, Repeat: 1, Cache: "cold"})
	if got := w.seen(flushed, 0); !slices.Equal(got, all(4*4*witnessSize, 5)) { // and what an inout argument is restored from
		t.Errorf("cold samples flushed %v bytes", got)
	}
	w.mustSample(wire.Sample{Count: 4, Repeat: 1, Cache: "hot"})
	if got := w.seen(flushes, 5); !slices.Equal(got, all(0, 4)) {
		t.Errorf("hot samples flushed %v times", got)
	}
}

// The tools that clean and measure are pawl's own.
func TestToolsOfACell(t *testing.T) {
	h := newHost()
	for name, pair := range map[string][2]any{"flush": {h.flush, core.Flush}, "spin": {h.spin, core.Spin}} {
		if reflect.ValueOf(pair[0]).Pointer() != reflect.ValueOf(pair[1]).Pointer() {
			t.Errorf("%s is another function", name)
		}
	}
}

// Every launch finds its inout arguments restored, its output unwritten, and its inputs a step
// further on.
func TestEverySampleStartsFromTheSame(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Batch: 2})
	poison := make([]byte, 8)
	oracle.Poison(poison, dtype.F32)
	unwritten := int64(binary.LittleEndian.Uint32(poison))
	check := func(what string, from int, want []int64, field int) {
		t.Helper()
		if got := w.seen(field, from); !slices.Equal(got, want) {
			t.Errorf("%s: %x, want %x", what, got, want)
		}
	}
	w.mustSample(wire.Sample{Count: 3, Repeat: 2, Batch: 2})
	check("inout", 0, all(contents(2, 2, 0), 3), firstInOut)
	check("in", 0, all(contents(0, 2, 0), 3), firstIn)
	check("out", 0, all(unwritten, 3), firstOut)
	check("launches of a sample", 0, all(2, 3), repeated)

	w.mustSample(wire.Sample{Count: 40, Repeat: 1, Batch: 2, Step: 3})
	var in, inout []int64
	for i := range 40 {
		in, inout = append(in, contents(0, 2, 3+i)), append(inout, contents(2, 2, 3+i))
	}
	check("in, step by step", 3, in, firstIn)
	check("inout, step by step", 3, inout, firstInOut)

	w.mustSample(wire.Sample{Count: 1, Repeat: 1, Batch: 5})
	check("in of another batch", 43, all(contents(0, 5, 0), 1), firstIn)
	check("inout of another batch", 43, all(contents(2, 5, 0), 1), firstInOut)

	if _, err := answer(w, w.host.run, &wire.Run{Launches: 7}); err != nil {
		t.Fatal(err)
	}
	check("inout of a run", 44, all(contents(2, 5, 0), 1), firstInOut)
	check("launches of a run", 44, all(7, 1), repeated)

	for i, m := range []wire.Produce{{Batch: 5, Steps: 2}, {Batch: 5, Steps: 2}, {Batch: 6, Steps: 2}, {Batch: 6}} {
		m.Outputs = t.TempDir()
		if _, err := answer(w, w.host.produce, &m); err != nil {
			t.Fatal(err)
		}
		check("in of what is produced", 45+i, all(contents(0, m.Batch, m.Steps), 1), firstIn)
		check("inout of what is produced", 45+i, all(contents(2, m.Batch, m.Steps), 1), firstInOut)
		check("out of what is produced", 45+i, all(unwritten, 1), firstOut)
	}
}

// mustHaveKept checks the outputs of a launch: its number, and its inout argument plus
// one.
func (w *witness) mustHaveKept(folder string, launch int, inout []byte) {
	w.t.Helper()
	y, errY := os.ReadFile(filepath.Join(folder, "1.bin"))
	z, errZ := os.ReadFile(filepath.Join(folder, "2.bin"))
	if errY != nil || errZ != nil || len(z) != len(inout) {
		w.t.Fatal(errY, errZ, len(z))
	}
	at := func(data []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])) }
	if at(y, 0) != float32(launch) {
		w.t.Errorf("kept of launch %g, want %d", at(y, 0), launch)
	}
	for i := range len(z) / 4 {
		if at(z, i) != at(inout, i)+1 {
			w.t.Fatalf("launch %d worked on other data", launch)
		}
	}
}

// A sample may begin a new batch: it and those after it work on other data, at other addresses
// where there is a spare copy, and earlier samples are not affected.
func TestFreshSample(t *testing.T) {
	for name, spare := range map[string]bool{"beside": true, "in place": false} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t)
			reply := w.prepare(wire.Prepare{Spare: spare})
			if copies := len(reply.Buffers) / 3; copies != 1 && !spare || copies != 2 && spare {
				t.Errorf("%d copies of the arguments", copies)
			}
			var in, inout []int64
			batch, step := 0, 0
			for request, m := range []wire.Sample{
				{Count: 4, Step: 1, Fresh: 3, FreshBatch: 7, Keep: 4},
				{Count: 3, Step: 3, Batch: 7, Keep: 2},
				{Count: 2, Step: 6, Batch: 7, Fresh: 1, FreshBatch: 9, Keep: 1},
				{Count: 2, Step: 3, Batch: 9, Fresh: 3, FreshBatch: 11}, // which it does not come to
				{Count: 2, Step: 5, Batch: 9, FreshBatch: 12},           // which is only made ready
				{Count: 2, Step: 7, Batch: 9, Fresh: 2, FreshBatch: 12},
			} {
				m.Repeat, m.Outputs = 1, t.TempDir()
				from := w.launches()
				s := w.mustSample(m)
				if s.Fresh != m.Fresh && request != 3 || s.Fresh != 0 && request == 3 {
					t.Errorf("request %d: a new batch with sample %d", request, s.Fresh)
				}
				if spare && m.Fresh == 0 && m.FreshBatch > 0 && w.host.spare.batch != m.FreshBatch {
					t.Errorf("request %d: batch %d is there", request, w.host.spare.batch)
				}
				batch, step = m.Batch, m.Step
				for i := range m.Count {
					if i+1 == m.Fresh {
						batch, step = m.FreshBatch, 1
					}
					in, inout = append(in, contents(0, batch, step)), append(inout, contents(2, batch, step))
					if i+1 == m.Keep {
						w.mustHaveKept(m.Outputs, from+i, wholeOf(2, batch, step))
					}
					step++
				}
			}
			if got := w.seen(firstIn, 0); !slices.Equal(got, in) {
				t.Errorf("in: %x, want %x", got, in)
			}
			if got := w.seen(firstInOut, 0); !slices.Equal(got, inout) {
				t.Errorf("inout: %x, want %x", got, inout)
			}
			// Changes of the remaining copy are noticed, too.
			w.call("witness_misdeed", 1, uintptr(w.launches()))
			_, err := w.sample(wire.Sample{Count: 3, Repeat: 1, Step: 2, Batch: 12, Fresh: 2, FreshBatch: 13})
			if fault := faultIn(t, err); fault.Cause != result.CauseOutput {
				t.Errorf("%+v", fault)
			}
		})
	}
}

// A flush that works leaves lines as cold as evicting each of them; one that does nothing does not.
func TestProbe(t *testing.T) {
	if core.How() == "" {
		t.Skip("this processor is not known to evict lines")
	}
	for name, flush := range map[string]func(uintptr, int){"works": core.Flush, "does nothing": func(uintptr, int) {}} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(t)
			w.host.flush, w.host.spin = flush, core.Spin
			w.prepare(wire.Prepare{})
			warm := 0
			for range 21 {
				s := w.mustSample(wire.Sample{Count: 3, Repeat: 1, Step: 1, Cache: "cold", Probe: 2})
				if s.ColdS <= 0 || s.FlushedS <= 0 || s.Count != 3 {
					t.Fatalf("%+v", s.Sampled)
				}
				if s.FlushedS < 0.6*s.ColdS {
					warm++
				}
			}
			if works := name == "works"; works && warm > 4 || !works && warm < 17 {
				t.Errorf("%d of 21 reads were warm", warm)
			}
			for _, m := range []wire.Sample{{Cache: "hot", Probe: 1}, {Cache: "cold"}, {Cache: "cold", Probe: 2}} {
				m.Count, m.Repeat = 1, 1
				if s := w.mustSample(m); s.ColdS != 0 || s.FlushedS != 0 {
					t.Errorf("%+v: %+v", m, s.Sampled)
				}
			}
		})
	}
}

// affinity lists the cores of every thread of this process.
func affinity(t *testing.T) map[int]unix.CPUSet {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]unix.CPUSet{}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) == nil {
			out[tid] = set
		}
	}
	return out
}

// A pinned kernel runs on its core alone, and no other thread of the cell does.
func TestPinned(t *testing.T) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		t.Fatal(err)
	}
	before := affinity(t)
	defer func() {
		for tid := range affinity(t) {
			set, known := before[tid]
			if !known {
				set = usable
			}
			_ = unix.SchedSetaffinity(tid, &set) // threads may have ended
		}
	}()
	quiet := 0
	for !usable.IsSet(quiet) {
		quiet++
	}
	w := newWitness(t)
	if reply := w.prepare(wire.Prepare{}); reply.Pinned != nil {
		t.Errorf("pinned to %v", reply.Pinned)
	}
	w.mustSample(wire.Sample{Count: 1, Repeat: 1})
	if got := w.seen(cores, 0); got[0] != int64(usable.Count()) {
		t.Errorf("unasked, it is kept on %d of %d cores", got[0], usable.Count())
	}
	reply := w.prepare(wire.Prepare{Cores: []int{quiet}})
	w.mustSample(wire.Sample{Count: 6, Repeat: 1})
	if !slices.Equal(reply.Pinned, []int{quiet}) || !slices.Equal(w.seen(cores, 1), all(1, 6)) || !slices.Equal(w.seen(onCore, 1), all(int64(quiet), 6)) {
		t.Errorf("pinned to %v; it ran on core %v, of %v that it could have", reply.Pinned, w.seen(onCore, 1), w.seen(cores, 1))
	}
	if usable.Count() == 1 {
		return
	}
	self := make(chan int, 1)
	w.do <- func() { self <- unix.Gettid() }
	own := <-self
	for tid, set := range affinity(t) {
		_, old := before[tid]
		if tid != own && old && set.IsSet(quiet) {
			t.Errorf("thread %d may run on core %d too", tid, quiet)
		}
	}
	// A thread of the candidate cannot compute on other cores.
	theirs := int(w.call("witness_thread"))
	if err := unix.SchedSetaffinity(theirs, &usable); err != nil || theirs <= 0 {
		t.Fatal(theirs, err)
	}
	w.prepare(wire.Prepare{Cores: []int{quiet}})
	if set := affinity(t)[theirs]; set.Count() != 1 || !set.IsSet(quiet) {
		t.Errorf("a thread of the candidate's has %d cores", set.Count())
	}
	if reply := w.prepare(wire.Prepare{Cores: []int{64*len(usable) - 1}}); reply.Pinned != nil {
		t.Errorf("pinned to a core that is not there: %v", reply.Pinned)
	}
}

// Samples are as long as their launches, and no longer than the request.
func TestTimesOfSamples(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{Threads: 3})
	if got := w.call("witness_threads"); got != 3 {
		t.Errorf("%d threads", got)
	}
	w.call("witness_pause", 5000)
	began := time.Now()
	s := w.mustSample(wire.Sample{Count: 3, Repeat: 4})
	total, took := 0.0, time.Since(began).Seconds()
	for i, seconds := range s.seconds {
		total += 4 * seconds
		if seconds < 5e-3 {
			t.Errorf("a launch of 5 ms took %g s", seconds)
		}
		if ghz := s.ghz[i]; ghz <= 0 || ghz > 1e-9*core.SpinCycles*spinRounds/10e-3 {
			t.Errorf("%g GHz", ghz)
		}
	}
	if s.Count != 3 || len(s.seconds) != 3 || total > took {
		t.Errorf("%d samples of %g s in %g s", s.Count, total, took)
	}
	if s.OverheadS <= 0 {
		t.Errorf("a call that launches nothing takes %g s", s.OverheadS)
	}
	before := w.launches()
	if s := w.mustSample(wire.Sample{Count: 500, Repeat: 1, MaxS: 0.02}); s.Count < 1 || s.Count >= 500 || w.launches()-before != s.Count {
		t.Errorf("%d samples of 5 ms, %d launches in 0.02 s", s.Count, w.launches()-before)
	}
	if s := w.mustSample(wire.Sample{Count: 5, Repeat: 1, MaxS: 3600}); s.Count != 5 {
		t.Errorf("%d samples of 5 in an hour", s.Count)
	}
	before = w.launches()
	if s := w.mustSample(wire.Sample{Count: 2, Repeat: 1, Dry: true}); s.Count != 2 || w.launches() != before {
		t.Errorf("%d samples, %d launches without launching", s.Count, w.launches()-before)
	}
	reply, err := answer(w, w.host.run, &wire.Run{Launches: 4})
	if err != nil || reply.CellS < 20e-3 {
		t.Errorf("4 launches of 5 ms: %+v, %v", reply, err)
	}
	w = newWitness(t)
	w.prepare(wire.Prepare{})
	if got := w.call("witness_threads"); got != 1 {
		t.Errorf("%d threads", got)
	}
}

// The kept output is that of the requested sample.
func TestKeptOutputs(t *testing.T) {
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	for _, keep := range []int{0, 1, 3, 5} {
		from, folder := w.launches(), t.TempDir()
		s := w.mustSample(wire.Sample{Count: 5, Repeat: 1, Keep: keep, Outputs: folder})
		if keep == 0 {
			if files, _ := os.ReadDir(folder); s.Kept != nil || len(files) > 0 {
				t.Errorf("kept %v, %v", s.Kept, files)
			}
			continue
		}
		if len(s.Kept) != 2 {
			t.Fatalf("kept %v", s.Kept)
		}
		for _, k := range s.Kept {
			data, err := os.ReadFile(filepath.Join(folder, k.Path))
			if err != nil || len(data) != 4*witnessSize {
				t.Fatalf("%d bytes, %v", len(data), err)
			}
			got := math.Float32frombits(binary.LittleEndian.Uint32(data))
			want := float32(from + keep - 1)
			if k.Arg == 2 {
				want = math.Float32frombits(uint32(contents(2, 0, 0))) + 1
			}
			if got != want {
				t.Errorf("sample %d, argument %d: %g, want %g", keep, k.Arg, got, want)
			}
		}
	}
	folder := t.TempDir()
	reply, err := answer(w, w.host.produce, &wire.Produce{Outputs: folder})
	if err != nil || len(reply.Outputs) != 2 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if _, err := w.sample(wire.Sample{Count: 1, Repeat: 1, Keep: 1, Outputs: filepath.Join(folder, "nowhere")}); err == nil {
		t.Error("kept in a folder that is not there")
	}
}

// A launch's change of memory that is not its own is found in the same request, and reported once.
func TestMisdeedsOfLaunches(t *testing.T) {
	for name, test := range map[string]struct {
		misdeed uintptr
		cause   result.Cause
		says    string
		lasting bool
	}{
		"writes an input":     {1, result.CauseOutput, "changed its input x", true},
		"writes past the end": {2, result.CauseOutOfBounds, "wrote past the end of argument y", false},
		"writes before":       {3, result.CauseOutOfBounds, "wrote before the start of argument y (4 bytes before it)", false},
		"handles a signal":    {4, result.CauseForged, "the handler of SIGUSR2", true},
		"protects its output": {5, result.CauseOutput, "unmapped or protected the memory", true},
	} {
		for kind, request := range map[string]func(*witness) error{
			"sampled":     func(w *witness) error { _, err := w.sample(wire.Sample{Count: 4, Repeat: 1}); return err },
			"last sample": func(w *witness) error { _, err := w.sample(wire.Sample{Count: 3, Repeat: 1}); return err },
			"kept": func(w *witness) error {
				_, err := w.sample(wire.Sample{Count: 3, Repeat: 1, Keep: 3, Outputs: t.TempDir()})
				return err
			},
			"run": func(w *witness) error {
				_, err := answer(w, w.host.run, &wire.Run{Launches: 1})
				return err
			},
			"produced": func(w *witness) error {
				_, err := answer(w, w.host.produce, &wire.Produce{Outputs: t.TempDir()})
				return err
			},
		} {
			if test.misdeed == 5 && kind == "sampled" || test.misdeed == 1 && kind == "run" {
				continue // the next launch would crash; the worker times a run, so its inputs are checked later
			}
			t.Run(name+" "+kind, func(t *testing.T) {
				was := rawAction(t, int(unix.SIGUSR2))
				defer setAction(t, int(unix.SIGUSR2), was)
				w := newWitness(t)
				w.prepare(wire.Prepare{})
				if w.host.buffers[1].probed == false && test.misdeed == 5 {
					t.Skip("Linux before 5.14")
				}
				at := map[string]uintptr{"sampled": 2, "last sample": 2, "kept": 2}[kind]
				w.call("witness_misdeed", test.misdeed, at)
				if fault := faultIn(t, request(w)); fault.Cause != test.cause || !strings.Contains(fault.Message, test.says) {
					t.Errorf("%+v", fault)
				}
				if test.lasting {
					return
				}
				if err := request(w); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
}

// Requests out of order or out of range are refused.
func TestRefusedRequests(t *testing.T) {
	w := newWitness(t)
	refuse := func(what string, err error, cause result.Cause) {
		t.Helper()
		if fault := faultIn(t, err); fault.Cause != cause || fault.Message == "" {
			t.Errorf("%s: %+v", what, fault)
		}
	}
	_, err := answer(w, w.host.prepare, &wire.Prepare{Args: witnessArgs})
	refuse("prepare before load", err, result.CauseProtocol)
	_, err = w.sample(wire.Sample{Count: 1, Repeat: 1})
	refuse("sample before prepare", err, result.CauseProtocol)
	_, err = answer(w, w.host.run, &wire.Run{Launches: 1})
	refuse("run before prepare", err, result.CauseProtocol)
	_, err = answer(w, w.host.produce, &wire.Produce{})
	refuse("produce before prepare", err, result.CauseProtocol)
	_, err = answer(w, w.host.load, &wire.Load{Path: filepath.Join(t.TempDir(), "none.so")})
	refuse("no file", err, result.CauseNoEntry)
	_, err = answer(w, w.host.load, &wire.Load{Path: witnessed(t, "-DABI=1")})
	refuse("another ABI", err, result.CauseNoEntry)
	_, err = answer(w, w.host.load, &wire.Load{Path: witnessed(t, "-Dpawl_threads=other")})
	refuse("a function is missing", err, result.CauseNoEntry)
	w.prepare(wire.Prepare{})
	for _, m := range []wire.Sample{{Count: 0, Repeat: 1}, {Count: 1, Repeat: 0}, {Count: wire.MaxBlob/16 + 1, Repeat: 1}} {
		_, err = w.sample(m)
		refuse(fmt.Sprintf("%d samples of %d", m.Count, m.Repeat), err, result.CauseProtocol)
	}
	for _, arg := range []wire.Arg{{Name: "n", DType: "i8", Value: "1000"}, {Name: "b", Buffer: true, DType: "f32"}, {Name: "f", Buffer: true, DType: "f32", Count: 4, Role: "in", Init: "nonsense"}} {
		_, err = answer(w, w.host.prepare, &wire.Prepare{Args: []wire.Arg{arg}})
		refuse("argument "+arg.Name, err, result.CauseProtocol)
	}
}

// The CPU forgets when it is asked to, and only then is that reported.
func TestForgetsWhenAsked(t *testing.T) {
	if !forget(1<<20, 1) {
		t.Skip("this processor cannot be made to forget")
	}
	w := newWitness(t)
	w.prepare(wire.Prepare{})
	if s := w.mustSample(wire.Sample{Count: 2, Repeat: 1}); s.Forgot {
		t.Error("unasked")
	}
	if s := w.mustSample(wire.Sample{Count: 2, Repeat: 1, ForgetBytes: 1 << 20}); !s.Forgot {
		t.Error("it did not forget")
	}
	if s := w.mustSample(wire.Sample{Count: 1, Repeat: 1, ForgetBytes: 1 << 60}); s.Forgot {
		t.Error("without memory to do it with")
	}
}
