package cell

import (
	"encoding/json"
	"io"
	"runtime/debug"
	"testing"

	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/result"
	"pawl/internal/worker/wire"
)

// A cell over its protocol: it says hello, answers one request after the other, and
// ends with its input.
func TestFakeServe(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // a cell turns the collector off
	f := newFakeCell(t)
	f.fake.Reset() // the cell below starts on a thread of its own
	requests, ask := io.Pipe()
	replies, answer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve("cuda", requests, answer) }()
	in, out := wire.NewReader(replies), wire.NewWriter(ask)
	frame, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	var hello wire.CellHello
	if err := frame.Decode(&hello); err != nil || hello.Cell != "cuda" || frame.Op != wire.OpHello {
		t.Fatalf("%+v, %v", hello, err)
	}
	id := uint64(0)
	request := func(op string, body any) *wire.Frame {
		t.Helper()
		id++
		if err := out.Send(id, op, body, nil); err != nil {
			t.Fatal(err)
		}
		frame, err := in.Next()
		if err != nil || frame.ID != id {
			t.Fatalf("%s: frame %d, %v", op, frame.ID, err)
		}
		return frame
	}
	for _, r := range []struct {
		op    string
		body  any
		cause result.Cause // "": it is answered
	}{
		{wire.OpPing, nil, ""},
		{wire.OpSample, wire.Sample{Count: 1, Repeat: 1}, result.CauseProtocol},
		{wire.OpLoad, wire.Load{Path: "/nowhere/cubin"}, result.CauseInternal},
		{wire.OpLoad, wire.Load{Path: f.cubin, Device: cudafake.UUID1}, ""},
		{wire.OpPrepare, wire.Prepare{Args: scaling(), Launches: launchOf("scale", 0, 1, 2)}, ""},
		{wire.OpSample, wire.Sample{Count: 4, Repeat: 1, Cache: "cold"}, ""},
		{wire.OpRun, wire.Run{Launches: 3}, ""},
		{wire.OpProduce, wire.Produce{Outputs: t.TempDir()}, ""},
		{wire.OpJudge, wire.Judge{}, result.CauseProtocol},
		{wire.OpLoad, json.RawMessage(`[]`), result.CauseInternal},
		{"dance", nil, result.CauseProtocol},
		{wire.OpPing, nil, ""},
	} {
		frame := request(r.op, r.body)
		var failure result.Fault
		if frame.Op == wire.OpError {
			if err := frame.Decode(&failure); err != nil {
				t.Fatal(err)
			}
		}
		if failure.Cause != r.cause {
			t.Errorf("%s %+v: %q: %s; want %q", r.op, r.body, failure.Cause, failure.Message, r.cause)
		}
		if r.op == wire.OpSample && r.cause == "" {
			took := wire.Samples{Count: 4}
			if err := took.Unpack(frame.Data); err != nil || !near(took.Seconds[0], 7e-6) {
				t.Errorf("%v, %v", took.Seconds, err)
			}
		}
	}
	_ = ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := Serve("abacus", requests, answer); err == nil {
		t.Error("served a cell of no kind")
	}
}
