package cell

import (
	"fmt"

	"pawl/internal/native/cuda"
	"pawl/internal/result"
)

// Devices asks the driver for the GPUs of this machine.
func Devices() ([]result.GPU, error) {
	driver, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	devices, err := driver.Devices()
	if err != nil {
		return nil, err
	}
	var out []result.GPU
	for _, device := range devices {
		gpu, err := describe(driver, device)
		if err != nil {
			return nil, err
		}
		out = append(out, *gpu)
	}
	return out, nil
}

func describe(driver *cuda.Driver, device cuda.Device) (*result.GPU, error) {
	name, err := device.Name()
	if err != nil {
		return nil, err
	}
	uuid, err := device.UUID()
	if err != nil {
		return nil, err
	}
	memory, err := device.TotalMem()
	if err != nil {
		return nil, err
	}
	number := map[cuda.Attribute]int{}
	for _, a := range []cuda.Attribute{
		cuda.CapabilityMajor, cuda.CapabilityMinor, cuda.SMCount, cuda.L2Size, cuda.MaxSharedOptin, cuda.MaxThreadsPerBlock, cuda.ClockRate, cuda.ECCEnabled,
	} {
		if number[a], err = device.Attribute(a); err != nil {
			return nil, err
		}
	}
	return &result.GPU{
		Name: name, UUID: uuid, Arch: archOf(number[cuda.CapabilityMajor], number[cuda.CapabilityMinor]),
		CUDA: fmt.Sprintf("%d.%d", driver.Version()/1000, driver.Version()%1000/10),
		SMs:  number[cuda.SMCount], MemoryBytes: int64(memory), L2Bytes: int64(number[cuda.L2Size]),
		MaxShared: int64(number[cuda.MaxSharedOptin]), MaxThreads: number[cuda.MaxThreadsPerBlock],
		MaxGHz: float64(number[cuda.ClockRate]) / 1e6, ECC: number[cuda.ECCEnabled] != 0,
	}, nil
}

// archOf returns nvcc's name for an architecture; from Hopper on it includes the
// architecture-specific features.
func archOf(major, minor int) string {
	if major >= 9 {
		return fmt.Sprintf("sm_%d%da", major, minor)
	}
	return fmt.Sprintf("sm_%d%d", major, minor)
}
