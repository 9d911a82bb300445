// A variable that the host could reach too.
__managed__ int shared_with_host = 4;
__device__ int own;

extern "C" __global__ void remember(int *found) { *found = shared_with_host++ + own++; }
