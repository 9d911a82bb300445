// Package conformance tests that a worker follows docs/protocol.md, for every kind of cell that it
// offers. PAWL_WORKER is the command that starts the worker; without it, the shipped binary's own
// worker is tested, and PAWL_BIN names that binary.
package conformance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pawl/internal/build"
	"pawl/internal/dtype"
	"pawl/internal/oracle"
	"pawl/internal/result"
	"pawl/internal/spec"
	"pawl/internal/worker/wire"
)

func workerCommand(t *testing.T, extra ...string) *exec.Cmd {
	t.Helper()
	words := strings.Fields(os.Getenv("PAWL_WORKER"))
	if len(words) == 0 {
		if os.Getenv("PAWL_BIN") == "" {
			t.Fatal("name the worker with PAWL_WORKER or PAWL_BIN, or run `make system`")
		}
		words = []string{os.Getenv("PAWL_BIN"), "worker"}
	}
	words = append(words, extra...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "PAWL_LOCK_DIR="+t.TempDir())
	return cmd
}

// peer is a worker under test, spoken to frame by frame.
type peer struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *wire.Writer
	in    *wire.Reader
	hello wire.Hello
	next  uint64
}

// takesLease reports whether the worker has the flag --lease.
func takesLease() bool {
	return os.Getenv("PAWL_WORKER") == "" || os.Getenv("PAWL_LEASE_FLAG") != ""
}

func dial(t *testing.T, extra ...string) *peer {
	t.Helper()
	if len(extra) == 0 && takesLease() { // a peer says nothing while it waits, and a busy machine lets it wait
		extra = []string{"--lease", "10m"}
	}
	p := &peer{t: t, cmd: workerCommand(t, extra...)}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.stdin.Close()
		timer := time.AfterFunc(time.Minute, func() {
			t.Error("the worker did not end when its input ended")
			_ = p.cmd.Process.Kill()
		})
		_ = p.cmd.Wait()
		timer.Stop()
	})
	p.out, p.in = wire.NewWriter(p.stdin), wire.NewReader(stdout)
	frame, err := p.in.Hello()
	if err != nil {
		t.Fatal(err)
	}
	if err := frame.Decode(&p.hello); err != nil || frame.ID != 0 {
		t.Fatalf("hello %+v: %v", frame, err)
	}
	return p
}

func (p *peer) send(op string, body any, blob []byte) uint64 {
	p.t.Helper()
	p.next++
	if err := p.out.Send(p.next, op, body, blob); err != nil {
		p.t.Fatal(err)
	}
	return p.next
}

// receive reads until the answer to id, past notes.
func (p *peer) receive(id uint64) *wire.Frame {
	p.t.Helper()
	for {
		frame, err := p.in.Next()
		if err != nil {
			p.t.Fatalf("waiting for answer %d: %v", id, err)
		}
		if frame.Op == wire.OpNote {
			continue
		}
		if frame.ID != id {
			p.t.Fatalf("answer to %d, expected one to %d", frame.ID, id)
		}
		return frame
	}
}

// ok asks and expects the answer to be good.
func (p *peer) ok(op string, body any, blob []byte, reply any) *wire.Frame {
	p.t.Helper()
	frame := p.receive(p.send(op, body, blob))
	if frame.Op != wire.OpOK {
		p.t.Fatalf("%s: %s %s", op, frame.Op, frame.Body)
	}
	if reply != nil {
		if err := frame.Decode(reply); err != nil {
			p.t.Fatal(err)
		}
	}
	return frame
}

// fails asks and expects a fault of the given cause.
func (p *peer) fails(cause result.Cause, op string, body any, blob []byte) wire.Failure {
	p.t.Helper()
	return p.failed(cause, p.receive(p.send(op, body, blob)))
}

func (p *peer) failed(cause result.Cause, frame *wire.Frame) wire.Failure {
	p.t.Helper()
	var failure wire.Failure
	if frame.Op != wire.OpError {
		p.t.Fatalf("expected a fault %q, got %s %s", cause, frame.Op, frame.Body)
	}
	if err := frame.Decode(&failure); err != nil {
		p.t.Fatal(err)
	}
	if failure.Cause != cause || failure.Message == "" {
		p.t.Fatalf("expected a fault %q, got %q: %s", cause, failure.Cause, failure.Message)
	}
	return failure
}

