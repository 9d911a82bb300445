// Declared before they are defined; sizes come first.
// want columns_mean: grid 32x1, block 32x16, input 1048576, todo 1
// want transpose: grid 32x64, block 32x16, output 1048576, input 1048576, todo 1
#ifndef block_size_x
#define block_size_x 32
#endif
#ifndef block_size_y
#define block_size_y 16
#endif
extern "C" {
__global__ void columns_mean(int h, int w, float *input);
__global__ void transpose(int h, int w, float *output, float *input);
}
__global__ void columns_mean(int h, int w, float *input) {
    int j = threadIdx.x + blockIdx.x * block_size_x;
    int ti = threadIdx.y;
    int tj = threadIdx.x;
    if (j < w) {
        float sum = 0.0f;
        for (int i = ti; i < h; i += block_size_y) sum += input[i * w + j];
        __shared__ float part[block_size_y][block_size_x];
        part[ti][tj] = sum;
        __syncthreads();
        for (unsigned int s = block_size_y / 2; s > 0; s >>= 1) {
            if (ti < s) part[ti][tj] += part[ti + s][tj];
            __syncthreads();
        }
        float mean = part[0][tj] / h;
        for (int i = ti; i < h; i += block_size_y) input[i * w + j] -= mean;
    }
}
__global__ void transpose(int h, int w, float *output, float *input) {
    int i = threadIdx.y + blockIdx.y * block_size_y;
    int j = threadIdx.x + blockIdx.x * block_size_x;
    if (j < w && i < h) {
        output[j * h + i] = input[i * w + j];
    }
}
