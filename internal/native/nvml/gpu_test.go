package nvml_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pawl/internal/native/cuda/cudatest"
	"pawl/internal/native/nvml"
)

func within[T int | float64 | uint64](t *testing.T, what string, low, high T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		switch {
		case errors.Is(err, nvml.ErrNotSupported):
			t.Logf("%s: %v", what, err)
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case got < low || got > high:
			t.Errorf("%s: %v is not in [%v, %v]", what, got, low, high)
		}
	}
}

func TestGPUReadings(t *testing.T) {
	_, gpu := cudatest.Need(t)
	library, err := nvml.Open()
	if err != nil {
		cudatest.Missing(t, err.Error())
	}
	uuid, err := gpu.UUID()
	if err != nil {
		t.Fatal(err)
	}
	device, err := library.DeviceByUUID(uuid)
	if err != nil {
		t.Fatalf("CUDA's UUID %s: %v", uuid, err)
	}
	if version, err := library.DriverVersion(); version == "" || err != nil {
		t.Errorf("driver version %q, %v", version, err)
	}
	all, err := library.Devices()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(d nvml.Device) bool { own, err := d.UUID(); return err == nil && own == uuid }) {
		t.Errorf("%s is not among NVML's %d devices", uuid, len(all))
	}
	within(t, "memory", uint64(1<<30), 1<<40)(device.MemoryTotal())
	for what, err := range map[string]error{"bus": second(device.PCIBus()), "MIG": second(device.MIG()), "ECC": second(device.ECC())} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	within(t, "temperature", 5, 110)(device.Temperature())
	within(t, "SM clock", 100, 5000)(device.ClockSM())
	within(t, "highest SM clock", 500, 5000)(device.MaxClockSM())
	within(t, "power", 1.0, 2000)(device.Power())
	within(t, "power limit", 10.0, 2000)(device.PowerLimit())
	if _, err := device.ThrottleReasons(); err != nil && !errors.Is(err, nvml.ErrNotSupported) {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"persistence": second(device.PersistenceMode()), "compute mode": second(device.ComputeMode()),
	} {
		if err != nil && !errors.Is(err, nvml.ErrNotSupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	processes, err := device.ComputeProcesses()
	if err != nil && !errors.Is(err, nvml.ErrNotSupported) {
		t.Error(err)
	}
	t.Logf("compute processes: %v", processes) // a container may see none, or other numbers
	if slices.ContainsFunc(processes, func(p nvml.Process) bool { return p.PID <= 0 || p.UsedBytes > 1<<40 }) {
		t.Errorf("implausible processes: %v", processes)
	}
}

func TestGPUEnergyGrows(t *testing.T) {
	_, gpu := cudatest.Need(t)
	library, err := nvml.Open()
	if err != nil {
		cudatest.Missing(t, err.Error())
	}
	uuid, err := gpu.UUID()
	if err != nil {
		t.Fatal(err)
	}
	device, err := library.DeviceByUUID(uuid)
	if err != nil {
		t.Fatal(err)
	}
	start, err := device.EnergyTotal()
	if errors.Is(err, nvml.ErrNotSupported) {
		t.Skip("this card does not count energy")
	}
	for range 100 { // the counter moves every 20 to 100 ms
		time.Sleep(20 * time.Millisecond)
		now, err := device.EnergyTotal()
		if err != nil {
			t.Fatal(err)
		}
		if now > start {
			if now-start > 5000 {
				t.Errorf("%g J in at most two seconds", now-start)
			}
			return
		}
	}
	t.Error("no energy used in two seconds")
}

func second[T any](_ T, err error) error { return err }
