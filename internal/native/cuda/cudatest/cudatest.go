// Package cudatest gives tests a GPU, or skips them with the reason why there is none. With
// PAWL_REQUIRE_GPU=1 in the environment such a test fails instead, so that a run that is meant to
// use a GPU cannot pass without one.
package cudatest

import (
	"os"
	"runtime"
	"testing"

	"pawl/internal/native/cuda"
)

// Need returns the driver and its first device. The test's goroutine stays on its
// thread, with the device's primary context current there, until the test ends;
// subtests run on other threads and ask for themselves.
func Need(t testing.TB) (*cuda.Driver, cuda.Device) {
	t.Helper()
	driver, err := cuda.Open()
	if err != nil {
		Missing(t, err.Error())
	}
	device, err := driver.Device(0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	context, err := device.RetainPrimary()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := context.Release(); err != nil {
			t.Error(err)
		}
	})
	if err := context.SetCurrent(); err != nil {
		t.Fatal(err)
	}
	return driver, device
}

// Missing ends a test that cannot run without something that a machine with a
// GPU has: it is skipped, or fails where a GPU is required.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("PAWL_REQUIRE_GPU") == "1" {
		t.Fatalf("a GPU is required (PAWL_REQUIRE_GPU=1): %s", reason)
	}
	t.Skip(reason)
}
