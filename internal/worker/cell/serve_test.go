package cell

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// served is a cell at the other end of two pipes.
type served struct {
	t        *testing.T
	requests *os.File
	out      *wire.Writer
	in       *wire.Reader
	replies  *os.File
	ended    chan error
	next     uint64
}

func serveCell(t *testing.T, kind string) *served {
	t.Helper()
	t.Cleanup(func() { debug.SetGCPercent(100) }) // a cell switches the collector off
	theirIn, requests, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	replies, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, requests: requests, out: wire.NewWriter(requests), in: wire.NewReader(replies), replies: replies, ended: make(chan error, 1)}
	go func() {
		s.ended <- Serve(kind, theirIn, theirOut)
		theirOut.Close()
	}()
	t.Cleanup(func() { requests.Close(); replies.Close() })
	return s
}

func (s *served) greeted() *served {
	s.t.Helper()
	frame, err := s.in.Next()
	var hello wire.CellHello
	if err != nil || frame.Op != wire.OpHello || frame.ID != 0 || frame.Decode(&hello) != nil || hello.PID != os.Getpid() || hello.Protocol == "" {
		s.t.Fatalf("%+v, %v", frame, err)
	}
	return s
}

// ask sends a request and decodes the answer, or the fault that it is.
func (s *served) ask(op string, body, reply any) error {
	s.t.Helper()
	s.next++
	if err := s.out.Send(s.next, op, body, nil); err != nil {
		s.t.Fatal(err)
	}
	frame, err := s.in.Next()
	if err != nil {
		s.t.Fatal(err)
	}
	if frame.ID != s.next {
		s.t.Errorf("the answer to %d is one to %d", s.next, frame.ID)
	}
	if frame.Op == wire.OpError {
		failure := &result.Fault{}
		if err := frame.Decode(failure); err != nil {
			s.t.Fatal(err)
		}
		return failure
	}
	if frame.Op != wire.OpOK {
		s.t.Errorf("answered with %q", frame.Op)
	}
	if reply == nil {
		return nil
	}
	return frame.Decode(reply)
}

// A host cell answers each request in its turn, and ends when the worker does.
func TestServeHost(t *testing.T) {
	s := serveCell(t, "host").greeted()
	path := witnessed(t)
	if err := s.ask(wire.OpPing, nil, nil); err != nil {
		t.Fatal(err)
	}
	var loaded wire.Loaded
	if err := s.ask(wire.OpLoad, wire.Load{Path: path}, &loaded); err != nil || loaded.Flush != "clflushopt" {
		t.Fatalf("%+v, %v", loaded, err)
	}
	var prepared wire.Prepared
	if err := s.ask(wire.OpPrepare, wire.Prepare{Args: witnessArgs, Seed: witnessSeed}, &prepared); err != nil || len(prepared.Buffers) != 3 {
		t.Fatalf("%+v, %v", prepared, err)
	}
	var sampled wire.Sampled
	if err := s.ask(wire.OpSample, wire.Sample{Count: 3, Repeat: 1}, &sampled); err != nil || sampled.Count != 3 {
		t.Fatalf("%+v, %v", sampled, err)
	}
	var ran wire.Ran
	if err := s.ask(wire.OpRun, wire.Run{Launches: 2}, &ran); err != nil || ran.CellS <= 0 {
		t.Fatalf("%+v, %v", ran, err)
	}
	var produced wire.Produced
	if err := s.ask(wire.OpProduce, wire.Produce{Outputs: t.TempDir()}, &produced); err != nil || len(produced.Outputs) != 2 {
		t.Fatalf("%+v, %v", produced, err)
	}
	for op, says := range map[string]string{wire.OpJudge: "only an oracle cell judges", "dance": `no operation "dance"`} {
		if fault := faultIn(t, s.ask(op, nil, nil)); fault.Cause != result.CauseProtocol || !strings.Contains(fault.Message, says) {
			t.Errorf("%s: %+v", op, fault)
		}
	}
	for _, op := range []string{wire.OpLoad, wire.OpPrepare, wire.OpSample, wire.OpRun, wire.OpProduce} {
		if err := s.ask(op, json.RawMessage(`"surprise"`), nil); err == nil {
			t.Errorf("%s takes any body", op)
		}
	}
	if fault := faultIn(t, s.ask(wire.OpProduce, wire.Produce{Outputs: "/nowhere"}, nil)); fault.Cause != result.CauseInternal {
		t.Errorf("without a folder: %+v", fault)
	}
	s.requests.Close()
	if err := <-s.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// An oracle's cell judges, and does nothing else.
func TestServeOracle(t *testing.T) {
	s := serveCell(t, "oracle").greeted()
	for _, op := range []string{wire.OpLoad, wire.OpPrepare, wire.OpSample, wire.OpRun, wire.OpProduce} {
		if fault := faultIn(t, s.ask(op, struct{}{}, nil)); !strings.Contains(fault.Message, "only judges") {
			t.Errorf("%s: %+v", op, fault)
		}
	}
	args := scaleProblem(4)
	var reply wire.Judged
	if err := s.ask(wire.OpJudge, wire.Judge{Elementwise: "x", Args: args, Got: []wire.Buffer{{Arg: 1, Path: output(t, f32s(1, 2, 3, 4))}}}, &reply); err != nil || len(reply.Outputs) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := s.ask(wire.OpJudge, json.RawMessage(`"surprise"`), nil); err == nil {
		t.Error("it judges anything")
	}
}

// A cell ends when a message breaks the protocol, and when nobody reads its replies.
func TestServeEnds(t *testing.T) {
	if err := Serve("teapot", strings.NewReader(""), io.Discard); err == nil {
		t.Error("there are cells of any kind")
	}
	s := serveCell(t, "host").greeted()
	if _, err := s.requests.WriteString("what?\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err == nil || errors.Is(err, ErrMute) {
		t.Errorf("spoken to otherwise, it ended with %v", err)
	}
	s = serveCell(t, "host").greeted()
	s.replies.Close()
	if err := s.out.Send(1, wire.OpPing, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; !errors.Is(err, ErrMute) {
		t.Errorf("unheard, it ended with %v", err)
	}
	mute := serveCell(t, "host")
	mute.replies.Close()
	mute.requests.Close()
	<-mute.ended // whichever it notices first
}
