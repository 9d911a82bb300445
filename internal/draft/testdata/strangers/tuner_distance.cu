// The kernel is a shell around a template function; tiles with defaults.
// want distances: grid 8x64, block 32x4, A 2048, B 2048, scale_A 1024, scale_B 1024, sums 512, todo 1
#ifndef block_size_x
#define block_size_x 32
#endif
#ifndef block_size_y
#define block_size_y 4
#endif
#ifndef tile_size_x
#define tile_size_x 4
#endif
#ifndef tile_size_y
#define tile_size_y 4
#endif
template <typename T, int dim>
__device__ __forceinline__ void distances_tiled(const T *A, const T *B, int m, int n, const T *scale_A, const T *scale_B, T *sums) {
    T term = 0.0;
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int i = tx + blockIdx.x * block_size_x * tile_size_x;
    int j = ty + blockIdx.y * block_size_y * tile_size_y;
    for (int ti = 0; ti < tile_size_x; ti++) {
        for (int tj = 0; tj < tile_size_y; tj++) {
            if ((i + ti * block_size_x < m) && (j + tj * block_size_y < n)) {
                T d2 = 0;
                for (int d = 0; d < dim; d++) {
                    int id = (i + ti * block_size_x) + d * m;
                    int jd = (j + tj * block_size_y) + d * n;
                    d2 += (A[id] - B[jd]) * (A[id] - B[jd]);
                }
                term += exp(-d2 / (scale_A[i + ti * block_size_x] + scale_B[j + tj * block_size_y]));
            }
        }
    }
    __shared__ T part[block_size_y][block_size_x];
    part[ty][tx] = term;
    __syncthreads();
    if (tx == 0 && ty == 0) {
        term = 0;
        for (int y = 0; y < block_size_y; y++)
            for (int x = 0; x < block_size_x; x++) term += part[y][x];
        sums[blockIdx.y * gridDim.x + blockIdx.x] = term;
    }
}
extern "C" __global__ void distances(const double *A, const double *B, int m, int n, const double *scale_A, const double *scale_B, double *sums) {
    distances_tiled<double, 2>(A, B, m, n, scale_A, scale_B, sums);
}