// put uploads data in parts of the given size and returns its hash.
func (p *peer) put(data []byte, part int) string {
	p.t.Helper()
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	for offset := 0; offset < len(data); offset += part {
		p.ok(wire.OpPut, wire.Put{SHA256: sha, Offset: int64(offset), Total: int64(len(data))}, data[offset:min(len(data), offset+part)], nil)
	}
	return sha
}

// sources has one file per cell kind, in testdata: out[i] = in[i] * factor, and
// mode selects a fault.
var sources = map[string]string{"host": "kernel.c", "cuda": "kernel.cu", "python": "kernel.py"}

// artifact builds the suite's kernel for a kind of cell.
func (p *peer) artifact(kind string) []byte {
	t := p.t
	t.Helper()
	source, known := sources[kind]
	if !known {
		t.Fatalf("the suite has no kernel for cells of kind %q", kind)
	}
	yaml := `version: 1
kernels:
  kernel:
    source: ` + source + `
    entry: conformance
    args:
      - {name: in, dtype: f32, shape: [N]}
      - {name: out, dtype: f32, shape: [N], role: out}
      - {name: n, dtype: i64, value: N}
      - {name: factor, dtype: f32, value: "2.0"}
      - {name: mode, dtype: i32, value: "0"}
configs: {c: {N: 16}}
`
	arch := ""
	if kind == "python" {
		yaml = strings.Replace(yaml, "source: "+source+"\n    entry: conformance", `python: "kernel:conformance"`, 1)
	}
	if kind == "cuda" {
		yaml = strings.Replace(yaml, "    args:", "    launch: {grid: 4, block: 256}\n    args:", 1)
		arch = p.hello.Devices[0].Arch
	}
	s, err := spec.Parse("conformance.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	builder, err := build.New(build.Options{CacheDir: t.TempDir(), Arch: arch, Sandbox: "off"})
	if err != nil {
		t.Fatal(err)
	}
	got := builder.Build(context.Background(), []build.Request{{Dir: dir, Variant: s.Kernels[0].Default()}})[0]
	if got.Fault != nil {
		t.Fatalf("%s\n%s", got.Fault.Message, got.Output)
	}
	object, err := got.Artifact.Read()
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// Modes of the suite's kernel.
const (
	modeFine  = "0"
	modeLoop  = "1"
	modeBelow = "2" // writes past the end
	modeCrash = "3"
	modeExit  = "4"
	modePrint = "5"
)

func problem(cell uint64, mode string) wire.Prepare {
	return wire.Prepare{Cell: cell, Threads: 1, Pin: true, Seed: 7, Launches: []wire.Launch{
		{Entry: "conformance", Args: []int{0, 1, 2, 3, 4}, Grid: [3]uint32{4, 1, 1}, Block: [3]uint32{256, 1, 1}}, // ignored where the artifact launches itself
	}, Args: []wire.Arg{
		{Name: "in", DType: "f32", Buffer: true, Count: 1000, Role: "in", Init: "uniform", Params: []float64{0, 1}},
		{Name: "out", DType: "f32", Buffer: true, Count: 1000, Role: "out"},
		{Name: "n", DType: "i64", Value: "1000"},
		{Name: "factor", DType: "f32", Value: "0.5"},
		{Name: "mode", DType: "i32", Value: mode},
	}}
}

// eachKind runs a test for every kind of cell with a kernel that the worker offers.
func eachKind(t *testing.T, test func(t *testing.T, p *peer, kind string)) {
	t.Helper()
	kinds := dial(t).hello.Cells
	if len(kinds) == 0 {
		t.Fatal("the worker offers no cells")
	}
	if os.Getenv("PAWL_REQUIRE_GPU") == "1" && !slices.Contains(kinds, "cuda") {
		t.Fatalf("a GPU is required (PAWL_REQUIRE_GPU=1), and the worker offers only %v", kinds)
	}
	for _, kind := range kinds {
		if kind == "oracle" {
			continue // it has no kernel: it judges what others have produced
		}
		t.Run(kind, func(t *testing.T) {
			if kind == "python" {
				needNumPy(t)
			}
			test(t, dial(t), kind)
		})
	}
}

// needNumPy skips where the suite's Python kernel cannot run.
func needNumPy(t *testing.T) {
	t.Helper()
	python := cmp.Or(os.Getenv("PAWL_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("needs %s with NumPy: %v: %s", python, err, out)
	}
}

func (p *peer) open(kind string) wire.OpenReply {
	p.t.Helper()
	var opened wire.OpenReply
	p.ok(wire.OpOpen, wire.Open{Cell: kind, Sandbox: "auto", Memory: 1 << 30, Threads: 64, Framework: "numpy"}, nil, &opened)
	return opened
}

// ready opens a cell with the suite's kernel in the given mode.
func (p *peer) ready(kind, mode string) uint64 {
	p.t.Helper()
	sha := p.put(p.artifact(kind), wire.MaxBlob)
	cell := p.open(kind).Cell
	p.ok(wire.OpLoad, wire.Load{Cell: cell, SHA256: sha, Entry: "kernel:conformance"}, nil, &wire.LoadReply{})
	p.ok(wire.OpPrepare, problem(cell, mode), nil, &wire.PrepareReply{})
	return cell
}

func TestHello(t *testing.T) {
	h := dial(t).hello
	if !strings.HasPrefix(h.Protocol, "1.") {
		t.Errorf("protocol %q", h.Protocol)
	}
	if h.PID == 0 || len(h.Cells) == 0 || h.DeviceClass == "" || h.Machine.Arch == "" || h.Tool.Version == "" {
		t.Errorf("incomplete: %+v", h)
	}
}

func TestBlobs(t *testing.T) {
	p := dial(t)
	data := []byte(strings.Repeat("pawl", 1000))
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	var have wire.HaveReply
	if p.ok(wire.OpHave, wire.Have{SHA256: sha}, nil, &have); have.Have {
		t.Error("has what it was never sent")
	}
	p.put(data, 999)
	if p.ok(wire.OpHave, wire.Have{SHA256: sha}, nil, &have); !have.Have {
		t.Error("does not have what it was sent")
	}
	t.Run("other hash", func(t *testing.T) {
		wrong := strings.Repeat("0", 64)
		p.fails(result.CauseProtocol, wire.OpPut, wire.Put{SHA256: wrong, Total: 4}, []byte("oops"))
		if p.ok(wire.OpHave, wire.Have{SHA256: wrong}, nil, &have); have.Have {
			t.Error("a blob with another hash was kept")
		}
	})
	t.Run("out of order", func(t *testing.T) {
		p.fails(result.CauseProtocol, wire.OpPut, wire.Put{SHA256: strings.Repeat("1", 64), Offset: 4, Total: 8}, []byte("oops"))
	})
	t.Run("no hash", func(t *testing.T) {
		p.fails(result.CauseProtocol, wire.OpPut, wire.Put{SHA256: "../../etc/passwd", Total: 4}, []byte("oops"))
	})
}

func TestSamples(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeFine)
		told := false
		for _, cache := range []string{"cold", "hot"} {
			var reply wire.SampleReply
			frame := p.ok(wire.OpSample, wire.Sample{Cell: cell, Count: 50, Repeat: 2, Cache: cache}, nil, &reply)
			if err := reply.Unpack(frame.Data); err != nil || len(reply.Seconds) != 50 {
				t.Fatalf("%s: %d samples, %v", cache, len(reply.Seconds), err)
			}
			total := 0.0
			for _, s := range reply.Seconds {
				total += 2 * s
			}
			if total > reply.WorkerS {
				t.Errorf("%s: %g s of samples in %g s", cache, total, reply.WorkerS)
			}
			told = told || reply.State != nil // not with every reply: at most ten times a second
		}
		if !told {
			t.Error("no state of the machine")
		}
		var run wire.RunReply
		p.ok(wire.OpRun, wire.Run{Cell: cell, Launches: 100}, nil, &run)
		if run.CellS <= 0 || run.WorkerS <= 0 {
			t.Errorf("run took %+v", run)
		}
		var closed wire.CloseReply
		p.ok(wire.OpClose, wire.Close{Cell: cell}, nil, &closed)
		if len(closed.Sandbox.Attempts) > 0 {
			t.Errorf("attempts of an honest kernel: %v", closed.Sandbox.Attempts)
		}
		p.fails(result.CauseProtocol, wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1}, nil)
	})
}

