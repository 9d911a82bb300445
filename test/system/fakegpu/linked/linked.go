// Package linked builds fakegpu, a pawl with two GPUs that do not exist, for tests.
package linked

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"

	"pawl/internal/native/cuda/cudafake"
)

// Build builds it at path with settings of its main package, each NAME=VALUE, and puts the fake driver
// behind its end.
func Build(path string, settings ...string) error {
	library, err := cudafake.Library()
	if err != nil {
		return err
	}
	driver, err := os.ReadFile(library)
	if err != nil {
		return err
	}
	set := "-s -w" // without tables for debuggers, linking takes half as long
	for _, setting := range settings {
		set += " -X main." + setting
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", set, "-o", path, "pawl/test/system/fakegpu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(binary.LittleEndian.AppendUint64(driver, uint64(len(driver))))
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
