package build

import (
	"slices"
	"strings"

	"pawl/internal/pattern"
	"pawl/internal/result"
)

// Options of nvcc that NVRTC has too: those without a value, and those with one, by NVRTC's name.
var (
	runtimeSwitches = strings.Fields(`-lineinfo --generate-line-info -G --device-debug -use_fast_math --use_fast_math -restrict --restrict
		-w --disable-warnings -extra-device-vectorization --extra-device-vectorization -device-int128 --device-int128`)
	runtimeOptions = map[string]string{
		"-D": "--define-macro", "--define-macro": "--define-macro", "-U": "--undefine-macro", "--undefine-macro": "--undefine-macro",
		"-I": "--include-path", "--include-path": "--include-path", "-isystem": "--include-path", "--system-include": "--include-path",
		"-std": "--std", "--std": "--std", "-maxrregcount": "--maxrregcount", "--maxrregcount": "--maxrregcount",
		"-ftz": "--ftz", "--ftz": "--ftz", "-fmad": "--fmad", "--fmad": "--fmad",
		"-prec-div": "--prec-div", "--prec-div": "--prec-div", "-prec-sqrt": "--prec-sqrt", "--prec-sqrt": "--prec-sqrt",
		"-Xptxas": "--ptxas-options", "--ptxas-options": "--ptxas-options",
		"-diag-suppress": "--diag-suppress", "--diag-suppress": "--diag-suppress",
		"-diag-warn": "--diag-warn", "--diag-warn": "--diag-warn", "-diag-error": "--diag-error", "--diag-error": "--diag-error",
	}
	glued    = []string{"-D", "-U", "-I"} // their value may follow without a blank
	hostOnly = pattern.New(`^-O[0-3]?$`)  // optimisation of host code: there is none here
)

// runtimeFlags turns the flags of a kernel, written for nvcc, into NVRTC's.
func runtimeFlags(flags []string) ([]string, *result.Fault) {
	var out []string
	for i := 0; i < len(flags); i++ {
		flag := flags[i]
		if hostOnly.MatchString(flag) {
			continue
		}
		if slices.Contains(runtimeSwitches, flag) {
			out = append(out, flag)
			continue
		}
		name, value, hasValue := strings.Cut(flag, "=")
		for _, short := range glued {
			if strings.HasPrefix(flag, short) && len(flag) > len(short) && !strings.HasPrefix(flag, "--") {
				name, value, hasValue = short, strings.TrimPrefix(flag[len(short):], "="), true
			}
		}
		option := runtimeOptions[name]
		if option == "" {
			return nil, newFault(result.CauseUnsupported, "install the CUDA toolkit, which has nvcc, or remove the flag",
				"the flag %s is for nvcc, which was not found; NVRTC does not support it", flag)
		}
		if !hasValue {
			if i++; i == len(flags) {
				return nil, newFault(result.CauseCompile, "", "the flag %s needs a value", flag)
			}
			value = flags[i]
		}
		if option == "--ptxas-options" { // nvcc takes several at once
			for _, one := range strings.Split(value, ",") {
				out = append(out, option+"="+one)
			}
			continue
		}
		out = append(out, option+"="+value)
	}
	return out, nil
}
