// Package puppet is a worker and a cell for tests. The cell launches nothing: it claims the times
// that its artifact's text dictates, and fails where the text says so. Decisions about times can
// then be tested to the last digit, even on a busy machine, through the real worker and the real
// protocol.
package puppet

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pawl/internal/sandbox"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// turnMost is how many samples a turn has at most.
const turnMost = 8

// Script is what a version does. Its text may stand anywhere in an artifact.
type Script struct {
	Micros float64 // a launch takes; 0: as many nanoseconds as its scalar argument says
	Factor float64 // and that is multiplied by this; 0: it is not
	Slow   int     // this many samples of a problem take three times as long at first
	Odd    int     // this many samples of problems whose scalar argument is odd take ten times as long at first
	Away   int     // the same of problems whose scalar argument is not a power of two
	Part   int     // of a hundred samples, drawn at random, that take By times as long
	By     float64 //
	Anew   float64 // and this many times as long does a sample that begins a new batch of data; below 0: it goes on with the old
	Hide   float64 // microseconds that it works for each sample of a turn beyond what it claims; requests of more samples than a turn has are honest
	Warm   bool    // what was flushed is still in the caches
	Ramp   bool    // every other run of launches takes twice as long per launch
	Spin   int     // milliseconds of processor time that a run takes, whatever it claims
	Idle   int     // milliseconds that a run sleeps besides
	Think  int     // milliseconds that an answer takes which nobody times
	Host   float64 // microseconds that it claims for the host's part of a launch, where nothing hides that
	Crash  string  // the request that ends the process: load, prepare, sample, run, ping
	After  int     // of sample: only once this many samples of the problem were taken
	Only   int     // only problems whose scalar argument is this one end it, race, or have always wrong answers
	Reach  bool    // it tries to reach the network when it is loaded
	Wrong  string  // when its answers are: always, timed, late (timed, from the 25th that is kept in a cell on), stale (those to the first data it saw), data (on some), random, race (some element, in every launch), timedrace (the same, but not on whole new data), bits (a few of the lowest, in every launch); "": never
}

// String returns the text that makes an artifact of a script: its fields and their values.
func (s Script) String() string {
	fields, out := reflect.ValueOf(s), "puppet:"
	for i := range fields.NumField() {
		out += fmt.Sprintf(" %s=%v", fields.Type().Field(i).Name, fields.Field(i))
	}
	return out + ";"
}

var text = regexp.MustCompile(`puppet: ([^;\x00]*);`)

// read finds the script in an artifact; one without any is the zero Script.
func read(artifact []byte) (s Script) {
	found := text.FindSubmatch(artifact)
	if found == nil {
		return s
	}
	for _, word := range strings.Fields(string(found[1])) {
		key, value, _ := strings.Cut(word, "=")
		_, _ = fmt.Sscan(value, reflect.ValueOf(&s).Elem().FieldByName(key).Addr().Interface()) // an empty word stays empty
	}
	return s
}

