package build

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"pawl/internal/dtype"
	"pawl/internal/spec"
)

//go:embed shim/host.c
var shimRuntime string

// exported are the symbols of the ABI; host.c defines all but pawl_run.
var exported = []string{"pawl_abi", "pawl_run", "pawl_threads"}

// versionScript makes everything else local to the artifact.
func versionScript() string {
	return "{ global: " + strings.Join(exported, "; ") + "; local: *; };\n"
}

// shimSource writes the shim of a kernel whose i-th launch calls symbols[i].
func shimSource(k *spec.Kernel, symbols []string) (string, error) {
	var declarations, loads, calls strings.Builder
	loaded := map[int]bool{}
	for i, launch := range k.Launches {
		indexes, err := argIndexes(k, launch)
		if err != nil {
			return "", err
		}
		var types, values []string
		for _, j := range indexes {
			ctype, err := argType(k.Args[j])
			if err != nil {
				return "", err
			}
			types = append(types, ctype)
			values = append(values, fmt.Sprintf("a%d", j))
			if loaded[j] {
				continue
			}
			loaded[j] = true
			if k.Args[j].Value == nil {
				fmt.Fprintf(&loads, "  void *const a%d = slots[%d];\n", j, j)
			} else {
				fmt.Fprintf(&loads, "  const %s a%d = *(const %s *)slots[%d];\n", ctype, j, ctype, j)
			}
		}
		if len(types) == 0 {
			types = []string{"void"}
		}
		fmt.Fprintf(&declarations, "extern void entry_%d(%s) __asm__(%q);\n", i, strings.Join(types, ", "), symbols[i])
		fmt.Fprintf(&calls, "    entry_%d(%s);\n", i, strings.Join(values, ", "))
	}
	return shimRuntime + "\n" + declarations.String() +
		"\nEXPORT void pawl_run(void *const *slots, int64_t repeat) {\n  (void)slots;\n" + loads.String() +
		"  for (int64_t i = 0; i < repeat; i++) {\n" + calls.String() + "  }\n}\n", nil
}

// argIndexes returns the kernel arguments that a launch passes, in its order.
func argIndexes(k *spec.Kernel, launch *spec.Launch) ([]int, error) {
	var indexes []int
	if launch.Args == nil {
		for j := range k.Args {
			indexes = append(indexes, j)
		}
		return indexes, nil
	}
	for _, name := range launch.Args {
		j := slices.IndexFunc(k.Args, func(a *spec.Arg) bool { return a.Name == name })
		if j < 0 {
			return nil, fmt.Errorf("launch of %s passes %s, which is no argument of %s", launch.Entry, name, k.Name)
		}
		indexes = append(indexes, j)
	}
	return indexes, nil
}

func argType(a *spec.Arg) (string, error) {
	if a.TensorMap != nil {
		return "", fmt.Errorf("argument %s: only a CUDA kernel can be given a tensor map", a.Name)
	}
	if a.Value == nil {
		return "void *", nil
	}
	switch a.DType {
	case dtype.F64:
		return "double", nil
	case dtype.F32:
		return "float", nil
	case dtype.I8:
		return "int8_t", nil
	case dtype.I16:
		return "int16_t", nil
	case dtype.I32:
		return "int32_t", nil
	case dtype.I64:
		return "int64_t", nil
	case dtype.U8:
		return "uint8_t", nil
	case dtype.U16:
		return "uint16_t", nil
	case dtype.U32:
		return "uint32_t", nil
	case dtype.U64:
		return "uint64_t", nil
	}
	return "", fmt.Errorf("argument %s: C has no common type to pass %s by value", a.Name, a.DType)
}
