package draft

import (
	"strings"
	"testing"

	"pawl/internal/spec"
)

// TestHabits has one habit of public kernels per case, and the lines of the draft that depend on it.
func TestHabits(t *testing.T) {
	const saxpy = "__global__ void f(float *y, const float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += x[i]; }\n"
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"a product whose tiles are stepped through": {
			`template <int T> __global__ void gemm(const float *a, const float *b, float *c, int M, int N, int K) {
				__shared__ float s[T * T], r[T * T];
				int tx = threadIdx.x, ty = threadIdx.y;
				a += blockIdx.y * T * K; b += blockIdx.x * T; c += blockIdx.y * T * N + blockIdx.x * T;
				float v = 0;
				for (int k = 0; k < K; k += T) {
					s[ty * T + tx] = a[ty * K + tx];
					r[ty * T + tx] = b[ty * N + tx];
					__syncthreads();
					a += T; b += T * N;
					for (int i = 0; i < T; i++) v += s[ty * T + i] * r[i * T + tx];
					__syncthreads();
				}
				c[ty * N + tx] = v;
			}
			int main(int argc, char **argv) {
				int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
				float *a, *b, *c;
				cudaMalloc(&a, m * k * sizeof(float)); cudaMalloc(&b, k * n * sizeof(float)); cudaMalloc(&c, m * n * sizeof(float));
				gemm<16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
			}`,
			[]string{"name: b, dtype: f32, shape: [K, N], role: in}\n", "oracle: gemm\n"},
		},
		"constants of the device": {
			`const int ROWS = 1000; const int COLS = 500; const int OUT = ROWS; const int CHUNK = 32;
			__global__ void flip(const float *in, float *out) {
				int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
				if (x < OUT && y < COLS) out[y * OUT + x] = in[x * COLS + y];
			}
			int main() {
				float *a, *b;
				cudaMalloc(&a, ROWS * COLS * sizeof(float)); cudaMalloc(&b, ROWS * COLS * sizeof(float));
				dim3 grid((OUT + CHUNK - 1) / CHUNK, (COLS + CHUNK - 1) / CHUNK), block(CHUNK, CHUNK);
				flip<<<grid, block>>>(a, b);
			}`,
			[]string{"launch: {grid: [32, 16], block: [32, 32]}\n", "main: {}\n"},
		},
		"sizes in the code of the kernel": {
			`#define M 4096
			__global__ void label(const float *x, int *out, int count) {
				for (int i = threadIdx.x; i < M / 4; i += 32) out[blockIdx.x * (M / 4) + i] = x[blockIdx.x * (M / 4) + i] > 0;
			}
			int main() {
				int count = M;
				float *x; int *out;
				cudaMalloc(&x, count * sizeof(float)); cudaMalloc(&out, count * sizeof(int));
				label<<<4, 32>>>(x, out, count);
			}`,
			[]string{"shape: [4096], role: out}\n", "value: 4096}\n", "main: {}\n"},
		},
		"one block more for the rest": {
			saxpy + `void run(float *y, const float *x, unsigned n) {
				unsigned blocks = n / 512;
				if (n % 512 != 0)
					blocks += 1;
				f<<<blocks, 512>>>(y, x, n);
			}`,
			[]string{`launch: {grid: ["ceildiv(N, 512)"], block: [512]}` + "\n"},
		},
		"a launch that a size decides": {
			saxpy + `void run(float *y, const float *x, int n) {
				int threads = 512;
				if (n < 512) threads = n;
				f<<<(n + 511) / 512, threads>>>(y, x, n);
			}`,
			[]string{"# TODO: check the grid, block and shared memory\n"},
		},
		"host code that calls itself": {
			saxpy + `void run(float *y, const float *x, int n) {
				int blocks = (n + 255) / 256;
				if (blocks > 1) run(y, x, blocks);
				f<<<blocks, 256>>>(y, x, n);
			}`,
			[]string{"- {name: n, dtype: i32, value: N}\n"},
		},
		"a launch in some rounds of a loop": {
			saxpy + `int main() {
				int count = 5000; float *x, *y;
				cudaMalloc(&x, count * sizeof(float)); cudaMalloc(&y, count * sizeof(float));
				for (int round = 0; round < 20; round++)
					if ((round + 1) % 5 == 0) f<<<(count + 127) / 128, 128>>>(y, x, count);
			}`,
			[]string{`grid: ["ceildiv(COUNT, 128)"], block: [128]}` + "\n", "main: {COUNT: 5000}\n"},
		},
		"a kernel of the type that a function of the host is given": {
			`template <typename T> __global__ void bump(T *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }
			template <typename T> void test(int n) { T *d; cudaMalloc(&d, n * sizeof(T)); bump<<<(n + 255) / 256, 256>>>(d, n); }
			int main(int argc, char **argv) { bool wide = false; if (wide) test<float>(1000); else test<double>(1000); }`,
			[]string{`entry: "bump<double>"` + "\n", "dtype: f64, shape: [1000], role: inout}\n"},
		},
		"a struct of numbers of one type": {
			`struct Body { float x, y, z; float3 v; float mass; };
			struct Mixed { float x; int n; };
			__global__ void move(Body *b, Mixed *m, int n, float dt) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { b[i].x += dt * b[i].v.x; m[i].x = 0; } }`,
			[]string{"name: b, dtype: f32, shape: [N, 7], role: inout}\n", "Mixed is not known"},
		},
		"a vector by value": {
			`__global__ void plane(int *out, int2 size, float4 window) { out[blockIdx.x * blockDim.x + threadIdx.x] = size.x + window.x; }`,
			[]string{"name: size, dtype: u64, value: 0} # TODO: check the value, which holds the bits of a int2\n", "# TODO: no value has the size of a float4; let the kernel take its numbers, or a pointer\n"},
		},
		"constant memory that the host fills": {
			`__constant__ float weights[3][5]; __constant__ int used[4] = {1, 2, 3, 4}; __constant__ float scale; __constant__ float other[2];
			__device__ float at(int i) { return weights[i / 5][i % 5]; }
			__global__ void f(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * at(i % 15) * scale + used[0]; }`,
			[]string{
				"- {name: weights, dtype: f32, shape: [3, 5], role: in, symbol: weights}\n",
				"- {name: scale, dtype: f32, value: 1.0, symbol: scale} # TODO: check the value\n    #",
			},
		},
		"loops whose limits are read": {
			`__global__ void rows(const int *first, const int *length, const float *x, float *y, int n) {
				int r = blockIdx.x * blockDim.x + threadIdx.x;
				if (r < n) for (int i = first[r]; i < first[r] + length[r]; i++) y[r] += x[i];
			}`,
			[]string{"name: length, dtype: i32, shape: [N], role: in, init: zero} # TODO: fill it with valid indices, such as init: {integers: [0, 1023]} for a buffer of 1024\n"},
		},
		"sizes of tensors, and much shared memory": {
			`__global__ void tiles(const float *q, float *o, int n, int d) {
				extern __shared__ float s[];
				for (int i = threadIdx.x; i < n * d; i += blockDim.x) o[blockIdx.x * n * d + i] = o[blockIdx.x * n * d + i] / 2 + q[blockIdx.x * n * d + i];
			}
			torch::Tensor forward(torch::Tensor q) {
				const int rows = 32; const int b = q.size(0); const int n = q.size(1); const int d = q.size(2);
				auto o = torch::zeros_like(q);
				tiles<<<b, rows, 3 * rows * d * sizeof(float)>>>(q.data_ptr<float>(), o.data_ptr<float>(), n, d);
				return o;
			}`,
			[]string{`launch: {grid: [B], block: [32], shared: "384 * D"}` + "\n", "name: o, dtype: f32, shape: [B, N, D], role: inout, init: zero}\n"},
		},
		"a macro that writes its argument": {
			`#define TRY(e) attempt(e, #e, __LINE__)
			void attempt(int error, const char *text, int line) {}
			` + saxpy + `int main() { int n = 3000; float *x, *y; TRY(cudaMalloc(&x, n * sizeof(float))); TRY(cudaMalloc(&y, 2 * n * sizeof(float))); f<<<12, 256>>>(y, x, n); }`,
			[]string{"name: y, dtype: f32, shape: [2, N], role: inout}\n"},
		},
		"a launch that is not known, of a buffer that is": {
			`__global__ void swap(float *v, int j) { int i = blockIdx.x * blockDim.x + threadIdx.x; int k = i ^ j; if (k > i && v[i] > v[k]) { float t = v[i]; v[i] = v[k]; v[k] = t; } }
			void sort(int elements, float *host) {
				float *v; cudaMalloc(&v, elements * sizeof(float));
				int threads = 0, blocks = 0;
				if (elements % 512 == 0) { threads = 512; blocks = elements / 512; }
				swap<<<blocks, threads>>>(v, 1);
			}`,
			[]string{`grid: ["ceildiv(ELEMENTS, 256)"], block: [256]} # TODO`},
		},
		"elements that are packed in a type of its own": {
			`template <typename T> struct alignas(2 * sizeof(T)) Pair { T x, y; };
			template <typename T> __global__ void twice(const T *x, T *y, int n) {
				int i = blockIdx.x * blockDim.x + threadIdx.x;
				if (i < n) reinterpret_cast<Pair<T> *>(y)[i] = Pair<T>{x[i], x[i]};
			}`,
			[]string{"name: x, dtype: f32, shape: [N], role: in}\n", "name: y, dtype: f32, shape: [N], role: out} # TODO: check the shape\n"},
		},
		"a buffer that is larger than what the kernel moves": {
			saxpy + `int main() { int n = 3000; float *x, *y; cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&y, 33 * n * sizeof(float)); f<<<12, 256>>>(y, x, n); }`,
			[]string{"name: y, dtype: f32, shape: [33, N], role: inout}\n", `work: {bytes: "12 * N"}`},
		},
		"a launch in a member of a class": {
			`#define TB 1024
			int ceil_div(int a, int b) { return (a + b - 1) / b; }
			template <class T> Stream<T>::~Stream() { cudaFree(d_y); }
			template <class T> __global__ void fill(T *y, T with, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = with; }
			template <class T> void Stream<T>::start(T with) { fill<<<ceil_div(array_size, TB), TB>>>(d_y, with, array_size); }
			` + saxpy + `template <class T> void Stream<T>::triad() { int blocks = ceil_div(array_size, TB); f<<<blocks, TB, 0, stream>>>(d_y, d_x, array_size); }`,
			[]string{`launch: {grid: ["ceildiv(ARRAY_SIZE, 1024)"], block: [1024]}` + "\n", "name: y, dtype: f32, shape: [ARRAY_SIZE], role: inout}\n", "name: with, dtype: f32, value: 1.0} # TODO: check the value\n", "small: {ARRAY_SIZE: 1048576} # TODO: choose sizes\n"},
		},
		"members of classes before a kernel": {
			"template <class T> Stream<T>::Stream(int n) : size(n) { start(); }\ntemplate <class T> void Stream<T>::stop() { end(); }\n" + saxpy,
			[]string{"entry: f\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := string(Write(Find("k.cu", []byte(c.source), nil)))
			if _, err := spec.Parse("pawl.yaml", []byte(text)); err != nil {
				t.Errorf("the draft is not accepted: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}