// Counters of the processor are counted or absent with a reason, one or the other for each; of a
// kernel on a GPU they say nothing.
func TestCounters(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeFine)
		asked := wire.Sample{Cell: cell, Count: 20, Repeat: 1, Cache: "cold", Counters: []string{"task-clock", "cycles", "instructions", "no-such-counter"}}
		if kind == "cuda" {
			p.fails(result.CauseUnsupported, wire.OpSample, asked, nil)
			return
		}
		for _, dry := range []bool{false, true} {
			asked.Dry = dry
			var reply wire.SampleReply
			p.ok(wire.OpSample, asked, nil, &reply)
			if reply.Counters == nil || len(reply.Counters.Counts)+len(reply.Counters.Absent) != len(asked.Counters) {
				t.Fatalf("%+v", reply.Counters)
			}
			var absent []string
			for _, a := range reply.Counters.Absent {
				if absent = append(absent, a.Name); a.Why == "" {
					t.Errorf("%s is absent for no reason", a.Name)
				}
			}
			if !slices.Contains(absent, "no-such-counter") {
				t.Errorf("absent are %v", absent)
			}
			for _, c := range reply.Counters.Counts {
				if c.Value <= 0 || c.EnabledS <= 0 || c.RunningS <= 0 || c.RunningS > 1.001*c.EnabledS || c.Name == "task-clock" && (c.Unit != "s" || c.Value > reply.WorkerS*64) {
					t.Errorf("%+v in %g s", c, reply.WorkerS)
				}
			}
		}
		var reply wire.SampleReply
		if p.ok(wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1}, nil, &reply); reply.Counters != nil {
			t.Errorf("nobody asked for %+v", reply.Counters)
		}
	})
}

