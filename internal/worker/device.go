package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/cell"
)

// findDevices lists the GPUs of this machine, or says why there are none. A short-lived child asks
// the driver: opening it costs this process memory and threads it does not need, and creates the
// device nodes that a sandboxed cell could not create.
func findDevices(ctx context.Context, ask bool) (found []result.GPU, err error) {
	if !ask && !driverLoaded() {
		return nil, errors.New("no GPU was found on this machine")
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "cell", "devices").Output()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && len(failed.Stderr) > 0:
		return nil, fmt.Errorf("no GPU can be used: %s", strings.TrimPrefix(strings.TrimSpace(string(failed.Stderr)), "pawl: "))
	case err != nil:
		return nil, fmt.Errorf("no GPU can be used: asking the driver failed: %w", err)
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("no GPU can be used: the driver's answer is not understood: %w", err)
	}
	if len(found) == 0 {
		return nil, errors.New("the driver sees no GPU")
	}
	return found, nil
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
