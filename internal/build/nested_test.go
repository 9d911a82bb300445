package build

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

const launching = "__global__ void child(float *x) { *x = 1; }\n" +
	`extern "C" __global__ void scale(float *x, long n) { child<<<1, 1>>>(x); }`

func TestDeviceSideLaunchesAreRefused(t *testing.T) {
	const calling = "__device__ float elsewhere(float);\n" +
		`extern "C" __global__ void scale(float *x, long n) { *x = elsewhere(*x); }`
	for _, tc := range []struct {
		name, source, flags string
		builder             func(*testing.T) *Builder
		says, output        string
	}{
		{"nvcc", launching, "[]", newNVCCBuilder, "device-side launches are refused", nestedWords[0]},
		{"nvcc, to be linked", launching, "[-rdc=true]", newNVCCBuilder, "device-side launches are refused", ""},
		{"nvcc, called from elsewhere", calling, "[-rdc=true]", newNVCCBuilder, "for linking with other device code", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := tc.builder(t)
			p := cudaProject(t, "scale", tc.source)
			p.write("pawl.yaml", strings.Replace(strings.Replace(cudaYAML, "ENTRY", "scale", 1), "params:", "flags: "+tc.flags+"\n    params:", 1))
			o := b.Build(t.Context(), p.requests())[0]
			if o.Fault == nil || o.Fault.Cause != result.CauseCompile || !strings.Contains(o.Fault.Message, tc.says) || !strings.Contains(o.Output, tc.output) {
				t.Errorf("%+v\n%s", o.Fault, o.Output)
			}
		})
	}
}

// newNVCCBuilder compiles with nvcc even where NVRTC is asked for.
func newNVCCBuilder(t *testing.T) *Builder {
	t.Helper()
	t.Setenv("PAWL_NVRTC", "")
	return newCUDABuilder(t)
}
