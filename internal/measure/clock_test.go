package measure

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/spec"
	"pawl/internal/worker"
	"pawl/internal/worker/cell"
	"pawl/internal/worker/wire"
)

// The test binary stands in for pawl as a worker, and as a cell whose launches
// take as long as its artifact's text says, whatever it claims.
func TestMain(m *testing.M) {
	if sandbox.EnterIfAsked(os.Args) {
		return
	}
	switch {
	case len(os.Args) > 1 && os.Args[1] == "worker":
		_ = worker.Serve(context.Background(), os.Stdin, os.Stdout, worker.ServeOptions{})
	case len(os.Args) > 1 && os.Args[1] == "cell":
		boast(os.NewFile(cell.RequestFD, "requests"), os.NewFile(cell.ReplyFD, "replies"))
	default:
		os.Exit(m.Run())
	}
}

// boast claims a nanosecond a launch.
func boast(requests, replies *os.File) {
	in, out := wire.NewReader(requests), wire.NewWriter(replies)
	_ = out.Send(0, wire.OpHello, wire.CellHello{Protocol: "1.0", Cell: "host", PID: os.Getpid()}, nil)
	slow := false
	for {
		frame, err := in.Next()
		if err != nil {
			return
		}
		var body any
		var blob []byte
		switch frame.Op {
		case wire.OpLoad:
			var load wire.Load
			_ = frame.Decode(&load)
			text, _ := os.ReadFile(load.Path)
			slow = strings.HasPrefix(string(text), "slow")
			body = wire.LoadReply{Flush: "none"}
		case wire.OpPrepare:
			body = wire.PrepareReply{}
		case wire.OpSample:
			var sample wire.Sample
			_ = frame.Decode(&sample)
			seconds, ghz := make([]float64, sample.Count), make([]float64, sample.Count)
			for i := range seconds {
				seconds[i] = 1e-9
			}
			body, blob = wire.SampleReply{Count: sample.Count}, wire.PackSamples(seconds, ghz)
		case wire.OpRun:
			if slow { // processor time: waiting alone accuses nobody
				for start := time.Now(); time.Since(start) < 30*time.Millisecond; {
					continue
				}
			}
			body = wire.RunReply{CellS: 1e-9}
		}
		_ = out.Send(frame.ID, wire.OpOK, body, blob)
	}
}

func TestClaimsThatTheWorkersClockContradicts(t *testing.T) {
	t.Setenv("PAWL_LOCK_DIR", t.TempDir())
	client, err := worker.Start(t.Context(), worker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for artifact, want := range map[string]result.Cause{"slow": result.CauseForged, "quick": ""} {
		t.Run(artifact, func(t *testing.T) {
			sha, err := client.Upload(t.Context(), []byte(artifact))
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.Open(t.Context(), wire.Open{Cell: "host", Sandbox: "auto"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Load(t.Context(), wire.Load{SHA256: sha}); err != nil {
				t.Fatal(err)
			}
			opts := Default()
			opts.Budget = 50 * time.Millisecond
			timings, _, errs := Turns(t.Context(), []Side{{Cell: c, Instance: instance(spec.RoleIn)}}, opts, func(Progress) {})
			var fault *result.Fault
			got := result.Cause("")
			if errors.As(errs[0], &fault) {
				got = fault.Cause
			}
			if got != want {
				t.Errorf("cause %q (%v), want %q", got, errs[0], want)
			}
			if timings[0].Clock == nil || timings[0].Stats.Count == 0 {
				t.Errorf("what was measured is not kept: %+v", timings[0].Stats)
			}
		})
	}
}
