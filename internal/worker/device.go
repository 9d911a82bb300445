package worker

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"time"

	"pawl/internal/result"
	"pawl/internal/worker/cell"
)

// findDevices lists the GPUs of this machine. The driver is asked by a child that
// ends at once: opening it costs this process memory and threads it does not
// need, and makes the device nodes that a sandboxed cell could not make.
func findDevices(ctx context.Context) []result.GPU {
	if !driverLoaded() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "cell", "devices").Output()
	if err != nil {
		return nil
	}
	var found []result.GPU
	if json.Unmarshal(out, &found) != nil {
		return nil
	}
	return found
}

// driverLoaded tells whether it is worth asking: a machine without NVIDIA's
// driver must not pay for the question.
func driverLoaded() bool {
	for _, path := range []string{"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// kinds are the cells this worker can open.
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