// answer returns the hash of what the suite's kernel must write.
func answer(batch, steps int) string {
	arg, key := problem(0, modeFine).Args[0], oracle.Key(7, 0, batch)
	raw, fill := make([]byte, 4*arg.Count), oracle.Fill{Kind: arg.Init, Args: arg.Params}
	oracle.Generate(raw, dtype.F32, fill, key)
	for step := range steps {
		oracle.Mutate(raw, dtype.F32, fill, key, step+1)
	}
	for i := range int(arg.Count) {
		dtype.F32.Put(raw, i, dtype.F32.Get(raw, i)*0.5)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Every kind of cell has the same inputs, and so the same outputs: of a launch that
// is asked for, and of a timed sample that is kept.
func TestOutputs(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeFine)
		for _, batch := range []int{0, 4, 4, 0} {
			var reply wire.ProduceReply
			p.ok(wire.OpProduce, wire.Produce{Cell: cell, Batch: batch}, nil, &reply)
			if len(reply.Outputs) != 1 || reply.Outputs[0].Arg != 1 || reply.Outputs[0].SHA256 != answer(batch, 0) {
				t.Errorf("batch %d: %+v, want %s", batch, reply.Outputs, answer(batch, 0))
			}
		}
		asked, want := wire.Sample{Cell: cell, Count: 10, Repeat: 1, Cache: "hot", Keep: 7}, answer(0, 5+6)
		if kind == "cuda" {
			asked.Batch, want = 3, answer(3, 0) // device code cannot remember what it was given
		} else {
			p.ok(wire.OpSample, wire.Sample{Cell: cell, Count: 4, Repeat: 1, Cache: "cold", Step: 1}, nil, nil)
			asked.Step = 5
		}
		var reply wire.SampleReply
		p.ok(wire.OpSample, asked, nil, &reply)
		if len(reply.Kept) != 1 || reply.Kept[0].SHA256 != want {
			t.Errorf("kept %+v, want %s", reply.Kept, want)
		}
		p.fails(result.CauseProtocol, wire.OpProduce, wire.Produce{Cell: 99}, nil)
	})
}

