package nvml_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pawl/internal/native/nvml"
	"pawl/internal/native/nvml/nvmltest"
)

func open(t *testing.T, flags ...string) *nvml.Library {
	t.Helper()
	library, err := nvml.OpenPath(nvmltest.Build(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return library
}

func first(t *testing.T, library *nvml.Library) nvml.Device {
	t.Helper()
	device, err := library.DeviceByUUID(nvmltest.UUID0)
	if err != nil {
		t.Fatal(err)
	}
	return device
}

// check compares what a call returned.
func check[T any](t *testing.T, what string, want T) func(T, error) {
	return func(got T, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestReadings(t *testing.T) {
	t.Setenv(nvmltest.ReasonsVariable, "0x24")
	t.Setenv(nvmltest.ProcessesVariable, "3")
	for name, flags := range map[string][]string{"new": nil, "old": {"-DOLD"}} {
		t.Run(name, func(t *testing.T) {
			library := open(t, flags...)
			check(t, "driver", "580.65.06")(library.DriverVersion())
			device := first(t, library)
			check(t, "temperature", 41)(device.Temperature())
			check(t, "SM clock", 1830)(device.ClockSM())
			check(t, "highest SM clock", 1980)(device.MaxClockSM())
			check(t, "power", 123.456)(device.Power())
			check(t, "power limit", 700.0)(device.PowerLimit())
			check(t, "energy", 8589934593.0)(device.EnergyTotal())
			check(t, "energy later", 8589934593.5)(device.EnergyTotal())
			check(t, "reasons", nvml.ReasonPowerCap|nvml.ReasonSWThermal)(device.ThrottleReasons())
			check(t, "processes", []nvml.Process{{PID: 1000}, {PID: 1001}, {PID: 1002, UsedBytes: 2 << 20}})(device.ComputeProcesses())
			check(t, "compute mode", nvml.ComputeExclusiveProcess)(device.ComputeMode())
			if name == "new" {
				check(t, "persistence", true)(device.PersistenceMode())
			} else if _, err := device.PersistenceMode(); !errors.Is(err, nvml.ErrNotSupported) || !strings.Contains(err.Error(), "nvmlDeviceGetPersistenceMode") {
				t.Errorf("persistence mode of a driver without: %v", err)
			}
		})
	}
}

func TestManyProcesses(t *testing.T) {
	t.Setenv(nvmltest.ProcessesVariable, "100")
	processes, err := first(t, open(t)).ComputeProcesses()
	if err != nil || len(processes) != 100 || processes[98] != (nvml.Process{PID: 1098, UsedBytes: 98 << 20}) {
		t.Errorf("%d processes, %v", len(processes), err)
	}
}

func TestFindDevice(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv(nvmltest.LogVariable, log)
	library := open(t)
	device, err := library.DeviceByUUID(nvmltest.UUID1)
	if err != nil {
		t.Fatal(err)
	}
	if err := device.ResetLockedClocks(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(log); err != nil || string(got) != "reset "+nvmltest.UUID1+"\n" {
		t.Errorf("log %q, %v", got, err)
	}
	var refused *nvml.Error
	if _, err := library.DeviceByUUID("GPU-none"); !errors.Is(err, nvml.ErrNotFound) || !errors.As(err, &refused) || refused.Op != "nvmlDeviceGetHandleByUUID" {
		t.Errorf("no such UUID: %v", err)
	}
}

func TestIdentity(t *testing.T) {
	t.Setenv(nvmltest.FactsVariable, "memory=8589934592,mig=1,ecc=0,bus=C")
	devices, err := open(t).Devices()
	if err != nil || len(devices) != 2 {
		t.Fatalf("%d devices, %v", len(devices), err)
	}
	for i, device := range devices {
		check(t, "UUID", []string{nvmltest.UUID0, nvmltest.UUID1}[i])(device.UUID())
		check(t, "bus", []string{"00000000:C0:00.0", "00000000:C1:00.0"}[i])(device.PCIBus())
		check(t, "memory", uint64(8<<30))(device.MemoryTotal())
		check(t, "MIG", i == 1)(device.MIG())
		check(t, "ECC", false)(device.ECC())
	}
	t.Setenv(nvmltest.FactsVariable, "")
	check(t, "ECC", true)(devices[0].ECC())
	t.Setenv(nvmltest.UnsupportedVariable, "nvmlDeviceGetMigMode,nvmlDeviceGetEccMode")
	check(t, "MIG of a card without", false)(devices[1].MIG())
	check(t, "ECC of a card without", false)(devices[0].ECC())
	t.Setenv(nvmltest.FactsVariable, "denied=1")
	if _, err := open(t).Devices(); !errors.Is(err, nvml.ErrNoPermission) {
		t.Errorf("devices that may not be used: %v", err)
	}
}

func TestNotSupported(t *testing.T) {
	t.Setenv(nvmltest.UnsupportedVariable, "nvmlDeviceGetTotalEnergyConsumption,nvmlDeviceGetPowerUsage,nvmlDeviceSetGpuLockedClocks")
	device := first(t, open(t))
	_, energy := device.EnergyTotal()
	_, power := device.Power()
	for what, err := range map[string]error{"energy": energy, "power": power, "locking": device.SetLockedClocks(1, 2)} {
		if !errors.Is(err, nvml.ErrNotSupported) || errors.Is(err, nvml.ErrNoPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if want := "nvmlDeviceGetPowerUsage: Not Supported (3)"; power.Error() != want {
		t.Errorf("%q, want %q", power, want)
	}
	check(t, "temperature", 41)(device.Temperature())
}

func TestLockedClocks(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv(nvmltest.LogVariable, log)
	device := first(t, open(t))
	if err := device.SetLockedClocks(1200, 1500); err != nil {
		t.Fatal(err)
	}
	check(t, "locked clock", 1500)(device.ClockSM())
	if err := device.ResetLockedClocks(); err != nil {
		t.Fatal(err)
	}
	check(t, "clock", 1830)(device.ClockSM())
	got, err := os.ReadFile(log)
	if want := "lock " + nvmltest.UUID0 + " 1200 1500\nreset " + nvmltest.UUID0 + "\n"; err != nil || string(got) != want {
		t.Errorf("log %q, want %q, %v", got, want, err)
	}
}

func TestNoPermission(t *testing.T) {
	t.Setenv(nvmltest.DenyVariable, "1")
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv(nvmltest.LogVariable, log)
	device := first(t, open(t))
	for what, err := range map[string]error{"lock": device.SetLockedClocks(1200, 1500), "reset": device.ResetLockedClocks()} {
		if !errors.Is(err, nvml.ErrNoPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a refused locking was logged")
	}
}

func TestOpenWithout(t *testing.T) {
	if _, err := nvml.OpenPath("/nonexistent/libnvidia-ml.so.1"); !errors.Is(err, nvml.ErrNoNVML) {
		t.Errorf("missing library: %v", err)
	}
	if _, err := nvml.OpenPath("libc.so.6"); !errors.Is(err, nvml.ErrNoNVML) || !strings.Contains(err.Error(), "nvmlInit_v2") {
		t.Errorf("another library: %v", err)
	}
	t.Setenv(nvmltest.InitVariable, "9")
	_, err := nvml.OpenPath(nvmltest.Build(t))
	if !errors.Is(err, nvml.ErrNoNVML) || !strings.Contains(err.Error(), "Driver Not Loaded") {
		t.Errorf("no driver: %v", err)
	}
}

func TestNames(t *testing.T) {
	for reasons, want := range map[nvml.Reasons]string{
		0:                        "",
		nvml.ReasonIdle:          "idle",
		nvml.ReasonHWThermal | 8: "hardware slowdown, hardware thermal slowdown",
		0x4 | 0x1000:             "power cap, 0x1000",
	} {
		if got := strings.Join(reasons.Names(), ", "); got != want {
			t.Errorf("%#x: %q, want %q", uint64(reasons), got, want)
		}
	}
	for mode, want := range map[nvml.ComputeMode]string{0: "default", 2: "prohibited", 3: "exclusive process", 9: "compute mode 9"} {
		if got := mode.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
