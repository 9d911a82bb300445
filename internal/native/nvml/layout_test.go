package nvml

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for nvml.h of CUDA 12.9 on
// 64-bit Linux.
func TestLayout(t *testing.T) {
	t.Parallel()
	var info processInfo
	var pci pciInfo
	for what, sizes := range map[string][2]uintptr{
		"sizeof nvmlProcessInfo_v2_t":        {unsafe.Sizeof(info), 24},
		"nvmlProcessInfo_v2_t.usedGpuMemory": {unsafe.Offsetof(info.usedBytes), 8},
		"nvmlProcessInfo_v2_t.gpuInstanceId": {unsafe.Offsetof(info.gpuInstanceID), 16},
		"sizeof nvmlPciInfo_t":               {unsafe.Sizeof(pci), 68},
		"nvmlPciInfo_t.busId":                {unsafe.Offsetof(pci.busID), 36},
	} {
		if sizes[0] != sizes[1] {
			t.Errorf("%s = %d, nvml.h has %d", what, sizes[0], sizes[1])
		}
	}
}
