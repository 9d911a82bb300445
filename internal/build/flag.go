package build

import (
	"slices"
	"strings"

	"pawl/internal/result"
)

// Flags come from pawl.yaml, which may be a stranger's. The sandbox keeps a compiler from what it
// must not read or write, whatever the flags. As a second barrier, flags are refused that make a
// compiler run or load something else, or write to a path that pawl did not give it.
var (
	refusedFlags = []string{
		"-wrapper", "-fplugin", "-fplugin-arg", "-iplugindir", "-B", "--prefix", "-specs", "--specs", "-fpass-plugin", "-load", "-cc1",
		"-ccbin", "--compiler-bindir", "-run", "--run", "-optf", "--options-file", "-ptxas-path", "-fuse-ld", "-plugin", "--plugin", "--dynamic-linker", "-dynamic-linker",
		"-o", "--output", "--output-file", "-odir", "--output-directory", "-MF", "--dependency-output", "-save-temps", "--save-temps", "-keep", "--keep",
		"-keep-dir", "--keep-dir", "-dumpdir", "-dumpbase", "-fdump", "-fprofile-dir", "-fauxbase", "-aux-info", "-MD", "-MMD", "--MD", "-Map", "--Map", "-fopt-info", "-foptimization-record-file", "-ftime-trace", "-fcallgraph-info", "--ld-path", "--config", "--gcc-toolchain", "-time", "--time", "-ldir", "-target-dir", "--target-directory",
		"muldefs", "-allow-multiple-definition", "--allow-multiple-definition", "-defsym", "--defsym", "-wrap", "--wrap", // what pawl links in must be what it calls
	}
	nestedFlags = []string{"-Xcompiler", "--compiler-options", "-Xlinker", "--linker-options", "-Xclang", "-Xptxas", "--ptxas-options", "-Xarchive", "-Xpreprocessor", "-Xassembler"}
)

// refuseFlags finds the first flag that may not be used.
func refuseFlags(kernel string, flags []string) *result.Fault {
	for _, flag := range flags {
		if bad := refusedIn(flag); bad != "" {
			return newFault(result.CauseCompile, "take it out of flags: in pawl.yaml; to use another compiler, name it with CC, CXX or NVCC",
				"%s: the flag %s is refused: it makes a compiler run, load, write or link something else", kernel, bad)
		}
	}
	return nil
}

func refusedIn(flag string) string {
	if strings.HasPrefix(flag, "@") {
		return flag
	}
	for _, prefix := range append(nestedFlags, "-Wl", "-Wa", "-Wp") { // -Xcompiler=-wrapper, -Wl,-plugin,x
		rest, found := strings.CutPrefix(flag, prefix)
		if !found || rest == "" || rest[0] != '=' && rest[0] != ',' {
			continue
		}
		for word := range strings.SplitSeq(rest[1:], ",") {
			if refusedIn(strings.Trim(word, `"'`)) != "" {
				return flag
			}
		}
	}
	name, _, writes := strings.Cut(flag, "=")
	if strings.HasPrefix(name, "-fopt-info") && !writes {
		return "" // says what was vectorized among the warnings; =FILE would write it there
	}
	for _, refused := range refusedFlags {
		if name == refused || slices.Contains(stickyFlags, refused) && strings.HasPrefix(flag, refused) {
			return flag
		}
	}
	return ""
}

// stickyFlags may have their argument in the same word. But for -odir no other flag begins with -o.
var stickyFlags = []string{"-B", "-MF", "-fplugin-arg", "-fdump", "-fopt-info", "-fcallgraph-info", "-o"}
