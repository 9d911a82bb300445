package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/cell"
)

// survey finds the GPUs of this machine, or the reason why there are none, and opens NVML. The error
// is about NVML.
func (s *server) survey(ctx context.Context, opts ServeOptions) error {
	if !opts.AskDriver && !driverLoaded() {
		s.noDevice = errors.New("no GPU was found on this machine")
		return nil
	}
	cache := newDeviceCache(opts.Tool, s.witness.proc)
	var asked *driverQuestion
	if !cache.has() {
		asked = askDriver(ctx) // while NVML is opened
	}
	gauges, noState := openGauges()
	now := gauges.inventory()
	if asked == nil {
		if s.devices = cache.find(now); s.devices == nil {
			asked = askDriver(ctx)
		}
	}
	if asked != nil {
		s.devices, s.noDevice = asked.answer()
		answer := slices.Clone(s.devices)
		s.driverAsked = make(chan struct{})
		s.requests.Go(func() {
			defer close(s.driverAsked)
			if asked.wait() == nil {
				cache.keep(answer, now)
			}
		})
	}
	if s.noDevice != nil {
		return nil
	}
	s.gauges = gauges
	s.gauges.describe(s.devices)
	return noState
}

// driverQuestion is a short-lived child that asks the driver for its GPUs. Opening the driver costs
// a process memory and threads that a worker does not need, and creates the device nodes that a
// sandboxed cell could not create.
type driverQuestion struct {
	cmd     *exec.Cmd
	stdout  io.Reader
	stderr  bytes.Buffer
	stop    context.CancelFunc
	wait    func() error // for its end; may be called more than once
	unasked error        // why it could not be started
}

// driverPatience is how long the driver may take to answer.
const driverPatience = 20 * time.Second

func askDriver(ctx context.Context) *driverQuestion {
	q := new(driverQuestion)
	ctx, q.stop = context.WithTimeout(ctx, driverPatience)
	q.wait = sync.OnceValue(func() error {
		defer q.stop()
		if q.unasked != nil {
			return q.unasked
		}
		return q.cmd.Wait()
	})
	self, err := os.Executable()
	if err == nil {
		q.cmd = exec.CommandContext(ctx, self, "cell", "devices")
		q.cmd.Stderr = &q.stderr
		q.stdout, err = q.cmd.StdoutPipe()
	}
	if err == nil {
		err = q.cmd.Start()
	}
	q.unasked = err
	return q
}

// answer returns what the child says, as soon as it has said it: after that, the driver takes a
// while to let go of the process.
func (q *driverQuestion) answer() (found []result.GPU, err error) {
	unread := q.unasked
	if unread == nil {
		unread = json.NewDecoder(q.stdout).Decode(&found)
	}
	if unread == nil {
		if len(found) == 0 {
			return nil, errors.New("the driver sees no GPU")
		}
		return found, nil
	}
	err = q.wait()
	said := strings.TrimPrefix(strings.TrimSpace(q.stderr.String()), "pawl: ")
	switch {
	case err != nil && said != "":
		return nil, fmt.Errorf("no GPU can be used: %s", said)
	case err != nil:
		return nil, fmt.Errorf("no GPU can be used: asking the driver failed: %w", err)
	}
	return nil, fmt.Errorf("no GPU can be used: the driver's answer is not understood: %w", unread)
}

// driverLoaded reports whether asking is worthwhile: a machine without NVIDIA's driver must not pay
// for it.
func driverLoaded() bool {
	signs := []string{"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu"}
	return slices.ContainsFunc(signs, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// kinds lists the kinds of cells that this worker can open.
func (s *server) kinds() []string {
	kinds := slices.Clone(cell.Kinds)
	if len(s.devices) == 0 {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "cuda" })
	}
	if hasPython() {
		kinds = append(kinds, "python")
	}
	return kinds
}