// StandIn makes a test binary pawl's worker or cell where it was started as one,
// and reports whether it was. TestMain asks it first.
func StandIn(args []string, stdin io.Reader, stdout io.Writer) bool {
	if sandbox.EnterIfAsked(args) {
		return true
	}
	if len(args) < 2 {
		return false
	}
	switch args[1] {
	case "worker":
		opts, clear := stealing()
		_ = worker.Serve(context.Background(), stdin, stdout, opts)
		clear()
	case "cell":
		if args[2] == "oracle" { // the real one: it judges what the puppets answer
			_ = cell.Serve(args[2], os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
			return true
		}
		serve(args[2], os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
	default:
		return false
	}
	return true
}

// version is one loaded artifact and its problem.
type version struct {
	Script
	scalar int64
	taken  int // samples of the problem
	odd    int // samples of odd problems
	away   int // samples of problems whose size is no power of two
	runs   int
	drawn  uint64 // for Part

	problem wire.Prepare
	first   *data // it answered to
	answers int   // it gave
	kept    int   // timed samples whose outputs were wanted
}

func (v *version) crash(op string) {
	if v.Crash == op && v.here() && v.taken >= v.After {
		unix.Exit(3) // at once: the race detector would wait for a second
	}
}

// sample returns the time of the problem's next launch.
func (v *version) sample() float64 {
	v.crash(wire.OpSample)
	seconds := v.seconds()
	if v.taken < v.Slow {
		seconds *= 3
	}
	if v.scalar%2 == 1 {
		if v.odd++; v.odd <= v.Odd {
			seconds *= 10
		}
	}
	if v.scalar&(v.scalar-1) != 0 {
		if v.away++; v.away <= v.Away {
			seconds *= 10
		}
	}
	// Knuth's generator: no pattern that turns of a few samples could follow.
	if v.drawn = v.drawn*6364136223846793005 + 1442695040888963407; int(v.drawn>>33%100) < v.Part {
		seconds *= v.By
	}
	v.taken++
	return seconds
}

func (v *version) seconds() float64 {
	seconds := float64(v.scalar) * 1e-9
	if v.Micros > 0 {
		seconds = v.Micros * 1e-6
	}
	if v.Factor > 0 {
		seconds *= v.Factor
	}
	return seconds
}

// serve is the life of the cell. What it is asked for, and when, is its log: tests
// see the order of turns there.
func serve(kind string, requests io.Reader, replies io.Writer) {
	in, out := wire.NewReader(requests), wire.NewWriter(replies)
	_ = out.Send(0, wire.OpHello, wire.CellHello{Protocol: fmt.Sprintf("%d.%d", wire.Major, wire.Minor), Cell: kind, PID: os.Getpid()}, nil)
	sides := map[int]*version{}
	for {
		frame, err := in.Next()
		if err != nil {
			return
		}
		body, blob := answer(frame, sides)
		_ = out.Send(frame.ID, wire.OpOK, body, blob)
	}
}

func answer(frame *wire.Frame, sides map[int]*version) (body any, blob []byte) {
	switch frame.Op {
	case wire.OpLoad:
		return load(asked[wire.Load](frame), sides), nil
	case wire.OpPrepare:
		m := asked[wire.Prepare](frame)
		return prepare(m, sides[m.Side]), nil
	case wire.OpSample:
		took := sample(asked[wire.Sample](frame), sides)
		return took, took.Pack()
	case wire.OpRun:
		m := asked[wire.Run](frame)
		return run(m, sides[m.Side]), nil
	case wire.OpProduce:
		m := asked[wire.Produce](frame)
		return sides[m.Side].produce(m), nil
	case wire.OpPing:
		for _, v := range sides {
			v.crash(wire.OpPing)
		}
	}
	return nil, nil
}

// asked returns what a frame asks for.
func asked[T any](frame *wire.Frame) (m T) {
	_ = frame.Decode(&m)
	return m
}

// must returns what a test needs to go on.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func load(m wire.Load, sides map[int]*version) wire.Loaded {
	v := &version{Script: read(must(os.ReadFile(m.Path)))}
	sides[m.Side] = v
	if v.Reach {
		_, _ = net.Dial("tcp", "127.0.0.1:9")
	}
	v.crash(wire.OpLoad)
	return wire.Loaded{Flush: "none"}
}

func prepare(m wire.Prepare, v *version) wire.Prepared {
	for _, arg := range m.Args {
		if !arg.Buffer {
			v.scalar, _ = strconv.ParseInt(arg.Value, 10, 64)
		}
	}
	v.taken, v.problem, v.first = 0, m, nil
	v.crash(wire.OpPrepare)
	if m.CoresFor > 0 { // the worker tells no cell what it is compared with: tests of cores notice
		return wire.Prepared{Sets: 1}
	}
	return wire.Prepared{Pinned: m.Cores, Sets: 1}
}

func sample(m wire.Sample, sides map[int]*version) *wire.Sampled {
	began := time.Now()
	var at unix.Timespec // of a clock that all cells share, and nobody sets
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &at)
	order := m.Order
	if order == nil {
		order = []int{m.Side}
	}
	seconds, ghz := make([]float64, m.Count), make([]float64, m.Count)
	reply := &wire.Sampled{Samples: wire.Samples{Count: m.Count, Seconds: seconds, GHz: ghz, OverheadS: 1e-9}}
	if m.Dry { // nothing is launched
		fmt.Fprintf(os.Stderr, "dry %s\n", m.Cache) //nolint:forbidden // the cell's log
		if m.FreshBatch > 0 {
			fmt.Fprintf(os.Stderr, "staged %d\n", m.FreshBatch) //nolint:forbidden // the cell's log
		}
		for i := range seconds {
			seconds[i], ghz[i] = 1e-9, 1
		}
		return reply
	}
	total := 0.0
	for i := range seconds {
		side := order[i%len(order)]
		// Every side runs at a clock of its own, so that cycles are not just time.
		v := sides[side]
		if seconds[i], ghz[i] = v.sample(), float64(1+side); i+1 == m.Fresh && v.Anew > 0 {
			seconds[i] *= v.Anew
		}
		if m.Unhidden {
			seconds[i] += sides[side].Host * 1e-6
		}
		total += seconds[i] * float64(m.Repeat)
	}
	fmt.Fprintf(os.Stderr, "%d %v\n", at.Nano(), order)                                  //nolint:forbidden // the cell's log
	fmt.Fprintf(os.Stderr, "data %d %d %d %d\n", m.Batch, m.Step, m.Fresh, m.FreshBatch) //nolint:forbidden // the cell's log
	// A claim of more time than has passed is a forgery.
	time.Sleep(time.Duration(total*1e9) - time.Since(began))
	if v := sides[order[0]]; m.Count <= turnMost {
		spin(time.Duration(v.Hide * float64(m.Count) * 1e3))
	}
	if sides[order[0]].Anew < 0 {
		m.Fresh = 0
	}
	reply.Fresh = m.Fresh
	if m.Probe > 0 {
		if reply.FlushedS, reply.ColdS = 6e-6, 6e-6; sides[order[0]].Warm {
			reply.FlushedS = 3e-6
		}
	}
	if m.Keep > 0 {
		var on data
		on.batch, on.steps = reply.KeptOn(m)
		v := sides[order[(m.Keep-1)%len(order)]]
		v.kept++
		reply.Kept = v.answer(on, v.Wrong == "timed" || v.Wrong == "always" && v.here() || v.Wrong == "late" && v.kept >= 25, m.Outputs)
	}
	return reply
}

// processorTime returns what this process has used: on a busy machine a clock on the wall
// says more.
func processorTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// spin works for so long.
func spin(span time.Duration) {
	for began := processorTime(); processorTime()-began < span; {
		continue
	}
}

func run(m wire.Run, v *version) wire.Ran {
	v.crash(wire.OpRun)
	time.Sleep(time.Duration(v.Idle) * time.Millisecond)
	spin(time.Duration(v.Spin) * time.Millisecond)
	each := v.seconds()
	if v.runs++; v.Ramp && v.runs%2 == 1 {
		each *= 2
	}
	return wire.Ran{CellS: each * float64(m.Launches), GHz: 1}
}
