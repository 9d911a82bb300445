// A sparse product: indices and row limits are data.
// want spmv_rows: grid 4096, block 256, y 1048576, rows 1048577, x 1048576, todo 5
__global__ void spmv_rows(float *y, const int *rows, const int *cols, const float *values, const float *__restrict__ x, int nrows) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    float sum = 0.0;
    if (i < nrows) {
        int start = rows[i];
        int end = rows[i + 1];
        for (int j = start; j < end; j++) sum += values[j] * x[cols[j]];
        y[i] = sum;
    }
}
