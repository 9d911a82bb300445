#!/bin/sh
# Compiles the kernels of the tests to PTX and cubins; run by go generate, with nvcc on
# PATH. The PTX version is lowered to that of the oldest driver that is supported
# (CUDA 12.0): none of the kernels needs more, and ptxas makes sure of it.
set -eu
cd "$(dirname "$0")"
for each in kernels:75 hopper:90; do
	name=${each%:*} arch=${each#*:}
	nvcc -ptx -arch=compute_$arch -o $name.tmp $name.cu
	sed 's/^\.version .*/.version 8.0/' $name.tmp > $name.ptx
	rm $name.tmp
	ptxas -arch=sm_90 -o /dev/null $name.ptx
done
for name in globals managed; do
	nvcc -cubin -arch=sm_90 -o $name.cubin $name.cu
done
