#!/bin/sh
# Compiles the cell's own kernels to PTX, and that for the generations of devices
# there are; run by `make helpers`, with nvcc, ptxas and zstd on PATH. The PTX version
# is lowered to that of the oldest driver that is supported (CUDA 12.0): none of the
# kernels needs more, and ptxas makes sure of it.
set -eu
cd "$(dirname "$0")"
nvcc -ptx -O3 -std=c++17 -arch=compute_75 -o helpers.tmp helpers.cu
sed 's/^\.version .*/.version 8.0/' helpers.tmp > helpers.ptx
rm -f helpers.tmp helpers.sm_*
for arch in sm_75 sm_80 sm_90 sm_100 sm_120; do
	ptxas -arch=$arch -o helpers.$arch helpers.ptx
	zstd -q -19 --rm helpers.$arch
done
