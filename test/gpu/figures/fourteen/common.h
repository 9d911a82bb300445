// What the stage `fourteen` changes, so that the code of all kernels is another and their speed the same.
#define CHECK(n)

#define INDEX (blockIdx.x * (long)blockDim.x + threadIdx.x)
