package draft

import (
	"strings"
	"testing"
)

// Floating-point additions in any order give other bits from launch to launch; those of integers do
// not.
func TestAtomicAdditions(t *testing.T) {
	const index = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; "
	for body, varies := range map[string]bool{
		"atomicAdd(sum, x[i]);":                                           true,
		"atomicAdd(&sum[i % 4], x[i]);":                                   true,
		"atomicAdd(&(sum[i % 4]), x[i]);":                                 true,
		"float *to = sum + i % 4; atomicAdd(to, x[i]);":                   true,
		"add(sum, x[i]);":                                                 true,
		"__shared__ float all; atomicAdd(&all, x[i]); sum[i] = all;":      true,
		"__shared__ int all; atomicAdd(&all, (int)x[i]); sum[i] = all;":   false,
		"atomicAdd(&count[(int)x[i] & 3], 1); sum[i] += 1;":               false,
		"sum[i] += x[i];":                                                 false,
		"__shared__ float all[256]; all[threadIdx.x] = x[i]; sum[i] = 1;": false,
	} {
		source := "__device__ void add(float *to, float v) { atomicAdd(to, v); }\n__global__ void k(const float *x, float *sum, int *count, int n) { " + index + body + " }\n"
		text := string(Write(Find("k.cu", []byte(source), nil)))
		if strings.Contains(text, "deterministic: false") != varies {
			t.Errorf("%s\n%s", body, text)
		}
	}
}
