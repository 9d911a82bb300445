package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pawl/internal/native/cuda"
	"pawl/internal/native/cuda/cudafake"
	"pawl/internal/native/cuda/cudatest"
)

const faultVariable = "PAWL_CUDA_FAULT"

// A lost context is lost for its process: faults happen in a child.
// Where the machine has no driver, all of it runs on the fake one.
func TestMain(m *testing.M) {
	cudafake.Install()
	if kernel := os.Getenv(faultVariable); kernel != "" {
		runtime.LockOSThread()
		fmt.Println(fault(kernel))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fault runs a kernel that fails and says how: the code, whether the context is
// lost, and the code of the next call.
func fault(kernel string) string {
	driver, err := cuda.Open()
	if err != nil {
		return err.Error()
	}
	device, err := driver.Device(0)
	if err != nil {
		return err.Error()
	}
	context, err := device.RetainPrimary()
	if err != nil {
		return err.Error()
	}
	if err := context.SetCurrent(); err != nil {
		return err.Error()
	}
	module, err := driver.LoadModule(kernelsPTX)
	if err != nil {
		return err.Error()
	}
	f, err := module.Function(kernel)
	if err != nil {
		return err.Error()
	}
	memory, err := driver.Alloc(64)
	if err != nil {
		return err.Error()
	}
	params := map[string][][]byte{
		"stray":      {cuda.Param(cuda.DevicePtr(0x10))},
		"misaligned": {cuda.Param(memory)},
		"doubtful":   {cuda.Param(int32(0))},
		"trapped":    {},
	}[kernel]
	if err := f.Launch(cuda.Stream{}, cuda.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}}, params...); err != nil {
		return "launch: " + err.Error()
	}
	var failed, after *cuda.Error
	if err := driver.Synchronize(); !errors.As(err, &failed) {
		return fmt.Sprintf("synchronize: %v", err)
	}
	if _, err := driver.Alloc(64); !errors.As(err, &after) {
		return fmt.Sprintf("alloc after %v: %v", failed, err)
	}
	return fmt.Sprintf("code %d sticky %t then %d", failed.Code, failed.Sticky(), after.Code)
}

func TestGPUFaults(t *testing.T) {
	cudatest.Need(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kernel, codes := range map[string][]cuda.Code{
		"stray":      {cuda.IllegalAddress},
		"misaligned": {cuda.MisalignedAddress},
		"doubtful":   {cuda.Assert},
		"trapped":    {cuda.LaunchFailed, cuda.IllegalInstruction},
	} {
		child := exec.Command(self)
		child.Env = append(os.Environ(), faultVariable+"="+kernel)
		out, err := child.Output()
		if err != nil {
			t.Errorf("%s: %v", kernel, err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n") // a failed assertion prints a line of its own
		var want []string
		for _, code := range codes {
			want = append(want, fmt.Sprintf("code %d sticky true then %d", code, code))
		}
		if got := lines[len(lines)-1]; !slices.Contains(want, got) {
			t.Errorf("%s: %q, want one of %q", kernel, got, want)
		}
	}
}
