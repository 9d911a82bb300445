package gpu

import (
	"fmt"
	"strings"
	"testing"
)

// neighbours are the instructions (of 16 bytes) of the kernels beside the measured one, in the file
// of each version: none, fewer than a line of the instruction cache, and more than its levels have.
var neighbours = []int{0, 5, 120, 1000, 3000, 20000}

// placed is a file with kernel work between two kernels of a size.
func placed(instructions int) string {
	const work = `extern "C" __global__ void work(const float *x, float *y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
#pragma unroll 1
    for (int round = 0; round < 20; round++) {
#pragma unroll
        for (int step = 0; step < 400; step++) v = v * 0.999f + step;
    }
    y[i] = v;
}
`
	beside := func(name string) string {
		if instructions == 0 {
			return ""
		}
		const most = 1000 // compilers unroll no loop that is much longer
		loops := ""
		for left := instructions; left > 0; left -= most {
			loops += fmt.Sprintf("#pragma unroll\n    for (int step = 0; step < %d; step++) v = v * 0.998f + step;\n", min(left, most))
		}
		return fmt.Sprintf("extern \"C\" __global__ void %s(float *y) {\n    float v = y[threadIdx.x];\n%s    y[threadIdx.x] = v;\n}\n", name, loops)
	}
	return beside("above") + work + beside("below")
}

// How much the place of a kernel among others matters: the same kernel is measured in turns with
// itself behind neighbours of other sizes. A check calls it unchanged.
func TestPlacement(t *testing.T) {
	p := newProject(t, "")
	var kernels strings.Builder
	var rivals []string
	for i, size := range neighbours {
		p.write(fmt.Sprintf("place%d.cu", i), placed(size))
		fmt.Fprintf(&kernels, `  place%d:
    source: place%d.cu
    entry: work
    launch: {grid: "ceildiv(N, 256)", block: 256}
    args: [{name: x, dtype: f32, shape: [N]}, {name: y, dtype: f32, shape: [N], role: out}, {name: n, dtype: i64, value: N}]
`, i, i)
		if i > 0 {
			rivals = append(rivals, fmt.Sprintf("place%d", i))
		}
	}
	p.write("pawl.yaml", "version: 1\nkernels:\n"+kernels.String()+"configs: {small: {N: 65536}, large: {N: 4194304}}\n")
	for _, row := range p.bench("place0", "--budget", "3s", "--against", strings.Join(rivals, ",")).Rows {
		mustMeasure(t, row)
		if len(row.Rivals) != len(rivals) {
			t.Fatalf("%s: %d rivals, expected %d", row.Name(), len(row.Rivals), len(rivals))
		}
		for i, rival := range row.Rivals {
			mustMeasure(t, rival.Row)
			if rival.Row.Code != row.Code || rival.Row.Key == row.Key {
				t.Errorf("%s behind %d instructions: the same code is %t", row.Name(), neighbours[i+1], rival.Row.Code == row.Code)
			}
			if rival.Ratio == nil {
				t.Fatalf("%s behind %d instructions: no ratio", row.Name(), neighbours[i+1])
			}
			t.Logf("%s behind %d instructions: %+.2f%% [%+.2f, %+.2f]", row.Name(), neighbours[i+1],
				100*(rival.Ratio.Median-1), 100*(rival.Ratio.Low-1), 100*(rival.Ratio.High-1))
		}
	}
}
