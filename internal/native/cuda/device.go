package cuda

import (
	"encoding/hex"
	"strings"
	"unsafe"

	"pawl/internal/native/dl"
)

// Attribute is a CUdevice_attribute.
type Attribute int32

// Attributes of a device. Clocks are in kHz, sizes in bytes.
const (
	MaxThreadsPerBlock Attribute = 1
	ClockRate          Attribute = 13
	SMCount            Attribute = 16
	ECCEnabled         Attribute = 32
	L2Size             Attribute = 38
	MaxThreadsPerSM    Attribute = 39
	CapabilityMajor    Attribute = 75
	CapabilityMinor    Attribute = 76
	MaxSharedOptin     Attribute = 97
)

// Device is one GPU, or one MIG instance of it.
type Device struct {
	d      *Driver
	handle int32
}

// DeviceCount returns the number of devices that this process may see.
func (d *Driver) DeviceCount() (int, error) {
	var count int32
	err := d.call(cuDeviceGetCount, uintptr(unsafe.Pointer(&count)))
	return int(count), err
}

// Device returns the device with index i, from 0.
func (d *Driver) Device(i int) (Device, error) {
	var handle int32
	err := d.call(cuDeviceGet, uintptr(unsafe.Pointer(&handle)), uintptr(i))
	return Device{d, handle}, err
}

// Devices returns all of them.
func (d *Driver) Devices() ([]Device, error) {
	count, err := d.DeviceCount()
	devices := make([]Device, count)
	for i := range devices {
		if err == nil {
			devices[i], err = d.Device(i)
		}
	}
	return devices, err
}

// Name returns the product name, for a MIG instance with its profile.
func (v Device) Name() (string, error) {
	buffer := make([]byte, 256)
	err := v.d.call(cuDeviceGetName, uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer)), uintptr(v.handle))
	return dl.Text(buffer), err
}

// UUID identifies the device across machines and restarts, in the form that
// nvidia-smi prints.
func (v Device) UUID() (string, error) {
	name, err := v.Name()
	if err != nil {
		return "", err
	}
	var raw [16]byte
	if err := v.d.call(cuDeviceGetUUID, uintptr(unsafe.Pointer(&raw)), uintptr(v.handle)); err != nil {
		return "", err
	}
	return formatUUID(raw, IsMIG(name)), nil
}

// IsMIG says whether a device of this name is a MIG instance: the driver offers
// no other way to ask.
func IsMIG(name string) bool { return strings.Contains(name, " MIG ") }

func formatUUID(raw [16]byte, mig bool) string {
	digits := hex.EncodeToString(raw[:])
	prefix := "GPU-"
	if mig {
		prefix = "MIG-"
	}
	return prefix + strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}

// Attribute asks for one number about the device.
func (v Device) Attribute(a Attribute) (int, error) {
	var value int32
	err := v.d.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&value)), uintptr(a), uintptr(v.handle))
	return int(value), err
}

// TotalMem returns the size of the device's memory in bytes.
func (v Device) TotalMem() (uint64, error) {
	var bytes uint64
	err := v.d.call(cuDeviceTotalMem, uintptr(unsafe.Pointer(&bytes)), uintptr(v.handle))
	return bytes, err
}
