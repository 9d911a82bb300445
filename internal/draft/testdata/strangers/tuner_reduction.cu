// A partial sum per block; the number of blocks is a macro, too.
// want sum_parts: grid 128, block 256, sums 128, array 1048576, todo 1
#ifndef vector
#define vector 1
#endif
#if (vector == 1)
#define floatvector float
#elif (vector == 4)
#define floatvector float4
#endif
__global__ void sum_parts(float *sums, floatvector *array, int n) {
    int ti = threadIdx.x;
    int x = blockIdx.x * block_size_x + threadIdx.x;
    int step_size = num_blocks * block_size_x;
    float sum = 0.0f;
    for (int i = x; i < n / vector; i += step_size) {
        floatvector v = array[i];
#if vector == 1
        sum += v;
#else
        sum += v.x + v.y + v.z + v.w;
#endif
    }
    __shared__ float part[block_size_x];
    part[ti] = sum;
    __syncthreads();
    for (unsigned int s = block_size_x / 2; s > 0; s >>= 1) {
        if (ti < s) part[ti] += part[ti + s];
        __syncthreads();
    }
    if (ti == 0) sums[blockIdx.x] = part[0];
}
