// A course's exercise: no main, a wrapper that somebody else calls.
// want blur: grid 64x64, block 16x16, in 1048576, out 1048576, todo 1
#include <cuda_runtime.h>
#define RADIUS 2
__global__ void blur(unsigned char *in, unsigned char *out, int w, int h) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < w && row < h) {
        int sum = 0, n = 0;
        for (int dr = -RADIUS; dr < RADIUS + 1; ++dr)
            for (int dc = -RADIUS; dc < RADIUS + 1; ++dc) {
                int r = row + dr, c = col + dc;
                if (r >= 0 && r < h && c >= 0 && c < w) {
                    sum += in[r * w + c];
                    ++n;
                }
            }
        out[row * w + col] = (unsigned char)(sum / n);
    }
}
inline unsigned int cdiv(unsigned int a, unsigned int b) { return (a + b - 1) / b; }
void run_blur(unsigned char *d_in, unsigned char *d_out, int width, int height) {
    dim3 threads(16, 16);
    dim3 blocks(cdiv(width, threads.x), cdiv(height, threads.y));
    blur<<<blocks, threads>>>(d_in, d_out, width, height);
}
