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
	var loads strings.Builder
	loaded := map[int]bool{}
	declarations, calls, err := writeCalls(k, symbols, "", func(j int, ctype string) string {
		switch {
		case loaded[j]:
		case k.Args[j].Value == nil:
			fmt.Fprintf(&loads, "  void *const a%d = slots[%d];\n", j, j)
		default:
			fmt.Fprintf(&loads, "  const %s a%d = *(const %s *)slots[%d];\n", ctype, j, ctype, j)
		}
		loaded[j] = true
		return fmt.Sprintf("a%d", j)
	})
	if err != nil {
		return "", err
	}
	return shimRuntime + "\n" + declarations +
		"\nEXPORT void pawl_run(void *const *slots, int64_t repeat) {\n  (void)slots;\n" + loads.String() +
		"  for (int64_t i = 0; i < repeat; i++) {\n    " + strings.Join(calls, "\n    ") + "\n  }\n}\n", nil
}

// writeCalls writes C declarations of the launches' entries, and a call of each. stream is the
// expression for the stream, "" where the entries take none; argument returns the one for the
// kernel's j-th argument.
func writeCalls(k *spec.Kernel, symbols []string, stream string, argument func(j int, ctype string) string) (declarations string, calls []string, err error) {
	for i, launch := range k.Launches {
		indexes, err := argIndexes(k, launch)
		if err != nil {
			return "", nil, err
		}
		var types, values []string
		for _, j := range indexes {
			ctype, err := argType(k.Args[j])
			if err != nil {
				return "", nil, err
			}
			types = append(types, ctype)
			values = append(values, argument(j, ctype))
		}
		if stream != "" {
			types, values = slices.Insert(types, launch.Stream, "void *"), slices.Insert(values, launch.Stream, stream)
		}
		if len(types) == 0 {
			types = []string{"void"}
		}
		declarations += fmt.Sprintf("extern void entry_%d(%s) __asm__(%q);\n", i, strings.Join(types, ", "), symbols[i])
		calls = append(calls, fmt.Sprintf("entry_%d(%s);", i, strings.Join(values, ", ")))
	}
	return declarations, calls, nil
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
			return nil, fmt.Errorf("launch of %s passes %s, which is not an argument of %s", launch.Entry, name, k.Name)
		}
		indexes = append(indexes, j)
	}
	return indexes, nil
}

// scalarTypes are the C types of scalars. The smaller floats have no common one.
var scalarTypes = map[dtype.Type]string{
	dtype.F64: "double", dtype.F32: "float",
	dtype.I8: "int8_t", dtype.I16: "int16_t", dtype.I32: "int32_t", dtype.I64: "int64_t",
	dtype.U8: "uint8_t", dtype.U16: "uint16_t", dtype.U32: "uint32_t", dtype.U64: "uint64_t",
}

func argType(a *spec.Arg) (string, error) {
	if a.TensorMap != nil {
		return "", fmt.Errorf("argument %s: only a CUDA kernel can be given a tensor map", a.Name)
	}
	if a.Value == nil {
		return "void *", nil
	}
	if name := scalarTypes[a.DType]; name != "" {
		return name, nil
	}
	return "", fmt.Errorf("argument %s: C has no common type to pass %s by value", a.Name, a.DType)
}
