package python

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/worker/wire"
)

// peer is a cell under test, spoken to as its worker does.
type peer struct {
	t    *testing.T
	out  *wire.Writer
	in   *wire.Reader
	next uint64
	dir  string
}

// start runs the cell on a module and loads its function.
func start(t *testing.T, framework, text, function string) *peer {
	t.Helper()
	needs(t, framework)
	program, err := filepath.Abs(Program)
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, program, t.TempDir())
	p.load(framework, text, function)
	return p
}

func needs(t *testing.T, framework string) {
	t.Helper()
	python := interpreter(t)
	if exec.Command(python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec(sys.argv[1]))", framework).Run() != nil {
		t.Skipf("%s has no %s", python, framework)
	}
}

// launch runs the cell's program in a folder, with more variables than the test has.
func launch(t *testing.T, program, dir string, env ...string) *peer {
	t.Helper()
	p := &peer{t: t, dir: dir}
	requests, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read, replies, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(interpreter(t), program)
	command.Dir, command.ExtraFiles = p.dir, []*os.File{requests, replies}
	command.Env = append(os.Environ(), env...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = requests.Close(), replies.Close()
	t.Cleanup(func() {
		_ = write.Close()
		_ = command.Wait()
		_ = read.Close()
	})
	p.out, p.in = wire.NewWriter(write), wire.NewReader(read)
	if _, err := p.in.Hello(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) load(framework, text, function string) {
	p.t.Helper()
	module := filepath.Join(p.dir, "kernel.txt")
	if err := os.WriteFile(module, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.ok(wire.OpLoad, map[string]any{"framework": framework, "entry": "kernel:" + function, "path": module}, nil)
}

func (p *peer) ask(op string, body any) *wire.Frame {
	p.t.Helper()
	p.next++
	if err := p.out.Send(p.next, op, body, nil); err != nil {
		p.t.Fatal(err)
	}
	frame, err := p.in.Next()
	if err != nil {
		p.t.Fatal(err)
	}
	return frame
}

func (p *peer) ok(op string, body, reply any) {
	p.t.Helper()
	frame := p.ask(op, body)
	if frame.Op != wire.OpOK {
		p.t.Fatalf("%s: %s", op, frame.Body)
	}
	if reply != nil {
		if err := frame.Decode(reply); err != nil {
			p.t.Fatal(err)
		}
	}
}

// fails expects a fault, and what it says.
func (p *peer) fails(op string, body any, cause, says string) {
	p.t.Helper()
	frame := p.ask(op, body)
	var failure wire.Failure
	if frame.Op != wire.OpError {
		p.t.Fatalf("%s: no fault, want %q", op, says)
	}
	if err := frame.Decode(&failure); err != nil {
		p.t.Fatal(err)
	}
	if string(failure.Cause) != cause || !strings.Contains(failure.Message, says) {
		p.t.Errorf("%s: %s: %q, want %s: %q", op, failure.Cause, failure.Message, cause, says)
	}
}

// left reads what the cell says it has left.
func (p *peer) left(buffers []wire.Buffer, arg int) []float32 {
	p.t.Helper()
	at := slices.IndexFunc(buffers, func(b wire.Buffer) bool { return b.Arg == arg && b.Path == fmt.Sprint(arg, ".bin") })
	if at < 0 {
		p.t.Fatalf("no output of argument %d: %v", arg, buffers)
	}
	raw, err := os.ReadFile(filepath.Join(p.dir, buffers[at].Path))
	if err != nil {
		p.t.Fatal(err)
	}
	return values(raw)
}

func (p *peer) produce(batch int) []wire.Buffer {
	p.t.Helper()
	var reply wire.ProduceReply
	p.ok(wire.OpProduce, wire.Produce{Batch: batch, Outputs: p.dir}, &reply)
	return reply.Outputs
}

func (p *peer) sample(m wire.Sample) wire.SampleReply {
	p.t.Helper()
	if m.Repeat, m.Outputs = 1, p.dir; m.Cache == "" {
		m.Cache = "cold"
	}
	var reply wire.SampleReply
	p.ok(wire.OpSample, m, &reply)
	return reply
}

func values(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

const seed, count = 7, 3 * 41

// input returns what argument number draws holds for a batch, this many steps on, scaled.
func input(draws, batch, steps int, factor float32) []float32 {
	raw, fill, key := make([]byte, 4*count), oracle.Defaults(dtype.F32), oracle.Key(seed, draws, batch)
	oracle.Generate(raw, dtype.F32, fill, key)
	for step := range steps {
		oracle.Mutate(raw, dtype.F32, fill, key, step+1)
	}
	out := values(raw)
	for i := range out {
		out[i] *= factor
	}
	return out
}

func problem(roles ...string) wire.Prepare {
	m := wire.Prepare{Threads: 1, Seed: seed}
	for i, role := range roles {
		m.Args = append(m.Args, wire.Arg{Name: string(rune('a' + i)), DType: "f32", Buffer: true, Count: count, Shape: []int64{3, 41}, Role: role})
	}
	return m
}

func frameworks(t *testing.T, test func(t *testing.T, framework string)) {
	for _, framework := range []string{"numpy", "torch", "jax"} {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			test(t, framework)
		})
	}
}

// Outputs are those of the batch that was asked for, whatever came before, and
// data may be that of another argument's number.
func TestProduce(t *testing.T) {
	frameworks(t, func(t *testing.T, framework string) {
		p := start(t, framework, "def run(a):\n    return a * 2", "run")
		p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "protocol", "launch before prepare")
		m := problem("in", "out")
		p.ok(wire.OpPrepare, m, nil)
		for _, batch := range []int{0, 3, 3, 0} {
			if diff := cmp.Diff(input(0, batch, 0, 2), p.left(p.produce(batch), 1)); diff != "" {
				t.Fatalf("batch %d (-want +got):\n%s", batch, diff)
			}
		}
		m.Args[0].Draws = 5
		p.ok(wire.OpPrepare, m, nil)
		if diff := cmp.Diff(input(4, 1, 0, 2), p.left(p.produce(1), 1)); diff != "" {
			t.Fatalf("with the data of argument 4 (-want +got):\n%s", diff)
		}
		m.Args[0].Shared = true
		p.ok(wire.OpPrepare, m, nil)
		if diff := cmp.Diff(input(4, 1, 0, 2), p.left(p.produce(1+3<<oracle.BatchBits), 1)); diff != "" {
			t.Fatalf("with the data that all copies have (-want +got):\n%s", diff)
		}
	})
}

// A sample's outputs can be kept; with steps, each works on other contents, also
// when something else was asked in between.
func TestKeptSamples(t *testing.T) {
	frameworks(t, func(t *testing.T, framework string) {
		p := start(t, framework, "def run(a):\n    return a * 2", "run")
		p.ok(wire.OpPrepare, problem("in", "out"), nil)
		if kept := p.sample(wire.Sample{Count: 3}).Kept; kept != nil {
			t.Errorf("kept without being asked: %v", kept)
		}
		if kept := p.sample(wire.Sample{Count: 3, Keep: 9}).Kept; kept != nil {
			t.Errorf("kept a sample that was not taken: %v", kept)
		}
		for _, tc := range []struct{ batch, step, count, keep, steps int }{
			{0, 0, 3, 2, 0},
			{0, 1, 5, 5, 5},
			{0, 6, 40, 12, 17},
			{0, 46, 3, 1, 46},
			{0, 0, 2, 1, 48}, // none asked for: as the last left it
			{0, 60, 3, 2, 61},
			{0, 2, 3, 3, 4},
			{2, 1, 3, 3, 3},
			{2, 0, 3, 3, 3},
			{0, 0, 3, 3, 0},
		} {
			reply := p.sample(wire.Sample{Batch: tc.batch, Step: tc.step, Count: tc.count, Keep: tc.keep})
			if diff := cmp.Diff(input(0, tc.batch, tc.steps, 2), p.left(reply.Kept, 1)); diff != "" {
				t.Fatalf("%+v (-want +got):\n%s", tc, diff)
			}
		}
		p.sample(wire.Sample{Step: 1, Count: 10})
		if diff := cmp.Diff(input(0, 0, 0, 2), p.left(p.produce(0), 1)); diff != "" {
			t.Fatalf("produced after steps (-want +got):\n%s", diff)
		}
		reply := p.sample(wire.Sample{Step: 11, Count: 2, Keep: 2})
		if diff := cmp.Diff(input(0, 0, 12, 2), p.left(reply.Kept, 1)); diff != "" {
			t.Fatalf("sampled after that (-want +got):\n%s", diff)
		}
	})
}

// A sample may begin a new batch, in spare arrays or where the last one was.
func TestFreshSample(t *testing.T) {
	frameworks(t, func(t *testing.T, framework string) {
		for _, spare := range []bool{false, true} {
			p := start(t, framework, "def run(a):\n    return a * 2", "run")
			m := problem("in", "out")
			m.Spare = spare
			p.ok(wire.OpPrepare, m, nil)
			for _, tc := range []struct{ batch, step, count, fresh, to, keep, wantBatch, wantSteps int }{
				{0, 1, 5, 3, 7, 2, 0, 2},
				{7, 4, 5, 3, 9, 5, 9, 3},
				{9, 4, 3, 2, 11, 2, 11, 1},
				{11, 3, 3, 4, 12, 3, 11, 5}, // which it does not come to
				{11, 6, 3, 0, 0, 3, 11, 8},
				{11, 9, 2, 1, 13, 1, 13, 1},
				{13, 3, 2, 0, 15, 2, 13, 4}, // which is only made ready
				{13, 5, 2, 2, 15, 2, 15, 1},
			} {
				reply := p.sample(wire.Sample{Batch: tc.batch, Step: tc.step, Count: tc.count, Fresh: tc.fresh, FreshBatch: tc.to, Keep: tc.keep})
				if diff := cmp.Diff(input(0, tc.wantBatch, tc.wantSteps, 2), p.left(reply.Kept, 1)); diff != "" {
					t.Fatalf("%+v (-want +got):\n%s", tc, diff)
				}
				if want := tc.fresh; reply.Fresh != want && tc.fresh <= tc.count || reply.Fresh != 0 && tc.fresh > tc.count {
					t.Errorf("%+v: a new batch with sample %d", tc, reply.Fresh)
				}
			}
		}
	})
}

const told = `
import gc, weakref

known, watched = {}, []
early = 0

def notice(*_):
    global early
    early += sum(bool((x != seen).any()) for x, seen in known.values())

def run(a):
    known[id(a)] = a, a.copy()
    out = a * 0 + early
    watched.append(weakref.ref(out, notice))
    return out

gc.callbacks.append(notice)
`

// Nothing of the function's runs between the moment at which other data is there and the
// call that is timed: not when its results are let go, nor when garbage is collected.
func TestNobodyIsToldOfNewData(t *testing.T) {
	p := start(t, "numpy", told, "run")
	m := problem("in", "out")
	m.Spare = true
	p.ok(wire.OpPrepare, m, nil)
	p.sample(wire.Sample{Count: 1}) // its first calls
	for i := range 6 {
		reply := p.sample(wire.Sample{Batch: i, Step: 1, Count: 4, Keep: 4})
		if got := p.left(reply.Kept, 1)[0]; got != 0 {
			t.Fatalf("request %d: it saw new data %g times before it was called", i, got)
		}
		if i%2 == 1 {
			p.sample(wire.Sample{Batch: i, Count: 1, Dry: true, FreshBatch: 100 + i})
		}
	}
}

// Spare arrays are in the caches before their first hot sample, as those are that were
// launched on. The function watches the cell's own ones.
func TestFreshSampleIsHot(t *testing.T) {
	const source = `import sys

warmed = []

class Watched:
    """Elements of an argument that say when they are read for the caches' sake."""

    def __init__(self, argument):
        self.argument, self.flat = argument, argument.flat

    def max(self):
        warmed.append(self.argument.value)

    def __setitem__(self, at, value):
        self.flat[at] = value

    def __len__(self):
        return len(self.flat)

    def __getitem__(self, at):
        return self.flat[at]

    def __eq__(self, value):
        return self.flat == value

    def __getattr__(self, name):
        return getattr(self.flat, name)

def run(a, b):
    frame = sys._getframe()
    while frame.f_code.co_name != "sample":
        frame = frame.f_back
    cell = frame.f_locals["self"]
    for argument in (*cell.buffers, *cell.spare):
        if type(argument.flat) is not Watched:
            argument.flat = Watched(argument)
    b[...] = float(sum(any(value is given for given in (a, b)) for value in warmed))
    del warmed[:]
`
	for _, framework := range []string{"numpy", "torch"} { // that have spare arrays
		t.Run(framework, func(t *testing.T) {
			p := start(t, framework, source, "run")
			m := problem("in", "out")
			m.Spare = true
			p.ok(wire.OpPrepare, m, nil)
			for _, tc := range []struct {
				cache string
				keep  int
				want  float32 // arguments
			}{{"hot", 2, 0}, {"hot", 3, 2}, {"hot", 4, 0}, {"cold", 3, 0}} {
				reply := p.sample(wire.Sample{Step: 1, Count: 4, Fresh: 3, FreshBatch: 1, Keep: tc.keep, Cache: tc.cache})
				if got := p.left(reply.Kept, 1)[0]; got != tc.want {
					t.Errorf("%s: %g arguments were warmed before sample %d, want %g", tc.cache, got, tc.keep, tc.want)
				}
			}
		})
	}
}

// A flush that works leaves arguments as cold as evicting lines does; one that somebody
// has taken the addresses from does not.
func TestProbe(t *testing.T) {
	const source = `import sys

def run(a):
    return a * 2

def warm(a):
    frame = sys._getframe(1)
    while frame:
        for value in frame.f_locals.values():
            if type(value).__name__ == "NumPy":
                value.spans = []
        frame = frame.f_back
    return a * 2
`
	for _, entry := range []string{"run", "warm"} {
		p := start(t, "numpy", source, entry)
		m := problem("in", "out")
		m.Args[0].Count, m.Args[1].Count = 1<<14, 1<<14
		m.Args[0].Shape, m.Args[1].Shape = []int64{1 << 14}, []int64{1 << 14}
		p.ok(wire.OpPrepare, m, nil)
		var ratios []float64
		for range 31 {
			reply := p.sample(wire.Sample{Step: 1, Count: 3, Cache: "cold", Probe: 2})
			if reply.ColdS == 0 {
				t.Skip("nothing may be made executable here, or the processor is not known")
			}
			ratios = append(ratios, reply.FlushedS/reply.ColdS)
		}
		slices.Sort(ratios)
		if warm := ratios[15] < 0.5; warm != (entry == "warm") {
			t.Errorf("%s: reading takes %.2f times as long as of what was evicted", entry, ratios)
		}
	}
}

// Outputs that are written to, and arguments that are read and written.
func TestForget(t *testing.T) {
	frameworks(t, func(t *testing.T, framework string) {
		p := start(t, framework, "def run(a):\n    return a * 2", "run")
		for _, threads := range []int{1, 2} {
			m := problem("in", "out")
			m.Threads = threads
			p.ok(wire.OpPrepare, m, nil)
			if p.sample(wire.Sample{Count: 1, Forget: true}).Forgot {
				t.Error("it forgot, and there was no memory for it")
			}
			reply := p.sample(wire.Sample{Step: 3, Count: 2, Keep: 2, Forget: true, ForgetBytes: 1 << 20})
			if reply.Forgot != (runtime.GOARCH == "amd64") {
				t.Errorf("%d threads: forgot %v", threads, reply.Forgot)
			}
			if diff := cmp.Diff(input(0, 0, 4, 2), p.left(reply.Kept, 1)); diff != "" {
				t.Fatalf("%d threads (-want +got):\n%s", threads, diff)
			}
		}
	})
}

func TestProduceInPlace(t *testing.T) {
	for framework, text := range map[string]string{
		"numpy": "def run(a, b, c):\n    c[...] = a\n    b *= 2",
		"torch": "def run(a, b, c):\n    c.copy_(a)\n    b.mul_(2)",
		"jax":   "def run(a, b):\n    return b * 2, a + 0",
	} {
		t.Run(framework, func(t *testing.T) {
			p := start(t, framework, text, "run")
			p.ok(wire.OpPrepare, problem("in", "inout", "out"), nil)
			for _, batch := range []int{0, 1} {
				outputs := p.produce(batch)
				if len(outputs) != 2 || outputs[0].Arg != 1 {
					t.Errorf("outputs %v", outputs)
				}
				if diff := cmp.Diff(input(1, batch, 0, 2), p.left(outputs, 1)); diff != "" {
					t.Errorf("inout of batch %d (-want +got):\n%s", batch, diff)
				}
				if diff := cmp.Diff(input(0, batch, 0, 1), p.left(outputs, 2)); diff != "" {
					t.Errorf("out of batch %d (-want +got):\n%s", batch, diff)
				}
			}
			reply := p.sample(wire.Sample{Batch: 1, Step: 1, Count: 4, Keep: 3})
			if diff := cmp.Diff(input(1, 1, 3, 2), p.left(reply.Kept, 1)); diff != "" {
				t.Errorf("kept inout (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(input(0, 1, 3, 1), p.left(reply.Kept, 2)); diff != "" {
				t.Errorf("kept out (-want +got):\n%s", diff)
			}
		})
	}
}

const numpyCheats = `
import ctypes
import numpy

class Lazy(numpy.ndarray):
    pass

def writes(a):
    b = a * 2
    a[1, 1] += 1
    return b

late = 0
def writes_last(a):
    global late
    late += 1
    if late == 33:  # the first calls are three
        ctypes.c_float.from_address(a.ctypes.data + 8).value += 1
    return a * 2

def subclass(a):
    return (a * 2).view(Lazy)

def subclass_later(a):
    global late
    late += 1
    return (a * 2).view(Lazy if late > 10 else numpy.ndarray)

def same(a):
    return a

def inside(a):
    return a[::-1, ::-1]

def repeated(a):
    return numpy.broadcast_to(a[0] * 2, a.shape)

def raises(a):
    raise ValueError("no")
`

const torchCheats = `
import torch

class Lazy(torch.Tensor):
    pass

def writes(a):
    a[1, 1] += 1
    return a * 2

def subclass(a):
    return (a * 2).as_subclass(Lazy)

def attribute(a):
    b = a * 2
    b.cpu = lambda: None
    return b

def same(a):
    return a

def inside(a):
    return a.flatten()[:].view(3, 41)

def repeated(a):
    return (a[:, :1] * 2).expand(3, 41)

def sparse(a):
    return (a * 2).to_sparse()

def shape(a):
    return a.flatten() * 2
`

const jaxCheats = `
class Lazy:
    def __init__(self, a):
        self.shape, self.dtype = a.shape, a.dtype

def lazy(a):
    return Lazy(a)

def same(a):
    return a
`

// What a function may not do, and how it is told.
func TestWrongOutputs(t *testing.T) {
	const aliases = "output b lies in the memory of input a"
	type wrong struct{ function, cause, says string }
	for framework, all := range map[string]struct {
		text  string
		cases []wrong
	}{
		"numpy": {numpyCheats, []wrong{
			{"writes", "output", "the kernel changed its input a"},
			{"subclass", "output", "must be a plain array of numpy, and is kernel.Lazy"},
			{"same", "output", aliases},
			{"inside", "output", aliases},
			{"repeated", "output", "a view that repeats its elements"},
			{"raises", "crash", "the function raised ValueError: no"},
		}},
		"torch": {torchCheats, []wrong{
			{"writes", "output", "the kernel changed its input a"},
			{"subclass", "output", "must be a plain array of torch, and is kernel.Lazy"},
			{"attribute", "output", "attributes of its own: cpu"},
			{"same", "output", aliases},
			{"inside", "output", aliases},
			{"repeated", "output", "a view that repeats its elements"},
			{"sparse", "output", "not there yet"},
			{"shape", "output", "must be [3, 41] of torch.float32, and is [123]"},
		}},
		"jax": {jaxCheats, []wrong{
			{"lazy", "output", "must be an array of jax, and is kernel.Lazy of shape [3, 41]"},
			{"same", "output", aliases},
		}},
	} {
		t.Run(framework, func(t *testing.T) {
			p := start(t, framework, all.text, all.cases[0].function)
			for _, tc := range all.cases {
				t.Log(tc.function)
				p.load(framework, all.text, tc.function)
				p.ok(wire.OpPrepare, problem("in", "out"), nil)
				p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, tc.cause, tc.says)
				p.fails(wire.OpSample, wire.Sample{Count: 5, Repeat: 1, Step: 1}, tc.cause, tc.says)
			}
		})
	}
	t.Run("later", func(t *testing.T) {
		p := start(t, "numpy", numpyCheats, "writes_last")
		p.ok(wire.OpPrepare, problem("in", "out"), nil)
		p.fails(wire.OpSample, wire.Sample{Count: 30, Repeat: 1, Step: 1}, "output", "the kernel changed its input a")
		if diff := cmp.Diff(input(0, 0, 0, 2), p.left(p.produce(0), 1)); diff != "" {
			t.Errorf("after a fault the input has not its contents (-want +got):\n%s", diff)
		}
		p.load("numpy", numpyCheats, "subclass_later")
		p.ok(wire.OpPrepare, problem("in", "out"), nil)
		p.produce(0)
		p.fails(wire.OpSample, wire.Sample{Count: 30, Repeat: 1, Step: 1}, "output", "must be a plain array of numpy, and is kernel.Lazy")
	})
}

const tampering = `
import sys

def call_back(*_):
    pass

def profiles(a):
    sys.setprofile(call_back)
    return a * 2

def traces(a):
    sys.settrace(call_back)
    return a * 2

def monitors(a):
    if sys.monitoring.get_tool(4) is None:
        sys.monitoring.use_tool_id(4, "mine")
    return a * 2

def profiles_itself(a):
    sys.setprofile(call_back)
    out = a * 2
    sys.setprofile(None)
    return out

def edits(a):
    frame = sys._getframe()
    while frame is not None and "ledger" not in frame.f_locals:
        frame = frame.f_back
    for i in range(len(frame.f_locals["ledger"].seconds) if frame else 0):
        frame.f_locals["ledger"].seconds[i] /= 2
    return a * 2
`

// Functions that reach for what they are measured by.
func TestTampering(t *testing.T) {
	const hooked = "tampered-cell: what the interpreter calls when a function returns"
	for _, tc := range []struct{ function, says string }{
		{"profiles", hooked},
		{"traces", hooked},
		{"monitors", hooked},
		{"edits", "tampered-cell: what samples took was changed"},
		{"profiles_itself", ""},
	} {
		t.Run(tc.function, func(t *testing.T) {
			if tc.function == "monitors" && exec.Command(interpreter(t), "-c", "import sys; sys.monitoring").Run() != nil {
				t.Skip("Python has sys.monitoring since 3.12")
			}
			p := start(t, "numpy", tampering, tc.function)
			p.ok(wire.OpPrepare, problem("in", "out"), nil)
			for range 2 {
				if tc.says == "" {
					p.sample(wire.Sample{Count: 5})
				} else {
					p.fails(wire.OpSample, wire.Sample{Count: 5, Repeat: 1, Cache: "cold"}, "forged", tc.says)
				}
			}
		})
	}
}

const deviceless = `
def first_use(a):
    raise RuntimeError("0 active drivers ([]). There should only be one.")

def other(a):
    raise RuntimeError("2 active drivers")
`

// Triton without a GPU is what this machine lacks, whenever it looks for one.
func TestTritonWithoutGPU(t *testing.T) {
	const says = "Triton finds no GPU: RuntimeError: 0 active drivers"
	p := start(t, "numpy", deviceless, "first_use")
	p.ok(wire.OpPrepare, problem("in", "out"), nil)
	p.fails(wire.OpProduce, wire.Produce{Outputs: p.dir}, "unsupported", says)
	p.fails(wire.OpSample, wire.Sample{Count: 5, Repeat: 1}, "unsupported", says)
	p.load("numpy", deviceless, "other")
	p.ok(wire.OpPrepare, problem("in", "out"), nil)
	p.fails(wire.OpSample, wire.Sample{Count: 5, Repeat: 1}, "crash", "the function raised RuntimeError: 2 active drivers (kernel.py, line 6)")

	module := filepath.Join(p.dir, "kernel.txt")
	if err := os.WriteFile(module, []byte(deviceless+"first_use(None)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.fails(wire.OpLoad, map[string]any{"framework": "numpy", "entry": "kernel:other", "path": module}, "unsupported", says)
}

// What a function returned is poisoned before the next call: it cannot be the
// answer again, neither out of a cache nor as memory that was not written to.
func TestReturnedOnceOnly(t *testing.T) {
	for framework, text := range map[string]string{
		"numpy": `
import numpy
kept = []
def cached(a):
    if not kept:
        kept.append(a * 2)
    return kept[0]
def stale(a):
    if kept:
        return numpy.empty_like(a)
    kept.append(0)
    return a * 2
`,
		"torch": `
kept = []
def cached(a):
    if not kept:
        kept.append(a * 2)
    return kept[0]
`,
	} {
		t.Run(framework, func(t *testing.T) {
			p := start(t, framework, text, "cached")
			for _, function := range []string{"cached", "stale"} {
				if !strings.Contains(text, "def "+function) {
					continue
				}
				p.load(framework, text, function)
				p.ok(wire.OpPrepare, problem("in", "out"), nil)
				want := input(0, 0, 0, 2)
				if !cmp.Equal(want, p.left(p.produce(0), 1)) {
					t.Errorf("%s: the first answer is wrong", function)
				}
				if cmp.Equal(want, p.left(p.produce(0), 1)) {
					t.Errorf("%s: the second answer is right", function)
				}
			}
		})
	}
}

// A cache keyed on the address, or on the first elements, is found out by kept
// samples.
func TestCachesGiveWrongAnswers(t *testing.T) {
	const text = `
cache = {}

def by_address(a):
    key = a.ctypes.data
    if key not in cache:
        cache[key] = a * 2
    return cache[key]

def by_a_part(a):
    key = a[0, 0]
    if key not in cache:
        cache[key] = a * 2
    return cache[key]
`
	p := start(t, "numpy", text, "by_address")
	for _, function := range []string{"by_address", "by_a_part"} {
		p.load("numpy", text, function)
		p.ok(wire.OpPrepare, problem("in", "out"), nil)
		wrong := 0
		for step := range 20 {
			reply := p.sample(wire.Sample{Step: step + 1, Count: 1, Keep: 1})
			if !cmp.Equal(input(0, 0, step+1, 2), p.left(reply.Kept, 1)) {
				wrong++
			}
		}
		if wrong < 15 {
			t.Errorf("%s: only %d of 20 samples are wrong", function, wrong)
		}
	}
}
