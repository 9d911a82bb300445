package cuda

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h of CUDA 13.0 on
// 64-bit Linux.
func TestLayout(t *testing.T) {
	t.Parallel()
	var config launchConfig
	var attribute launchAttribute
	var values jitValues
	tests := []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof CUlaunchConfig", unsafe.Sizeof(config), 56},
		{"CUlaunchConfig.gridDimX", unsafe.Offsetof(config.grid), 0},
		{"CUlaunchConfig.blockDimX", unsafe.Offsetof(config.block), 12},
		{"CUlaunchConfig.sharedMemBytes", unsafe.Offsetof(config.shared), 24},
		{"CUlaunchConfig.hStream", unsafe.Offsetof(config.stream), 32},
		{"CUlaunchConfig.attrs", unsafe.Offsetof(config.attributes), 40},
		{"CUlaunchConfig.numAttrs", unsafe.Offsetof(config.attributeCount), 48},
		{"sizeof CUlaunchAttribute", unsafe.Sizeof(attribute), 72},
		{"CUlaunchAttribute.id", unsafe.Offsetof(attribute.id), 0},
		{"CUlaunchAttribute.value", unsafe.Offsetof(attribute.value), 8},
		{"sizeof CUlaunchAttributeValue", unsafe.Sizeof(attribute.value), 64},
		{"sizeof CUjit_option[4]", unsafe.Sizeof(jitOptions), 16},
		{"sizeof void*[4]", unsafe.Sizeof(values), 32},
		{"values[1]", unsafe.Offsetof(values.errorsSize), 8},
		{"values[2]", unsafe.Offsetof(values.info), 16},
		{"values[3]", unsafe.Offsetof(values.infoSize), 24},
		{"sizeof CUtensorMap", unsafe.Sizeof(TensorMap{}), 128},
		{"alignof CUtensorMap", paramAlign, 128},
		{"sizeof CUdeviceptr", unsafe.Sizeof(DevicePtr(0)), 8},
	}
	for _, test := range tests {
		if test.got != test.want {
			t.Errorf("%s = %d, cuda.h has %d", test.what, test.got, test.want)
		}
	}
}

func TestAlignedBytes(t *testing.T) {
	t.Parallel()
	for n := 1; n < 300; n++ {
		b := alignedBytes(n, paramAlign)
		if len(b) != n || uintptr(unsafe.Pointer(&b[0]))%paramAlign != 0 {
			t.Fatalf("%d bytes at %p", len(b), b)
		}
	}
}
