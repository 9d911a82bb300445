package build

import (
	"strings"
	"testing"

	"pawl/internal/result"
)

func TestRefusedFlags(t *testing.T) {
	for _, flag := range []string{
		"-wrapper", "-wrapper=./x", "-fplugin=./x.so", "-B.", "-B", "-specs=x", "@more", "-Wl,-plugin,./x.so", "-Wl,--dynamic-linker=./x", "-o", "-o/tmp/x", "-MF", "-MFx",
		"-ccbin", "-ccbin=./cc", "--compiler-bindir=.", "-Xcompiler=-wrapper,./x", "-Xcompiler=-O3,-fplugin=./x.so", "--options-file=x", "-save-temps", "-save-temps=obj", "-fdump-tree-all", "-Wp,-MD,x", "-Wl,-Map=x", "-fopt-info-all=x", "-fopt-info=x", "-Xcompiler=-fopt-info-vec=x", "--ld-path=./ld", "--config=x",
		"-Wl,-z,muldefs", "-Wl,--allow-multiple-definition", "-Wl,--defsym=pawl_run=run", "-Wl,--wrap=pawl_run", "-Wl,-wrap,pawl_run", "-Wl,--wrap,pawl_run",
	} {
		if refusedIn(flag) == "" {
			t.Errorf("%s is let through", flag)
		}
	}
	for _, flag := range []string{
		"-O3", "-march=native", "-fopenmp-simd", "-Iinclude", "-lm", "-L.", "-DNAME=1", "-Wall", "-Wl,--as-needed", "-Xptxas", "-v", "-Xcompiler=-O3", "--use_fast_math",
		"-maxrregcount=64", "-std=c++20", "-fno-math-errno", "-lcublas", "-Wno-unused", "--extended-lambda", "-ftree-vectorize", "-fprefetch-loop-arrays", "-mtune=native", "-fopt-info", "-fopt-info-vec", "-fopt-info-vec-missed", "-Xcompiler=-fopt-info-vec",
	} {
		if got := refusedIn(flag); got != "" {
			t.Errorf("%s is refused", got)
		}
	}
	fault := refuseFlags("k", []string{"-O2", "-wrapper", "./evil.sh"})
	if fault == nil || fault.Cause != result.CauseCompile || !strings.Contains(fault.Message, "the flag -wrapper") {
		t.Errorf("%+v", fault)
	}
}
