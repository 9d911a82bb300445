// Borders around the image; macros made of macros.
// want convolve: grid 64x64, block 16x16, output 1048576, input 1081600, filter 289, todo 0
#define image_height 1024
#define image_width 1024
#define filter_height 17
#define filter_width 17
#define border_height ((filter_height / 2) * 2)
#define border_width ((filter_width / 2) * 2)
#define input_height (image_height + border_height)
#define input_width (image_width + border_width)
__global__ void convolve(float *output, float *input, float *filter) {
    int y = blockIdx.y * block_size_y + threadIdx.y;
    int x = blockIdx.x * block_size_x + threadIdx.x;
    float sum = 0.0f;
    if (y < image_height && x < image_width) {
        for (int i = 0; i < filter_height; i++)
            for (int j = 0; j < filter_width; j++) sum += input[(y + i) * input_width + x + j] * filter[i * filter_width + j];
        output[y * image_width + x] = sum;
    }
}
