// For a tuner that defines block_size_x.
// want vector_add: grid 4096, block 256, c 1048576, a 1048576, b 1048576, todo 1, oracle {elementwise: "a + b"}
__global__ void vector_add(float *c, float *a, float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
