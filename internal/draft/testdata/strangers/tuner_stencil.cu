// Sizes are macros of the file, blocks those of a tuner. The last element of the domain is not touched.
// want stencil_step: grid 256x128, block 16x16, x_new 8384511, x_old 8388607, todo 0
#define domain_width 4096
#define domain_height 2048
__global__ void stencil_step(float *x_new, float *x_old) {
    int x = blockIdx.x * block_size_x + threadIdx.x;
    int y = blockIdx.y * block_size_y + threadIdx.y;
    if (y > 0 && y < domain_height - 1 && x > 0 && x < domain_width - 1) {
        x_new[y * domain_width + x] = 0.2f * (x_old[y * domain_width + x] + x_old[y * domain_width + (x - 1)] + x_old[y * domain_width + (x + 1)] +
                                              x_old[(y + 1) * domain_width + x] + x_old[(y - 1) * domain_width + x]);
    }
}