func TestSamplingStopsEarly(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeFine)
		var reply wire.SampleReply
		p.ok(wire.OpSample, wire.Sample{Cell: cell, Count: 60000, Repeat: 1000, Cache: "hot", MaxS: 0.01}, nil, &reply)
		if reply.Count < 1 || reply.Count == 60000 {
			t.Errorf("%d samples", reply.Count)
		}
	})
}

func TestWrongOrder(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.open(kind).Cell
		p.fails(result.CauseProtocol, wire.OpPrepare, problem(cell, modeFine), nil)
		p.fails(result.CauseProtocol, wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1}, nil)
		p.fails(result.CauseProtocol, wire.OpRun, wire.Run{Cell: cell, Launches: 1}, nil)
		p.fails(result.CauseProtocol, wire.OpProduce, wire.Produce{Cell: cell}, nil)
		p.fails(result.CauseProtocol, wire.OpLoad, wire.Load{Cell: cell, SHA256: strings.Repeat("0", 64)}, nil)
	})
}

func TestImpossibleRequests(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		p.fails(result.CauseUnsupported, wire.OpOpen, wire.Open{Cell: "quantum"}, nil)
		p.fails(result.CauseProtocol, wire.OpOpen, wire.Open{Cell: kind, Sandbox: "sometimes"}, nil)
		p.fails(result.CauseProtocol, "dance", nil, nil)
		p.fails(result.CauseProtocol, wire.OpLoad, wire.Load{Cell: 99}, nil)
		cell := p.ready(kind, modeFine)
		p.fails(result.CauseProtocol, wire.OpSample, wire.Sample{Cell: cell, Count: 0, Repeat: 1}, nil)
		p.fails(result.CauseProtocol, wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 0}, nil)
		for name, arg := range map[string]wire.Arg{
			"dtype":  {Name: "in", DType: "f99", Buffer: true, Count: 4},
			"count":  {Name: "in", DType: "f32", Buffer: true, Count: -4},
			"init":   {Name: "in", DType: "f32", Buffer: true, Count: 4, Role: "in", Init: "cauchy"},
			"scalar": {Name: "n", DType: "i8", Value: "300"},
		} {
			t.Run(name, func(t *testing.T) {
				m := problem(cell, modeFine)
				m.Args = append(slices.Clone(m.Args[:1]), arg)
				p.fails(result.CauseProtocol, wire.OpPrepare, m, nil)
			})
		}
		p.fails(result.CauseMemory, wire.OpPrepare, wire.Prepare{Cell: cell, Args: []wire.Arg{
			{Name: "in", DType: "f64", Buffer: true, Count: 1 << 42, Role: "in"},
		}}, nil)
		p.ok(wire.OpPrepare, problem(cell, modeFine), nil, nil) // and the cell is still good
	})
}

func TestFaultsEndTheCellAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		for _, tc := range []struct {
			mode  string
			cause result.Cause
		}{{modeLoop, result.CauseTimeout}, {modeCrash, result.CauseCrash}, {modeExit, result.CauseExit}} {
			if kind == "cuda" && tc.mode == modeExit {
				continue // device code cannot end its process
			}
			cell := p.ready(kind, tc.mode)
			deadline := 60.0
			if tc.cause == result.CauseTimeout {
				deadline = 1
			}
			failure := p.fails(tc.cause, wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1, DeadlineS: deadline}, nil)
			if kind == "cuda" && tc.mode == modeCrash {
				continue // the context is lost, the process is not
			}
			if !failure.CellEnded {
				t.Errorf("%s: the cell should be gone", tc.cause)
			}
			p.fails(result.CauseProtocol, wire.OpClose, wire.Close{Cell: cell}, nil)
		}
		cell := p.ready(kind, modeBelow)
		p.fails(result.CauseOutOfBounds, wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1}, nil)
		p.ok(wire.OpClose, wire.Close{Cell: cell}, nil, nil)
		good := p.ready(kind, modeFine)
		p.ok(wire.OpSample, wire.Sample{Cell: good, Count: 1, Repeat: 1, Cache: "hot"}, nil, nil)
	})
}

