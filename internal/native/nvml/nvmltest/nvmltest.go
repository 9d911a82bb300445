// Package nvmltest builds a fake NVML with two GPUs, so that code that reads a GPU's state or locks
// its clocks can be tested on any machine. The fake is a real shared object: give its path to
// nvml.OpenPath, or put its folder into LD_LIBRARY_PATH of a process that opens NVML by its usual
// name.
package nvmltest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed testdata/fake_nvml.c
var source []byte

// UUIDs of the two GPUs.
const (
	UUID0 = "GPU-00000000-0000-0000-0000-000000000000"
	UUID1 = "GPU-00000000-0000-0000-0000-000000000001"
)

// Environment variables that the fake reads.
const (
	// LogVariable names a file to which every successful locking of clocks is
	// appended: "lock UUID MIN MAX" or "reset UUID".
	LogVariable = "FAKE_NVML_LOG"
	// DenyVariable, if set, makes locking clocks a matter of permission.
	DenyVariable = "FAKE_NVML_DENY"
	// KeepVariable, if set, makes only giving them back one.
	KeepVariable = "FAKE_NVML_KEEP"
	// UnsupportedVariable lists functions of devices that this card lacks,
	// separated by commas.
	UnsupportedVariable = "FAKE_NVML_UNSUPPORTED"
	// InitVariable is the code with which initialisation fails; 9 is that of a
	// driver that is not loaded.
	InitVariable = "FAKE_NVML_INIT"
	// OpenedVariable names a file that initialisation creates.
	OpenedVariable = "FAKE_NVML_OPENED"
	// UUIDVariable is a UUID for the first GPU in place of UUID0.
	UUIDVariable = "FAKE_NVML_UUID"
	// FactsVariable changes what the GPUs are, as in "driver=581.00,mig=1": driver, count,
	// bus, memory, mig (of the second), ecc, denied (any value: they may not be used).
	FactsVariable = "FAKE_NVML_FACTS"
	// ReasonsVariable is the set of reasons that hold the clocks down, as a number.
	ReasonsVariable = "FAKE_NVML_REASONS"
	// ProcessesVariable is the number of processes that use each GPU.
	ProcessesVariable = "FAKE_NVML_PROCESSES"
)

// Build compiles the fake and returns its path, which ends in
// libnvidia-ml.so.1. Without a C compiler the test is skipped.
func Build(t testing.TB, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the fake NVML with")
	}
	folder := t.TempDir()
	file, library := filepath.Join(folder, "fake_nvml.c"), filepath.Join(folder, "libnvidia-ml.so.1")
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", library, file}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("build fake NVML: %v\n%s", err, out)
	}
	return library
}
