// Macros with defaults in small letters, vectors of two, a table in constant memory.
// want in_polygon: grid 4096, block 256, bitmap 1048576, points 1048576, todo 1
// want in_polygon_naive: grid 4096, block 256, bitmap 1048576, points 1048576, todo 1
#define VERTICES 600
__constant__ float2 corners[VERTICES];
#ifndef block_size_x
#define block_size_x 256
#endif
#ifndef tile_size
#define tile_size 1
#endif
#ifndef between_method
#define between_method 0
#endif
__device__ __forceinline__ int between(float a, float b, float c) {
#if between_method == 0
    return (b > a) != (c > a);
#else
    return ((b <= a) && (c > a)) || ((b > a) && (c <= a));
#endif
}
__global__ void in_polygon(int *bitmap, float2 *points, int n) {
    int i = blockIdx.x * block_size_x * tile_size + threadIdx.x;
    if (i < n) {
        int c[tile_size];
        float2 p[tile_size];
        for (int ti = 0; ti < tile_size; ti++) {
            c[ti] = 0;
            if (i + block_size_x * ti < n) p[ti] = points[i + block_size_x * ti];
        }
        int k = VERTICES - 1;
        for (int j = 0; j < VERTICES; k = j++) {
            float2 vj = corners[j], vk = corners[k];
            float slope = (vk.x - vj.x) / (vk.y - vj.y);
            for (int ti = 0; ti < tile_size; ti++)
                if (between(p[ti].y, vj.y, vk.y) && (p[ti].x < slope * (p[ti].y - vj.y) + vj.x)) c[ti] = !c[ti];
        }
        for (int ti = 0; ti < tile_size; ti++)
            if (i + block_size_x * ti < n) bitmap[i + block_size_x * ti] = c[ti];
    }
}
__global__ void in_polygon_naive(int *bitmap, float2 *points, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int c = 0;
        float2 p = points[i];
        int k = VERTICES - 1;
        for (int j = 0; j < VERTICES; k = j++) {
            float2 vj = corners[j], vk = corners[k];
            if (((vj.y > p.y) != (vk.y > p.y)) && (p.x < (vk.x - vj.x) / (vk.y - vj.y) * (p.y - vj.y) + vj.x)) c = !c;
        }
        bitmap[i] = c;
    }
}
