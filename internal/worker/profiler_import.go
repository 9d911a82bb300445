package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"pawl/internal/nsight"
	"pawl/internal/result"
	"pawl/internal/sandbox"
	"pawl/internal/worker/wire"
)

// importTime is how long Nsight Compute may take to write a report as CSV.
const importTime = 2 * time.Minute

// profileOf completes the reply about the end of a profiled cell: it reads the report, and keeps it
// with its CSV for the parent. The error has the profile as far as it is known.
func (s *server) profileOf(ctx context.Context, c *child, reply *wire.CloseReply) error {
	p := c.profiling
	profile := p.said(c.state.String())
	reply.Profile = profile
	failed := func(fault *result.Fault) error {
		return &Failed{wire.Failure{
			Fault: *fault, Log: reply.Log, Sandbox: &reply.Sandbox, PeakMemory: reply.PeakMemory, CellEnded: true, Profile: profile,
		}}
	}
	defer os.Remove(p.keep)
	if p.size > wire.MaxReport {
		return failed(stage(result.Faultf(result.CauseMemory, "the report of Nsight Compute has %d bytes; the most are %d", p.size, wire.MaxReport).
			WithHint("profile fewer launches, or fewer metrics")))
	}
	if p.size < 0 {
		return failed(p.without(c.state, reply.Log))
	}
	report, err := os.ReadFile(p.keep)
	if err == nil {
		profile.Report, err = s.store.publish(report)
	}
	if err != nil {
		return failed(stage(result.Faultf(result.CauseInternal, "keep the report of Nsight Compute: %v", err)))
	}
	for _, page := range []struct {
		name string
		file **wire.File
	}{{"raw", &profile.Raw}, {"details", &profile.Details}} {
		text, fault := s.importPage(ctx, p, page.name)
		if fault == nil {
			if *page.file, err = s.store.publish(text); err != nil {
				fault = result.Faultf(result.CauseInternal, "keep the profile: %v", err)
			}
		}
		if fault != nil {
			return failed(stage(fault))
		}
	}
	return nil
}

// importPage has a report written as CSV, in a sandbox: code of the cell may have written the report.
func (s *server) importPage(ctx context.Context, p *profiling, page string) ([]byte, *result.Fault) {
	out, said, err := p.tool.run(ctx, importTime, wire.MaxCSV, []string{p.keep}, "--import", p.keep, "--csv", "--page", page, "--print-units", "base")
	switch {
	case errors.Is(err, errTooMuch):
		return nil, result.Faultf(result.CauseMemory, "ncu --import --page %s writes more than %d bytes", page, wire.MaxCSV).WithHint("profile fewer launches, or fewer metrics")
	case ctx.Err() != nil:
		return nil, interrupted()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, result.Faultf(result.CauseTimeout, "ncu --import --page %s had not ended after %v", page, importTime).WithHint("profile fewer launches, or fewer metrics")
	case err != nil:
		message := fmt.Sprintf("ncu --import --page %s: %v", page, err)
		if last := lastError(string(out), said); last != "" {
			message += ": " + last
		} else if said = strings.TrimSpace(said); said != "" {
			message += ": " + said
		}
		return nil, result.Faultf(result.CauseInternal, "%.1000s", message).WithHint("the report is kept: another version of ncu may read it")
	}
	return out, nil
}

// versionOf returns what a tool says of its version; "" if it does not.
func (s *server) versionOf(tool *nsightTool) string {
	if known, ok := s.tools.Load(tool.path); ok {
		return known.(string)
	}
	const most, limit = 20 * time.Second, 64 << 10
	out, _, err := tool.run(context.Background(), most, limit, nil, "--version")
	version := nsight.Version(string(out))
	if err == nil && version != "" {
		s.tools.Store(tool.path, version)
	}
	return version
}

// errTooMuch means that a tool has written more than it may.
var errTooMuch = errors.New("it writes too much")

// run runs the tool by itself, in a sandbox without a GPU or a network, and returns what it wrote to
// its output and to its log.
func (t *nsightTool) run(ctx context.Context, most time.Duration, limit int, read []string, args ...string) (out []byte, said string, err error) {
	scratch, err := os.MkdirTemp("", "pawl-ncu-")
	if err != nil {
		return nil, "", fmt.Errorf("make a folder for ncu: %w", err)
	}
	defer os.RemoveAll(scratch)
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	stdout, outEnd, err := os.Pipe()
	if err != nil {
		return nil, "", fmt.Errorf("open a pipe for ncu: %w", err)
	}
	defer stdout.Close()
	defer outEnd.Close()
	stderr, errEnd, err := os.Pipe()
	if err != nil {
		return nil, "", fmt.Errorf("open a pipe for ncu: %w", err)
	}
	defer stderr.Close()
	defer errEnd.Close()
	policy := sandbox.Policy{Read: append(sandbox.System(), toolFiles...), Write: []string{scratch}, Processes: true}
	policy.Read = append(append(policy.Read, t.folders...), read...)
	process, err := sandbox.Start(sandbox.Command{
		Path: t.path, Args: append([]string{t.path}, args...), Dir: scratch, Stdout: outEnd, Stderr: errEnd, Policy: policy, Mode: t.mode,
		Env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=" + scratch, "HOME=" + scratch, profilerFiles},
	})
	if err != nil {
		return nil, "", err
	}
	closeAll(outEnd, errEnd)
	over := context.AfterFunc(ctx, func() { _ = process.Kill() })
	defer over()
	log, heard := &boundedLog{}, make(chan struct{})
	go func() {
		_, _ = io.Copy(log, stderr)
		close(heard)
	}()
	// A tool that is ended takes the processes along that hold the pipe.
	out, err = io.ReadAll(io.LimitReader(stdout, int64(limit)+1))
	if err == nil && len(out) > limit {
		err = errTooMuch
		_ = process.Kill()
	}
	state, waited := process.Wait()
	endStrays(scratch)
	<-heard
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = ctx.Err()
	case waited != nil:
		err = waited
	case !state.Success():
		err = errors.New(state.String())
		for _, attempt := range process.Attempts() {
			_, _ = fmt.Fprintf(log, "\nthe sandbox refused: %s", attempt.What)
		}
	}
	return out, log.String(), err
}
