package build

import (
	"debug/elf"
	"slices"
	"strings"

	"pawl/internal/native/cuda/cubin"
	"pawl/internal/result"
)

// nestedWords are the messages of nvcc and NVRTC about a kernel that launches a kernel, the NVRTC
// of CUDA 12.0 last.
var nestedWords = []string{
	"requires separate compilation mode", "device-side kernel launch could not be processed", "Unresolved extern function '__cudaCDP2",
}

// refused returns the fault of a source that did not compile, with pawl's own reason where there is
// one: no clock in its stream waits for what a kernel launches by itself.
func refused(fault *result.Fault, source, output string) *result.Fault {
	if fault.Cause != result.CauseCompile || !slices.ContainsFunc(nestedWords, func(words string) bool { return strings.Contains(output, words) }) {
		return fault
	}
	return nested(source)
}

func nested(source string) *result.Fault {
	return newFault(result.CauseCompile, "a list of launches in pawl.yaml runs kernels one after the other; to launch from host code, use a launcher",
		"device-side launches are refused: a kernel in %s launches another", source)
}

// checkLinked refuses a cubin that was not linked: it was compiled with -rdc=true, to launch from
// the device or to call functions that are defined elsewhere.
func checkLinked(image []byte, source string) *result.Fault {
	file, err := cubin.Open(image)
	if err != nil {
		return internal("read the cubin", err)
	}
	if file.Type != elf.ET_REL {
		return nil
	}
	symbols, _ := file.Symbols() // without any it launches nothing
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && strings.Contains(s.Name, "LaunchDevice") {
			return nested(source)
		}
	}
	return newFault(result.CauseCompile, "remove -rdc=true or -dc from its flags, and #include the code it calls",
		"%s is compiled for linking with other device code, which pawl does not support", source)
}