func TestOutputIsLogged(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modePrint)
		p.ok(wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1, Cache: "hot"}, nil, nil)
		var closed wire.CloseReply
		p.ok(wire.OpClose, wire.Close{Cell: cell}, nil, &closed)
		if !strings.Contains(closed.Log, "printed by the kernel") {
			t.Errorf("log %q", closed.Log)
		}
	})
}

func TestOneRequestAtATime(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeLoop)
		looping := p.send(wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1, DeadlineS: 60}, nil)
		refused := p.send(wire.OpRun, wire.Run{Cell: cell, Launches: 1, DeadlineS: 60}, nil)
		first, err := p.in.Next()
		if err != nil {
			t.Fatal(err)
		}
		if first.ID == looping { // the worker may handle the second one first
			looping, refused = refused, looping
		}
		if p.failed(result.CauseProtocol, first); first.ID != refused {
			t.Fatalf("answer to %d, expected one to %d", first.ID, refused)
		}
		p.ok(wire.OpPing, nil, nil, nil)
		p.send(wire.OpCancel, wire.Cancel{ID: looping}, nil)
		answers := map[uint64]*wire.Frame{}
		for len(answers) < 2 {
			frame, err := p.in.Next()
			if err != nil {
				t.Fatal(err)
			}
			answers[frame.ID] = frame
		}
		p.failed(result.CauseInterrupted, answers[looping])
	})
}

func TestBrokenFramesEndTheWorker(t *testing.T) {
	for name, input := range map[string]string{
		"no JSON":       "hello?\n",
		"other major":   `{"v":2,"id":1,"op":"ping"}` + "\n",
		"oversized":     `{"v":1,"id":1,"op":"put","blob":{"len":1048577,"sha256":""}}` + "\n",
		"endless line":  strings.Repeat("x", wire.MaxLine+1),
		"corrupt blob":  `{"v":1,"id":1,"op":"put","blob":{"len":3,"sha256":"00"}}` + "\nabc",
		"without an op": `{"v":1,"id":1}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := dial(t)
			if _, err := io.WriteString(p.stdin, input); err != nil {
				t.Fatal(err)
			}
			p.failed(result.CauseProtocol, p.receive(0))
			if _, err := p.in.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("the worker went on: %v", err)
			}
		})
	}
	t.Run("truncated", func(t *testing.T) {
		p := dial(t)
		_, _ = io.WriteString(p.stdin, `{"v":1,"id":1,`)
		_ = p.stdin.Close()
		p.failed(result.CauseProtocol, p.receive(0))
	})
}

func TestEndOfInputEndsEverything(t *testing.T) {
	eachKind(t, func(t *testing.T, p *peer, kind string) {
		cell := p.ready(kind, modeLoop)
		pid := p.open(kind).PID
		p.send(wire.OpSample, wire.Sample{Cell: cell, Count: 1, Repeat: 1, DeadlineS: 60}, nil)
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
		waitGone(t, pid)
	})
}

// TestLease needs a worker that takes --lease; the protocol's own 30 s are too
// long for a test.
func TestLease(t *testing.T) {
	if !takesLease() {
		t.Skip("set PAWL_LEASE_FLAG=1 if the worker takes --lease DURATION")
	}
	p := dial(t, "--lease", "5s")
	pid := p.open(p.hello.Cells[0]).PID
	for began := time.Now(); time.Since(began) < 6*time.Second; { // hearing something keeps it alive beyond its lease
		time.Sleep(200 * time.Millisecond)
		p.ok(wire.OpPing, nil, nil, nil)
	}
	if _, err := p.in.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after silence: %v", err)
	}
	_ = p.cmd.Wait()
	waitGone(t, pid)
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/stat", pid)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		raw, err := os.ReadFile(path)
		if err != nil || strings.Contains(string(raw), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}
