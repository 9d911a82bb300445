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
	t.Cleanup(func() {
		if err := library.Close(); err != nil {
			t.Error(err)
		}
	})
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
			check(t, "count", 2)(library.DeviceCount())
			device := first(t, library)
			check(t, "name", "NVIDIA H200")(device.Name())
			check(t, "uuid", nvmltest.UUID0)(device.UUID())
			check(t, "temperature", 41)(device.Temperature())
			check(t, "SM clock", 1830)(device.ClockSM())
			check(t, "memory clock", 3201)(device.ClockMem())
			check(t, "highest SM clock", 1980)(device.MaxClockSM())
			check(t, "highest memory clock", 3201)(device.MaxClockMem())
			check(t, "power", 123.456)(device.Power())
			check(t, "power limit", 700.0)(device.PowerLimit())
			check(t, "energy", 8589934593.0)(device.EnergyTotal())
			check(t, "energy later", 8589934593.5)(device.EnergyTotal())
			check(t, "reasons", nvml.ReasonPowerCap|nvml.ReasonSWThermal)(device.ThrottleReasons())
			check(t, "utilization", nvml.Utilization{GPU: 7, Memory: 3})(device.Utilization())
			check(t, "memory", nvml.Memory{Total: 150754820096, Free: 149681078272, Used: 1 << 30})(device.MemoryInfo())
			check(t, "processes", []nvml.Process{{PID: 1000}, {PID: 1001}, {PID: 1002, UsedBytes: 2 << 20}})(device.ComputeProcesses())
			check(t, "persistence", true)(device.PersistenceMode())
			check(t, "compute mode", nvml.ComputeExclusiveProcess)(device.ComputeMode())
			if name == "new" {
				check(t, "MIG", false)(device.MigMode())
			} else if _, err := device.MigMode(); !errors.Is(err, nvml.ErrNotSupported) || !strings.Contains(err.Error(), "nvmlDeviceGetMigMode") {
				t.Errorf("MIG mode of a driver without: %v", err)
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
	library := open(t)
	uuidOf := func(device nvml.Device, err error) string {
		t.Helper()
		if err != nil {
			t.Error(err)
			return ""
		}
		uuid, err := device.UUID()
		if err != nil {
			t.Error(err)
		}
		return uuid
	}
	if uuid := uuidOf(library.DeviceByUUID(nvmltest.UUID1)); uuid != nvmltest.UUID1 {
		t.Errorf("by UUID: %s", uuid)
	}
	if uuid := uuidOf(library.DeviceByPCIBusID("0000:2b:00.0")); uuid != nvmltest.UUID1 {
		t.Errorf("by bus: %s", uuid)
	}
	if uuid := uuidOf(library.Device(0)); uuid != nvmltest.UUID0 {
		t.Errorf("by index: %s", uuid)
	}
	if _, err := library.DeviceByUUID("GPU-none"); !errors.Is(err, nvml.ErrNotFound) {
		t.Errorf("no such UUID: %v", err)
	}
	if _, err := library.DeviceByPCIBusID("0000:ff:00.0"); !errors.Is(err, nvml.ErrNotFound) {
		t.Errorf("no such bus: %v", err)
	}
	var refused *nvml.Error
	if _, err := library.Device(2); !errors.As(err, &refused) || refused.Op != "nvmlDeviceGetHandleByIndex_v2" {
		t.Errorf("no such index: %v", err)
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
