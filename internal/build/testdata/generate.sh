#!/bin/sh
# Makes the linked cubins of this folder; needs nvcc and nvlink of CUDA 13.
set -eu
cd "$(dirname "$0")"
temp=$(mktemp -d)
trap 'rm -r "$temp"' EXIT
nvcc -arch=sm_90a -dc -cubin library.cu -o "$temp/library.cubin"
nvcc -arch=sm_90a -dc -cubin linked.cu -o "$temp/linked.cubin"
nvcc -arch=sm_90a -dc -cubin -DPOINTERS linked.cu -o "$temp/pointers.cubin"
nvlink --arch=sm_90a "$temp/library.cubin" "$temp/linked.cubin" -o linked.cubin
nvlink --arch=sm_90a "$temp/library.cubin" "$temp/pointers.cubin" -o pointers.cubin
