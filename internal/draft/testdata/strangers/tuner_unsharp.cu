// Bytes, a macro for the width that nobody defines, and a row per block.
// want invert_rows: grid 16384, block 256, image 16777216, todo 2
__global__ void invert_rows(unsigned char *image, int rows) {
    int row = blockIdx.x;
    if (row < rows) {
        for (int x = threadIdx.x; x < IMAGE_WIDTH; x += BLOCK_SIZE) {
            image[row * IMAGE_WIDTH + x] = 255 - image[row * IMAGE_WIDTH + x];
        }
    }
}
