package cudafake

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Compiler writes a program that build takes for nvcc: it compiles kernels in C,
// written with kernel.h, as [Cubin] does, and launchers as [Launcher] does, in two
// steps. Kernels have no variables of their own.
func Compiler(t testing.TB) string {
	t.Helper()
	headers, _ := unpack(t)
	path := filepath.Join(headers, "nvcc")
	// The two bytes are those of EM_CUDA, in the ELF header.
	text := fmt.Sprintf(`#!/bin/sh
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; fi
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2; shift ;;
	-MF) rules=$2; shift ;;
	-D*) defines="$defines $1" ;;
	-X*) shift ;;
	-c) object=1 ;;
	-*) ;;
	*.o) linked=$1 ;;
	*) source=$1 ;;
	esac
	shift
done
if [ "$object" ]; then exec cc -x c -c -fPIC -O2 -I '%[1]s' $defines -MD -MF "$rules" -o "$out" "$source"; fi
if [ "$linked" ]; then # it may not read the driver, whose name is enough
	cc -shared -x c /dev/null -Wl,-soname,libcuda.so.1 -o "$out.driver" || exit
	exec cc -shared -fPIC -O2 -o "$out" "$linked" "$source" -Wl,--no-as-needed "$out.driver"
fi
cc -x c -shared -fPIC -O2 -ffp-contract=off -I '%[1]s' $defines -MD -MF "$rules" -o "$out" "$source" || exit
printf '\276\000' | dd of="$out" bs=1 seek=18 conv=notrunc 2>/dev/null
`, headers)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
