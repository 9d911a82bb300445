package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"pawl/internal/native/nvml"
	"pawl/internal/result"
)

// clockLock holds a GPU's clocks at one frequency. A separate process restores them: it waits for
// the end of its input, which comes when this worker ends, however it ends.
type clockLock struct {
	guard *exec.Cmd
	input io.WriteCloser
	said  bytes.Buffer // output of the guard
}

// lockClocks locks a GPU's SM clock at mhz.
func (g *gauges) lockClocks(uuid string, mhz int) (*clockLock, error) {
	refuse := func(err error) error {
		fault := result.Faultf(result.CauseUnsupported, "cannot lock the GPU's clocks at %d MHz: %v", mhz, err)
		if errors.Is(err, nvml.ErrNoPermission) {
			fault.Hint = "locking clocks needs root, or permission from the administrator"
		}
		return fault
	}
	device, err := g.device(uuid)
	if err != nil {
		return nil, refuse(err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, refuse(err)
	}
	// The guard starts before there is anything to restore, in its own session, so that no signal
	// meant for this run ends it.
	lock := &clockLock{guard: exec.Command(self, "cell", "unlock", uuid)}
	lock.guard.SysProcAttr, lock.guard.Stderr = &syscall.SysProcAttr{Setsid: true}, &lock.said
	if lock.input, err = lock.guard.StdinPipe(); err == nil {
		err = lock.guard.Start()
	}
	if err != nil {
		return nil, refuse(err)
	}
	if err := device.SetLockedClocks(mhz, mhz); err != nil {
		_ = lock.release() // there is nothing to restore
		return nil, refuse(err)
	}
	return lock, nil
}

// release restores the clocks and waits until that is done. The error says what the user must do by
// hand.
func (l *clockLock) release() error {
	_ = l.input.Close()
	err := l.guard.Wait()
	if err == nil {
		return nil
	}
	if said := strings.TrimSpace(l.said.String()); said != "" {
		err = errors.New(said)
	}
	return fmt.Errorf("the GPU's clocks are still locked (%w); nvidia-smi --reset-gpu-clocks unlocks them", err)
}

// Unlock waits for the end of input and then restores a GPU's clocks.
func Unlock(input io.Reader, uuid string) error {
	_, _ = io.Copy(io.Discard, input)
	library, err := nvml.Open()
	if err != nil {
		return fmt.Errorf("unlock the clocks: %w", err)
	}
	device, err := library.DeviceByUUID(uuid)
	if err == nil {
		err = device.ResetLockedClocks()
	}
	if err != nil {
		return fmt.Errorf("unlock the clocks: %w", err)
	}
	return nil
}
